"""Python wheels as containers to measure."""
