"""Default settings against default settings, on data of all kinds."""
