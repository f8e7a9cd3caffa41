"""Models that find their own hyperparameters while they learn."""
