"""Options that several commands share."""

from collections.abc import Callable
from typing import Any

import click

from rarefy.cli.option_types import (
    FILE,
    SIZES_BY_NAME,
    Name,
    Names,
    NumberOrAuto,
    Several,
    SweptNumber,
    WholeNumber,
    click_type,
)
from rarefy.model.losses import LOSSES
from rarefy.parameters.entry import AUTO, LARGEST_SEED
from rarefy.parameters.kinds import Flag
from rarefy.parameters.table import CHOICE, LOSS, RULE, TABLE, WEIGHTING_PARAMETERS
from rarefy.readers import BAD_LINES, Reader
from rarefy.readers.features.labels import MOST_CLASSES
from rarefy.readers.formats.registry import FORMATS
from rarefy.rules import ALIASES, RULES


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def names_option(*flags: str, help: str) -> Callable[[Any], Any]:
    return click.option(*flags, type=Names(), default=(), help=help)


format_options = options(
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="Format of DATA; csv is for TSV, too. Default: inferred from name and content.",
    ),
    click.option(
        "--bad-lines",
        type=click.Choice(BAD_LINES),
        default="stop",
        show_default=True,
        help="Stop at a line that cannot be parsed, or skip and count such lines.",
    ),
)
data_options = options(
    click.argument("data", nargs=-1, required=True, type=FILE),
    format_options,
)


def top_option(help: str) -> Callable[[Any], Any]:
    return click.option("--top", type=click.IntRange(0), default=20, show_default=True, help=help)


json_option = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object instead of tables."
)
seed_option = click.option(
    "--seed",
    "random_state",
    type=WholeNumber(0, LARGEST_SEED),
    metavar="N",
    help="Seed of the random order.  [default: 0]",
)
weight_option = click.option("--weight", help="Column with the sample weight.")
delimiter_option = click.option(
    "--delimiter", help="CSV delimiter. Default: inferred from the first line."
)
quotes_option = click.option(
    "--quotes/--no-quotes",
    default=None,
    help="Whether CSV fields may be quoted.  [default: quotes]",
)
ignore_option = names_option("--ignore", help="Columns (globs allowed) or namespaces to ignore.")
# What may differ in data that a model reads as it has learned to.
new_data_options = options(ignore_option, delimiter_option, quotes_option)
labelled_data_options = options(
    click.option("--label", help="Column with the labels. [default: as in training]"),
    weight_option,
    new_data_options,
)
column_options = options(
    click.option("--label", help="Column with the labels. [default: label]"),
    weight_option,
    names_option("--text", help="Columns to split into words and n-grams; globs allowed: 'T*'."),
    names_option("--categorical", help="Columns whose values are categories; globs allowed: 'C*'."),
    names_option("--numeric", help="Columns whose values are numbers; globs allowed."),
    ignore_option,
    click.option(
        "--ngram",
        type=SIZES_BY_NAME,
        help="Longest n-gram of the words of a text or the names of a namespace. [default: 2 in "
        "text columns, 1 in namespaces]",
    ),
    click.option(
        "--skips",
        type=SIZES_BY_NAME,
        help="How many words may be skipped within an n-gram. [default: 0]",
    ),
    delimiter_option,
    click.option(
        "--header/--no-header",
        default=True,
        help="Whether CSV has a header; if not, columns are named 1, 2, ...",
    ),
    quotes_option,
    click.option(
        "--cross",
        type=Names(),
        multiple=True,
        metavar="A,B[,C]",
        help="Add products of each feature of namespace or column A with each of B (and C). '*' "
        "stands for all features; globs are allowed in formats with columns; the option can be "
        "repeated.",
    ),
    names_option(
        "--classes",
        help="All class labels; or the word grow, to accept new classes in any row (train only). "
        "Default: inferred from the first rows.",
    ),
    click.option(
        "--max-classes",
        type=click.IntRange(2),
        metavar="N",
        help="Reject labels with more classes, as they are probably ids, texts or numbers.  "
        "[default: "
        f"{MOST_CLASSES}, fewer for numbers that do not look like classes]",
    ),
)


def parameter_option(
    name: str, *, several: bool = False, **attributes: Any
) -> Callable[[Any], Any]:
    """The option by which users give a parameter of the table, or several values of it."""
    entry = TABLE[name]
    flag = f"--{name.replace('_', '-')}"
    if isinstance(entry.kind, Flag):
        flag = f"{flag}/--no-{flag[2:]}" if entry.default else flag
        shown = {"is_flag": True, "default": entry.default, "show_default": bool(entry.default)}
        return click.option(flag, **shown, help=entry.help, **attributes)
    kind = click_type(entry.kind)
    if several:
        default, kind = None, Several(SweptNumber() if entry.may_be_auto else kind)
    else:
        default, kind = entry.default, NumberOrAuto() if entry.may_be_auto else kind
    shown = {"type": kind, "default": default, "show_default": default is not None}
    return click.option(flag, **{**shown, "help": entry.help or entry.doc, **attributes})


no_intercept_option = click.option("--no-intercept", is_flag=True, help="Do not fit an intercept.")
loss_options = options(
    click.option(
        "--loss",
        type=Name(list(LOSSES)),
        default="logistic",
        show_default=True,
        help="Loss function; the last four are for regression.",
    ),
    *(parameter_option(name, default=None) for name in LOSS),
    parameter_option("multiclass"),
)
one_rule_options = options(
    click.option(
        "--rule",
        type=click.Choice([*RULES, *ALIASES, AUTO]),
        help="Update rule. Default: scale-free. With auto, rule and parameters are tuned.",
    ),
    *map(parameter_option, RULE),
)
rule_options = options(
    one_rule_options,
    parameter_option("l1_of"),
    parameter_option("groups"),
    parameter_option("target_features", metavar="N"),
    click.option(
        "--by",
        "scoring",
        type=click_type(TABLE["scoring"].kind),
        help=TABLE["scoring"].help,
    ),
)
grid_options = options(
    click.option(
        "--rule",
        type=Several(click.Choice([*RULES, *ALIASES])),
        metavar="RULE,...",
        help=f"{', '.join([*RULES, *ALIASES])}. Default: scale-free.",
    ),
    click.option(
        "--n-l1",
        type=click_type(CHOICE["n_l1"].kind),
        default=CHOICE["n_l1"].default,
        show_default=True,
        help=CHOICE["n_l1"].help,
    ),
    *(parameter_option(name, several=True) for name in RULE),
)
class_weight_option = parameter_option("class_weight")
weight_options = options(
    class_weight_option,
    *map(parameter_option, WEIGHTING_PARAMETERS),
    parameter_option("calibrate"),
)


def report_bad_lines(reader: Reader) -> None:
    if reader.skip_bad_lines and reader.n_bad_lines:
        shown = "\n  ".join(reader.bad_lines)
        n = reader.n_bad_lines
        lines = "bad line was skipped" if n == 1 else "bad lines were skipped, first"
        click.echo(f"{n:,} {lines}:\n  {shown}", err=True)
