"""The table of parameters, and what follows from it."""

import copy
import inspect
import pickle
import tokenize
from pathlib import Path
from typing import get_args, get_type_hints

import click
import numpy as np
import pytest
from sklearn.base import clone

import rarefy
from rarefy import (
    ConfigError,
    SparseOnlineClassifier,
    SparseOnlineClassifierCV,
    SparseOnlineRegressor,
    SparseOnlineRegressorCV,
)
from rarefy.cli.commands.sweep import sweep as sweep_command
from rarefy.cli.commands.train import train as train_command
from rarefy.model.losses import LOSSES
from rarefy.parameters.build import make_rule
from rarefy.parameters.kinds import Flag, Number, OneOf, Share, Whole
from rarefy.parameters.meaning import parameters_of, rules_with
from rarefy.parameters.table import (
    CLASSIFIER,
    LOSS,
    RULE,
    SWEPT,
    TABLE,
    ClassifierCVParameters,
    ClassifierParameters,
    RegressorCVParameters,
    RegressorParameters,
)
from rarefy.parameters.unknown_names import advice
from rarefy.rules import AWARE, RULES

SOURCE = Path(rarefy.__file__).parent
ESTIMATORS = {
    SparseOnlineClassifier: ClassifierParameters,
    SparseOnlineRegressor: RegressorParameters,
    SparseOnlineClassifierCV: ClassifierCVParameters,
    SparseOnlineRegressorCV: RegressorCVParameters,
}
OF_TABLE = {f"parameters/of_{name}.py" for name in ("rules", "models", "fitting", "sweeps")}
# Where a parameter of a rule has to be known by name, beside the table and the rules.
OF_INTENSITY = {"parameters/build.py"}
KNOWN_BY_NAME = {
    "beta": {"tuning/space.py"},  # which tries two values of it
    "truncate_every": set(),
    # a command of that name, the threshold of decisions, and that of a test for drift
    "threshold": {
        *("cli/__init__.py", "cli/commands/threshold.py", "cli/foreign_options.py"),
        *("updating/choice.py", "updating/slices.py", "model/page_hinkley.py"),
        *("estimators/watching.py", "analysis/hysteresis.py"),
    },
    "cap": OF_INTENSITY,
    "basis": {*OF_INTENSITY, "parameters/describe.py", "sweeping/grid.py", "engine/refit.py"},
}
NEVER_BY_NAME = (
    *("estimators/classifier.py", "estimators/regressor.py", "estimators/cv.py"),
    *("estimators/signatures.py", "cli/options.py", "cli/commands/train.py"),
    *("cli/commands/sweep.py", "files/model_file.py"),
)


def words_of(path: Path) -> set[str]:
    """Names and short texts in a file, options as the parameters that they are."""
    with path.open() as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    texts = {token.string.strip("\"'") for token in tokens if token.type == tokenize.STRING}
    names = {token.string for token in tokens if token.type == tokenize.NAME}
    return names | {text.removeprefix("--").replace("-", "_") for text in texts}


@pytest.fixture(scope="module")
def words() -> dict[str, set[str]]:
    return {str(path.relative_to(SOURCE)): words_of(path) for path in SOURCE.rglob("*.py")}


def files_with(words: dict[str, set[str]], name: str) -> set[str]:
    """The files with a name that are neither the table nor a rule's."""
    files = {file for file, found in words.items() if name in found}
    return {file for file in files if not file.startswith("rules/")} - OF_TABLE


@pytest.mark.parametrize("name", KNOWN_BY_NAME)
def test_a_parameter_of_a_rule_stands_in_the_rule_and_the_table(words, name):
    assert files_with(words, name) <= KNOWN_BY_NAME[name]


@pytest.mark.parametrize("name", [name for name in RULE if name != "schedule"])
def test_no_list_of_parameters_is_written_out(words, name):
    assert not files_with(words, name) & set(NEVER_BY_NAME)


def test_every_field_of_a_rule_is_in_the_table():
    fields = {name for kind in RULES.values() for name in parameters_of(kind)}
    assert fields <= RULE.keys()
    others = {"schedule", "cumulative", "projection", "average", "average_power"}
    assert RULE.keys() - fields == others
    assert {name for kind in LOSSES.values() for name in kind._fields} == LOSS.keys()


NORMALIZED = ["normalized", "normalized-adagrad"]
ADAGRAD = ["adagrad-fobos", "adagrad-rda", "adagrad-ftprl"]


def test_rules_with_a_parameter():
    assert rules_with("truncate_every") == ["truncated-gradient", "rounding"]
    assert rules_with("q") == ["fr-comid", "frda", "ftpfrl", *ADAGRAD, *NORMALIZED]
    assert rules_with("cumulative") == ["fobos", "fr-comid"]
    assert rules_with("eta0") == [name for name, kind in RULES.items() if not kind.by_margin]


@pytest.mark.parametrize("name", ADAGRAD)
def test_adagrad_is_feature_aware_if_a_norm_is_described(name):
    plain, aware = RULES[name], AWARE[RULES[name]]
    assert make_rule(name)[0] == plain()
    for given in ({"q": np.inf}, {"basis": "gradient"}, {"cap": 1e6}):
        assert make_rule(name, **given)[0] == aware()


@pytest.mark.parametrize("name", TABLE)
def test_static_types_are_those_of_the_kind(name):
    hints = get_type_hints(ClassifierParameters) | get_type_hints(RegressorParameters)
    kinds = {Number: "float", Share: "float", Whole: "int", Flag: "bool", OneOf: "str"}
    expected = {"float": "~N", "str": "~S", "bool": "~B"}
    kind = kinds.get(type(TABLE[name].kind))
    if kind is None or name == "n_features":
        return
    types = {str(part) for part in get_args(hints[name]) or [hints[name]]}
    assert types & {expected.get(kind), f"<class '{kind}'>"}
    assert ("<class 'NoneType'>" in types) == (TABLE[name].default is None)
    assert any("auto" in part for part in types) == TABLE[name].may_be_auto


@pytest.mark.parametrize("name", TABLE)
def test_defaults_are_accepted(name):
    TABLE[name].check(name, TABLE[name].default)


# --- estimators -----------------------------------------------------------------------------


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_signatures(cls):
    signature = inspect.signature(cls)
    names = list(signature.parameters)
    assert names == ["rule", "loss", *ESTIMATORS[cls].__annotations__]
    assert cls._get_param_names() == sorted(names)
    kinds = {signature.parameters[name].kind for name in names[2:]}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
    assert cls().get_params() == defaults
    assert vars(cls()) == defaults


def test_what_the_signature_was():
    assert str(inspect.signature(SparseOnlineClassifier)).split("*, ")[1] == (
        "l1=None, l2=None, q=None, basis=None, cap=None, eta0=None, beta=None, "
        "aggressiveness=None, confidence=None, schedule=None, "
        "truncate_every=None, threshold=None, p=None, projection=None, radius=None, "
        "cumulative=False, average=False, "
        "average_power=None, l1_of=None, groups=None, endowment=0.0, "
        "endowment_by='prediction', importance='plain', multiclass='auto', class_weight=None, "
        "calibrate=True, "
        "fit_intercept=True, passes='auto', shuffle=True, random_state=0, warm_start=False, "
        "verbose=False, shards=1, target_features=None, "
        "refit=False, refit_l2=None, refit_features=None, n_features=None, "
        "scoring=None, decision_threshold=0.0)"
    )


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_parameter_is_documented(cls):
    section = cls.__doc__.split("Parameters\n----------\n")[1].split("\nAttributes\n")[0]
    assert "{" + "parameters}" not in section
    assert max(map(len, section.splitlines())) <= 100
    documented = section.replace("\n", " ")
    for name in inspect.signature(cls).parameters:
        assert f" {name} :" in f" {documented}" or f"{name}, " in documented


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_copies(cls):
    model = cls("frda", l1=0.5, passes=3)
    for other in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.get_params() == model.get_params()
    assert repr(model) == f"{cls.__name__}(l1=0.5, passes=3, rule='frda')"
    assert model.set_params(l2=0.25).l2 == 0.25


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_unknown_names_are_refused(cls):
    with pytest.raises(TypeError, match=r"__init__\(\) got an unexpected keyword argument 'l3'"):
        cls(l3=1.0)
    with pytest.raises(TypeError, match=r"'alpha' \(use l1 and l2\)$"):
        cls(alpha=1.0)
    with pytest.raises(TypeError, match=r"'early_stopping' \(use passes: .*\)$"):
        cls(early_stopping=True)
    with pytest.raises(TypeError, match=r"'solver' \(use rule\)$"):
        cls(solver="saga")
    with pytest.raises(TypeError, match=r"'passses' \(is it 'passes'\?\)$"):
        cls(passses=1)
    with pytest.raises(TypeError, match="positional argument"):
        cls("ftrl", "logistic", 0.1)


def test_what_is_called_otherwise_there():
    """Only where there is such a parameter."""
    assert advice("folds", ["l1", "cv"]) == " (use cv)"
    assert advice("n_jobs", ["l1", "shards"]) == " (use shards)"
    assert advice("folds", ["l1"]) == ""
    assert advice("target", ["label"]) == " (use label)"


def test_train_finds_the_l1_for_a_target(tmp_path):
    rng = np.random.default_rng(0)
    chosen = [sorted(rng.choice(60, 8, replace=False)) for _ in range(400)]
    rows = [
        f"{1 if columns[0] < 5 else -1} " + " ".join(f"{column}:1" for column in columns)
        for columns in chosen
    ]
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(rows))
    model = rarefy.train(path, rule="auto", target_features=9)
    assert 0 < len(model.weights_) <= 9
    assert model.target_features == 9
    assert "l1" in model.found_


# --- commands -------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [train_command, sweep_command], ids=lambda one: one.name)
def test_every_parameter_of_a_rule_is_an_option(command):
    options = {option.name: option for option in command.params if isinstance(option, click.Option)}
    for name, entry in {**RULE, **LOSS}.items():
        assert options[name].help == (entry.help or entry.doc)
    with command.make_context("some", [], resilient_parsing=True) as context:
        assert {context.params[name] for name in (*RULE, *LOSS)} == {None, False}


def test_grids_take_what_the_table_says():
    in_grids = [name for name, entry in CLASSIFIER.items() if entry.in_grids]
    assert {*RULE, "multiclass", "random_state", "refit_features"} <= {*in_grids}
    assert SWEPT["cumulative"].default is None
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(ConfigError, match="those of a grid are rule, loss, l1, l2, q"):
        rarefy.sweep(X, y, passes_=3)
