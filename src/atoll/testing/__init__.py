"""The public test kit: one conformance suite a door, which every plugin runs, ours or anyone's.

A suite is a module here; a plugin's own tests call it with the plugin and read what it found.
"""
