"""Up to eight models side by side in memory, which learn every row at once."""
