"""`rarefy.train` does what the command does: the same files, checkpoints, metrics and refusals."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rarefy
from rarefy.cli.group import main
from rarefy.errors import ConfigError, DivergenceError, InputError, RarefyWarning
from rarefy.streams.run import Run
from rarefy.streams.stream_model import StreamModel
from rarefy.training.procedure import Training
from tests import data
from tests.in_order import classifier_in_order

N_ROWS = 2500


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind in ("binary", "multiclass", "regression"):
        problem = data.problem(kind, n=N_ROWS, d=30)
        Path(f"{kind}.svm").write_text(data.svmlight_text(problem))
    return tmp_path


def command(*arguments: str) -> None:
    result = CliRunner().invoke(main, ["train", *arguments, "--quiet"])
    assert result.exit_code == 0, result.output


CASES = {
    "plain": (["binary.svm"], {}),
    "options": (
        ["binary.svm", "--rule", "frda", "--l1", "0.001", "--q", "1", "--passes", "2"],
        {"rule": "frda", "l1": 0.001, "q": 1.0, "passes": 2},
    ),
    "classes": (
        ["multiclass.svm", "--no-intercept", "-b", "8"],
        {"fit_intercept": False, "bits": 8},
    ),
    "regression": (["regression.svm", "--loss", "squared"], {"loss": "squared"}),
    "held out": (["binary.svm", "--holdout", "0.2"], {"holdout": "0.2"}),
    "refit": (
        ["binary.svm", "--refit", "--refit-features", "5"],
        {"refit": True, "refit_features": 5},
    ),
    "target": (["binary.svm", "--target-features", "7"], {"target_features": 7}),
    "auto": (["binary.svm", "--rule", "auto"], {"rule": "auto"}),
    "slim": (["binary.svm", "--slim"], {"slim": True}),
}


@pytest.mark.parametrize("name", CASES)
def test_writes_the_file_of_the_command(folder, name):
    arguments, parameters = CASES[name]
    command(*arguments, "-o", "command.model")
    model = rarefy.train(arguments[0], output="python.model", **parameters)
    assert Path("python.model").read_bytes() == Path("command.model").read_bytes()
    loaded = rarefy.load("command.model")
    reader = rarefy.read(arguments[0])
    np.testing.assert_array_equal(model.predict(reader), loaded.predict(rarefy.read(arguments[0])))
    assert model.n_nonzero_ == loaded.n_nonzero_


def test_a_target_is_met_and_tuned(folder):
    model = rarefy.train("binary.svm", rule="auto", target_features=6)
    assert 0 < model.n_nonzero_ <= 6
    assert model.found_["rule"] == "scale-free-ftrl"


def test_goes_on_with_a_finished_model(folder):
    rarefy.train("binary.svm", output="first.model")
    command("binary.svm", "--resume", "first.model", "-o", "command.model")
    again = rarefy.train("binary.svm", resume="first.model", output="python.model")
    assert Path("python.model").read_bytes() == Path("command.model").read_bytes()
    assert again.t_ == 2 * N_ROWS
    first = Path("first.model").read_bytes()
    rarefy.train("binary.svm", resume="first.model")
    assert Path("first.model").read_bytes() == first


@pytest.mark.parametrize("how", ["trained", "loaded", "one at a time"])
def test_goes_on_with_an_estimator_as_with_its_file(folder, how):
    if how == "one at a time":
        first = rarefy.SparseOnlineClassifier().start(classes=[-1, 1], format="svmlight")
        first.learn_many(Path("binary.svm").read_text().splitlines()[:100])
    else:
        first = rarefy.train("binary.svm")
    first.save("first.model")
    if how == "loaded":
        first = rarefy.load("first.model")
    before = Path("first.model").read_bytes()
    expected = rarefy.train("binary.svm", resume="first.model", output="file.model", holdout=0.2)
    model = rarefy.train("binary.svm", resume=first, output="estimator.model", holdout=0.2)
    assert Path("estimator.model").read_bytes() == Path("file.model").read_bytes()
    assert model.t_ == expected.t_ > first.t_
    assert model.holdout_ == expected.holdout_
    first.save("again.model")
    assert Path("again.model").read_bytes() == before


def test_what_cannot_go_on_is_refused(folder):
    model = rarefy.train("binary.svm")
    with pytest.raises(ConfigError, match="l1 cannot be combined with resume"):
        rarefy.train("binary.svm", resume=model, l1=0.1)
    with pytest.raises(ConfigError, match="a model file, or an estimator"):
        rarefy.train("binary.svm", resume=[model])
    slim = rarefy.train("binary.svm", refit=True, refit_features=5)
    with pytest.raises(InputError, match=r"the model is slim or refitted.*--anchor"):
        rarefy.train("binary.svm", resume=slim)


def test_goes_on_with_a_model_that_held_rows_out(folder):
    """Shares and files are saved as texts, whatever they were given as."""
    how = {"holdout": 0.2, "cache": Path("rows.cache"), "output": Path("held.model")}
    rarefy.train("binary.svm", **how)
    assert rarefy.train("binary.svm", resume=Path("held.model")).t_ > N_ROWS


def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(folder, monkeypatch):
    expected = rarefy.train("binary.svm", output="whole.model", passes=3, save_every=1000)
    settled = StreamModel.settled

    def interrupted(model):
        if model.t == 3 * N_ROWS:
            raise KeyboardInterrupt
        return settled(model)

    monkeypatch.setattr(StreamModel, "settled", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rarefy.train("binary.svm", output="part.model", passes=3, save_every=1000)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    model = rarefy.train(resume="part.model", output="part.model")
    assert Path("part.model").read_bytes() == Path("whole.model").read_bytes()
    assert model.t_ == expected.t_ == 3 * N_ROWS


def test_progress_is_handed_on(folder):
    lines = []
    rarefy.train("binary.svm", holdout=0.2, progress=lines.append)
    assert [line.examples for line in lines][:1] == [1000]
    assert lines[-1].holdout["accuracy"] > 0.5
    assert lines[-1].kept > 0


@pytest.mark.parametrize("progress", [None, [].append], ids=["silent", "shown"])
@pytest.mark.parametrize("holdout", [0.2, "binary.svm"], ids=str)
def test_what_is_held_out_is_an_attribute(folder, holdout, progress):
    model = rarefy.train("binary.svm", holdout=holdout, progress=progress)
    n_held_out = model.holdout_["examples"]
    assert n_held_out == (N_ROWS if holdout == "binary.svm" else N_ROWS - model.t_)
    assert 0.5 < model.holdout_["accuracy"] < 1.0
    assert not model.holdout_["progressive"]
    assert not hasattr(rarefy.train("binary.svm"), "holdout_")


def test_files_that_are_held_out_and_learned(folder):
    Path("copy.svm").write_bytes(Path("binary.svm").read_bytes())
    Path("link.svm").symlink_to("binary.svm")
    for held_out in ("./binary.svm", "link.svm"):
        with pytest.warns(RarefyWarning, match=f"{held_out} is held out, but learned as well"):
            rarefy.train("binary.svm", holdout=held_out)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RarefyWarning)
        rarefy.train("binary.svm", holdout="copy.svm")


def test_figures_of_several_passes_are_of_the_first(folder):
    once, more = [], []
    rarefy.train("binary.svm", progress=once.append)
    rarefy.train("binary.svm", passes=3, progress=more.append, output="more.model")
    (first, last) = ((line.loss, line.accuracy) for line in (once[-1], more[-1]))
    assert last == first
    again = []
    rarefy.train("binary.svm", resume="more.model", progress=again.append)
    assert [line.examples for line in again] == [8000, 10_000]
    expected = np.average([line.loss_since for line in again], weights=[500, 2000])
    assert again[-1].loss == pytest.approx(expected)
    assert again[-1].loss < first[0]


def test_an_error_says_what_was_saved(folder):
    text = Path("binary.svm").read_text()
    big = text * 60
    Path("bad.svm").write_text(big + "1 no:number\n")
    with pytest.raises(InputError, match=r"bad\.svm") as found:
        rarefy.train("bad.svm", output="saved.model")
    (note,) = found.value.__notes__
    assert "What was learned before the error is in saved.model" in note
    assert rarefy.load("saved.model").t_ > 0


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"l3": 1.0}, ConfigError, "l3: there is no such parameter"),
        ({"passes": "auto"}, ConfigError, "only fit chooses it, .* early_stopping=True"),
        ({"holdout": 2}, ConfigError, "holdout='2': a share between 0 and 1"),
        ({"save_every": 10}, ConfigError, "save_every needs output"),
        ({"output": "binary.svm"}, InputError, "binary.svm is also read"),
        ({"loss": "hinge", "epsilon": 1.0}, ConfigError, "epsilon does not apply to the hinge"),
    ],
)
def test_refuses(folder, parameters, error, message):
    before = Path("binary.svm").read_bytes()
    with pytest.raises(error, match=message):
        rarefy.train("binary.svm", **parameters)
    assert Path("binary.svm").read_bytes() == before


def test_without_data():
    with pytest.raises(ConfigError, match="nothing to learn from"):
        rarefy.train()


def test_what_a_model_has_settled_cannot_be_asked_for_again(folder):
    rarefy.train("binary.svm", output="a.model")
    with pytest.raises(ConfigError, match="l1 cannot be combined with resume"):
        rarefy.train("binary.svm", resume="a.model", l1=0.1)


def test_a_checkpoint_that_cannot_be_written_is_a_warning(folder, monkeypatch):
    from rarefy.training.plan import Plan

    save, n_calls = Plan.save, []

    def fails_at_first(plan, output, **options):
        n_calls.append(1)
        if len(n_calls) == 1:
            raise OSError(28, "No space left on device", "a.model")
        return save(plan, output, **options)

    monkeypatch.setattr(Plan, "save", fails_at_first)
    with pytest.warns(RarefyWarning, match="No space left on device"):
        rarefy.train("binary.svm", output="a.model", save_every=1000, progress=lambda line: None)
    assert Path("a.model").exists()


def test_divergence_is_an_error(folder):
    with warnings.catch_warnings(), pytest.raises(DivergenceError):
        rarefy.train("regression.svm", loss="squared", rule="ogd", eta0=1e30)


def test_a_file_that_is_lost_before_held_out_rows_are_judged(folder, monkeypatch):
    carry_out = Training.carry_out

    def carry_out_and_lose(training) -> bool:
        is_over = carry_out(training)
        Path("binary.svm").rename("away")
        return is_over

    monkeypatch.setattr(Training, "carry_out", carry_out_and_lose)
    told = "The model is finished, and saved in a.model; only what"
    with pytest.raises(InputError, match="No such file") as error:
        rarefy.train("binary.svm", output="a.model", holdout=0.1)
    assert told in error.value.__notes__[-1]
    assert rarefy.load("a.model").t_ > 2000
    Path("away").rename("binary.svm")
    result = CliRunner().invoke(main, ["train", "binary.svm", "-o", "a.model", "--holdout", "0.1"])
    assert result.exit_code == 1
    assert "Error: binary.svm: No such file or directory.\n" + told in result.stderr


def sorted_lines(path: str) -> str:
    lines = Path(path).read_text().splitlines(keepends=True)
    Path("sorted.svm").write_text("".join(sorted(lines)))
    return "sorted.svm"


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_warns_of_grouped_labels(folder, kind):
    with pytest.warns(RarefyWarning, match="labels come in long runs") as found:
        rarefy.train(sorted_lines(f"{kind}.svm"))
    assert len(found) == 1
    with pytest.warns(RarefyWarning, match="labels come in long runs"):
        classifier_in_order().fit_stream(rarefy.read("sorted.svm"))


def test_does_not_warn_of_other_orders(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rarefy.train("binary.svm", passes=2)
        rarefy.train(sorted_lines("regression.svm"), loss="squared")


@pytest.mark.parametrize("how", [[], ["--quiet"], ["--json"]], ids=str)
def test_the_command_warns_of_grouped_labels_and_goes_on(folder, how):
    path = sorted_lines("binary.svm")
    result = CliRunner().invoke(main, ["train", path, "-o", "a.model", "--passes", "2", *how])
    assert result.exit_code == 0
    assert result.stderr.count("Warning: the labels come in long runs (") == 1
    assert "Shuffle the rows" in result.stderr


@pytest.mark.parametrize("how", [{}, {"shards": 2}, {"holdout": 0.2}], ids=str)
@pytest.mark.parametrize("change", ["fewer", "more", "others"])
def test_data_that_change_between_passes(how, change, folder, monkeypatch):
    """Each pass opens the files again; what was learned before is saved."""
    lines = Path("binary.svm").read_text().splitlines(keepends=True)
    changed = {"fewer": lines[:-9], "more": lines + lines[:9], "others": lines[1:] + lines[:1]}

    check = Run._check_unchanged

    def check_and_change(run):
        check(run)
        if run._read.pass_number == 2:
            Path("binary.svm").write_text("".join(changed[change]))

    monkeypatch.setattr(Run, "_check_unchanged", check_and_change)
    how = {"passes": 4, "output": "part.model", **how}
    with pytest.raises(InputError, match="the data have changed while they were learned: pass 3"):
        rarefy.train("binary.svm", **how)
    assert rarefy.load("part.model").t_ > 2 * N_ROWS * 0.7


def test_a_compressed_file_of_no_bytes_is_not_complete(folder):
    Path("empty.svm.gz").touch()
    with pytest.raises(InputError, match=r"empty\.svm\.gz has 0 bytes"):
        rarefy.train("binary.svm", "empty.svm.gz")


def test_rows_in_memory_are_no_files():
    with pytest.raises(ConfigError, match="a dict is not the name of a file"):
        rarefy.train({"label": 1})
