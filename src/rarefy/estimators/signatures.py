"""Signatures and docstrings of the estimators, from the table of parameters.

scikit-learn, help() and notebooks look at the signature of `__init__`: it has every parameter by
name, as if they had been written out.
"""

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

from rarefy.estimators.method_docs import describe_methods
from rarefy.parameters.entry import AUTO, Parameter, Table
from rarefy.parameters.meaning import rules_with
from rarefy.parameters.table import RULE, SWEPT
from rarefy.parameters.unknown_names import advice
from rarefy.rules import ALIASES, RULES

C = TypeVar("C", bound=type)
LEADING = ("rule", "loss")  # that `__init__` names itself
PARAMETERS = "{parameters}"  # placeholders of docstrings; the second begins a paragraph
NAMES_OF_RULES = "{rules}"
WIDTH = 96
INDENT = "    "


class Parametrised(BaseEstimator):
    """The base of all estimators: they take sparse matrices, and parameters of a table."""

    _table: Table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _store(self, **given: Any) -> None:
        """Store the parameters, with defaults for those that are not given."""
        unknown = [name for name in given if name not in (*LEADING, *self._table)]
        if unknown:
            caller = f"{type(self).__name__}.__init__()"
            raise TypeError(
                f"{caller} got an unexpected keyword argument {unknown[0]!r}"
                f"{advice(unknown[0], self._table)}"
            )
        defaults = {name: entry.default for name, entry in self._table.items()}
        self.__dict__.update({**dict.fromkeys(LEADING), **defaults, **given})


def takes(table: Table) -> Callable[[C], C]:
    """Class decorator: the estimator's parameters are rule, loss, and those of a table."""

    def decorate(cls: C) -> C:
        cls._table = table  # type: ignore[attr-defined]
        init: Any = cls.__init__  # type: ignore[misc]
        written = inspect.signature(init).parameters
        leading = [written[name] for name in ("self", *LEADING)]
        others = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=entry.default)
            for name, entry in table.items()
        ]
        init.__signature__ = inspect.Signature([*leading, *others])
        if cls.__doc__:
            text = _with_rules(inspect.cleandoc(cls.__doc__))
            cls.__doc__ = text.replace(PARAMETERS, documentation(table))
        return describe_methods(cls)

    return decorate


def _with_rules(text: str) -> str:
    """A docstring with the names of all rules, and the paragraph that has them wrapped again."""
    paragraph = re.search(rf".*{NAMES_OF_RULES}.*\n({INDENT}\S.*\n)*", text)
    if paragraph is None:
        return text
    others = {rule: [name for name, of in ALIASES.items() if of == rule] for rule in RULES}
    names = [f"{rule} ({', '.join(same)})" if same else rule for rule, same in others.items()]
    written = " ".join(paragraph[0].split()).replace(NAMES_OF_RULES, ", ".join(names))
    return text.replace(paragraph[0], f"{_wrapped(written)}\n")


def documentation(table: Table) -> str:
    """What a docstring says of parameters, in numpydoc's form."""
    several = [name for name in table if name in SWEPT and table[name] is SWEPT[name]]
    parts = [_documented(name, entry) for name, entry in table.items() if name not in several]
    about = _wrapped("All combinations are tried. None stands for the default.")
    names = textwrap.wrap(", ".join(several), WIDTH - 30)  # numpydoc takes them line by line
    shared = [f"{some.rstrip(',')} : a value, or a list of values\n{about}" for some in names]
    return "\n".join(shared + parts)


def _documented(name: str, entry: Parameter) -> str:
    kind = entry.kind.described + (f' or "{AUTO}"' if entry.may_be_auto else "")
    default = "" if entry.default is None else f", default={_shown(entry.default)}"
    usual = f"Default: {entry.usual}." if entry.usual else ""
    about = " ".join(filter(None, (entry.doc, _rules_having(name), usual)))
    return f"{name} : {kind}{default}\n{_wrapped(about)}"


def _rules_having(name: str) -> str:
    """Which rules have a parameter, or which do not, whatever is shorter."""
    if name not in RULE:
        return ""
    having = rules_with(name)
    others = [rule for rule in RULES if rule not in having]
    if len(having) <= len(others):
        return f"For the rules {', '.join(having)}."
    return f"Not for the rules {', '.join(others)}." if others else ""


def _shown(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else str(default)


def _wrapped(text: str) -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT, break_on_hyphens=False
    )
