"""First-party plugins. They enter through the same five doors as anyone's and have no privileges."""
