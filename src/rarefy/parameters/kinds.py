"""Kinds of parameter values; each checks a value, and says what it accepts."""

import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rarefy.checks import check_flag, check_whole, choose
from rarefy.errors import ConfigError
from rarefy.model.class_weights import BALANCED, ClassWeight
from rarefy.model.numbers_by_name import NAMESPACES, GivenGroups, GivenL1
from rarefy.model.scoring import check_scoring


class Number(NamedTuple):
    """A number from `least` on, or greater than it; `whole_of` names what it is a number of.

    Where there is no least number, any finite one will do.
    """

    least: float = 0.0
    may_be_least: bool = True
    may_be_infinite: bool = False
    whole_of: str = ""

    @property
    def described(self) -> str:
        if self.least == -math.inf:
            return "float"
        sign = ">=" if self.may_be_least else ">"
        kind = "int" if self.whole_of else "float"
        return f"{kind} {sign} {self.least:g}{' or inf' if self.may_be_infinite else ''}"

    def check(self, name: str, value: Any) -> float:
        accepted = f"a number {'>=' if self.may_be_least else '>'} {self.least:g}"
        accepted += " or infinity" if self.may_be_infinite else ""
        accepted = "a finite number" if self.least == -math.inf else accepted
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ConfigError(f"{name}={value!r}: {accepted} is expected.")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        in_range = number >= self.least if self.may_be_least else number > self.least
        if not in_range or (math.isinf(number) and not self.may_be_infinite):
            raise ConfigError(f"{name}={value!r}: {accepted} is expected.")
        if self.whole_of and number % 1.0:
            raise ConfigError(f"{name}={value!r}: a whole number of {self.whole_of} is expected.")
        return number


class Share(NamedTuple):
    """A number between 0 and 1, and neither of them."""

    @property
    def described(self) -> str:
        return "float in (0, 1)"

    def check(self, name: str, value: Any) -> float:
        if not isinstance(value, numbers.Real) or not 0.0 < value < 1.0:  # type: ignore[operator]
            raise ConfigError(f"{name}={value!r}: a number between 0 and 1 is expected.")
        return float(value)


class Whole(NamedTuple):
    """A whole number in a range."""

    least: int
    most: int

    @property
    def described(self) -> str:
        return "int"

    def check(self, name: str, value: Any) -> int:
        check_whole(name, value, self.least, self.most)
        return int(value)


class Flag(NamedTuple):
    """True or False."""

    @property
    def described(self) -> str:
        return "bool"

    def check(self, name: str, value: Any) -> bool:
        check_flag(name, value)
        return bool(value)


class Verbosity(NamedTuple):
    """True or False, or a level, as in scikit-learn: 0 prints nothing."""

    @property
    def described(self) -> str:
        return "bool or int"

    def check(self, name: str, value: Any) -> bool:
        if not (isinstance(value, numbers.Integral) and int(value) >= 0):
            check_flag(name, value)
        return bool(value)


class OneOf(NamedTuple):
    """One of some names; a single one is the alternative to None."""

    names: tuple[str, ...]

    @property
    def described(self) -> str:
        return "{" + ", ".join(f'"{name}"' for name in self.names) + "}"

    def check(self, name: str, value: Any) -> str:
        is_one = isinstance(value, str) and value in self.names
        if not is_one and len(self.names) == 1:
            raise ConfigError(f"{name}={value!r}: None or {self.names[0]!r} is expected.")
        choose(name, value, dict.fromkeys(self.names))
        return str(value)


class MeasureOrFunction(NamedTuple):
    """One of some names of measures, or a function of labels and scores."""

    names: tuple[str, ...]

    @property
    def described(self) -> str:
        return "{" + ", ".join(f'"{name}"' for name in self.names) + "} or function"

    def check(self, name: str, value: Any) -> Any:
        return check_scoring(value, self.names)


class WeightsOfClasses(NamedTuple):
    """ "balanced", or weights by the labels of classes, which become pairs of name and weight."""

    @property
    def described(self) -> str:
        return 'dict or "balanced"'

    def check(self, name: str, value: Any) -> ClassWeight:
        if isinstance(value, str) and value == BALANCED:
            return BALANCED
        if not isinstance(value, Mapping) or not value:
            raise ConfigError(
                f"{name}={value!r}: {BALANCED!r}, or weights by label, as in {{'spam': 5}}, are "
                f"expected."
            )
        positive = Number(may_be_least=False)
        return tuple(
            (str(label), positive.check(f"{name}[{label!r}]", weight))
            for label, weight in value.items()
        )


class L1OfFeatures(NamedTuple):
    """Strengths of the L1 penalty by name, which become pairs of name and strength."""

    @property
    def described(self) -> str:
        return "dict of str to float"

    def check(self, name: str, value: Any) -> GivenL1:
        if not isinstance(value, Mapping) or not value:
            raise ConfigError(
                f"{name}={value!r}: values of l1 by the names of namespaces or columns, as in "
                f"{{'title': 0.1}}, are expected."
            )
        return tuple((str(of), Number().check(f"{name}[{of!r}]", l1)) for of, l1 in value.items())


class GroupsOfFeatures(NamedTuple):
    """ "namespaces", or columns by the name of their group, which become pairs of both."""

    @property
    def described(self) -> str:
        return 'dict of str to list, or "namespaces"'

    def check(self, name: str, value: Any) -> GivenGroups:
        if isinstance(value, str) and value == NAMESPACES:
            return NAMESPACES
        if not isinstance(value, Mapping) or not value:
            raise ConfigError(
                f"{name}={value!r}: {NAMESPACES!r}, or columns by the name of their group, as in "
                f"{{'size': ['width', 'height']}}, are expected."
            )
        for of, columns in value.items():
            if isinstance(columns, str) or not isinstance(columns, Iterable):
                raise ConfigError(f"{name}[{of!r}]={columns!r}: a list of columns is expected.")
        return tuple((str(of), tuple(map(str, columns))) for of, columns in value.items())


class Other(NamedTuple):
    """What is checked elsewhere."""

    described: str

    def check(self, name: str, value: Any) -> Any:
        return value


Kind = (
    Number
    | Share
    | Whole
    | Flag
    | Verbosity
    | OneOf
    | MeasureOrFunction
    | WeightsOfClasses
    | L1OfFeatures
    | GroupsOfFeatures
    | Other
)
