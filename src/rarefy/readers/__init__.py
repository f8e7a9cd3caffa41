"""Readers: files in several formats to batches of rows; each text format has a compiled parser."""

from rarefy.readers.batch import Batch
from rarefy.readers.reader import BAD_LINES, Reader, read

__all__ = ["BAD_LINES", "Batch", "Reader", "read"]
