"""Options that several commands have, and what all of them report."""

import math
import re
from collections.abc import Callable
from typing import Any

import click

from rarefy.model.importance import ENDOWMENTS, UPDATES
from rarefy.model.schedules import SCHEDULES
from rarefy.readers import BAD_LINES, Reader
from rarefy.readers.features.labels import MOST_CLASSES
from rarefy.readers.formats.registry import FORMATS
from rarefy.rules import ALIASES, RULES
from rarefy.rules.penalty_norm import Basis
from rarefy.tuning.space import AUTO, LARGEST_MODEL


class Names(click.ParamType):  # type: ignore[type-arg]
    """Names with commas between them."""

    name = "NAME,..."

    def convert(self, value: Any, param: Any, context: Any) -> tuple[str, ...]:
        return value if isinstance(value, tuple) else tuple(value.split(","))


class NumberOrAuto(click.ParamType):  # type: ignore[type-arg]
    """A number, or what leaves it to be found."""

    name = "NUMBER|auto"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        return value if value == AUTO else click.FLOAT.convert(value, param, context)


class Several(click.ParamType):  # type: ignore[type-arg]
    """Values of one type with commas between them."""

    def __init__(self, of: click.ParamType) -> None:  # type: ignore[type-arg]
        self.of = of
        self.name = f"{of.name},..."

    def convert(self, value: Any, param: Any, context: Any) -> list[Any]:
        parts = value if isinstance(value, list) else value.split(",")
        return [self.of.convert(part, param, context) for part in parts]


UNITS = ("", "k", "M", "G", "T")


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, as in 500MB or 4GB."""

    name = "SIZE"

    def convert(self, value: Any, param: Any, context: Any) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d{1,18}(?:\.\d{1,18})?)\s*([kMGT]?)B?", value)
        if found is None:
            self.fail(f"{value!r}: a size such as 500MB or 4GB is expected.", param, context)
        return int(float(found[1]) * 1000 ** UNITS.index(found[2]))

    @staticmethod
    def written(n_bytes: int) -> str:
        """As a user would write it, rounded up."""
        scale = min((len(str(n_bytes)) - 1) // 3, len(UNITS) - 1)
        return f"{math.ceil(100 * n_bytes / 1000**scale) / 100:g}{UNITS[scale]}B"


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def names_option(*flags: str, help: str) -> Callable[[Any], Any]:
    return click.option(*flags, type=Names(), default=(), help=help)


FILE = click.Path(readable=False)  # not checked, but a shell completes it; may be a glob, or -

format_options = options(
    click.option("--format", type=click.Choice(FORMATS), help="Told from the data."),
    click.option("--bad-lines", type=click.Choice(BAD_LINES), default="stop", show_default=True),
)
data_options = options(
    click.argument("data", nargs=-1, required=True, type=FILE),
    format_options,
)
top_option = click.option(
    "--top",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="How many features to show.",
)
column_options = options(
    click.option("--label", default="label", show_default=True, help="Column of the labels."),
    click.option("--weight", help="Column of the importance of a row."),
    names_option("--text", help="Columns to cut into words and word pairs."),
    names_option("--categorical", help="Columns whose values are names."),
    names_option("--numeric", help="Columns whose values are numbers."),
    names_option("--ignore", help="Columns to pass over."),
    click.option("--delimiter", help="Of CSV; told from the first line."),
    click.option(
        "--header/--no-header", default=True, help="Of CSV; without one, columns are 1, 2."
    ),
    click.option("--quotes/--no-quotes", default=True, help="Whether CSV fields may be quoted."),
    click.option(
        "--cross",
        type=Names(),
        multiple=True,
        metavar="A,B",
        help="Every feature of namespace or column A times every one of B; may be repeated.",
    ),
    names_option("--classes", help="All labels that may come; told from the first rows."),
    click.option(
        "--max-classes",
        type=click.IntRange(2),
        default=MOST_CLASSES,
        show_default=True,
        metavar="N",
        help="More different labels are taken for ids, texts or numbers, and refused.",
    ),
)
rule_options = options(
    click.option(
        "--rule",
        type=click.Choice([*RULES, *ALIASES, AUTO]),
        help="Default: scale-free, or adagrad-fobos for regression. With auto it is found.",
    ),
    click.option("--l1", type=NumberOrAuto(), help="More of it, fewer weights."),
    click.option(
        "--target-features",
        type=click.IntRange(1, LARGEST_MODEL),
        metavar="N",
        help="Find the l1 with which the model keeps no more features.",
    ),
    click.option("--l2", type=float),
    click.option(
        "--q", type=NumberOrAuto(), help="Norm of the feature-aware penalty: 1, 2, inf, ..."
    ),
    click.option("--basis", type=click.Choice([basis.name.lower() for basis in Basis])),
    click.option("--cap", type=float, help="Upper bound of that norm."),
    click.option("--eta0", type=NumberOrAuto(), help="The first step."),
    click.option("--beta", type=float),
    click.option("--schedule", type=click.Choice(list(SCHEDULES))),
    click.option("--truncate-every", type=int),
    click.option("--threshold", type=float),
    click.option("--cumulative", is_flag=True, help="Cumulative penalty (fobos, fr-comid)."),
)
weight_options = options(
    click.option(
        "--importance",
        type=click.Choice(list(UPDATES)),
        default="plain",
        show_default=True,
        help="A weight of 2 as one step twice as long, or as where two steps would lead.",
    ),
    click.option(
        "--endowment",
        type=float,
        default=0.0,
        show_default=True,
        metavar="GAMMA",
        help="Examples that the model has right count 1 + GAMMA times.",
    ),
    click.option(
        "--endowment-by",
        type=click.Choice(list(ENDOWMENTS)),
        default="prediction",
        show_default=True,
    ),
)


def report_bad_lines(reader: Reader) -> None:
    if reader.skip_bad_lines and reader.n_bad_lines:
        shown = "\n  ".join(reader.bad_lines)
        click.echo(f"{reader.n_bad_lines:,} bad lines were skipped, first:\n  {shown}", err=True)
