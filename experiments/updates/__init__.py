"""Updates of models in use: what they lose, by each method, and how well budgets are kept."""
