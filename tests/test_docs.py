"""Every link of the README and the docs leads somewhere, and what they list is complete."""

import re
import runpy
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from rarefy.parameters.meaning import parameters_of
from rarefy.rules import ALIASES, FINITE_DATA, RULES
from rarefy.version import __version__

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_the_description_of_the_package_has_absolute_links_only(monkeypatch):
    interface = ModuleType("hatchling.metadata.plugin.interface")  # is there only in builds
    interface.MetadataHookInterface = object
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    description = runpy.run_path(str(ROOT / "hatch_build.py"))["description"]
    readme = (ROOT / "README.md").read_text()
    targets = re.findall(r"\]\(([^)]+)\)", description(readme, "https://a.b"))
    assert len(targets) > 20
    assert all(target.startswith("https://") for target in targets), targets
    assert "https://a.b/how-to/tuning.html" in targets
    assert "https://a.b/_images/paths-truncation.svg" in targets
    plain = description(readme, "")
    assert re.findall(r"\]\([^)]+\)", plain) == []
    assert (
        "A rare feature that is nearly always right" not in plain
    )  # the caption of a picture that is not there
    assert "(tuning)" not in plain  # a link in brackets
    assert "## Where to go next\n\nThe documentation is in the source distribution" in plain
    assert plain.endswith("Licence: Apache-2.0.\n")


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert project["version"] == __version__
    assert f"version: {__version__}\n" in citation
    assert f"## {__version__} (" in (ROOT / "CHANGELOG.md").read_text()


IN_THE_PANEL = {  # what rows of the README's table are called there
    "book reviews, accuracy": "books",
    "SMS spam, accuracy": "sms",
    "Reuters news, 25 classes, accuracy": "reuters",
    "ad clicks (Criteo), AUC": "criteo",
    "breast cancer, raw units, accuracy": "breast cancer",
    "diabetes, raw units, R²": "diabetes",
}


def table_rows(text: str) -> dict[str, list[str]]:
    lines = (line[1:-1].replace("*", "").split("|") for line in text.splitlines())
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in lines if cells[1:]}


def in_hundredths(cell: str) -> str:
    """88.1 % and 0.881 are 88.1; a word stays a word."""
    number = cell.replace("−", "-").removesuffix(" %")
    if not re.fullmatch(r"-?[\d.]+", number):
        return cell
    return f"{float(number) * (1.0 if '%' in cell else 100.0):.1f}"


def test_the_table_of_the_readme_is_that_of_the_panel():
    scores = (ROOT / "docs/results/panel.md").read_text().partition("## Scores")[2]
    panel = table_rows(scores.partition("\n## ")[0])
    columns = [panel[""].index(name) for name in ("rarefy", "SGD", "LR / Ridge", "VW")]
    readme = table_rows((ROOT / "README.md").read_text())
    for row, dataset in IN_THE_PANEL.items():
        expected = [panel[dataset][column].partition(" ±")[0] for column in columns]
        found = [in_hundredths(cell) for cell in readme[row]]
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one == other or abs(float(one) - float(other)) < 0.51, row  # -2.09 and -208.6


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
