"""The whole grid in one pass: many models that learn side by side."""
