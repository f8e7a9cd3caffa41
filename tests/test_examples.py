"""The scripts and notebooks of examples/ run, each in less than a minute of processor time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("notebooks/*.ipynb"))
A_MINUTE = 60.0


def run(program: str, folder: Path) -> None:
    """A program in a process of its own, without a display."""
    before = os.times().children_user
    environment = os.environ | {"MPLBACKEND": "agg"}
    subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, check=True)
    assert os.times().children_user - before < A_MINUTE


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts(script, tmp_path):
    run(script.read_text(), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_notebooks(notebook, tmp_path):
    run(program_of(notebook), tmp_path)


def program_of(notebook: Path) -> str:
    """The code of all cells, in order."""
    cells = json.loads(notebook.read_text())["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def test_there_are_some():
    assert len(SCRIPTS) >= 3
    assert len(NOTEBOOKS) == 3
    assert all("import" in program_of(notebook) for notebook in NOTEBOOKS)
