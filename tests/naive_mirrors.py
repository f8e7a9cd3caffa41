"""Dense transcriptions of normalized online learning, mirror descent, and projections."""

import math

import numpy as np

from tests import naive
from tests.naive import (
    Array,
    FeatureAwareIntensity,
    Penalty,
    Round,
    Rule,
    divide_or_zero,
    soft,
)


class Normalized(Rule):
    """Ross et al. 2013, NG: s' = max(s, |x|); w ← w (s/s')²; N ← N + Σ (x/s')²;

    w ← soft(w − η_t t/N g/s'², η_t t/N λr/s'²). As there, but w shrinks after the prediction, and
    with a penalty.
    """

    def __init__(self, shape, penalty, intensity):
        super().__init__(shape, penalty)
        self.intensity = intensity
        self.s, self.N = np.zeros(shape[1]), 0.0

    def shrunk(self, s_next: Array) -> Array:
        return self.w * divide_or_zero(self.s, s_next) ** 2

    def steps(self, now: Round, s_next: Array) -> Array:
        common = divide_or_zero(np.array(now.eta * now.t), np.array(self.N))
        return divide_or_zero(common, s_next**2)

    def update(self, now: Round) -> None:
        s_next = np.maximum(self.s, np.abs(now.x))
        self.N += np.sum(divide_or_zero(now.x, s_next) ** 2)
        step = self.steps(now, s_next)
        r = self.intensity(now._replace(eta=step))
        self.w = soft(self.shrunk(s_next) - step * now.g, step * self.l1 * r)
        self.s = s_next


class NormalizedAdagrad(Normalized):
    """Ross et al. 2013, NAG: w ← w s/s'; H = √(Σ g²); the step is c √(t/N) / (s' H)."""

    def __init__(self, shape, penalty, intensity, c):
        super().__init__(shape, penalty, intensity)
        self.c, self.squares = c, np.zeros(shape)

    def shrunk(self, s_next: Array) -> Array:
        return self.w * divide_or_zero(self.s, s_next)

    def steps(self, now: Round, s_next: Array) -> Array:
        self.squares = self.squares + now.g**2
        common = self.c * np.sqrt(divide_or_zero(np.array(float(now.t)), np.array(self.N)))
        return divide_or_zero(common, s_next * np.sqrt(self.squares))


class Mirror(Rule):
    """θ ← θ − η_t g, and w is what a mirror makes of θ; the intercept is θ itself."""

    def __init__(self, shape, penalty, radius, p):
        super().__init__(shape, penalty)
        self.radius, self.p = radius, p
        self.theta, self.seen = np.zeros(shape), np.zeros(shape, bool)

    def update(self, now: Round) -> None:
        self.theta = self.theta - now.eta * now.g
        self.seen = self.seen | (now.g != 0)
        features, seen = self.theta[:, self.is_feature], self.seen[:, self.is_feature]
        self.w = self.theta.copy()
        self.w[:, self.is_feature] = self.mirrored(features, seen)

    def mirrored(self, theta: Array, seen: Array) -> Array:
        raise NotImplementedError


class Eg(Mirror):
    """T2.20–2.21: w = R e^θ / Σ e^θ over all features that have had a subgradient."""

    def mirrored(self, theta, seen):
        largest = theta[seen].max(initial=-np.inf)  # which says nothing, but keeps them in range
        exponentials = np.where(seen, np.exp(np.where(seen, theta - largest, 0.0)), 0.0)
        return self.radius * divide_or_zero(exponentials, np.array(exponentials.sum()))


class EgSigned(Mirror):
    """w = R (e^θ − e^−θ) / Σ (e^θ + e^−θ) over all features that have had a subgradient."""

    def mirrored(self, theta, seen):
        largest = np.abs(theta).max()  # as above
        up, down = np.exp(theta - largest), np.exp(-theta - largest)
        total = np.where(seen, up + down, 0.0).sum()
        return self.radius * divide_or_zero(up - down, np.array(total))


class PNorm(Mirror):
    """w = sgn(θ) |θ|^(p−1) / ‖θ‖_p^(p−2)."""

    def mirrored(self, theta, seen):
        norm = np.sum(np.abs(theta) ** self.p) ** (1 / self.p)
        powers = np.sign(theta) * np.abs(theta) ** (self.p - 1)
        return divide_or_zero(powers, np.array(norm ** (self.p - 2)))


class Projected(Rule):
    """T2.4 and T2.22 in a set: w ← Π(w − η_t g), and w = Π(−η_t G); but for the intercept."""

    def __init__(self, shape, penalty, projection, radius, averages):
        super().__init__(shape, penalty)
        self.projection, self.radius, self.averages = projection, radius, averages
        self.G, self.seen = np.zeros(shape), np.zeros(shape, bool)

    def update(self, now: Round) -> None:
        self.G = self.G + now.g
        free = -now.eta * self.G if self.averages else self.w - now.eta * now.g
        features = free[:, self.is_feature]
        self.seen = self.seen | (now.g != 0)
        self.w = free.copy()
        self.w[:, self.is_feature] = self.projected(features)

    def projected(self, v: Array) -> Array:
        if self.projection == "box":
            return np.clip(v, -self.radius, self.radius)
        if self.projection == "l2-ball":
            return v * min(1.0, self.radius / max(np.sqrt(np.sum(v**2)), 1e-150))
        if self.projection == "l1-ball":
            if np.abs(v).sum() <= self.radius:
                return v
            return soft(v, simplex_threshold(np.abs(v).ravel(), self.radius))
        seen = self.seen[:, self.is_feature]
        if not seen.any():
            return np.zeros_like(v)
        return np.where(seen, np.maximum(v - simplex_threshold(v[seen], self.radius), 0.0), 0.0)


def simplex_threshold(v: Array, radius: float) -> float:
    """Duchi et al. 2008, figure 1: with v sorted from large to small, ρ is the last j for which

    v_j > (v_1 + … + v_j − R)/j, and θ = (v_1 + … + v_ρ − R)/ρ.
    """
    v = np.sort(v)[::-1]
    thresholds = (np.cumsum(v) - radius) / np.arange(1, len(v) + 1)
    return float(thresholds[np.flatnonzero(v > thresholds)[-1]])


RULES = {"eg": Eg, "eg-signed": EgSigned, "p-norm": PNorm}


def fit(X: Array, y: Array, *, rule: str, **chosen) -> naive.Result:
    """As `naive.fit`, with one of these rules."""
    of_rule = {"q": math.inf, "basis": "gradient", "cap": 1e6, "radius": 1.0, "p": 10.0}
    of_rule["projection"] = None
    given = {name: chosen.pop(name, usual) for name, usual in of_rule.items()}
    radius, p, projection = given["radius"], given["p"], given["projection"]

    def make(shape: tuple[int, int], penalty: Penalty) -> Rule:
        intensity = FeatureAwareIntensity(shape, given["q"], given["basis"], given["cap"])
        if projection is not None:
            return Projected(shape, penalty, projection, radius, averages=rule == "da")
        if rule == "normalized":
            return Normalized(shape, penalty, intensity)
        if rule == "normalized-adagrad":
            return NormalizedAdagrad(shape, penalty, intensity, chosen["eta0"])
        return RULES[rule](shape, penalty, radius, p)

    return naive.fit(X, y, rule=rule, other=make, **chosen)
