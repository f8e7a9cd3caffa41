"""A model that learns from a reader: runs, checkpoints, row cache, holdout, metrics."""
