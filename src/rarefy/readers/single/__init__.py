"""Rows that come one by one: dicts and lines, read at once, with memory that is used again."""
