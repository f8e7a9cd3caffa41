"""One module for each file format: from its bytes to rows."""
