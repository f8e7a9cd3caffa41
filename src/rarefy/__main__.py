"""`python -m rarefy`."""

from rarefy.cli import run

run()
