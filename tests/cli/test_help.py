"""Every option of every command says what it is for, and there is more than one way to start."""

from __future__ import annotations

import re
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


def test_no_command_is_cut_off():
    with click.Context(main, terminal_width=80, **main.context_settings) as context:
        lines = main.get_help(context).partition("Commands:")[2].strip().splitlines()
    assert [line.split()[0] for line in lines] == list(COMMANDS)
    assert [line for line in lines if line.endswith("...")] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_ranges_have_no_end_that_nobody_comes_near(name):
    with click.Context(command(name), **main.context_settings) as context:  # click keeps its -h
        said = command(name).get_help(context)
    assert [number for number in re.findall(r"<=(\d+)", said) if int(number) > 1e9] == []


@pytest.mark.parametrize(
    ("passes", "message"),
    [("0", "0 is not in the range x>=1"), ("9999999999", "too large; at most 2147483648 is")],
)
def test_numbers_out_of_range(passes, message):
    with pytest.raises(click.BadParameter, match=message):
        command("train").make_context("train", ["a.svm", "-o", "a.model", "--passes", passes])


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
