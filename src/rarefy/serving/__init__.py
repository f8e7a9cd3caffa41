"""`rarefy serve`: models that learn behind HTTP, with a log from which nothing is lost."""
