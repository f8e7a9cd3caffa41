"""What commands show: tables, progress, texts for people."""
