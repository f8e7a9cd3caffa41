"""What is left to learning, and where to look for it."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from rarefy.config import make_rule
from rarefy.tuning.learner import _size
from rarefy.tuning.space import moved
from tests.tuned import BINARY, REGRESSION, rows_for, space_of


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
        assert usual == pytest.approx({"l1": rule.l1 * 8.0, "eta0": schedule.eta0 / 64.0})

    def test_nothing_upsets_scale_free(self):
        space = space_of(rule="scale-free", l1="auto")
        rule, _ = make_rule("scale-free")
        assert space.usual(space.kinds[0][0], 8.0, 128) == {"l1": rule.l1, "eta0": rule.eta0}

    @pytest.mark.parametrize(("q", "power"), [(1.0, 1.0), (2.0, 0.5), (4.0, 0.25), (inf, 0.0)])
    def test_with_a_norm_l1_is_that_for_7000_examples(self, q, power):
        """Its intensity follows the size of the values by itself."""
        space = space_of(rule="frda", q=q, l1="auto")
        rule, schedule = make_rule("frda", q=q)
        usual = space.usual(space.kinds[0][0], 8.0, 700)
        assert usual == pytest.approx({"l1": rule.l1 * 10.0**power, "eta0": schedule.eta0 / 64.0})


@pytest.mark.parametrize(
    ("left", "power"),
    [
        ({"rule": "frda", "q": 1.0, "l1": "auto"}, 1.0),
        ({"rule": "frda", "q": 2.0, "l1": "auto"}, 0.5),
        ({"rule": "frda", "q": inf, "l1": "auto"}, 0.0),
        ({"rule": "fr-comid", "q": 1.0, "basis": "update", "l1": "auto"}, 0.5),
        ({"rule": "fr-comid", "q": 4.0, "basis": "update", "l1": "auto"}, 0.0),
        ({"rule": "frda", "q": 1.0, "l1": 1e-3, "eta0": "auto"}, 0.0),
        ({"rule": "frda", "q": 1.0, "max_features": 5}, 1.0),
        ({"rule": "ftrl", "l1": "auto"}, 0.0),
        ({"rule": "scale-free", "l1": "auto"}, 0.0),
    ],
    ids=str,
)
def test_the_power_by_which_l1_falls(left, power):
    space = space_of(**left)
    assert space.drift(space.kinds[0][0]).get("l1", 0.0) == -power


@pytest.mark.parametrize(
    ("left", "power"),
    [
        ({"rule": "frda", "l1": "auto"}, 0.4),
        ({"rule": "fobos", "l1": "auto"}, 0.4),
        ({"rule": "fobos", "l1": "auto", "eta0": 0.3}, 0.0),
        ({"rule": "fobos", "l1": "auto", "schedule": "constant"}, 0.0),
        ({"rule": "ftrl", "l1": "auto"}, 0.0),
        ({"rule": "scale-free", "l1": "auto"}, 0.0),
    ],
    ids=str,
)
def test_the_power_by_which_steps_rise(left, power):
    space = space_of(**left)
    assert space.drift(space.kinds[0][0]).get("eta0", 0.0) == power


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
            ({"l1": "auto"}, ("l1", "eta0"), 8),
            ({"l1": "auto", "eta0": 0.3}, ("l1",), 8),
            ({"l1": 0.1, "eta0": "auto"}, ("eta0",), 8),
            ({"rule": "frda", "q": "auto", "l1": 0.1, "eta0": 0.3}, (), 2),
            ({"rule": "frda", "q": "auto"}, ("l1", "eta0"), 8),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("rule", ["scale-free", "ftrl"])
    def test_the_first_ones(self, left, free, n_points, rule):
        space = space_of(**{"rule": rule, **left})
        assert space.free == free
        (kinds,) = space.kinds
        points = space.first_points(kinds, {kind["q"]: self.USUAL for kind in kinds})
        of_kinds = [[point["q"] for point in points].count(kind["q"]) for kind in kinds]
        assert max(of_kinds) - min(of_kinds) <= 1
        assert len(points) == len({tuple(point.items()) for point in points}) == n_points
        for point in points:
            assert set(point) == {"rule", "q", *free}
            assert point["rule"] == kinds[0]["rule"]
            for name in free:
                assert 1e-4 < point[name] / self.USUAL[name] < 1e3
        for name in free:
            shares = [point[name] / self.USUAL[name] for point in points]
            doubled = {**self.USUAL, name: 2.0 * self.USUAL[name]}
            others = space.first_points(kinds, {kind["q"]: doubled for kind in kinds})
            assert [point[name] / doubled[name] for point in others] == pytest.approx(shares)

    @pytest.mark.parametrize("parameters", SIMILAR, ids=str)
    def test_a_rule_that_moved_is_the_rule_at_that_point(self, parameters):
        space = space_of(**parameters)
        kind = space.kinds[0][0]
        near, far = (dict.fromkeys(space.free, size) for size in (0.1, 0.7))
        assert space.free
        expected = space.rule_at({**kind, **far})
        assert moved(*space.rule_at({**kind, **near}), {**kind, **far}) == expected

    def test_the_ones_around(self):
        space = space_of(rule="ftrl", l1="auto")
        own = {**space.kinds[0][0], "l1": 2.0, "eta0": 0.1}
        first, *others = space.points_around(own)
        assert first == own
        changed = [
            {name: point[name] / own[name] for name in space.free if point[name] != own[name]}
            for point in others
        ]
        assert [list(change) for change in changed] == [["l1"]] * 3 + [["eta0"]] * 4
        shares = [share for change in changed for share in change.values()]
        assert shares == pytest.approx([0.25, 0.5, 2.0, 0.35, 0.6, 1.7, 2.8])
        assert all(point["rule"] == "ftrl" for point in others)

    def test_only_what_is_free(self):
        space = space_of(rule="ftrl", l1="auto", eta0=0.3)
        around = space.points_around({**space.kinds[0][0], "l1": 2.0})
        assert [point["l1"] for point in around] == [2.0, 0.5, 1.0, 4.0]
        assert all("eta0" not in point for point in around)


class TestSize:
    """The root of the mean square of the values in the first 128 rows."""

    @pytest.mark.parametrize("n", [100, 128, 300])
    def test_by_hand(self, n):
        rows = rows_for(BINARY, n=n)
        values = rows.values[: rows.indptr[min(n, 128)]]
        assert _size(rows) == pytest.approx(np.sqrt(np.mean(values**2)))

    def test_rows_that_begin_later(self):
        rows = rows_for(REGRESSION)
        later = rows._replace(indptr=rows.indptr[40:], y=rows.y[40:])
        values = rows.values[rows.indptr[40] : rows.indptr[168]]
        assert _size(later) == pytest.approx(np.sqrt(np.mean(values**2)))

    @pytest.mark.parametrize("scale", [0.0, 1e-60])
    def test_what_cannot_be_measured_counts_as_one(self, scale):
        rows = rows_for(BINARY)
        assert _size(rows._replace(values=rows.values * scale)) == 1.0
        assert _size(rows._replace(indptr=np.zeros_like(rows.indptr))) == 1.0
