"""The version of the package, which files say they were written by."""

__version__ = "0.1.0"
