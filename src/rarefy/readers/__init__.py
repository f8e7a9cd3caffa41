"""Readers: files in several formats to batches of rows; each text format has a compiled parser."""

from rarefy.readers.batch import Batch
from rarefy.readers.reader import Reader
from rarefy.readers.reading import BAD_LINES, read

__all__ = ["BAD_LINES", "Batch", "Reader", "read"]
