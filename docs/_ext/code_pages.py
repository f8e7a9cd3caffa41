"""Links from pages to files of the repository lead to pages that show these files.

So the site is complete by itself, and knows no host of the repository.
"""

import os
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
FOLDER = "code"  # of the site


class CodeLinks(SphinxTransform):
    """Leads links that leave docs/ to pages of code, or to the page that includes the file."""

    default_priority = 200

    def apply(self, **_: Any) -> None:
        for node in list(self.document.findall(lambda each: isinstance(each, LINKS))):
            target, _, anchor = node["reftarget"].partition("#")
            if node.get("refdomain") == "doc" and Path(target).is_absolute():  # Markdown elsewhere
                target, anchor = f"{target}.md", node.get("reftargetid")
            elif node.get("refdomain") or not target:
                continue
            path = self._path(target)
            if path is not None and not self._is_of_the_site(path):
                node.replace_self(self._link(path, anchor, node))

    def _path(self, target: str) -> Path | None:
        """What is linked to; a page that includes a file of the root has that file's links."""
        for folder in (Path(self.env.doc2path(self.env.docname)).parent, ROOT):
            path = Path(os.path.normpath(folder / target))
            if path.exists() and path.is_relative_to(ROOT):
                return path
        return None

    def _is_of_the_site(self, path: Path) -> bool:
        """Whether Sphinx finds it by itself: in docs/, and linked to from there."""
        name = self.env.docname
        return path.is_relative_to(DOCS) and name not in self.config.included_files.values()

    def _link(self, path: Path, anchor: str, node: Any) -> nodes.Node:
        included = self.config.included_files.get(str(path.relative_to(ROOT)))
        page = included or self.env.path2doc(str(path)) if path.is_file() else None
        if page:
            kept = {"refdoc": self.env.docname, "reftype": "myst", "refexplicit": True}
            link = pending_xref(refdomain="doc", reftarget=page, reftargetid=anchor or None, **kept)
            link += node.children
            return link
        pages_of(self.env).setdefault(self.env.docname, set()).add(path)
        uri = self.app.builder.get_relative_uri(self.env.docname, name_of(path))
        link = nodes.reference("", "", internal=True, refuri=uri)
        link += node.children
        return link


LINKS = (download_reference, pending_xref)


def pages_of(env: BuildEnvironment) -> dict[str, set[Path]]:
    """By page of the site, the files that it links to."""
    if not hasattr(env, "linked_code"):
        env.linked_code = {}  # type: ignore[attr-defined]
    return env.linked_code  # type: ignore[attr-defined, no-any-return]


def name_of(path: Path) -> str:
    return f"{FOLDER}/{path.relative_to(ROOT).as_posix()}"


def forget(_: Sphinx, env: BuildEnvironment, page: str) -> None:
    pages_of(env).pop(page, None)


def code_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every file that is linked to, and what its folder has."""
    paths = set().union(*pages_of(app.env).values())
    for folder in [path for path in paths if path.is_dir()]:
        paths |= set(folder.glob("*.py"))
    for path in sorted(paths):
        name = str(path.relative_to(ROOT))
        body = _listing(app, path) if path.is_dir() else _highlighted(path)
        yield name_of(path), {"title": name, "body": f"<h1>{escape(name)}</h1>{body}"}, "page.html"


def _listing(app: Sphinx, folder: Path) -> str:
    here = name_of(folder)
    links = [
        f'<li><a href="{app.builder.get_relative_uri(here, name_of(path))}">{path.name}</a></li>'
        for path in sorted(folder.glob("*.py"))
    ]
    return f"<ul>{''.join(links)}</ul>"


def _highlighted(path: Path) -> str:
    text = path.read_text()
    try:
        lexer = get_lexer_for_filename(path.name)
    except ClassNotFound:
        return f"<pre>{escape(text)}</pre>"
    return highlight(text, lexer, HtmlFormatter())


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("included_files", {}, "env")
    app.add_transform(CodeLinks)
    app.connect("env-purge-doc", forget)
    app.connect("html-collect-pages", code_pages)
    return {"version": "1", "env_version": 1, "parallel_read_safe": False}
