"""Updates with a budget for lost answers."""
