"""Who comes from another program is told what to use instead of its options."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rarefy.cli.foreign_options import INSTEAD
from rarefy.cli.group import main

FROM_VW = Path(__file__).parents[2] / "docs" / "how-to" / "coming-from-vw.md"


def flags_of(name: str) -> set[str]:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return {flag for part in command.params for flag in part.opts}


@pytest.mark.parametrize(
    ("line", "option", "advice"),
    [
        ("train -d rows.vw -f m", "-d", "Name files without an option: rarefy train rows.vw"),
        ("train rows.vw -f m", "-f", "Use -o MODEL."),
        ("train rows.vw -o m -q ab", "-q", "Use --cross alpha,beta"),
        ("train rows.vw -o m -q ::", "-q", "'*,*' crosses all"),
        ("train rows.vw -o m --loss_function=logistic", "--loss_function", "Use --loss."),
        ("train rows.vw -o m --power_t 0.5", "--power_t", "Use --eta0 and --schedule"),
        ("train rows.csv -o m --target price", "--target", "Use --label COLUMN."),
        ("train rows.csv -o m --alpha 1", "--alpha", "Use --l1 and --l2."),
        ("train rows.csv -o m --random_state 1", "--random_state", "Use --seed."),
        ("train rows.csv -o m --decision-threshold 1", "--decision-threshold", "Use rarefy thresh"),
        (
            "train rows.csv -o m --early_stopping",
            "--early_stopping",
            "Use --early-stopping with --holdout",
        ),
        ("train rows.csv -o m --regression", "--regression", "Use --loss: squared"),
        ("train rows.csv -o m --test-size 0.2", "--test-size", "Use --holdout SHARE."),
        ("train rows.csv -o m --exclude id", "--exclude", "Use --ignore NAME,..."),
        ("sweep rows.csv -o m --scoring auc", "--scoring", "use --by."),
        ("predict m rows.csv --threshold 1", "--threshold", "Use rarefy threshold MODEL --set"),
        ("predict m rows.csv --text words", "--text", "reads data as in training."),
        ("evaluate m rows.csv --no-header", "--no-header", "reads data as in training."),
        ("predict m rows.csv --label kind", "--label", "labels are not needed."),
        ("predict m -t rows.vw -p out", "-t", "rarefy predict MODEL DATA only predicts; -o FILE"),
    ],
)
def test_advice(line, option, advice):
    result = CliRunner().invoke(main, line.split())
    assert result.exit_code == 2
    assert f"Error: No such option {option!r}. " in result.output
    assert advice in result.output


def test_a_misspelt_option_gets_the_nearest():
    result = CliRunner().invoke(main, ["train", "rows.csv", "--cathegorical", "a"])
    assert "Did you mean --categorical?" in result.output.replace("'", "")  # newer Click quotes


def test_every_option_of_vw_on_the_page_is_known_or_gets_advice():
    cells = re.findall(r"^\| (`.*?) \|", FROM_VW.read_text(), re.MULTILINE)
    options = {word for cell in cells for word in re.findall(r"(?<![\w-])--?[a-z]\w*", cell)}
    assert len(options) > 20
    assert options - flags_of("train") - set(INSTEAD) == set()


def test_advice_names_options_that_exist():
    flags = set().union(
        *map(flags_of, ("train", "sweep", "predict", "export", "inspect", "threshold"))
    )
    named = set(re.findall(r"(?<!\S)--?[a-z]\S*\b", " ".join(INSTEAD.values())))
    assert len(named) > 15
    assert named - flags == set()


def test_a_misspelt_command():
    found = CliRunner().invoke(main, ["trian", "rows.vw"])
    assert found.exit_code == 2
    assert found.stderr.endswith("Error: No such command 'trian'. (is it 'train'?)\n")


@pytest.mark.parametrize(
    ("command", "advice"),
    [("fit", "rarefy train"), ("explain", "rarefy inspect MODEL --why DATA"), ("test", "evaluate")],
)
def test_a_command_of_another_name(command, advice):
    found = CliRunner().invoke(main, [command, "rows.vw"])
    assert found.exit_code == 2
    assert f"No such command '{command}'. Use " in found.stderr
    assert advice in found.stderr


@pytest.mark.parametrize("command", ["train rows.vw -o m", "sweep rows.vw -o m"])
def test_passes_are_a_number(command):
    found = CliRunner().invoke(main, [*command.split(), "--passes", "auto"])
    assert found.exit_code == 2
    assert "only fit in Python chooses it" in found.stderr
