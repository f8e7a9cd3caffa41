"""The thesis's experiments on the endowment effect: `python -m experiments.endowment`."""
