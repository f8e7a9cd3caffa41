"""The experiments about updates, on few rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from experiments.updates import (
    confirmation,
    confirmation_page,
    judging,
    measured_page,
    methods,
    methods_page,
    page,
    pictures,
    releases,
    taught,
    taught_page,
    thesis,
)
from experiments.updates.data import Texts
from rarefy.updating.path import ALPHAS


@pytest.fixture(scope="module")
def texts() -> Texts:
    random = np.random.default_rng(0)
    X = (random.random((1500, 40)) < 0.2).astype(float)
    y = X @ random.normal(size=40) + random.normal(size=1500) > 0.0
    return Texts(sparse.csr_array(X), y.astype(np.int64))


def test_the_ends_of_the_way_are_the_two_models(texts):
    found = releases.update(texts, 0)
    way = found["interpolation"]
    assert len(way) == len(ALPHAS)
    assert way[0] == found["old"][0]
    assert way[0].lost == way[0].won == 0.0
    first, second, test = releases.parts(texts, 0, releases.OLD, releases.NEW)
    model = releases.learned(texts, first).partial_fit(texts.X[second], texts.y[second])
    accuracy = (model.predict(texts.X[test]) == texts.y[test]).mean()
    assert way[-1].accuracy == pytest.approx(accuracy)


def test_the_page_has_what_was_found(texts, tmp_path):
    updates = {"some": [releases.update(texts, seed) for seed in range(2)]}
    promises = {"some": [releases.promises(texts, seed) for seed in range(2)]}
    file = tmp_path / "results" / "updates.md"
    page.write(file, {page.MEASURED: measured_page.lines(updates, promises)})
    said = file.read_text()
    assert said == page.BEGINNING + said[said.index("\n## Measured\n\n`make updates`") :]
    lost = 100.0 * np.mean([order["interpolation"][-1].lost for order in updates["some"]])
    assert f"| {lost:.2f} ±" in said
    page.write(file, {page.METHODS: ["before"]})  # the other section stays as it is
    assert file.read_text() == said.replace("\n## ", "\n## Methods compared\n\nbefore\n\n## ", 1)
    pictures.draw(updates, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").stat().st_size > 0


def test_lessons_of_the_old_model(texts, tmp_path):
    found = {"some": [taught.taught(texts, seed) for seed in range(2)]}
    for order in found["some"]:
        assert order.keys() == {"old", "between", *taught.KNOBS}
        for method, knobs in taught.KNOBS.items():
            assert len(order[method]) == len(knobs)
        for method in ("dissonance", "focal distillation"):  # with a knob of zero, it learns on
            assert order[method][0] == order["between"][0]
            assert order[method][-1] != order[method][0]
    said = "\n".join(taught_page.lines(found))
    share = judging.as_accurate(found["some"], "dissonance").share
    assert f"| dissonance | {share:.2f} (" in said.replace("**", "")
    pictures.draw_methods(found, tmp_path / "picture.svg", pictures.SHOWN_TAUGHT)
    assert (tmp_path / "picture.svg").stat().st_size > 0


@pytest.mark.slow
def test_knobs_are_never_chosen_by_the_rows_that_judge(texts, tmp_path):
    found = {"some": [methods.compared(texts, seed) for seed in range(3)]}
    beside = ["old", "another order", "other rows"]
    assert all([*order] == [*beside, *methods.KNOBS] for order in found["some"])
    for order in found["some"]:
        for method, knobs in methods.KNOBS.items():
            assert len(order[method]) == len(knobs)
        assert order["between"][0].judged_lost == order["hysteresis"][0].judged_lost
        assert order["between"][0] == order["endowment"][0]
        assert order["anchor"][-1].n_changed < order["anchor"][0].n_changed
    of_judges = np.random.default_rng(1).random(3)
    others = [
        {
            method: [outcome._replace(judged_accuracy=shift, judged_lost=shift) for outcome in way]
            for method, way in order.items()
        }
        for order, shift in zip(found["some"], of_judges, strict=True)
    ]
    for method in methods.KNOBS:
        for choose in (judging.as_accurate, judging.at_a_third):
            knobs = {
                getattr(choose(orders, method), "at", None) for orders in (found["some"], others)
            }
            assert len(knobs) == 1
    third = judging.at_a_third(found["some"], "between")
    assert third.at > 0
    assert np.mean([order["between"][0].lost for order in found["some"]]) > 0.0
    file = tmp_path / "updates.md"
    page.write(file, {page.MEASURED: ["stays"]})
    confirmed = {"some": [confirmation.confirmed(texts, seed) for seed in range(3)]}
    for order, other in zip(found["some"], confirmed["some"], strict=True):
        assert all(order[method] == other[method] for method in confirmation.METHODS)
    for _ in range(2):
        more = confirmation_page.lines(confirmed)
        page.write(file, {page.METHODS: methods_page.lines(found, more)})
        said = file.read_text()
        assert said.count(f"## {page.METHODS}\n") == 1
        assert said.endswith("\n\n## Measured\n\nstays\n")
    share = judging.as_accurate(found["some"], "between").share
    assert f"| between | {share:.2f} (" in said.replace("**", "")
    pictures.draw_methods(found, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").stat().st_size > 0


def test_the_endowment_of_the_thesis(texts):
    orders = [thesis.endowed(texts, seed) for seed in range(2)]
    plain, aware = (np.array([order[kind] for order in orders]) for kind in thesis.UPDATES)
    assert not np.array_equal(plain[:, 1], aware[:, 1])
    said = "\n".join(thesis.lines({"some": orders}))
    assert f"| plain updates | 0 | {100.0 * plain[:, 0, 2].mean():.2f} / " in said
    assert said.count("\n| importance-aware updates |") == len(thesis.GAMMAS)
