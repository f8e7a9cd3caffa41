"""The page that shows the models: files without a build step."""

from pathlib import Path

from rarefy.serving.refusals import NotFoundError

FOLDER = Path(__file__).parent
FILES = frozenset(path.name for path in FOLDER.iterdir() if path.suffix in (".html", ".css", ".js"))


def page_file(name: str) -> Path:
    """A file of the page; no other can be reached."""
    if name not in FILES:
        raise NotFoundError("there is nothing here.")
    return FOLDER / name
