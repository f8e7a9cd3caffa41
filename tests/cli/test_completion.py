"""`rarefy completion`: shells complete commands, options, choices and file names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from rarefy.cli import COMMANDS, main
from rarefy.rules import ALIASES, RULES

VARIABLE = "_RAREFY_COMPLETE"


def completions(line: str) -> list[tuple[str, str]]:
    """Type and value of what the last word, which may be empty, can become."""
    *words, incomplete = line.split(" ")
    completer = BashComplete(main, {}, "rarefy", VARIABLE)
    return [(item.type, item.value) for item in completer.get_completions(words, incomplete)]


def plain(*values: str) -> list[tuple[str, str]]:
    return [("plain", value) for value in values]


def test_commands_options_and_choices():
    assert completions("") == plain(*COMMANDS)
    assert completions("tr") == plain("train")
    assert ("plain", "--capacity") in completions("train x.svm --c")
    rules = [name for name in (*RULES, *ALIASES) if name.startswith("f")]
    assert completions("train x.svm --rule f") == plain(*rules)
    assert completions("completion ") == plain("bash", "zsh", "fish")


@pytest.mark.parametrize(
    "line",
    [
        "train fi",
        "train one.svm fi",
        "train one.svm -o fi",
        "train one.svm --cache fi",
        "predict fi",
        "predict some.model fi",
        "predict some.model one.svm -o fi",
        "inspect fi",
        "inspect some.model --why fi",
        "diff fi",
        "diff some.model fi",
    ],
)
def test_file_names_are_left_to_the_shell(line):
    assert completions(line) == [("file", "fi")]


def test_the_process_answers_its_script():
    env = {**os.environ, VARIABLE: "bash_complete", "COMP_WORDS": "rarefy ins", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "rarefy"], env=env, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("plain,inspect\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell):
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert f"{VARIABLE}={shell}_complete" in result.stdout
    assert "rarefy" in result.stdout
    if shutil.which(shell) is not None:
        done = subprocess.run([shell, "-n"], input=result.stdout, text=True, check=False)
        assert done.returncode == 0


@pytest.mark.parametrize("arguments", [(), ("tcsh",)], ids=["nothing", "another shell"])
def test_wrong_commands(arguments):
    assert CliRunner().invoke(main, ["completion", *arguments]).exit_code == 2
