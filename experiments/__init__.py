"""Published experiments, done again: each is a package that writes a page of docs/results/."""
