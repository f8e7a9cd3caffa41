"""Every method of the library in the sweep of the peers' page: docs/results/field.md."""
