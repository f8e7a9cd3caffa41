"""The files of the page: all that they name is there, and nothing comes from elsewhere."""

import re

import pytest

from rarefy.serving.page import FILES, FOLDER, page_file
from rarefy.serving.refusals import NotFoundError

NAMED = re.compile(r"""(?:from "\./|href="page/|src="page/|href="/page/|src="/page/)([\w.]+)\"""")
SINKS = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "srcdoc")
NAMESPACE = "http://www.w3.org/2000/svg"


@pytest.mark.parametrize("name", sorted(FILES))
def test_nothing_comes_from_elsewhere(name: str) -> None:
    text = (FOLDER / name).read_text().replace(NAMESPACE, "")
    assert not re.search(r"https?:|(?:src|href)=\"//|@import|url\(", text)
    assert not [sink for sink in SINKS if sink in text]
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", text)  # the policy
    assert set(NAMED.findall(text)) <= FILES


def test_every_file_is_used() -> None:
    used = {found for name in FILES for found in NAMED.findall((FOLDER / name).read_text())}
    assert used | {"index.html", "docs.html"} == FILES


@pytest.mark.parametrize("name", ["../app.py", "__init__.py", "", "/etc/passwd", "page.css/"])
def test_no_other_file_is_reached(name: str) -> None:
    with pytest.raises(NotFoundError):
        page_file(name)


def test_every_element_that_is_asked_for_exists() -> None:
    ids = set(re.findall(r'\bid="([\w-]+)"', (FOLDER / "index.html").read_text()))
    asked = {
        id for path in FOLDER.glob("*.js") for id in re.findall(r'by\("([\w-]+)"', path.read_text())
    }
    assert asked <= ids
