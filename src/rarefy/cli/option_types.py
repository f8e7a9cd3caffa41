"""What options take: names, numbers by name, sizes and rates, as users write them."""

import math
import re
from typing import Any

import click

from rarefy.checks import OUT_OF_REACH
from rarefy.model.class_weights import BALANCED
from rarefy.model.numbers_by_name import NAMESPACES
from rarefy.parameters.entry import AUTO, MOST_PASSES
from rarefy.parameters.kinds import (
    GroupsOfFeatures,
    Kind,
    L1OfFeatures,
    MeasureOrFunction,
    Number,
    OneOf,
    WeightsOfClasses,
    Whole,
)
from rarefy.readers.features.grams import ALL

FILE = click.Path(readable=False)  # not checked, but a shell completes it; may be a glob, or -


class Names(click.ParamType):  # type: ignore[type-arg]
    """Names with commas between them."""

    name = "NAME,..."

    def convert(self, value: Any, param: Any, context: Any) -> tuple[str, ...]:
        return value if isinstance(value, tuple) else tuple(value.split(","))


class Name(click.Choice[str]):
    """One of some names, in which - and _ are the same."""

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        meant = {name.replace("-", "_"): name for name in self.choices}
        return super().convert(meant.get(value.replace("-", "_"), value), param, context)


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


class Passes(WholeNumber):
    """A number of passes; who asks for "auto", as `fit` has it, is told what there is instead."""

    def __init__(self) -> None:
        super().__init__(1, MOST_PASSES)

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if value == AUTO:
            text = "only fit in Python chooses it, as it has all rows in memory. Give a number; "
            self.fail(
                text + "rarefy train --holdout 0.1 --early-stopping stops before it where "
                "no more is gained.",
                param,
                context,
            )
        return super().convert(value, param, context)


class NumberOrAuto(click.ParamType):  # type: ignore[type-arg]
    """A number, or what leaves it to be found."""

    name = "NUMBER|auto"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        return value if value == AUTO else click.FLOAT.convert(value, param, context)


class SweptNumber(click.ParamType):  # type: ignore[type-arg]
    """A number of a grid; who asks for one to be found while learning is told what to do."""

    name = click.FLOAT.name

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if value == AUTO:
            advice = "a sweep tries the values that you list, with commas."
            if param is not None and param.name == "l1":
                advice = "a sweep tries values itself: leave --l1 out."
            self.fail(advice, param, context)
        return click.FLOAT.convert(value, param, context)


class Several(click.ParamType):  # type: ignore[type-arg]
    """Values of one type with commas between them."""

    def __init__(self, of: click.ParamType) -> None:  # type: ignore[type-arg]
        self.of = of
        self.name = f"{of.name},..."

    def convert(self, value: Any, param: Any, context: Any) -> list[Any]:
        parts = value if isinstance(value, list) else value.split(",")
        return [self.of.convert(part, param, context) for part in parts]


class NumbersByName(click.ParamType):  # type: ignore[type-arg]
    """Numbers by name: title=0.1,user*=2."""

    def __init__(
        self,
        name: str,
        expected: str = "",
        *,
        of: click.ParamType = click.FLOAT,  # type: ignore[type-arg]
        instead: str | None = None,
        unnamed: str | None = None,
    ) -> None:
        self.name = name
        self._expected = expected  # in words
        self._of = of
        self._instead = instead  # a word that may be given for all of them
        self._unnamed = unnamed  # the name of a number that is given without one

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if value == self._instead or isinstance(value, dict):
            return value
        parts = [part.rpartition("=") for part in value.split(",")]
        if self._unnamed is None and not all(name and is_sign for name, is_sign, _ in parts):
            self.fail(f"{value!r}: {self._expected} are expected.", param, context)
        return {
            name or self._unnamed: self._of.convert(number, param, context)
            for name, _, number in parts
        }


UNITS = ("", "k", "M", "G", "T")


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, as in 500MB or 4GB."""

    name = "SIZE"

    def convert(self, value: Any, param: Any, context: Any) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d{1,18}(?:\.\d{1,18})?)\s*([kMGT]?)B?", value, re.IGNORECASE)
        if found is None:
            self.fail(f"{value!r}: a size such as 500MB or 4GB is expected.", param, context)
        unit = found[2] if found[2] in UNITS else found[2].swapcase()  # KB, mb
        return int(float(found[1]) * 1000 ** UNITS.index(unit))

    @staticmethod
    def written(n_bytes: int) -> str:
        """As a user would write it, rounded up."""
        scale = min((len(str(n_bytes)) - 1) // 3, len(UNITS) - 1)
        return f"{math.ceil(100 * n_bytes / 1000**scale) / 100:g}{UNITS[scale]}B"


class Rate(click.ParamType):  # type: ignore[type-arg]
    """A share, as 0.005 or 0.5%."""

    name = "RATE"

    def __init__(self, *, may_be_any: bool = False) -> None:
        self.may_be_any = may_be_any  # 0 and 1, too

    def convert(self, value: Any, param: Any, context: Any) -> float:
        if isinstance(value, float):
            return value
        number = value.removesuffix("%")
        rate: float = click.FLOAT.convert(number, param, context)
        rate = rate / 100.0 if number != value else rate
        if self.may_be_any and not 0.0 <= rate <= 1.0:
            self.fail(f"{value}: a share from 0 to 1, as 0.005 or 0.5%, is expected.")
        if not self.may_be_any and not 0.0 < rate < 1.0:
            self.fail(f"{value}: a share above 0 and below 1, as 0.5%, is expected.")
        return rate


SIZES_BY_NAME = NumbersByName("N|NAME=N,...", of=click.INT, unnamed=ALL)  # 2,title=3
OF_NAMES: dict[type, Any] = {
    WeightsOfClasses: NumbersByName(
        f"LABEL=NUMBER,...|{BALANCED}",
        f"{BALANCED}, or weights by label, as in spam=5,ham=1,",
        instead=BALANCED,
    ),
    L1OfFeatures: NumbersByName("NAME=NUMBER,...", "numbers by name, as in title=0.1,"),
    GroupsOfFeatures: click.Choice([NAMESPACES]),
}


def click_type(kind: Kind) -> Any:
    """What click makes of the values of a parameter."""
    match kind:
        case Whole():
            return WholeNumber(kind.least, kind.most)
        case OneOf() | MeasureOrFunction():
            return Name(kind.names)
        case Number() if kind.whole_of:
            return click.INT
        case _:
            return OF_NAMES.get(type(kind), click.FLOAT)
