"""What rows are made of: columns, labels, names of features, crosses."""
