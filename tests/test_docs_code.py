"""Every block of code in the README and the docs runs, and needs public names only."""

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs_files import write_files

ROOT = Path(__file__).parents[1]
EXAMPLES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SLOW = (  # lessons, an export, and what needs a service
    *("spam-filter", "click-model", "hundred-words", "live-service", "onnx", "service", "cluster"),
)
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NO_PROGRAMS = {  # languages of blocks that are not run
    "text": "what commands print, and pictures of characters",
    "bibtex": "for bibliographies",
    "ini": "a unit of systemd",
    "dockerfile": "an image to build",
    "py": "recipes for Dask and Spark, which tests/cluster/test_recipes.py runs; object stores",
}
NOT_RUN = {  # commands that are not run where pages are tested
    "pip": "installs: `make package` does so in a fresh environment",
    "make": "this test is a part of it",
    "ray": "would end what others on this machine have running",
}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and code of all examples."""
    found = BLOCK.findall(page.read_text())
    return [each for each in found if not each[0].startswith("{")]  # directives of Sphinx


def programs(page: Path) -> list[tuple[str, str]]:
    return [each for each in blocks(page) if each[0] not in NO_PROGRAMS]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def params(pages: list[Path], *marks: pytest.MarkDecorator):
    return [pytest.param(page, marks=marks, id=name(page)) for page in pages]


def has(page: Path, *languages: str) -> bool:
    return any(language in languages for language, _ in blocks(page))


@pytest.mark.parametrize("page", params([page for page in EXAMPLES if has(page, "python")]))
def test_python_runs(page, tmp_path, monkeypatch):
    """The quick half; pages with lessons are run as a whole, below."""
    if page.stem in SLOW:
        pytest.skip("run by test_all_blocks_run")
    monkeypatch.chdir(tmp_path)
    run_page([each for each in programs(page) if each[0] == "python"], page)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", params([page for page in EXAMPLES if has(page, "sh", "console") or page.stem in SLOW])
)
def test_all_blocks_run(page, files, tmp_path, monkeypatch):
    """In their order, in a folder with the files that they name."""
    shutil.copytree(files, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if page.stem == "cluster":
        pytest.importorskip("ray", reason="needs rarefy[ray]")
        monkeypatch.setenv("RAY_ADDRESS", "local")  # and no cluster that others have running
    if page.stem != "service":
        run_page(programs(page), page)
        return
    served_module = pytest.importorskip("tests.serving.served", reason="needs rarefy[serve]")
    with served_module.Served(Path("models")) as served:
        run_page(programs(page), page, port=served.port)


def run_page(parts: list[tuple[str, str]], page: Path, port: int = 8080) -> None:
    namespace = {"__name__": f"example_of_{page.stem}"}
    for language, block in parts:
        code = block.replace(":8080", f":{port}")
        if language == "python":
            exec(compile(code, page.name, "exec"), namespace)
        else:
            assert language in ("sh", "console"), f"{page}: {language!r}"
            run_commands(commands_of(code) if language == "console" else code)


def commands_of(session: str) -> str:
    """What a user has typed in a session on a terminal."""
    return "\n".join(re.findall(r"^\$ (.+)$", session, re.MULTILINE))


def run_commands(block: str) -> None:
    """With bash, which stops at the first that fails; the service is running, a cluster is not."""
    left_out = "".join(f"{command}() {{ :; }}\n" for command in NOT_RUN)
    curl = 'curl() { command curl --silent --show-error --fail-with-body "$@"; }\n'
    block = re.sub(r"^rarefy serve .*$|^RAY_ADDRESS=auto ", "", block, flags=re.MULTILINE)
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", left_out + curl + block], check=True)


@pytest.mark.parametrize("page", params([page for page in EXAMPLES if blocks(page)]))
def test_every_block_has_a_language(page):
    known = {"python", "sh", "console", *NO_PROGRAMS}
    assert {language for language, _ in blocks(page)} - known == set()


def test_commands_of_sessions_are_found():
    assert commands_of("$ rarefy inspect a.model\na.model\n$ ls\n") == "rarefy inspect a.model\nls"


PUBLIC = {
    module: set(importlib.import_module(module).__all__)
    for module in ("rarefy", "rarefy.cluster", *(["rarefy.river"] if find_spec("river") else []))
}


def private_names(code: str) -> list[str]:
    """Names of this repository that are imported, or used as members of modules, and not public."""
    used: list[tuple[str, str]] = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            used += [(node.module, each.name) for each in node.names]
        elif isinstance(node, ast.Import):
            used += [(each.name, "") for each in node.names]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in PUBLIC:
            used += [(ast.unparse(node.value), node.attr)]
    return [f"{module} {name}" for module, name in used if is_private(module, name)]


def is_private(module: str, name: str) -> bool:
    if module.split(".", maxsplit=1)[0] not in ("rarefy", "experiments", "benchmarks", "tests"):
        return False
    is_public = module in PUBLIC and (not name or name in PUBLIC[module])
    return not is_public and f"{module}.{name}" not in PUBLIC


@pytest.mark.parametrize("page", params([page for page in EXAMPLES if has(page, "python", "py")]))
def test_examples_need_no_private_name(page):
    code = [block for language, block in blocks(page) if language in ("python", "py")]
    assert [each for block in code for each in private_names(block)] == []


def test_private_names_are_found():
    code = "import rarefy.checks\nfrom rarefy.engine import loop\nrarefy.jit.x\nimport rarefy\n"
    assert private_names(code) == ["rarefy.checks ", "rarefy.engine loop", "rarefy jit"]
    assert private_names("import rarefy.cluster\nrarefy.cluster.train()\nrarefy.sweep(X)") == []
