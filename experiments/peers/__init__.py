"""Accuracy against weights kept, next to other tools: `python -m experiments.peers`."""
