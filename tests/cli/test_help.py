"""Every option of every command says what it is for, and there is more than one way to start."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

import rarefy
from rarefy.cli import COMMANDS
from rarefy.cli.group import main


def command(name: str) -> click.Command:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help(name):
    options = [part for part in command(name).params if isinstance(part, click.Option)]
    assert [option.opts for option in options if not (option.help or "").strip()] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_is_in_the_description(name):
    arguments = [part for part in command(name).params if isinstance(part, click.Argument)]
    said = command(name).help or ""
    assert [part.name for part in arguments if part.human_readable_name not in said] == []


def test_python_m():
    done = subprocess.run(
        [sys.executable, "-m", "rarefy", "--version"], capture_output=True, text=True, check=True
    )
    assert rarefy.__version__ in done.stdout


def test_dir_is_what_is_public():
    assert dir(rarefy) == sorted(rarefy.__all__)
    assert all(hasattr(rarefy, name) for name in dir(rarefy))


def test_help_takes_no_machine_code():
    program = """
import sys
from rarefy.cli.group import main
main(["--help"], standalone_mode=False)
sys.exit("llvmlite.binding" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
