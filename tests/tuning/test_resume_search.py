"""A search for parameters that was saved and gone on with ends as one that was not, bit for bit.

Comparisons come early here, so that few rows lead through all phases: models are compared after 12
examples, 20 and 34; from 57 on one learns alone. It is challenged after 171, until there are 273.
"""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

import rarefy
from rarefy import InputError, SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.cli import main
from rarefy.errors import RarefyError
from rarefy.files.model import model_of
from rarefy.files.model_file import MAGIC, load_model, save_model
from rarefy.lanes.layout import ALIVE as LIVES
from rarefy.system.atomic_write import Output
from rarefy.training.plan import Plan
from rarefy.tuning import phases
from tests import data
from tests.cli.test_resume import assert_stops_leave_no_trace, carried_out, csv_text, plan_of
from tests.files.test_model_file import parts_of, same_kept, with_header
from tests.in_order import classifier_in_order
from tests.runs import learn_all
from tests.selecting import slow_but

RACE, ALONE, CHALLENGE = 30, 100, 200  # examples in the middle of each phase
STOPS = (1, 11, 12, 13, 20, 30, 34, 56, 57, 100, 171, 172, 200, 272, 273, 290)  # and the turns
N_ROWS = 300
KINDS = ("binary", "multiclass", "regression")
SQUARED = ("regression.svm", "--loss", "squared")
MAIL = ("mail.csv", "--label", "kind", "--text", "message", "--weight", "weight", "--bad-lines",
        "skip", "--cross", "site,ad")  # fmt: skip
NOT_REFITTED = ("--loss", "perceptron")  # a target is met while learning
RUNS = {
    "table": ("binary.svm", "--rule", "auto"),
    "array": ("binary.svm", "--rule", "auto", "--store", "array", "--no-intercept"),
    "hashed": ("binary.svm", "--l1", "auto", "-b", "4"),
    "capped": ("binary.svm", "--rule", "auto", "--capacity", "20"),
    "limited": ("binary.svm", "--rule", "auto", "--target-features", "4", *NOT_REFITTED),
    "limited and capped": (*MAIL, "--rule", "ftrl", "--target-features", "9", "--capacity",
                           "60", *NOT_REFITTED),
    "held-out share": ("binary.svm", "--rule", "auto", "--holdout", "0.2"),
    "classes": ("multiclass.svm", "--rule", "ftrl", "--l1", "auto"),
    "weights, names": (*MAIL, "--rule", "ftrl", "--eta0", "auto"),
    "regression": (*SQUARED, "--rule", "auto"),
    "far from zero": ("far.svm", "--loss", "squared", "--rule", "auto"),
    "classes far from zero": ("far-classes.svm", "--l1", "auto"),
    "several norms": ("binary.svm", "--rule", "frda", "--q", "auto", "--store", "array"),
    "only kinds": ("binary.svm", "--rule", "frda", "--q", "auto", "--l1", "1e-3", "--eta0", "0.3"),
    "l2": ("binary.svm", "--rule", "fobos", "--l1", "auto", "--l2", "0.01"),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """The working directory, with data in it."""
    before, path = os.getcwd(), tmp_path_factory.mktemp("searches")
    os.chdir(path)
    for kind in KINDS:
        problem = data.problem(kind, n=N_ROWS, d=40)
        Path(f"{kind}.svm").write_text(data.svmlight_text(problem))
        if kind != "binary":
            name = {"regression": "far", "multiclass": "far-classes"}[kind]
            problem = far_from_zero(problem, is_regression=kind == "regression")
            Path(f"{name}.svm").write_text(data.svmlight_text(problem))
    Path("mail.csv").write_text(csv_text(400))
    yield path
    os.chdir(before)


def far_from_zero(problem, is_regression: bool):
    """Two features in other units that all rows but one in fifty have, and targets around 500."""
    X = problem.dense.copy()
    X[:, :2] = 1e3 + 10.0 * X[:, :2]
    X[::50, 1] = 0.0
    X[0, 1] = 1e3
    y = 500.0 + problem.y if is_regression else problem.y
    return data.Problem(sparse.csr_matrix(X), X, y)


@pytest.fixture(autouse=True)
def early_comparisons(monkeypatch):
    monkeypatch.setattr(phases, "FIRST_COMPARISON", 12)
    monkeypatch.setattr(phases, "FIRST_RACE", 40)
    monkeypatch.setattr(phases, "ROWS_TO_MEASURE", 1)


def phase_of(model) -> str:
    names = {phases.Racing: "race", phases.Alone: "alone", phases.Challenged: "challenge"}
    return names[type(model.learner.phase)]


class TestRuns:
    @pytest.mark.parametrize("name", slow_but(RUNS, "table", "limited", "regression"))
    def test_stopped_again_and_again(self, name):
        assert_stops_leave_no_trace(RUNS[name], *STOPS)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", RUNS)
    def test_stopped_once_at_any_example(self, name):
        for stop in range(1, N_ROWS):
            assert_stops_leave_no_trace(RUNS[name], stop)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", RUNS)
    def test_phases(self, name):
        """Those of the runs above are all there are, and the same after reading."""
        phases = []
        plan = plan_of(*RUNS[name], "-o", "some.model")
        for stop in (1, RACE, ALONE, CHALLENGE):
            carried_out(plan, until=stop)
            again = load_model("some.model").learner()
            phases.append(phase_of(plan.run.model))
            assert phase_of(again) == phases[-1]
            assert again.t == plan.run.model.t
        last = "alone" if name == "only kinds" else "challenge"
        assert phases == ["race", "race", "alone", last]

    @pytest.mark.parametrize("stop", [5, 15, RACE, CHALLENGE])
    @pytest.mark.parametrize("name", ["table", "regression", "limited"])
    def test_models_whose_weights_diverged(self, name, stop):
        """The one in use, and another one, are out of the race."""
        plan = plan_of(*RUNS[name], "-o", "some.model")
        carried_out(plan, until=stop)
        population = plan.run.model.learner.phase.populations[0]
        for _ in range(2):
            population.block._seats.work[LIVES, population.predictor] = 0.0
        plan.run.model.learner.grow(0)  # another model is in use now
        plan.save(Output(plan.path))
        again = plan_of("--resume", "some.model", "-o", "other.model")
        for run in (plan.run, again.run):
            assert np.count_nonzero(run.model.learner.phase.populations[0].block.alive) < 7
        assert again.run.model.learner.settled().found == plan.run.model.learner.settled().found
        carried_out(again, until=stop + 20)
        expected = carried_out(plan)
        assert carried_out(plan_of("--resume", "other.model")) == expected

    @pytest.mark.parametrize("name", ["regression", "several norms"])
    def test_where_to_look_is_not_forgotten(self, name):
        plan = plan_of(*RUNS[name], "-o", "some.model")
        carried_out(plan, until=RACE)
        again = plan_of("--resume", "some.model").run.model.learner
        races = zip(again.phase.populations, plan.run.model.learner.phase.populations, strict=True)
        assert all(ours._usual == theirs._usual != {} for ours, theirs in races)

    @pytest.mark.parametrize("limit", ["3", "100000"])
    def test_a_finished_model_that_learns_more_within_a_limit(self, limit):
        finished = ("binary.svm", "--rule", "ftrl", "--target-features", limit, *NOT_REFITTED)
        carried_out(plan_of(*finished, "-o", "first.model"))
        more = ("binary.svm", "--resume", "first.model", "--passes", "2")
        assert_stops_leave_no_trace(more, *range(N_ROWS + 1, 3 * N_ROWS, 70))
        assert 1 <= len(load_model("some.model").kept.weights) <= int(limit)

    def test_the_command_saves_from_time_to_time(self, monkeypatch):
        saved = []
        save = Plan.save

        def save_and_keep(self, output, **options):
            n_bytes = save(self, output, **options)
            saved.append(Path(self.path).read_bytes())
            return n_bytes

        monkeypatch.setattr(Plan, "save", save_and_keep)
        arguments = ["binary.svm", "--rule", "auto", "--target-features", "4", "--save-every", "50"]
        *unfinished, finished = saved_by("train", *arguments, "-o", "some.model", saved=saved)
        assert len(unfinished) == N_ROWS // 50 + 1  # and before the refit
        for one in unfinished:
            Path("some.model").write_bytes(one)
            *_, last = saved_by("train", "--resume", "some.model", saved=saved)
            assert last == finished

    def test_a_finished_file_is_one_that_older_versions_read(self):
        carried_out(plan_of(*RUNS["limited"], "--no-calibrate", "-o", "some.model"), until=RACE)
        assert Path("some.model").read_bytes().startswith(b"rarefy model 2\n")
        finished = carried_out(plan_of("--resume", "some.model"))
        assert finished.startswith(MAGIC)
        header, _ = parts_of(finished)
        assert not {"search", "limit"} & set(header)
        assert not [name for name in header["arrays"] if "pack" in name]


def saved_by(*arguments: str, saved: list[bytes]) -> list[bytes]:
    """What a command saves, one file after the other."""
    saved.clear()
    result = CliRunner().invoke(main, [*arguments, "--quiet"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return list(saved)


class TestInBetween:
    """To those who only predict, the file has the model that would be there if learning ended."""

    @pytest.mark.parametrize("stop", [1, RACE, ALONE, CHALLENGE])
    @pytest.mark.parametrize("name", ["limited", "classes", "regression", "capped"])
    def test_it_is_the_settled_one(self, name, stop):
        plan = plan_of(*RUNS[name], "-o", "some.model")
        carried_out(plan, until=stop)
        save_model("slim.model", model_of(plan.run.model, plan.parameters, slim=True))
        found, expected = load_model("some.model"), load_model("slim.model")
        assert same_kept(found.kept, expected.kept)
        for field in ("task", "parameters", "intercepts", "examples", "progress"):
            assert getattr(found, field) == getattr(expected, field), field

    @pytest.mark.parametrize("stop", [RACE, ALONE, CHALLENGE])
    def test_commands(self, stop):
        plan = plan_of(*RUNS["limited"], "-o", "some.model")
        carried_out(plan, until=stop)
        run = load_model("some.model").run
        save_model("slim.model", model_of(plan.run.model, plan.parameters, run=run, slim=True))
        for command in (
            ("predict", "{}", "binary.svm", "--scores"),
            ("evaluate", "{}", "binary.svm"),
            ("export", "{}", "-o", "-", "--to", "csv"),
            ("inspect", "{}", "--top", "9"),
        ):
            found, expected = (
                CliRunner().invoke(main, [part.format(path) for part in command])
                for path in ("some.model", "slim.model")
            )
            assert found.exit_code == expected.exit_code == 0, (command, found.output)
            own = found.output.replace("some.model", "slim.model").splitlines()
            for ours, theirs in zip(own, expected.output.splitlines(), strict=True):
                assert ours == theirs or ours.startswith("further training")
        difference = json.loads("".join(said("diff", "some.model", "slim.model", "--json")))
        assert [feature["change"] for feature in difference["features"]] == [0.0] * 4

    def test_a_run_within_a_limit(self):
        """What is beyond it is only there to go on with."""
        carried_out(plan_of("binary.svm", "--l1", "auto", "-o", "first.model"))
        first = load_model("first.model")
        n_kept = len(first.kept.weights)
        run = {**first.run, "target_features": 5}
        save_model("first.model", first._replace(run=run))
        plan = plan_of("binary.svm", "--resume", "first.model", "-o", "some.model")
        carried_out(plan, until=N_ROWS + 50)
        saved = load_model("some.model")
        assert saved.limit == 5 == len(saved.kept.weights)
        assert plan.run.model.learner.settled().n_nonzero() > 5 < n_kept
        estimator = rarefy.load("some.model")
        assert len(estimator.weights_) == 5
        scores = [float(line) for line in said("predict", "some.model", "binary.svm", "--scores")]
        reader = rarefy.read("binary.svm")
        np.testing.assert_allclose(estimator.decision_function(reader), scores, rtol=1e-9)


def said(*arguments: str, code: int = 0) -> list[str]:
    result = CliRunner().invoke(main, [*arguments])
    assert result.exit_code == code, result.output
    return result.output.splitlines()


ESTIMATORS = {
    "binary": (SparseOnlineClassifier, {"rule": "auto"}),
    "multiclass": (SparseOnlineClassifier, {"rule": "ftrl", "l1": "auto"}),
    "regression": (SparseOnlineRegressor, {"rule": "auto"}),
    "limited": (SparseOnlineClassifier, {"rule": "ftrl", "target_features": 5}),
    "norms": (SparseOnlineClassifier, {"rule": "frda", "q": "auto"}),
    "grows": (SparseOnlineClassifier, {"rule": "ftrl", "l1": "auto", "n_features": "grow"}),
    "a class": (SparseOnlineClassifier, {"rule": rarefy.rules.Ftrl, "l1": "auto"}),
}


class TestEstimators:
    @pytest.mark.parametrize("name", ESTIMATORS)
    def test_saved_between_portions(self, name):
        cls, parameters = ESTIMATORS[name]
        kind = name if name in KINDS else "binary"
        problem = data.problem(kind, n=N_ROWS, d=12)
        importance = np.arange(N_ROWS) % 4 / 2.0  # the first one counts nothing
        classes = {"classes": np.unique(problem.y)} if cls is SparseOnlineClassifier else {}
        learned, saved = cls(**parameters), cls(**parameters)
        ends = [0, 1, 2, 15, 30, 90, 120, 229, 260, 299, N_ROWS]
        for begin, end in pairwise(ends):
            rows = slice(begin, end)
            width = 12 if name != "grows" or end > 200 else 5
            for model in (learned, saved):
                model.partial_fit(
                    problem.dense[rows, :width],
                    problem.y[rows],
                    sample_weight=importance[rows],
                    **classes,
                )
            saved.save("some.model")
            saved = rarefy.load("some.model")
            assert saved.found_ == learned.found_
            assert saved.coef_.tobytes() == learned.coef_.tobytes()
            assert saved.intercept_.tobytes() == learned.intercept_.tobytes()
            assert saved.progressive_loss_ == learned.progressive_loss_
            assert saved.get_params() == learned.get_params()
            assert saved.t_ == learned.t_

    def test_a_run_goes_on_with_what_an_estimator_began(self):
        problem = data.problem("binary", n=N_ROWS, d=40)
        y = problem.y.astype(int)
        for n in (RACE, ALONE, CHALLENGE):
            begun = classifier_in_order(rule="auto", target_features=4)
            begun.partial_fit(problem.csr[:n], y[:n], classes=[-1, 1])
            begun.save("begun.model")
            lines = Path("binary.svm").read_text().splitlines(keepends=True)
            Path("rest.svm").write_text("".join(lines[n:]))
            said("train", "rest.svm", "--resume", "begun.model", "-o", "more.model")
            whole = begun.partial_fit(problem.csr[n:], y[n:])
            more = rarefy.load("more.model")
            assert more.t_ == N_ROWS
            np.testing.assert_allclose(more.coef_[0, :40], whole.coef_[0], rtol=1e-9)
            output = said("train", "rest.svm", "--resume", "begun.model", "--passes", "2", code=2)
            assert "one pass" in output[-1]

    def test_what_was_fitted_has_found_its_parameters(self):
        problem = data.problem("binary", n=N_ROWS, d=12)
        model = classifier_in_order(rule="auto", calibrate=False).fit(problem.csr, problem.y)
        model.save("some.model")
        assert Path("some.model").read_bytes().startswith(MAGIC)
        assert rarefy.load("some.model").l1 == model.found_["l1"]


# --- files that nothing of ours has written --------------------------------------------------

FORGED = {"race": RACE, "alone": ALONE, "challenge": CHALLENGE}


@pytest.fixture(params=FORGED)
def searching(request) -> bytes:
    """The file of a search in one of its phases."""
    arguments = ("binary.svm", "--rule", "ftrl", "--l1", "auto", "-o", "some.model")
    return carried_out(plan_of(*arguments), until=FORGED[request.param])


@pytest.fixture
def race() -> bytes:
    return carried_out(plan_of(*SQUARED, "--rule", "auto", "-o", "some.model"), until=RACE)


@pytest.fixture
def challenge() -> bytes:
    arguments = ("binary.svm", "--rule", "ftrl", "--l1", "auto", "-o", "some.model")
    return carried_out(plan_of(*arguments), until=CHALLENGE)


def refused(content: bytes) -> None:
    Path("wrong.model").write_bytes(content)
    with pytest.raises(InputError, match=r"wrong\.model is damaged"):
        load_model("wrong.model")


def changed(content: bytes, change) -> bytes:
    """The file after a change of what its header says of the search."""
    header, payload = parts_of(content)
    change(header["search"])
    return unsettled(header, payload)


def unsettled(header: dict, payload: bytes) -> bytes:
    content = with_header(header, payload)[:-4].replace(MAGIC, b"rarefy model 2\n", 1)
    return content + zlib.crc32(content).to_bytes(4, "little")


def arrays_of(content: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    header, payload = parts_of(content)
    arrays, at = {}, 0
    for name, (dtype, length) in header["arrays"].items():
        arrays[name] = np.frombuffer(payload, dtype, length, at)
        at += arrays[name].nbytes
    return header, arrays


def with_arrays(header: dict, arrays: dict[str, np.ndarray]) -> bytes:
    types = {name: [array.dtype.str, array.size] for name, array in arrays.items()}
    return unsettled({**header, "arrays": types}, b"".join(map(bytes, arrays.values())))


class TestForged:
    def test_comes_back(self, searching):
        save_model("again.model", load_model("some.model"))
        assert Path("again.model").read_bytes() == searching

    @pytest.mark.slow
    def test_damaged_with_a_right_checksum(self, searching):
        """The model is refused, or goes on somehow; there is no traceback, crash or hang."""
        content = searching[:-4]
        begin = content.index(b'"search"')
        for n in range(begin, len(content), max(7, (len(content) - begin) // 400)):
            damaged = content[:n] + bytes([content[n] ^ (1 << n % 8)]) + content[n + 1 :]
            Path("wrong.model").write_bytes(damaged + zlib.crc32(damaged).to_bytes(4, "little"))
            with suppress(RarefyError):
                model = load_model("wrong.model").learner()
                learn_all(model, rarefy.read("binary.svm", classes=("-1", "1")))

    def test_arrays_that_are_missing_or_of_another_length(self, race, challenge):
        for content in (race, challenge):
            header, arrays = arrays_of(content)
            for name, array in arrays.items():
                others = {other: own for other, own in arrays.items() if other != name}
                refused(with_arrays(header, others))
                for other in (array[:-1], np.append(array, array[-1:])):
                    if len(array) and not (name == "size" and len(other) > 1):
                        refused(with_arrays(header, {**arrays, name: other}))

    @pytest.mark.parametrize("wrong", [-1, 1 << 20, 1 << 40, "twice"])
    def test_features_elsewhere(self, race, wrong):
        header, arrays = arrays_of(race)
        for number in range(3):
            features = arrays[f"pack_{number}_features"].astype(np.int64)
            features[-1] = features[0] if wrong == "twice" else wrong
            refused(with_arrays(header, {**arrays, f"pack_{number}_features": features}))

    @pytest.mark.parametrize("wrong", [np.nan, np.inf])
    def test_numbers_that_are_none(self, challenge, wrong):
        header, arrays = arrays_of(challenge)
        for name in ("state", "clocks", "tallies", "counts", "progress_before"):
            array = arrays[f"pack_0_{name}"].copy()
            array[-1] = wrong
            refused(with_arrays(header, {**arrays, f"pack_0_{name}": array}))

    @pytest.mark.parametrize("alive", [0.0, 0.5, 2.0, -1.0])
    def test_lanes_that_neither_live_nor_do_not(self, challenge, alive):
        header, arrays = arrays_of(challenge)
        refused(with_arrays(header, {**arrays, "pack_0_alive": np.full(4, alive)}))

    @pytest.mark.parametrize(
        "change",
        [
            lambda search: search.update(next_stock=RACE),
            lambda search: search.update(next_stock=40.5),
            lambda search: search.update(last_stock=-1),
            lambda search: search.update(size=0.0),
            lambda search: search.update(size=1e300),
            lambda search: search.update(size="1"),
            lambda search: search.update(progress=[0.0, 0.0]),
            lambda search: search.update(progress=None),
            lambda search: search.update(packs=None),
            lambda search: search["packs"].pop(),
            lambda search: search["packs"].append(search["packs"][0]),
            lambda search: search["packs"].reverse(),
            lambda search: search["packs"][0].update(chosen=8),
            lambda search: search["packs"][0].update(chosen=-1),
            lambda search: search["packs"][0].update(chosen=True),
            lambda search: search["packs"][0].update(turn=-1),
            lambda search: search["packs"][0].update(turn=0.5),
            lambda search: search["packs"][0]["points"].pop(),
            lambda search: search["packs"][0]["points"][3].update(l1=0.0),
            lambda search: search["packs"][0]["points"][3].update(l1="0.1"),
            lambda search: search["packs"][0]["points"][3].update(eta0=-1.0),
            lambda search: search["packs"][0]["points"][3].update(l2=1.0),
            lambda search: search["packs"][0]["points"][3].update(rule="ogd"),
            lambda search: search["packs"][0]["points"][3].update(q=7.0),
            lambda search: search["point"].update(rule="ogd"),
            lambda search: search["point"].pop("eta0"),
            lambda search: search["parameters"].update(rule="ftrl"),
            lambda search: search["parameters"].update(rule="ftrl", l1=0.1),
            lambda search: search["parameters"].update(rule=5),
            lambda search: search["parameters"].update(max_features=-1),
            lambda search: search.update(parameters=[]),
            lambda search: search.update(is_challenged=True),
            lambda search: search.clear(),
        ],
    )
    def test_a_search_that_makes_no_sense(self, race, change):
        refused(changed(race, change))

    def test_whole_numbers_are_numbers_like_others(self, searching):
        """JSON of others may have 1 for 1.0."""
        point = {"rule": "ftrl", "q": None, "l1": 1, "eta0": 1}
        content = changed(searching, lambda search: search.update(point=point))
        Path("other.model").write_bytes(content)
        learn_all(load_model("other.model").learner(), rarefy.read("binary.svm"))

    def test_the_state_of_another_rule(self, race):
        """Its rows have another number of fields."""
        header, _ = parts_of(race)
        assert header["search"]["point"]["rule"] == "ftrl"
        for pack in header["search"]["packs"]:
            (point, *_) = pack["points"]
            if point["rule"] != "ftrl":
                refused(changed(race, lambda search, point=point: search.update(point=point)))

    @pytest.mark.parametrize("limit", [0, -1, 1.5, "5", [], 1 << 63])
    def test_limits(self, searching, limit):
        header, payload = parts_of(searching)
        refused(unsettled({**header, "limit": limit}, payload))

    def test_a_slim_model_has_no_search(self, searching):
        header, _ = parts_of(searching)
        save_model("slim.model", load_model("some.model")._replace(state=None, search=None))
        slim, payload = parts_of(Path("slim.model").read_bytes())
        refused(unsettled({**slim, "search": header["search"], "limit": None}, payload))
