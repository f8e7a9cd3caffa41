"""Options that several commands share."""

import math
import re
from collections.abc import Callable
from typing import Any

import click

from rarefy.checks import OUT_OF_REACH
from rarefy.model.class_weights import BALANCED
from rarefy.model.losses import LOSSES
from rarefy.model.numbers_by_name import NAMESPACES
from rarefy.parameters.entry import AUTO
from rarefy.parameters.kinds import (
    Flag,
    GroupsOfFeatures,
    Kind,
    L1OfFeatures,
    Number,
    OneOf,
    WeightsOfClasses,
    Whole,
)
from rarefy.parameters.table import CHOICE, LOSS, RULE, TABLE, WEIGHTING_PARAMETERS
from rarefy.readers import BAD_LINES, Reader
from rarefy.readers.features.grams import ALL
from rarefy.readers.features.labels import MOST_CLASSES
from rarefy.readers.formats.registry import FORMATS
from rarefy.rules import ALIASES, RULES


class Names(click.ParamType):  # type: ignore[type-arg]
    """Names with commas between them."""

    name = "NAME,..."

    def convert(self, value: Any, param: Any, context: Any) -> tuple[str, ...]:
        return value if isinstance(value, tuple) else tuple(value.split(","))


class WholeNumber(click.IntRange):
    """A range whose upper end is shown only if somebody might come near it."""

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        number = click.INT.convert(value, param, context)
        if self.max is not None and number > self.max:
            self.fail(f"{number} is too large; at most {self.max:.0f} is possible.", param, context)
        return super().convert(number, param, context)

    def _describe_range(self) -> str:
        is_out_of_reach = self.max is not None and self.max > OUT_OF_REACH
        return f"x>={self.min}" if is_out_of_reach else super()._describe_range()


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


class WeightsByLabel(click.ParamType):  # type: ignore[type-arg]
    """What classes weigh: spam=5,ham=1, or "balanced"."""

    name = f"LABEL=NUMBER,...|{BALANCED}"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if value == BALANCED or isinstance(value, dict):
            return value
        parts = [part.rpartition("=") for part in value.split(",")]
        if not all(label and is_sign for label, is_sign, _ in parts):
            self.fail(
                f"{value!r}: {BALANCED}, or weights by label, as in spam=5,ham=1, are expected.",
                param,
                context,
            )
        return {label: click.FLOAT.convert(weight, param, context) for label, _, weight in parts}


class StrengthsByName(click.ParamType):  # type: ignore[type-arg]
    """Numbers by name: title=0.1,user*=2."""

    name = "NAME=NUMBER,..."

    def convert(self, value: Any, param: Any, context: Any) -> dict[str, float]:
        if isinstance(value, dict):
            return value
        parts = [part.rpartition("=") for part in value.split(",")]
        if not all(name and is_sign for name, is_sign, _ in parts):
            self.fail(f"{value!r}: numbers by name, as in title=0.1, are expected.", param, context)
        return {name: click.FLOAT.convert(number, param, context) for name, _, number in parts}


class SizesByName(click.ParamType):  # type: ignore[type-arg]
    """A number for all texts and namespaces, numbers by name, or both: 2,title=3."""

    name = "N|NAME=N,..."

    def convert(self, value: Any, param: Any, context: Any) -> dict[str, int]:
        if isinstance(value, dict):
            return value
        parts = [part.rpartition("=") for part in value.split(",")]
        return {name or ALL: click.INT.convert(number, param, context) for name, _, number in parts}


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
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="Format of DATA. Default: inferred from name and content.",
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
top_option = click.option(
    "--top",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Number of features to show.",
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
ignore_option = names_option("--ignore", help="Columns or namespaces to ignore; globs allowed.")
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
        type=SizesByName(),
        help="Longest n-gram of the words of a text or the names of a namespace. [default: 2 in "
        "text columns, 1 in namespaces]",
    ),
    click.option(
        "--skips",
        type=SizesByName(),
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
        help="All class labels; or grow, if new ones may come in any row (train only). Default: "
        "inferred from the first rows.",
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


class Rate(click.ParamType):  # type: ignore[type-arg]
    """A share, as 0.005 or 0.5%."""

    name = "RATE"

    def convert(self, value: Any, param: Any, context: Any) -> float:
        if isinstance(value, float):
            return value
        number = value.removesuffix("%")
        rate: float = click.FLOAT.convert(number, param, context)
        rate = rate / 100.0 if number != value else rate
        if not 0.0 < rate < 1.0:
            self.fail(f"{value}: a share above 0 and below 1, as 0.5%, is expected.")
        return rate


OF_NAMES: dict[type, Any] = {
    WeightsOfClasses: WeightsByLabel(),
    L1OfFeatures: StrengthsByName(),
    GroupsOfFeatures: click.Choice([NAMESPACES]),
}


def click_type(kind: Kind) -> Any:
    """What click makes of the values of a parameter."""
    match kind:
        case Whole():
            return WholeNumber(kind.least, kind.most)
        case OneOf():
            return click.Choice(kind.names)
        case Number() if kind.whole_of:
            return click.INT
        case _:
            return OF_NAMES.get(type(kind), click.FLOAT)


def parameter_option(
    name: str, *, several: bool = False, **attributes: Any
) -> Callable[[Any], Any]:
    """The option by which users give a parameter of the table, or several values of it."""
    entry = TABLE[name]
    flag = f"--{name.replace('_', '-')}"
    if isinstance(entry.kind, Flag):
        flag = f"{flag}/--no-{flag[2:]}" if entry.default else flag
        shown = {"is_flag": True, "default": entry.default}
        return click.option(flag, **shown, help=entry.help, **attributes)
    kind = click_type(entry.kind)
    if several:
        default, kind = None, Several(kind)
    else:
        default, kind = entry.default, NumberOrAuto() if entry.may_be_auto else kind
    shown = {"type": kind, "default": default, "show_default": default is not None}
    return click.option(flag, **{**shown, "help": entry.help or entry.doc, **attributes})


no_intercept_option = click.option("--no-intercept", is_flag=True, help="Do not fit an intercept.")
loss_options = options(
    click.option(
        "--loss",
        type=click.Choice(list(LOSSES)),
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
        click.echo(f"{reader.n_bad_lines:,} bad lines were skipped, first:\n  {shown}", err=True)
