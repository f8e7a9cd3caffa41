"""`python -m rarefy.cli`."""

from rarefy.cli import run

run()
