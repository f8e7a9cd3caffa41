"""What is left to learning, and where to look for it."""

from __future__ import annotations

from collections import Counter
from math import inf

import numpy as np
import pytest

from rarefy.parameters.build import make_rule
from rarefy.rules.penalty_norm import MeanIntensity
from rarefy.tuning.phases import size_of_values
from rarefy.tuning.space import moved
from rarefy.tuning.stationary_rules import SlowlyFalling
from tests.tuned import BINARY, REGRESSION, assert_same_kind, rows_for, rule_in, space_of


class TestUsual:
    """What is usual for values of some size after some examples."""

    def test_steps_by_coordinate_are_in_inverse_proportion(self):
        space = space_of(rule="ftrl", l1="auto")
        rule, _ = make_rule("ftrl")
        usual = space.usual(space.kinds[0][0], 8.0, 128)
        assert usual == pytest.approx({"l1": rule.l1 * 8.0, "eta0": rule.eta0 / 8.0})

    def test_steps_of_a_schedule_are_in_inverse_proportion_to_the_square(self):
        space = space_of(rule="fobos", l1="auto")
        rule, schedule = make_rule("fobos")
        usual = space.usual(space.kinds[0][0], 8.0, 128)
        eta0 = schedule.eta0 / 64.0 / 128.0**0.375  # so that they are as usual after 128 examples
        assert usual == pytest.approx({"l1": rule.l1 * 8.0, "eta0": eta0})

    @pytest.mark.parametrize("left", [{"schedule": "constant"}, {"eta0": 0.3}], ids=str)
    def test_other_steps_are_the_same_after_any_number_of_examples(self, left):
        space = space_of(rule="fobos", l1="auto", **left)
        _, schedule = make_rule("fobos", **left)
        assert space.usual(space.kinds[0][0], 8.0, 128)["eta0"] == schedule.eta0 / 64.0

    def test_nothing_upsets_scale_free(self):
        space = space_of(rule="scale-free", l1="auto")
        rule, _ = make_rule("scale-free")
        assert space.usual(space.kinds[0][0], 8.0, 128) == {"l1": rule.l1, "eta0": rule.eta0}

    @pytest.mark.parametrize(
        ("q", "basis", "power"),
        [
            *((1.0, None, 1.0), (2.0, None, 0.5), (4.0, None, 0.25), (inf, None, 0.0)),
            *((1.0, "update", 0.5), (4.0, "update", 0.0)),
        ],
    )
    def test_with_a_norm_l1_is_that_for_7000_examples(self, q, basis, power):
        """Its intensity follows the size of the values by itself, and is 700^(1/q) means."""
        space = space_of(rule="frda", q=q, basis=basis, l1="auto")
        rule, schedule = make_rule("frda", q=q, basis=basis)
        usual = space.usual(space.kinds[0][0], 8.0, 700)
        l1, eta0 = rule.l1 * 10.0**power, schedule.eta0 / 64.0
        assert usual == pytest.approx({"l1": l1 * 700.0 ** (1.0 / q), "eta0": eta0 / 700.0**0.375})


@pytest.mark.parametrize(
    ("left", "is_mean"),
    [
        ({"rule": "frda", "q": 1.0, "l1": "auto"}, True),
        ({"rule": "frda", "q": inf, "l1": "auto", "l2": 0.1, "eta0": 0.3}, True),
        ({"rule": "fr-comid", "q": 3.0, "basis": "update", "l1": "auto"}, True),
        ({"rule": "frda", "q": 1.0, "target_features": 5}, True),
        ({"rule": "frda", "q": "auto"}, True),
        ({"rule": "adagrad-rda", "q": "auto"}, True),
        ({"rule": "adagrad-fobos", "q": 2.0, "l1": "auto"}, True),
        ({"rule": "adagrad-fobos", "l1": "auto"}, False),
        ({"rule": "frda", "q": "auto", "l1": 1e-3}, False),
        ({"rule": "frda", "q": 1.0, "l1": 1e-3, "eta0": "auto"}, False),
        ({"rule": "ftrl", "l1": "auto"}, False),
        ({"rule": "scale-free", "l1": "auto"}, False),
    ],
    ids=str,
)
def test_penalties_follow_means_while_l1_is_to_be_found(left, is_mean):
    space = space_of(**left)
    for kind in space.kinds[0]:
        rule, _ = make_rule(**{**space.given, **kind})
        if is_mean:
            rule = rule._replace(intensity=MeanIntensity(rule.intensity))
        assert_same_kind(space.rule_of({**kind, "l1": 7.0, "eta0": 7.0})[0], rule)


def test_a_norm_is_not_for_rules_that_are_only_tried_without_one():
    kinds = space_of(rule="auto", loss="squared", q=2.0).kinds
    assert {kind["rule"]: kind["q"] for (kind,) in kinds} == {
        "scale-free-ftrl": None,
        "adagrad-fobos": None,
        "ftrl": None,
        "frda": 2.0,
    }


@pytest.mark.parametrize(
    ("left", "is_slow"),
    [
        ({"rule": "frda", "l1": "auto"}, True),
        ({"rule": "fobos", "l1": "auto"}, True),
        ({"rule": "rda", "l1": 0.1, "eta0": "auto", "schedule": "inv_sqrt"}, True),
        ({"rule": "fobos", "l1": "auto", "eta0": 0.3}, False),
        ({"rule": "fobos", "l1": "auto", "schedule": "constant"}, False),
        ({"rule": "fobos", "l1": "auto", "schedule": "inv_t"}, False),
        ({"rule": "ftrl", "l1": "auto"}, False),
        ({"rule": "scale-free", "l1": "auto"}, False),
    ],
    ids=str,
)
def test_steps_fall_slowly_while_they_are_to_be_found(left, is_slow):
    space = space_of(**left)
    for kind in space.kinds[0]:
        _, schedule = make_rule(**{**space.given, **kind})
        expected = SlowlyFalling(schedule.eta0) if is_slow else schedule
        assert_same_kind(space.rule_of({**kind, "l1": 7.0, "eta0": 7.0})[1], expected)


SIMILAR = (
    {"rule": "scale-free-ftrl", "l1": "auto", "l2": 0.1},
    {"rule": "ftrl", "eta0": "auto", "l1": 0.3},
    {"rule": "frda", "q": "auto"},
    {"rule": "sgft", "q": 3.0, "l1": "auto", "eta0": 0.2, "schedule": "constant"},
)


class TestPoints:
    USUAL = {"l1": 2.0, "eta0": 0.1}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("left", "free", "n_points"),
        [
            ({"l1": "auto"}, ("l1", "eta0"), {None: 8}),
            ({"l1": "auto", "eta0": 0.3}, ("l1",), {None: 8}),
            ({"l1": 0.1, "eta0": "auto"}, ("eta0",), {None: 8}),
            ({"rule": "frda", "q": "auto", "l1": 0.1, "eta0": 0.3}, (), {inf: 1, 1.0: 1}),
            ({"rule": "frda", "q": "auto"}, ("l1", "eta0"), {inf: 2, 1.0: 6}),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("rule", ["scale-free", "ftrl"])
    def test_the_first_ones(self, left, free, n_points, rule):
        space = space_of(**{"rule": rule, **left})
        assert space.free == free
        (kinds,) = space.kinds
        points = space.first_points(kinds, {kind["q"]: self.USUAL for kind in kinds})
        assert Counter(point["q"] for point in points) == n_points
        assert len(points) == len({tuple(point.items()) for point in points})
        for point in points:
            assert set(point) - {"beta"} == {"rule", "q", *free}
            assert point["rule"] == kinds[0]["rule"]
            for name in free:
                assert 1e-4 < point[name] / self.USUAL[name] < 1e3
        for name in free:
            shares = [point[name] / self.USUAL[name] for point in points]
            doubled = {**self.USUAL, name: 2.0 * self.USUAL[name]}
            others = space.first_points(kinds, {kind["q"]: doubled for kind in kinds})
            assert [point[name] / doubled[name] for point in others] == pytest.approx(shares)

    @pytest.mark.parametrize(
        ("left", "betas"),
        [
            ({"rule": "scale-free", "l1": "auto"}, {1.0: 4, 0.0: 4}),
            ({"rule": "auto"}, {1.0: 4, 0.0: 4}),
            ({"rule": "scale-free", "l1": "auto", "beta": 0.5}, {None: 8}),
            ({"rule": "scale-free", "l1": 1.0, "eta0": "auto"}, {None: 8}),
            ({"rule": "scale-free", "target_features": 5}, {None: 8}),
            ({"rule": "scale-free", "l1": "auto", "task": REGRESSION}, {None: 8}),
            ({"rule": "ftrl", "l1": "auto"}, {None: 8}),
        ],
        ids=str,
    )
    def test_scale_free_for_classes_is_tried_with_and_without_beta(self, left, betas):
        space = space_of(**left)
        points = space.first_points(space.kinds[0], {None: self.USUAL})
        assert Counter(point.get("beta") for point in points) == betas
        if len(betas) == 2:  # the same numbers for both, smaller ones first
            numbers = [[point[name] for name in space.free] for point in points]
            assert numbers[::2] == numbers[1::2] == sorted(numbers[::2])
        for point in points:
            given = left.get("beta", 1.0)
            assert space.rule_at(point)[0].beta == point.get("beta", given)

    @pytest.mark.parametrize("parameters", SIMILAR, ids=str)
    def test_a_rule_that_moved_is_the_rule_at_that_point(self, parameters):
        space = space_of(**parameters)
        kind = space.kinds[0][0]
        near, far = (dict.fromkeys(space.free, size) for size in (0.1, 0.7))
        assert space.free
        rule, schedule = moved(*rule_in(space, {**kind, **near}), {**kind, **far})
        assert_same_kind((rule, schedule), rule_in(space, {**kind, **far}))
        made, _ = make_rule(**{**space.given, **kind, **far})
        same = set(made._fields) - {"intensity"}
        assert {name: getattr(rule, name) for name in same} == {
            name: getattr(made, name) for name in same
        }
        assert far.get("eta0", 0.2) in (schedule.eta0, getattr(rule, "eta0", None))

    def test_the_ones_around(self):
        space = space_of(rule="ftrl", l1="auto")
        own = {**space.kinds[0][0], "l1": 2.0, "eta0": 0.1}
        first, *others = space.points_around(own)
        assert first == own
        shares = [(point["l1"] / 2.0, point["eta0"] / 0.1) for point in others]
        expected = [
            *((0.2, 0.45), (0.4, 0.8), (2.0, 1.0)),
            *((1.0, 0.35), (1.0, 0.6), (1.0, 1.7), (1.0, 2.8)),
        ]
        np.testing.assert_allclose(shares, expected)
        assert all(point["rule"] == "ftrl" for point in others)

    def test_only_what_is_free(self):
        space = space_of(rule="ftrl", l1="auto", eta0=0.3)
        around = space.points_around({**space.kinds[0][0], "l1": 2.0})
        assert [point["l1"] for point in around] == [2.0, 0.5, 1.0, 4.0]
        assert all("eta0" not in point for point in around)
        space = space_of(rule="ftrl", l1=0.3, eta0="auto")
        around = space.points_around({**space.kinds[0][0], "eta0": 2.0})
        assert [point["eta0"] for point in around] == pytest.approx([2.0, 0.7, 1.2, 3.4, 5.6])
        assert all("l1" not in point for point in around)


class TestSize:
    """The root of the mean square of the values in the first 128 rows."""

    @pytest.mark.parametrize("n", [100, 128, 300])
    def test_by_hand(self, n):
        rows = rows_for(BINARY, n=n)
        values = rows.values[: rows.indptr[min(n, 128)]]
        assert size_of_values(rows) == pytest.approx(np.sqrt(np.mean(values**2)))

    def test_rows_that_begin_later(self):
        rows = rows_for(REGRESSION)
        later = rows._replace(indptr=rows.indptr[40:], y=rows.y[40:])
        values = rows.values[rows.indptr[40] : rows.indptr[168]]
        assert size_of_values(later) == pytest.approx(np.sqrt(np.mean(values**2)))

    @pytest.mark.parametrize("scale", [0.0, 1e-60])
    def test_what_cannot_be_measured_counts_as_one(self, scale):
        rows = rows_for(BINARY)
        assert size_of_values(rows._replace(values=rows.values * scale)) == 1.0
        assert size_of_values(rows._replace(indptr=np.zeros_like(rows.indptr))) == 1.0
