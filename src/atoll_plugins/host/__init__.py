"""The host compiler: the one lane whose units are not device units."""
