"""SPIR-V: GLSL lane, emitter and reader."""
