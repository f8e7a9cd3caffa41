"""Hyperparameters: checked, turned into rules, schedules and losses, and described."""
