"""The papers' experiments on truncation: `python -m experiments.reproduction`."""
