"""Learning from a reader to the end, without anything around it."""

from rarefy.streams.run import Run


def learn_all(model, reader, **options) -> None:
    """Learn all that the reader gives; the options are those of a run."""
    for _ in Run(model, reader, **options).steps():
        pass
