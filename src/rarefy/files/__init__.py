"""Model files, and exports to the formats of other programs."""
