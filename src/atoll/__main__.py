"""``python -m atoll``: the command line."""

from atoll.cli import main

main()
