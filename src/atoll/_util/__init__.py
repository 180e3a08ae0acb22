"""Helpers without a domain word: text distance, paths, atomic writes, bounded child processes."""
