"""`rarefy inspect`: what a model is, its features, and why it predicts what it does."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rarefy.cli import main
from rarefy.cli.views.formatting import visible, written
from rarefy.files.model_file import load_model
from tests import data

SMS = [
    ("spam", "Win a prize now!", "3", "x"),
    ("ham", "See you at lunch", "1", "y"),
    ("ham", "lunch now? See me", "", "x"),
    ("spam", "Prize: win, WIN", "2", "y"),
] * 10
SMS_OPTIONS = ("--label", "kind", "--text", "message", "--cross", "site,message")
ODD_NAMES = (
    "x" * 200,
    "esc\x1b[31mred\x07\n\t",
    "עברית",
    "over\u202eride",
    "東京" * 50,
    "[b]:smile:",
)
STORES = {"table": (), "hashed": ("-b", "10"), "shared": ("-b", "3"), "array": ("--store", "array")}


def run(*arguments: str, code: int = 0, terminal: bool = False, stdin: str | None = None) -> str:
    """What a command writes, as text of its own or as that of a terminal of 80 columns."""
    env = {"FORCE_COLOR": "1" if terminal else None, "COLUMNS": "80", "NO_COLOR": None}
    result = CliRunner().invoke(main, [*arguments], env=env, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{arguments} ended in a traceback") from result.exception
    assert result.exit_code == code, result.output
    return result.stderr if code else result.stdout


def inspected(*arguments: str, **options) -> dict:
    return json.loads(run("inspect", *arguments, "--json", **options))


def train(*arguments: str) -> None:
    run("train", *arguments, "-o", "some.model", "--quiet")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with data in it."""
    monkeypatch.chdir(tmp_path)
    for kind in ("binary", "multiclass", "regression"):
        problem = data.problem(kind, n=200, d=25)
        Path(f"{kind}.svm").write_text(data.svmlight_text(problem))
    rows = ["\t".join(row) for row in [("kind", "message", "length", "site"), *SMS]]
    Path("sms.tsv").write_text("\n".join(rows) + "\n")
    return tmp_path


def train_on_odd_names() -> None:
    """Three classes, of which one has a long name, and features that no terminal should see."""
    labels = ("a", "\x1b]0;title\x07", "a class with a long name" * 3)
    rows = [
        {"label": labels[n % 3], "f": name, "g": ODD_NAMES[n * n % len(ODD_NAMES)]}
        for n, name in enumerate(ODD_NAMES * 10)
    ]
    Path("odd.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    train("odd.jsonl", "--l1", "0")


# --- the model --------------------------------------------------------------------------------


class TestModel:
    def test_as_json(self, folder):
        train("sms.tsv", *SMS_OPTIONS, "--rule", "frda", "--l1", "1e-3", "--passes", "2")
        model, found = load_model("some.model"), inspected("some.model", "--top", "1000")
        assert (found["task"], found["loss"], found["store"]) == (
            "classification",
            "logistic",
            "table",
        )
        assert found["classes"] == ["ham", "spam"]
        assert found["columns"]["text"] == ["message"]
        assert found["columns"]["label"] == "kind"
        assert found["cross"] == [["site", "message"]]
        training = found["training"]
        assert (training["rule"], training["l1"], training["q"]) == ("frda", 1e-3, "inf")
        assert (training["passes"], training["data"]) == (2, ["sms.tsv"])
        n_new, loss, weight, _ = model.run["first_pass"]
        assert (found["examples"], n_new) == (80, 40)
        assert found["progressive_loss"] == loss / weight > model.progressive_loss
        assert (found["weights"], found["intercepts"]) == (
            len(model.kept.weights),
            [*model.intercepts],
        )
        features = {
            (feature["feature"], feature["key"], feature["weight"], feature["count"], feature["r"])
            for feature in found["features"]
        }
        kept = model.kept
        arrays = [part.tolist() for part in (kept.keys, kept.weights, kept.counts, kept.r)]
        assert features == set(zip(kept.names, *arrays, strict=True))

    def test_counts_are_those_of_the_rows(self, folder):
        train("sms.tsv", "--label", "kind", "--categorical", "message,length,site", "--rule", "ogd")
        expected = Counter(f"site={row[3]}" for row in SMS) + Counter(
            f"message={row[1]}" for row in SMS
        )
        found = {f["feature"]: f["count"] for f in inspected("some.model")["features"]}
        assert {name: found[name] for name in expected} == expected

    def test_as_text(self, folder):
        train("sms.tsv", *SMS_OPTIONS)
        model, text = load_model("some.model"), run("inspect", "some.model", "--top", "3")
        for fact in (
            r"classes +ham, spam", r"columns +label kind; text message; .*numeric length",
            r"cross +site,message", r"store +table", r"data +sms\.tsv", r"passes +1", r"rule +\S",
            r"examples +40", rf"weights +{len(model.kept.weights)}", r"progressive loss +0\.\d+",
            rf"intercept +{model.intercepts[0]:.6g}",
        ):  # fmt: skip
            assert re.search(rf"(?m)^{fact}", text), fact
        strongest = np.argsort(-np.abs(model.kept.weights), kind="stable")[:3]
        lines = [line.split(maxsplit=3) for line in text.splitlines()[-3:]]
        assert [line[3] for line in lines] == [model.kept.names[n] for n in strongest]
        assert [float(line[0]) for line in lines] == pytest.approx(
            model.kept.weights[strongest], rel=1e-4
        )
        assert [int(line[1]) for line in lines] == model.kept.counts[strongest].tolist()
        assert [float(line[2]) for line in lines] == pytest.approx(
            model.kept.r[strongest], rel=1e-3
        )

    @pytest.mark.parametrize("sort", ["weight", "count", "r", "name"])
    def test_sorted(self, folder, sort):
        train("sms.tsv", *SMS_OPTIONS)
        features = inspected("some.model", "--sort", sort, "--top", "1000")["features"]
        column = "feature" if sort == "name" else sort
        values = [abs(f[column]) if sort == "weight" else f[column] for f in features]
        assert values == sorted(values, reverse=sort != "name")
        assert len(set(values)) > 1
        assert inspected("some.model", "--sort", sort, "--top", "2")["features"] == features[:2]

    def test_places_and_indices_are_names(self, folder):
        for options, title in (((), "feature"), (("--no-names",), "key"), (("-b", "10"), "place"),
                               (("--store", "array"), "feature")):  # fmt: skip
            train("binary.svm", *options)
            text = run("inspect", "some.model", "--top", "2")
            strongest = inspected("some.model", "--top", "1")["features"][0]
            assert strongest["feature"] == str(strongest["key"])
            assert re.search(rf"(?m)^ *weight .*{title}$", text)
            assert re.search(rf"(?m)^[-+].* {strongest['key']}$", text)

    def test_several_classes(self, folder):
        train("multiclass.svm")
        model, text = load_model("some.model"), run("inspect", "some.model", "--top", "5")
        for number, name in enumerate(model.classes):
            n_weights = np.count_nonzero(model.kept.outputs == number)
            assert re.search(rf"(?m)^ *{n_weights} +[-+]\d.* {name}$", text)
        features = inspected("some.model", "--top", "1000")["features"]
        assert len(features) == len(model.kept.weights)
        assert {feature["class"] for feature in features} == set(model.classes)
        of_one = inspected("some.model", "--top", "1000", "--class", "2")["features"]
        assert of_one == [feature for feature in features if feature["class"] == "2"]

    def test_more_classes_than_are_asked_for(self, folder):
        train("multiclass.svm")
        assert "... and 3 more classes." in run("inspect", "some.model", "--top", "1")

    @pytest.mark.parametrize("terminal", [False, True])
    def test_without_any_weights(self, folder, terminal):
        train("binary.svm", "--l1", "1000")
        text = run("inspect", "some.model", terminal=terminal)
        assert "There are no weights: every score is the intercept." in text
        assert inspected("some.model")["features"] == []
        text = run("inspect", "some.model", "--why", "binary.svm", terminal=terminal)
        assert "(score)" in text


# --- why ------------------------------------------------------------------------------------


def scores_of(*arguments: str) -> list[list[float]]:
    lines = run("predict", "some.model", *arguments, "--scores").splitlines()
    return [[float(number) for number in line.split("\t")] for line in lines]


def values_of(found: dict, singular: str, plural: str) -> list[float]:
    """One number, or one a class."""
    return [found[singular]] if singular in found else [*found[plural].values()]


def weights_by_place(model) -> dict[tuple[int, int], float]:
    places = zip(model.kept.keys.tolist(), model.kept.outputs.tolist(), strict=True)
    return dict(zip(places, model.kept.weights.tolist(), strict=True))


class TestWhy:
    @pytest.mark.parametrize("rule", ["frda", "ftrl"])
    @pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
    @pytest.mark.parametrize("store", STORES)
    def test_contributions_add_up_to_the_score(self, folder, store, kind, rule):
        loss = ("--loss", "squared", "--eta0", "0.05") if kind == "regression" else ()
        train(f"{kind}.svm", "--rule", rule, "--l1", "0.01", *loss, *STORES[store])
        model, scores = load_model("some.model"), scores_of(f"{kind}.svm")
        weights, mask = weights_by_place(model), (1 << model.store.get("bits", 64)) - 1
        for row in (1, 2, 77, 200):
            found = inspected("some.model", "--why", f"{kind}.svm", "--row", str(row))
            total = np.array(values_of(found, "intercept", "intercepts"))
            for feature in found["features"]:
                own = values_of(feature, "weight", "weights")
                place = feature["key"] & mask
                assert own == [weights.get((place, z), 0.0) for z in range(len(own))]
                added = values_of(feature, "contribution", "contributions")
                assert added == [feature["value"] * weight for weight in own]
                total += added
            assert values_of(found, "score", "scores") == scores[row - 1]
            assert total == pytest.approx(scores[row - 1], rel=1e-12, abs=1e-12)
            assert found["row"] == f"{kind}.svm:{row}"

    @pytest.mark.parametrize("options", [(), ("-b", "12")], ids=["table", "hashed"])
    def test_features_have_the_names_of_the_data(self, folder, options):
        train("sms.tsv", *SMS_OPTIONS, "--rule", "ogd", *options)
        found = inspected("some.model", "--why", "sms.tsv", "--row", "4")
        values = {feature["feature"]: feature["value"] for feature in found["features"]}
        assert values == {
            "length": 2.0, "site=y": 1.0, "message=prize": 1.0, "message=win": 2.0,
            "message=prize win": 1.0, "message=win win": 1.0, "site=y*message=prize": 1.0,
            "site=y*message=win": 2.0, "site=y*message=prize win": 1.0,
            "site=y*message=win win": 1.0,
        }  # fmt: skip
        assert found["row"] == "sms.tsv:5"

    def test_from_standard_input(self, folder):
        train("sms.tsv", *SMS_OPTIONS)
        row = '{"message": "win lunch today", "length": 7}\n'
        found = inspected("some.model", "--why", "-", stdin=row)
        assert {"message=win", "message=lunch"} <= {f["feature"] for f in found["features"]}
        unknown = ["message=lunch today", "message=today", "message=win lunch"]
        assert sorted(found["without_weight"]) == unknown
        text = run("inspect", "some.model", "--why", "-", stdin=row)
        n_features = len(found["features"]) + 3
        assert f"Without a weight in the model: 3 of {n_features} features." in text

    def test_the_label_and_its_probability(self, folder):
        for file, options in (("binary.svm", ()), ("multiclass.svm", ("--multiclass", "ovr")),
                              ("binary.svm", ("--loss", "hinge"))):  # fmt: skip
            train(file, *options)
            labels = run("predict", "some.model", file).split()
            for row in (1, 2, 3):
                found = inspected("some.model", "--why", file, "--row", str(row))
                text = run("inspect", "some.model", "--why", file, "--row", str(row))
                assert found["label"] == labels[row - 1]
                verdict = f"{file}:{row}: {labels[row - 1]}"
                if "hinge" in options:
                    assert found["probability"] is None
                    assert text.startswith(verdict + "\n")
                    continue
                command = ("predict", "some.model", file, "--probabilities")
                line = [float(number) for number in run(*command).splitlines()[row - 1].split("\t")]
                assert values_of(found, "probability", "probabilities") == pytest.approx(line)
                of_label = max(line)
                if len(line) == 1:
                    of_label = line[0] if labels[row - 1] == "1" else 1.0 - line[0]
                assert text.startswith(f"{verdict}, probability {of_label:.4g}\n")

    def test_a_number_is_predicted(self, folder):
        train("regression.svm", "--loss", "squared")
        found = inspected("some.model", "--why", "regression.svm")
        assert (found["label"], found["probability"]) == (None, None)
        text = run("inspect", "some.model", "--why", "regression.svm")
        assert text.startswith(f"regression.svm:1: {found['score']:.6g}\n")
        assert "  (prediction)\n" in text

    @pytest.mark.parametrize("top", [0, 1, 3, 1000])
    @pytest.mark.parametrize("file", ["binary.svm", "multiclass.svm"])
    def test_the_lines_of_the_table_add_up(self, folder, file, top):
        """Whatever is not shown is one of them."""
        train(file)
        text = run("inspect", "some.model", "--why", file, "--row", "3", "--top", str(top))
        lines = text[text.index("value ") :].splitlines()[1:]
        lines = lines[: 1 + [line.endswith("(score)") for line in lines].index(True)]
        of_features = [line for line in lines if not line.endswith(")")]
        assert len(of_features) <= top
        amounts = [float(re.findall(r"[-+]\d\S*|(?<= )0(?= )", line)[-1]) for line in lines]
        assert amounts[-1] == pytest.approx(sum(amounts[:-1]), abs=2e-3)
        sizes = [abs(amount) for amount in amounts[: len(of_features)]]
        assert sizes == sorted(sizes, reverse=True)

    def test_a_class_against_the_best_of_the_others(self, folder):
        train("multiclass.svm")
        found = inspected("some.model", "--why", "multiclass.svm")
        ranked = sorted(found["scores"], key=found["scores"].get, reverse=True)
        for options, winner, rival in (
            ((), ranked[0], ranked[1]),
            (("--class", ranked[0]), ranked[0], ranked[1]),
            (("--class", ranked[3]), ranked[3], ranked[0]),
        ):
            command = ("some.model", "--why", "multiclass.svm", *options)
            text = run("inspect", *command)
            assert re.search(rf"(?m)^ *value +{winner} +{rival} +difference +feature$", text)
            features = inspected(*command)["features"]
            sizes = [abs(f["contributions"][winner] - f["contributions"][rival]) for f in features]
            assert sizes == sorted(sizes, reverse=True)
            assert text.startswith(f"multiclass.svm:1: {ranked[0]}, ")

    def test_rows_are_counted_over_all_files(self, folder):
        lines = Path("binary.svm").read_text().splitlines(keepends=True)
        Path("part1.svm").write_text("".join(lines[:3]))
        Path("part2.svm").write_text("".join(lines[3:]))
        train("binary.svm")
        whole = inspected("some.model", "--why", "binary.svm", "--row", "5")
        found = inspected("some.model", "--why", "part*.svm", "--row", "5")
        assert found.pop("row") == "part2.svm:2"
        assert found == {name: part for name, part in whole.items() if name != "row"}

    @pytest.mark.parametrize("row", ["201", "1000000"])
    def test_a_row_that_is_not_there(self, folder, row):
        train("binary.svm")
        message = run("inspect", "some.model", "--why", "binary.svm", "--row", row, code=1)
        assert message == (
            f"Error: binary.svm: there is no row {int(row):,}, counted from 1; the number of "
            f"rows is 200.\n"
        )

    def test_bad_lines(self, folder):
        train("binary.svm")
        Path("bad.svm").write_text("1 1:x\n1 1:1\n")
        command = ("inspect", "some.model", "--why", "bad.svm")
        assert "bad.svm:1:5" in run(*command, code=1)
        assert json.loads(run(*command, "--bad-lines", "skip", "--json"))["row"] == "bad.svm:2"

    def test_values_that_predict_refuses(self, folder):
        train("binary.svm", "--store", "array")
        for line, message in (("1 1:1e60", "is too large"), ("1 2000000000:1", "the store array")):
            Path("bad.svm").write_text(line + "\n")
            assert message in run("inspect", "some.model", "--why", "bad.svm", code=1)


# --- what is written ------------------------------------------------------------------------

COMMANDS = (
    ("inspect", "some.model"),
    ("inspect", "some.model", "--class", "a"),
    ("inspect", "some.model", "--why", "odd.jsonl", "--row", "2"),
    ("diff", "some.model", "some.model"),
    ("diff", "some.model", "other.model"),
)


class TestText:
    @pytest.fixture
    def odd(self, folder) -> None:
        train_on_odd_names()
        run("train", "odd.jsonl", "-o", "other.model", "--l1", "0.01", "--quiet")

    @pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
    def test_plain_where_there_is_no_terminal(self, odd, command):
        text = run(*command)
        for line in text.splitlines():
            assert line.isprintable()
            assert line == line.rstrip()
        assert "█" not in text
        if command[-1] != "some.model" or command[0] == "inspect":
            assert "x" * 200 in text or "red\\x07\\n\\t" in text

    @pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
    def test_fits_a_terminal(self, odd, command):
        text = run(*command, terminal=True)
        assert "\x1b[1m" in text
        lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
        for line in lines:
            assert line.isprintable()
            assert cell_len(line) <= 80
        assert any("█" in line for line in lines) or command[1] == command[2]

    def test_markup_in_names_is_text(self, odd):
        for terminal in (False, True):
            assert "f=[b]:smile:" in run("inspect", "some.model", "--top", "99", terminal=terminal)

    def test_bars_point_to_the_sign(self, folder):
        train("binary.svm")
        lines = run("inspect", "some.model", terminal=True).splitlines()
        plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
        bars = [line.split("│") for line in plain if "│" in line]
        assert {line[0][0] for line in bars} == {"-", "+"}
        for left, right in bars:
            assert ("█" in left or "▐" in left) == left.startswith("-")
            assert ("█" in right or "▌" in right) == left.startswith("+")
        assert len({left.rfind(" ") for left, _ in bars if left.startswith("+")}) == 1

    def test_names_matter_more_than_bars(self, folder):
        train("sms.tsv", "--label", "kind", "--text", "message")
        name = inspected("some.model", "--top", "1")["features"][0]["feature"]
        result = CliRunner().invoke(
            main, ["inspect", "some.model"], env={"FORCE_COLOR": "1", "COLUMNS": "45"}
        )
        assert name in result.stdout
        assert "█" not in result.stdout

    def test_characters_that_cannot_be_written_are_escaped(self, odd):
        runner = CliRunner(charset="ascii")
        for command in COMMANDS:
            result = runner.invoke(main, [*command], env={"FORCE_COLOR": "1"})
            assert result.exit_code == 0
            assert result.stdout_bytes.isascii()

    @given(st.text())
    def test_visible_texts_are_printable(self, text):
        assert visible(text).isprintable()
        if text.isprintable():
            assert visible(text) == text

    @given(st.lists(st.floats(-1e12, 1e12), max_size=5))
    def test_written_numbers_are_right_to_a_hundredth_of_the_largest(self, numbers):
        largest = max(map(abs, numbers), default=0.0)
        found = written(numbers, "+")
        for number, text in zip(numbers, found, strict=True):
            assert float(text) == pytest.approx(number, abs=1e-2 * largest, rel=1e-2)
            assert (float(text) == 0.0) == (number == 0.0)
            assert number == 0.0 or text[0] == ("-" if number < 0.0 else "+")


# --- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--top", "-1"),
        ("--sort", "magic"),
        ("--class", "1"),
        ("--row", "2"),
        ("--format", "vw"),
        ("--bad-lines", "skip"),
        ("--why", "binary.svm", "--sort", "name"),
        ("--why", "binary.svm", "--row", "0"),
        ("--why", "binary.svm", "--class", "1"),
    ],
    ids=" ".join,
)
def test_wrong_commands(folder, arguments):
    train("binary.svm")
    model = ("some.model",) if arguments else ()
    assert "Error: " in run("inspect", *model, *arguments, code=2)


def test_a_class_that_is_not_there(folder):
    train("multiclass.svm")
    message = run("inspect", "some.model", "--class", "9", code=2)
    assert "--class 9: one of 0, 1, 2, 3 is expected." in message


def test_nothing_to_sort_by(folder):
    train("binary.svm", "--rule", "ftrl", "-b", "10")
    assert "only the store table keeps counts" in run(
        "inspect", "some.model", "--sort", "count", code=2
    )
    assert "not feature-aware" in run("inspect", "some.model", "--sort", "r", code=2)


@pytest.mark.parametrize("content", [None, b"", b"1 1:2\n"], ids=["missing", "empty", "data"])
def test_what_is_no_model(folder, content):
    if content is not None:
        Path("no.model").write_bytes(content)
    assert run("inspect", "no.model", code=1).startswith("Error: no.model")
