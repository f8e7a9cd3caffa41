"""Merging models of streams: keys, names, counts, capacity, classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.errors import InputError

WORDS = [f"w{n}" for n in range(400)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def vw_lines(n: int, seed: int, labels=("-1", "1"), words=WORDS) -> str:
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        chosen = sorted(set((random.zipf(1.3, 12) % len(words)).tolist()))
        label = labels[int(np.sum(chosen)) % len(labels)]
        lines.append(f"{label} | " + " ".join(words[n] for n in chosen))
    return "\n".join(lines) + "\n"


def trained(name: str, lines: str, **parameters):
    Path(f"{name}.vw").write_text(lines)
    return rarefy.train(f"{name}.vw", output=f"{name}.model", **parameters)


def counts_of(model) -> dict[str, int]:
    stream = model.stream_
    features = stream.store.features(stream.learner)
    return {
        (name or b"").decode() or str(key): count
        for key, name, count in zip(
            features.keys.tolist(), features.names, features.counts.tolist(), strict=True
        )
    }


def test_tables_with_names_and_counts():
    only_in_b = [*WORDS[:-1], "rare"]
    a, b = trained("a", vw_lines(400, 1)), trained("b", vw_lines(400, 2, words=only_in_b))
    one = rarefy.merge(["a.model", "b.model"])
    expected = counts_of(a)
    for name, count in counts_of(b).items():
        expected[name] = expected.get(name, 0) + count
    assert counts_of(one) == expected
    assert set(one.weights_) <= set(expected)
    assert one.t_ == 800
    one.save("one.model")
    again = rarefy.load("one.model")
    assert again.weights_ == one.weights_
    both = rarefy.merge(["b.model", "a.model"])
    both.save("other.model")
    assert Path("other.model").read_bytes() == Path("one.model").read_bytes()  # two commute


def test_a_base_counts_once():
    base = trained("base", vw_lines(300, 0))
    for n, name in enumerate("ab"):
        Path(f"{name}.vw").write_text(vw_lines(300, 1 + n))
        rarefy.train(f"{name}.vw", resume="base.model", output=f"{name}.model")
    one = rarefy.merge(["a.model", "b.model"], base="base.model")
    parts = [counts_of(rarefy.load(f"{name}.model")) for name in "ab"]
    begun = counts_of(base)
    expected = {
        name: sum(part.get(name, begun.get(name, 0)) for part in parts) - begun.get(name, 0)
        for name in parts[0] | parts[1]
    }
    assert counts_of(one) == expected
    assert one.t_ == 900
    assert np.isclose(one.learner_.progress[1], 900.0)


def test_capacity_is_kept_to():
    for n, name in enumerate("ab"):
        trained(name, vw_lines(400, n, words=[f"{name}{word}" for word in WORDS]), capacity=150)
    one = rarefy.merge(["a.model", "b.model"])
    assert len(counts_of(one)) == 150
    one.save("one.model")
    Path("more.vw").write_text(vw_lines(100, 5))
    more = rarefy.train("more.vw", resume="one.model", output="more.model")
    assert len(counts_of(more)) <= 150


@pytest.mark.parametrize("store", [{"bits": 8}, {"store": "array"}])
def test_stores_without_names(store):
    text = "".join(
        f"{1 if n % 3 else -1} {n % 7 + 1}:1 {n % 11 + 8}:{1 + n % 4}\n" for n in range(900)
    )
    lines = text.splitlines(keepends=True)
    for name, part in (("a", lines[:450]), ("b", lines[450:] + ["1 90:1\n"] * 3)):
        Path(f"{name}.svm").write_text("".join(part))
        rarefy.train(f"{name}.svm", output=f"{name}.model", **store)
    one, a, b = rarefy.merge(["a.model", "b.model"]), *map(rarefy.load, ("a.model", "b.model"))
    states = [model.learner_.state_of(np.arange(19))[:, 0, 0] for model in (one, a, b)]
    assert np.allclose(states[0], states[1] + states[2], rtol=1e-12, atol=1e-12)
    assert one.learner_.state[90, 0] == b.learner_.state[90, 0] != 0.0


def test_classes_that_only_one_has():
    for name, classes in (("a", ("1", "2", "3")), ("b", ("2", "3", "4"))):
        trained(name, vw_lines(400, 3, labels=classes))
    one, b = rarefy.merge(["a.model", "b.model"]), rarefy.load("b.model")
    assert list(map(str, one.classes_)) == ["1", "2", "3", "4"]
    weights, own = one.weights_, b.weights_
    assert any(own[name][2] != 0.0 for name in own)
    assert np.allclose(one.intercept_[3], b.intercept_[2])
    assert set(weights) <= set(WORDS)
    trained("two", vw_lines(400, 3))
    with pytest.raises(InputError, match="a model of two classes"):
        rarefy.merge(["a.model", "two.model"])


def test_refusals():
    trained("a", vw_lines(400, 1))
    trained("hashed", vw_lines(400, 2), bits=10)
    trained("wider", vw_lines(400, 2), bits=11)
    trained("plain", vw_lines(400, 2), names=False)
    trained("slim", vw_lines(400, 2), slim=True)
    crossed = vw_lines(400, 2).replace("| ", "|a one |b two |c ")
    trained("crossed", crossed, cross=["a,b"])
    trained("ignoring", crossed, ignore=["b"])
    for others, reason in (
        (["a", "hashed"], "store's kind differs: table and hashed"),
        (["hashed", "wider"], "store's bits differs: 10 and 11"),
        (["a", "plain"], "store's names differs"),
        (["a", "slim"], "slim.model is slim or refitted"),
        (["a", "crossed"], "crosses differs"),
        (["a", "ignoring"], "were trained with different ignored columns or namespaces: none / b"),
    ):
        with pytest.raises(InputError, match=reason):
            rarefy.merge([f"{name}.model" for name in others])
    with pytest.raises(InputError, match="a list of models"):
        rarefy.merge("a.model")
    with pytest.raises(InputError, match="No such file"):
        rarefy.merge(["a.model", "none.model"])
