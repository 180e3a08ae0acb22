"""Slang: shaders with modules and generics, compiled by slangc to SPIR-V."""
