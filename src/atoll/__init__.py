"""Atoll: compile device code in any language into an ordinary program, and measure what it runs on."""
