"""Every method of the library in the sweep of the peers' page: docs/field.md."""
