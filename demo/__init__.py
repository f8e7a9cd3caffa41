"""Plain against feature-aware rules on made-up text: `python -m demo`."""
