"""An entry of the table of parameters."""

from typing import Any, Literal, NamedTuple

from rarefy.errors import ConfigError
from rarefy.parameters.kinds import Kind

AUTO = "auto"  # for what is to be found while learning
Auto = Literal["auto"]
MOST_PASSES = 1 << 31
MOST_FEATURES = 1 << 62  # of a model
LARGEST_SEED = (1 << 32) - 1


class Parameter(NamedTuple):
    """An entry of the table.

    A default of None stands for what `usual` describes. `doc` is for docstrings, and
    for commands where they have no shorter `help`. `absent` says why some rules do not have it.
    """

    kind: Kind
    doc: str
    default: Any = None
    usual: str = ""
    help: str = ""
    absent: str = ""
    may_be_auto: bool = False
    in_grids: bool = True

    def check(self, name: str, value: Any) -> Any:
        """The value as what it is to be, if it is accepted."""
        is_default = value is None and self.default is None
        if is_default or (self.may_be_auto and isinstance(value, str) and value == AUTO):
            return value
        try:
            return self.kind.check(name, value)
        except ConfigError as error:
            if not self.may_be_auto:
                raise
            raise ConfigError(f"{str(error).removesuffix('.')}, or {AUTO!r}.") from error


Table = dict[str, Parameter]


def entries(typed: Any) -> Table:
    """The entries that a TypedDict has as annotations."""
    return {name: hint.__metadata__[0] for name, hint in typed.__annotations__.items()}
