"""Which columns and namespaces are crossed: globs, and names that match nothing."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product

from rarefy.checks import nearest
from rarefy.errors import ConfigError, InputError, RarefyWarning
from rarefy.hashing import hash_text
from rarefy.readers.batch import Batch
from rarefy.readers.features.columns import listed_columns
from rarefy.readers.features.crosses import ANY_NAME, each_once

Cross = tuple[str, ...]
NOT_FEATURES = ("label", "weight", "ignore")


def check_not_ignored(crosses: Iterable[Cross], ignored: Sequence[str]) -> None:
    """Refuse crosses of what is not to be read."""
    for cross in crosses:
        for name in cross:
            if name != ANY_NAME and name in ignored:
                raise ConfigError(
                    f"cross={','.join(cross)!r} (--cross): {name!r} is ignored (--ignore), so it "
                    f"has no features to cross; leave out one of the two."
                )


def crosses_of_columns(
    file: str, crosses: Iterable[Cross], roles: Mapping[str, str], *, all_known: bool
) -> tuple[Cross, ...]:
    """The crosses with every glob replaced by the columns that it matches.

    A name of no column is refused, if all columns are known.
    """
    features = [name for name, role in roles.items() if role not in NOT_FEATURES]
    found: list[Cross] = []
    for cross in crosses:
        for name in cross:
            if all_known and name != ANY_NAME and not _matches(name, features):
                raise _names_nothing(file, cross, name, features)
        found += product(*(_matches(name, features) or [name] for name in cross))
    return each_once(found)


def _matches(name: str, features: list[str]) -> list[str]:
    if name == ANY_NAME or name in features:
        return [name]
    return [feature for feature in features if fnmatchcase(feature, name)]


def _names_nothing(file: str, cross: Cross, name: str, features: list[str]) -> InputError:
    return InputError(
        f"{file}: cross={','.join(cross)!r} (--cross) names no features: there is no column "
        f"{name!r}{nearest(name, features)}; columns with features are {listed_columns(features)}."
    )


def check_first_features(
    batch: Batch,
    options: Iterable[tuple[str, Cross]],
    *,
    is_all: bool,
    namespaces: Callable[[], list[str]] | None = None,
) -> None:
    """Refuse names of which the rows have nothing; only warn if there are more rows."""
    for option, names in options:
        for name in names:
            if name == ANY_NAME or hash_text(name) in batch.groups or len(batch.labels) == 0:
                continue
            there = [] if namespaces is None else namespaces()
            there_are = f"; the namespaces are {listed_columns(there)}" if there else ""
            text = (
                f"{batch.path}: {option}={','.join(names)!r} (--{option}): there is no feature of "
                f"{name!r}{nearest(name, there)} in the first {len(batch.labels):,} rows"
                f"{there_are}.{_about_globs(name)}"
            )
            if is_all:
                raise InputError(text)
            warnings.warn(text, RarefyWarning, stacklevel=2)


def _about_globs(name: str) -> str:
    if not any(sign in name for sign in "*?["):
        return ""
    return " Globs are for columns only: write the names of namespaces in full."
