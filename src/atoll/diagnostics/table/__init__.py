"""Rows of the code table, one module a room; each has a dict ``CODES``."""
