"""Every Python example of the README and the docs runs, and every link leads somewhere."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rarefy.parameters.meaning import parameters_of
from rarefy.rules import ALIASES, FINITE_DATA, RULES
from rarefy.version import __version__

ROOT = Path(__file__).parents[1]
EXAMPLES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
SLOW = (
    "spam-filter",
    "click-model",
    "hundred-words",
    "live-service",
    "onnx",
)  # lessons, and an export
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and code of all examples."""
    return BLOCK.findall(page.read_text())


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def with_marks(page: Path):
    marks = [pytest.mark.slow] if page.stem in SLOW else []
    return pytest.param(page, marks=marks, id=name(page))


@pytest.mark.parametrize("page", [with_marks(page) for page in EXAMPLES if blocks(page)])
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    namespace = {"__name__": f"example_of_{page.stem}"}
    for language, block in blocks(page):
        if language == "python":
            exec(compile(block, page.name, "exec"), namespace)
        else:
            subprocess.run(["bash", "-e", "-c", block], check=True)


def test_examples_need_no_private_name():
    private = re.compile(r"^ *(?:from|import) (?:rarefy\.(?!river\b)|experiments\b)", re.MULTILINE)
    found = [name(page) for page in EXAMPLES for _, block in blocks(page) if private.search(block)]
    assert found == []


def test_the_description_of_the_package_has_absolute_links_only():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    text = (ROOT / "README.md").read_text()
    for each in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert targets
    assert all(target.startswith("https://") for target in targets), targets


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert project["version"] == __version__
    assert f"version: {__version__}\n" in citation
    assert f"## {__version__} (" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), target


def links(page: Path) -> list[str]:
    """The relative links of a page, pictures included."""
    found = [markdown or html for markdown, html in LINK.findall(without_code(page))]
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page in links."""
    plain = (re.sub(r"[^\w\- ]", "", heading) for heading in HEADING.findall(page.read_text()))
    return {heading.lower().replace(" ", "-") for heading in plain}


def without_code(page: Path) -> str:
    """The page without its code, but with links whose text is code."""
    return CODE.sub("code", page.read_text())


def test_links_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('[a](b.md#c-d) ![p](img/p.svg) `x[0](y)` <img src="q.svg"> [e](https://f.g)\n')
    assert links(page) == ["b.md#c-d", "img/p.svg", "q.svg"]
    page.write_text("# C d\n## `E`: f, g\n")
    assert anchors(page) == {"c-d", "e-f-g"}


def test_design_names_every_layer():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    (contract,) = (one for one in contracts if one.get("containers") == ["rarefy"])
    design = (ROOT / "docs/explanation/design.md").read_text()
    rows = re.findall(r"^\| (`.+?) \|", design, re.MULTILINE)
    layers = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    assert [re.findall(r"\w+", row) for row in rows] == layers


def test_every_decision_is_in_the_index():
    folder = ROOT / "docs/decisions"
    index = (folder / "README.md").read_text()
    for record in sorted(folder.glob("0*.md")):
        number, title = re.match(r"# (\d+)\. (.+)\n", record.read_text()).groups()
        assert f"| {number} | [{title}]({record.name}) |" in index
        assert record.name.startswith(f"{int(number):04}-")


def test_the_table_of_algorithms_has_every_rule():
    """With the parameters that it has, and a file that exists."""
    text = (ROOT / "docs" / "reference" / "algorithms.md").read_text()
    lines = [line.split("|") for line in text.splitlines() if line.startswith("| ")]
    rules = [line for line in lines if len(line) == 8]
    by_name = {name: line for line in rules for name in re.findall(r"`([a-z0-9-]+)`", line[1])}
    for name, cls in {**RULES, **FINITE_DATA}.items():
        parameters = set(re.findall(r"[a-z0-9_]+", by_name[name][2]))
        own = set(parameters_of(cls)) - {"eta0"}
        assert own <= parameters, name
        assert parameters <= own | {"schedule"}, name
        assert str(len(cls.state_fields)) in by_name[name][4] or name in FINITE_DATA, name
    assert set(ALIASES) <= set(by_name)
