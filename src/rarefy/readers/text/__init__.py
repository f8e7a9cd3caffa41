"""Text at speed: the ends of tokens, numbers, words and short names."""
