"""Check a built site: links lead somewhere, and pages load nothing from another host.

`python tools/check_site.py build/site` prints what is wrong, and ends with 1 if anything is.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src")}


class Page(HTMLParser):
    """The ids of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif tag == "a" and name == "href" and value:
                self.links.append(value)
            elif (tag, name) in LOADS and value:
                self.loads.append(value)


def faults(site: Path) -> list[str]:
    pages = {file: Page(file.read_text()) for file in site.rglob("*.html")}
    found = []
    for file, page in sorted(pages.items()):
        for target in page.loads:
            if urlsplit(target).netloc:
                found.append(f"{file}: loads {target} from another host")
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            to = (file.parent / unquote(parts.path)).resolve() if parts.path else file.resolve()
            to = to / "index.html" if to.is_dir() else to
            if not to.exists():
                found.append(f"{file}: {target} does not exist")
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].ids:
                found.append(f"{file}: {target}: the page has no such place")
    styles = [style for style in site.rglob("*.css") if "url(http" in style.read_text()]
    return found + [f"{style}: loads from another host" for style in styles]


if __name__ == "__main__":
    found = faults(Path(sys.argv[1]).resolve())
    print(*found, sep="\n")
    sys.exit(bool(found))
