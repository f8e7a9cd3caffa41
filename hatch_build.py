"""README.md as the description on package indexes, where links have to be absolute.

The address of the site is set in one place, `[tool.rarefy] site` of pyproject.toml. While it is
empty there is no site: links to pages become plain text, or go where they stand in brackets; the
picture is left out with its caption, and the list of pages is replaced by where the documentation
is.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[.*?\n\n", re.MULTILINE | re.DOTALL)  # and its caption
PAGES = re.compile(r"(## Where to go next\n\n).*?(?=^## )", re.MULTILINE | re.DOTALL)
IN_THE_SOURCES = "The documentation is in the source distribution: `make docs` builds the site.\n\n"
ASIDE = re.compile(r"\s+\(\[[^\]]*\]\([^)]*\)\)")  # a link in brackets
LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?:docs/|CONTRIBUTING)[^)#]+)(#[^)]*)?\)")


class DescriptionHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        site = project["tool"]["rarefy"]["site"].rstrip("/")
        text = description((root / "README.md").read_text(encoding="utf-8"), site)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = {"Documentation": site} if site else {}


def description(readme: str, site: str) -> str:
    """The README with links to pages of the site, or without links if there is none."""

    def linked(match: re.Match[str]) -> str:
        mark, text, path, anchor = match.groups()
        if not site:
            return text
        if mark:
            return f"![{text}]({site}/_images/{Path(path).name})"
        page = path.removeprefix("docs/").replace("CONTRIBUTING", "contributing")
        return f"[{text}]({site}/{page.removesuffix('.md')}.html{anchor or ''})"

    if not site:
        readme = PAGES.sub(rf"\1{IN_THE_SOURCES}", ASIDE.sub("", PICTURE.sub("", readme)))
    return LINK.sub(linked, readme)
