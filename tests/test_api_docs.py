"""Every public name says what it is, what it takes, gives and raises, with an example."""

import importlib
import inspect
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs_examples import run_examples

API = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
RETURNED = API.with_name("returned.md")
MODULES = ["rarefy", "rarefy.cluster", *(["rarefy.river"] if find_spec("river") else [])]
NAMES = [
    (module, name)
    for module in MODULES
    for name in importlib.import_module(module).__all__
    if name != "__version__"
]
GENERATORS = ("read_piece",)  # which yield, and return nothing
LOOK_AT_NOTHING = ("helper",)  # and so raise nothing
RETURN_NOTHING = ("save", "close")
IN_RIVER = ("learn_one",)  # returns nothing there
TAKE_NOTHING_IN = ("close",)  # ends a connection: there is nothing to show


def thing(module: str, name: str):
    return getattr(importlib.import_module(module), name)


def public_methods() -> list[tuple[str, str, str]]:
    """Those of rarefy's own, of all public classes."""
    found = []
    for module, name in NAMES:
        cls = thing(module, name)
        if not inspect.isclass(cls) or issubclass(cls, Exception):
            continue
        for method in dir(cls):
            function = getattr(cls, method)
            is_ours = (getattr(function, "__module__", None) or "").startswith("rarefy")
            if not method.startswith("_") and callable(function) and is_ours:
                found.append((module, name, method))
    return found


METHODS = public_methods()


def sections(thing) -> set[str]:
    text = inspect.getdoc(thing) or ""
    return set(re.findall(r"^([A-Z][A-Za-z ]+)\n-+$", text, re.MULTILINE))


def wanted(module: str, name: str) -> set[str]:
    found = thing(module, name)
    if inspect.isclass(found):
        more = set() if issubclass(found, Exception) else {"Parameters"}
        more |= {"Attributes"} if name.startswith("SparseOnline") else set()
        return {"See Also", "Examples"} | more
    raises = set() if name in LOOK_AT_NOTHING else {"Raises"}
    given = "Yields" if name in GENERATORS else "Returns"
    return {"Parameters", given, "See Also", "Examples"} | raises


def described_parameters(thing) -> str:
    text = inspect.getdoc(thing).partition("Parameters\n---")[2]
    return " ".join(re.findall(r"^\S.*$", text, re.MULTILINE))  # lines that are not indented


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_public_names_have_all_sections(module, name):
    assert wanted(module, name) - sections(thing(module, name)) == set()


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_parameters_are_all_described(module, name):
    if "Parameters" in wanted(module, name):
        heads = described_parameters(thing(module, name))
        for parameter in inspect.signature(thing(module, name)).parameters:
            assert re.search(rf"\b{parameter}\b", heads), parameter


@pytest.mark.parametrize(("module", "name", "method"), METHODS)
def test_methods_have_all_sections(module, name, method):
    function = getattr(thing(module, name), method)
    expected = {"Raises", "See Also", "Examples"}
    if method in TAKE_NOTHING_IN:
        expected = set()
    taken = set(inspect.signature(function).parameters) - {"self", "cls"}
    if taken:
        expected |= {"Parameters"}
        heads = described_parameters(function)
        assert [each for each in taken if not re.search(rf"\b{each}\b", heads)] == []
    if method not in RETURN_NOTHING and not (module == "rarefy.river" and method in IN_RIVER):
        expected |= {"Returns"}
    assert expected - sections(function) == set()


def is_found_by_pytest(module: str, name: str, method: str) -> bool:
    """Not what `available_if` of scikit-learn wraps: to doctest, that is no function."""
    return inspect.isroutine(
        inspect.unwrap(inspect.getattr_static(thing(module, name), method))
    ) and not hasattr(inspect.getattr_static(thing(module, name), method), "check")


@pytest.mark.parametrize(
    ("module", "name", "method"), [each for each in METHODS if not is_found_by_pytest(*each)]
)
def test_examples_that_pytest_does_not_find(module, name, method):
    assert run_examples(getattr(thing(module, name), method)) > 0


def test_there_are_such_examples():
    missed = {method for each in METHODS if not is_found_by_pytest(*each) for method in each[2:]}
    assert {"partial_fit", "predict_proba", "predict_proba_one"} <= missed


def test_the_page_lists_every_name():
    listed = set(re.findall(r"^   (\w+)$", API.read_text(), re.MULTILINE))
    assert {name for _, name in NAMES} - listed == set()


def test_what_is_returned_is_on_a_page():
    """Every class that a public function says it returns, unless it is public itself."""
    known = {name for _, name in NAMES} | {"dict", "callable", "decorator", "list", "of", "or"}
    page = RETURNED.read_text()
    for module, name in NAMES:
        text = inspect.getdoc(thing(module, name)) or ""
        for returned in re.findall(r"^Returns\n-+\n(\S.*)$", text, re.MULTILINE):
            for word in set(re.findall(r"\w+", returned)) - known:
                assert re.search(rf"\.{word}$", page, re.MULTILINE), (name, word)


@pytest.mark.parametrize("path", re.findall(r"autoclass:: (\S+)", RETURNED.read_text()))
def test_what_is_returned_is_described(path):
    module, _, name = path.rpartition(".")
    assert "Attributes" in sections(getattr(importlib.import_module(module), name))
