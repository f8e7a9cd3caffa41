"""The slow reference: every rule in dense, eager NumPy, straight from its equation.

Every round updates every coordinate, whether its feature occurs or not. Nothing here is lazy,
cached or compiled, so each class can be read against the line of the paper that it names. The
library's lazy engine must agree with this file.

Equation numbers: T = the thesis, S = SGFT, H = HF-FOBOS, L = the truncated-gradient appendix.

Shapes: C outputs (1, or one per class) and D coordinates (the d features, then the intercept if
there is one). Weights, gradients and all per-coordinate state are (C, D); a penalty strength is
a (D,) vector, because the intercept's is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

Array = np.ndarray


# --- losses: value and slope (derivative in the score p) ------------------------------------


def hinge(p: float, y: float) -> float:
    return max(0.0, 1 - y * p)


def hinge_slope(p: float, y: float) -> float:
    return -y if y * p < 1 else 0.0


def squared_hinge(p: float, y: float) -> float:
    return max(0.0, 1 - y * p) ** 2


def squared_hinge_slope(p: float, y: float) -> float:
    return -2 * y * max(0.0, 1 - y * p)


def logistic(p: float, y: float) -> float:
    """log(1 + exp(-m)) for m = yp; the exponent is never positive, so nothing overflows."""
    m = y * p
    return max(0.0, -m) + math.log1p(math.exp(-abs(m)))


def logistic_slope(p: float, y: float) -> float:
    """-y / (1 + exp(m)) for m = yp."""
    m = y * p
    small = math.exp(-abs(m))
    return -y * (small if m > 0 else 1.0) / (1 + small)


def modified_huber(p: float, y: float) -> float:
    return max(0.0, 1 - y * p) ** 2 if y * p >= -1 else -4 * y * p


def modified_huber_slope(p: float, y: float) -> float:
    return -2 * y * max(0.0, 1 - y * p) if y * p >= -1 else -4 * y


def perceptron(p: float, y: float) -> float:
    return max(0.0, -y * p)


def perceptron_slope(p: float, y: float) -> float:
    """-y at the kink too: otherwise w = 0 would never be left."""
    return -y if y * p <= 0 else 0.0


def squared(p: float, y: float) -> float:
    return (y - p) ** 2


def squared_slope(p: float, y: float) -> float:
    return 2 * (p - y)


def huber(p: float, y: float, epsilon: float) -> float:
    r = abs(p - y)
    return r**2 / 2 if r <= epsilon else epsilon * r - epsilon**2 / 2


def huber_slope(p: float, y: float, epsilon: float) -> float:
    return min(epsilon, max(-epsilon, p - y))


def epsilon_insensitive(p: float, y: float, epsilon: float) -> float:
    return max(0.0, abs(y - p) - epsilon)


def epsilon_insensitive_slope(p: float, y: float, epsilon: float) -> float:
    return float(np.sign(p - y)) if abs(p - y) > epsilon else 0.0


def pinball(p: float, y: float, quantile: float) -> float:
    return quantile * (y - p) if y >= p else (1 - quantile) * (p - y)


def pinball_slope(p: float, y: float, quantile: float) -> float:
    if p == y:
        return 0.0
    return -quantile if p < y else 1 - quantile


# --- importance-aware updates (T2.4.3): where p is after the time T = hη x·x of dp/dT = −ℓ'(p) ---


def hinge_aware(p: float, y: float, T: float) -> float:
    return p + y * min(T, max(0.0, 1 - y * p))


def squared_hinge_aware(p: float, y: float, T: float) -> float:
    return p if y * p >= 1 else y + (p - y) * math.exp(-2 * T)


def logistic_aware(p: float, y: float, T: float) -> float:
    """e^{m'} + m' = T + m + e^m for m' = yp', by bisection."""
    m = y * p
    low, high = m, m + T
    while low < (middle := (low + high) / 2) < high:
        below = math.exp(middle) + middle < T + m + math.exp(m)
        low, high = (middle, high) if below else (low, middle)
    return y * low


def modified_huber_aware(p: float, y: float, T: float) -> float:
    m = y * p
    if m + 4 * T <= -1:
        return y * (m + 4 * T)
    if m < -1:
        return squared_hinge_aware(-y, y, T - (-1 - m) / 4)
    return squared_hinge_aware(p, y, T)


def squared_aware(p: float, y: float, T: float) -> float:
    return y + (p - y) * math.exp(-2 * T)


def huber_aware(p: float, y: float, T: float, epsilon: float) -> float:
    sign, r = np.sign(p - y), abs(p - y)
    if r - epsilon * T >= epsilon:
        return y + sign * (r - epsilon * T)
    if r > epsilon:
        T, r = T - (r - epsilon) / epsilon, epsilon
    return y + sign * r * math.exp(-T)


def epsilon_insensitive_aware(p: float, y: float, T: float, epsilon: float) -> float:
    sign, r = np.sign(p - y), abs(p - y)
    return p if r <= epsilon else y + sign * max(epsilon, r - T)


def pinball_aware(p: float, y: float, T: float, quantile: float) -> float:
    return min(y, p + quantile * T) if p < y else max(y, p - (1 - quantile) * T)


class Loss(NamedTuple):
    value: Callable[[float, float], float]
    slope: Callable[[float, float], float]
    aware: Callable[[float, float, float], float] | None


MARGIN_LOSSES = {
    "hinge": Loss(hinge, hinge_slope, hinge_aware),
    "squared_hinge": Loss(squared_hinge, squared_hinge_slope, squared_hinge_aware),
    "logistic": Loss(logistic, logistic_slope, logistic_aware),
    "modified_huber": Loss(modified_huber, modified_huber_slope, modified_huber_aware),
    "perceptron": Loss(perceptron, perceptron_slope, None),
}
REGRESSION_LOSSES = ("squared", "huber", "epsilon_insensitive", "quantile")


def make_loss(name: str, epsilon: float = 0.1, quantile: float = 0.5) -> Loss:
    if name in MARGIN_LOSSES:
        return MARGIN_LOSSES[name]
    functions, level = {
        "squared": ((squared, squared_slope, squared_aware), {}),
        "huber": ((huber, huber_slope, huber_aware), {"epsilon": epsilon}),
        "epsilon_insensitive": (
            (epsilon_insensitive, epsilon_insensitive_slope, epsilon_insensitive_aware),
            {"epsilon": epsilon},
        ),
        "quantile": ((pinball, pinball_slope, pinball_aware), {"quantile": quantile}),
    }[name]
    return Loss(*(partial(function, **level) for function in functions))


# --- from C scores to one loss value and C slopes -------------------------------------------


def single_output(loss: Loss, scores: Array, y: float) -> tuple[float, Array]:
    p = float(scores[0])
    return loss.value(p, y), np.array([loss.slope(p, y)])


def crammer_singer(loss: Loss, scores: Array, y: int) -> tuple[float, Array]:
    """S15 for the hinge: the margin m = p_y - max_{z != y} p_z takes the place of yp."""
    wrong = scores.copy()
    wrong[y] = -np.inf
    z = int(np.argmax(wrong))  # the lowest index on ties
    m = float(scores[y] - scores[z])
    slope = loss.slope(m, 1.0)
    slopes = np.zeros(len(scores))
    slopes[y] = slope
    slopes[z] = -slope
    return loss.value(m, 1.0), slopes


def softmax(loss: Loss, scores: Array, y: int) -> tuple[float, Array]:
    """Cross entropy; its slope is softmax_z - [z == y]."""
    shifted = scores - scores.max()
    total = np.exp(shifted).sum()
    slopes = np.exp(shifted) / total
    slopes[y] -= 1
    return float(np.log(total) - shifted[y]), slopes


def one_versus_rest(loss: Loss, scores: Array, y: int) -> tuple[float, Array]:
    signs = [1.0 if z == y else -1.0 for z in range(len(scores))]
    pairs = [(float(p), sign) for p, sign in zip(scores, signs, strict=True)]
    return sum(loss.value(*pair) for pair in pairs), np.array([loss.slope(*pair) for pair in pairs])


OUTPUTS = {
    None: single_output,
    "crammer_singer": crammer_singer,
    "softmax": softmax,
    "ovr": one_versus_rest,
}


def aware_slopes(loss: Loss, scores: Array, y: float, several: bool, h: float, reach: float):
    """Slopes with which w − η s x takes each score p to p'; `reach` is η x·x.

    Scores of several classes move as those of one class against the rest do.
    """
    if reach == 0:
        return np.zeros(len(scores))
    signs = [1.0 if z == y else -1.0 for z in range(len(scores))] if several else [y]
    moved = [loss.aware(float(p), sign, h * reach) for p, sign in zip(scores, signs, strict=True)]
    return (scores - np.array(moved)) / reach


def calibration(scores: Array, y: Array, importance: Array) -> tuple[float, float, float]:
    """The slope of log-odds by Online Newton Steps on scores before learning, its gain, and use.

    H is 1 and the sum of h g², in which row s counts (T_s / T_t)^3, nearly, with T_t the importance
    of the rows up to t; the gain is such a sum of log-losses without the slope less those with it.
    The slope in use is 1 + (slope - 1) max(0, 1 - 2 / gain). One score: the label is -1 or +1, and
    the scores of both are 0 and p. After 8,192 rows, every sixteenth is looked at.
    """
    slope, total, squares, gain = 1.0, 0.0, 0.0, 0.0
    for number, (p, label, h) in enumerate(zip(scores, y, importance, strict=True), 1):
        if number > 8192 and number % 16:
            continue
        by_class = p if len(p) > 1 else np.array([0.0, p[0]])
        right = int(label) if len(p) > 1 else int(label > 0)
        shares = np.exp(slope * (by_class - by_class.max()))
        g = shares @ by_class / shares.sum() - by_class[right]
        without, with_slope = (
            np.log(np.exp(a * (by_class - by_class.max())).sum())
            - a * (by_class[right] - by_class.max())
            for a in (1.0, slope)
        )
        total += h
        squares = squares * total / (total + 3.0 * h) + h * g * g
        gain = gain * total / (total + 3.0 * h) + h * (without - with_slope)
        slope = max(slope - h * g / (1.0 + squares), 1e-6)
    return slope, gain, 1.0 + (slope - 1.0) * max(0.0, 1.0 - 2.0 / gain if gain > 0.0 else 0.0)


def is_right(scores: Array, y: float, several: bool) -> bool:
    """sgn(p) = y with sgn(0) = 1 (T1.3), or the first of the highest scores is that of y."""
    return int(np.argmax(scores)) == y if several else (1 if scores[0] >= 0 else -1) == y


# --- one round, step sizes, intensity -------------------------------------------------------


class Round(NamedTuple):
    """What a rule sees of round t."""

    t: int
    eta: float  # η_t
    eta_before: float  # η_{t-1}; infinite before round 1, so that 1/η_0 = 0
    eta_sum: float  # S_t = η_1 + … + η_t
    x: Array  # (D,) the example, with x = 1 for the intercept
    g: Array  # (C, D) the subgradient, with the example's importance in it
    pass_number: int = 1


SCHEDULES = {
    "inv_sqrt": lambda c, t: c / math.sqrt(t),
    "constant": lambda c, t: c,
    "inv_t": lambda c, t: c / t,
}


def soft(a: Array, b: Array) -> Array:
    """soft(a, b) = sgn(a) · max(|a| − b, 0)."""
    return np.sign(a) * np.maximum(np.abs(a) - b, 0)


class PlainIntensity:
    """Plain L1: r = 1 in every round, whether the feature occurred or not."""

    def __call__(self, now: Round) -> float:
        return 1.0


class FeatureAwareIntensity:
    """T4.16, T4.52; S5; H12: r_t = min(V, (Σ_{τ≤t} |u_τ|^q)^(1/q)), the maximum for q = ∞."""

    def __init__(self, shape: tuple[int, int], q: float, basis: str, cap: float):
        self.q, self.basis, self.cap = q, basis, cap
        self.gathered = np.zeros(shape)  # Σ |u|^q, or max |u|
        self.r = np.zeros(shape)

    def __call__(self, now: Round) -> Array:
        u = np.abs(self.basis_of(now))
        if math.isinf(self.q):
            self.gathered = np.maximum(self.gathered, u)
            self.r = np.minimum(self.cap, self.gathered)
        else:
            self.gathered = self.gathered + u**self.q
            self.r = np.minimum(self.cap, self.gathered ** (1 / self.q))
        return self.r

    def basis_of(self, now: Round) -> Array:
        if self.basis == "gradient":
            return now.g
        if self.basis == "update":
            return now.eta * now.g
        if self.basis == "feature":
            return np.broadcast_to(now.x, now.g.shape)
        raise ValueError(f"unknown basis {self.basis!r}")


# --- rules: w is the weight used in the next round ------------------------------------------


class Penalty(NamedTuple):
    """What may differ between the features and the intercept, each (D,)."""

    l1: Array
    l2: Array
    threshold: Array
    is_feature: Array


class Rule:
    def __init__(self, shape: tuple[int, int], penalty: Penalty):
        self.w = np.zeros(shape)
        self.l1, self.l2, self.threshold, self.is_feature = penalty

    def meet(self, label: float) -> None:
        """Note the label of the row that is predicted next; classes that grow do."""

    def update(self, now: Round) -> None:
        raise NotImplementedError


class Ogd(Rule):
    """T2.4 on the whole space: w ← w − η_t g."""

    def update(self, now: Round) -> None:
        self.w = self.w - now.eta * now.g


class Fobos(Rule):
    """T4.5–4.8, H9 (r = 1) and T4.21, S6, H13: w ← soft(w − η_t g, η_t λ r_t) / (1 + η_t λ₂)."""

    def __init__(self, shape, penalty, intensity):
        super().__init__(shape, penalty)
        self.intensity = intensity

    def update(self, now: Round) -> None:
        r = self.intensity(now)
        stepped = self.w - now.eta * now.g
        self.w = soft(stepped, now.eta * self.l1 * r) / (1 + now.eta * self.l2)


class CumulativeFobos(Rule):
    """S13–14, T4.25–4.26, with U_t = λ S_t and k the penalty applied so far."""

    def __init__(self, shape, penalty, intensity):
        super().__init__(shape, penalty)
        self.intensity = intensity
        self.k = np.zeros(shape)

    def update(self, now: Round) -> None:
        r = self.intensity(now)
        total = r * self.l1 * now.eta_sum  # r_t U_t
        stepped = (self.w - now.eta * now.g) / (1 + now.eta * self.l2)  # w'
        clipped = np.where(
            stepped >= 0,
            np.maximum(0, stepped - (total + self.k)),
            np.minimum(0, stepped + (total - self.k)),
        )
        self.w = np.where(now.x != 0, clipped, stepped)
        self.k = self.k + (self.w - stepped)


class TruncatedGradient(Rule):
    """L3: w ← w − η g; every K rounds, where |w| ≤ θ: w ← soft(w, ηKλ) / (1 + ηKλ₂)."""

    def __init__(self, shape, penalty, truncate_every):
        super().__init__(shape, penalty)
        self.truncate_every = truncate_every

    def update(self, now: Round) -> None:
        self.w = self.w - now.eta * now.g
        if now.t % self.truncate_every == 0:
            span = now.eta * self.truncate_every  # ηK
            shrunk = soft(self.w, span * self.l1) / (1 + span * self.l2)
            self.w = np.where(np.abs(self.w) <= self.threshold, shrunk, self.w)


class Rounding(Rule):
    """L2: w ← w − η_t g; every K rounds, where |w| < θ: w ← 0."""

    def __init__(self, shape, penalty, truncate_every):
        super().__init__(shape, penalty)
        self.truncate_every = truncate_every

    def update(self, now: Round) -> None:
        self.w = self.w - now.eta * now.g
        if now.t % self.truncate_every == 0:
            self.w = np.where(np.abs(self.w) < self.threshold, 0.0, self.w)


class DualAveraging(Rule):
    """T4.9 (r = 1) and T4.35–4.39: G ← G + g; R ← R + r_t; w ← −soft(G, λR) / (1/η_t + λ₂t)."""

    def __init__(self, shape, penalty, intensity):
        super().__init__(shape, penalty)
        self.intensity = intensity
        self.G = np.zeros(shape)
        self.R = np.zeros(shape)

    def update(self, now: Round) -> None:
        self.G = self.G + now.g
        self.R = self.R + self.intensity(now)
        self.w = -soft(self.G, self.l1 * self.R) / (1 / now.eta + self.l2 * now.t)


class Ftprl(Rule):
    """T4.11 (r = 1) and T4.45–4.50.

    B ← B + (1/η_t − 1/η_{t−1}) w; G ← G + g; R ← R + r_t; w ← soft(B − G, λR) / (1/η_t + λ₂t).
    """

    def __init__(self, shape, penalty, intensity):
        super().__init__(shape, penalty)
        self.intensity = intensity
        self.B = np.zeros(shape)
        self.G = np.zeros(shape)
        self.R = np.zeros(shape)

    def update(self, now: Round) -> None:
        self.B = self.B + (1 / now.eta - 1 / now.eta_before) * self.w
        self.G = self.G + now.g
        self.R = self.R + self.intensity(now)
        self.w = soft(self.B - self.G, self.l1 * self.R) / (1 / now.eta + self.l2 * now.t)


def divide_or_zero(a: Array, b: Array) -> Array:
    """a / b, and 0 where b = 0: an adaptive coordinate that has seen no gradient."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b != 0)


class AdagradFobos(Rule):
    """T2.41: H = β + √(Σ g²); w ← soft(w − c g/H, cλr/H) / (1 + cλ₂/H), r = 1 without q."""

    def __init__(self, shape, penalty, intensity, c, beta):
        super().__init__(shape, penalty)
        self.intensity, self.c, self.beta = intensity, c, beta
        self.squares = np.zeros(shape)

    def update(self, now: Round) -> None:
        self.squares = self.squares + now.g**2
        H = self.beta + np.sqrt(self.squares)
        step = divide_or_zero(np.array(self.c), H)  # c/H; where H = 0, w and g are 0 as well
        r = self.intensity(now._replace(eta=step))
        self.w = soft(self.w - step * now.g, step * self.l1 * r) / (1 + step * self.l2)


class AdagradRda(Rule):
    """T2.41: H = β + √(Σ g²); G ← G + g; R ← R + r; w ← −soft(G, λR) / (H/c + λ₂t).

    With B, that of FTPRL: B ← B + (H_t − H_{t−1})/c w; w ← soft(B − G, λR) / (H/c + λ₂t).
    """

    proximal = False

    def __init__(self, shape, penalty, intensity, c, beta):
        super().__init__(shape, penalty)
        self.intensity, self.c, self.beta = intensity, c, beta
        self.squares = np.zeros(shape)
        self.B, self.G, self.R = np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def update(self, now: Round) -> None:
        H_before = self.beta + np.sqrt(self.squares)
        self.squares = self.squares + now.g**2
        H = self.beta + np.sqrt(self.squares)
        if self.proximal:
            self.B = self.B + (H - H_before) / self.c * self.w
        self.G = self.G + now.g
        self.R = self.R + self.intensity(now._replace(eta=divide_or_zero(np.array(self.c), H)))
        quadratic = H / self.c + self.l2 * now.t
        self.w = divide_or_zero(soft(self.B - self.G, self.l1 * self.R), quadratic)


class AdagradFtprl(AdagradRda):
    proximal = True


class Ftrl(Rule):
    """The thesis's [10] (McMahan et al. 2013), one step size per coordinate.

    σ = (√(n+g²) − √n)/α; z ← z + g − σw; n ← n + g²; w ← −soft(z, λ) / ((β + √n)/α + λ₂).
    """

    def __init__(self, shape, penalty, alpha, beta):
        super().__init__(shape, penalty)
        self.alpha, self.beta = alpha, beta
        self.n = np.zeros(shape)
        self.z = np.zeros(shape)

    def update(self, now: Round) -> None:
        n_next = self.n + now.g**2
        sigma = (np.sqrt(n_next) - np.sqrt(self.n)) / self.alpha
        self.z = self.z + now.g - sigma * self.w
        self.n = n_next
        quadratic = (self.beta + np.sqrt(self.n)) / self.alpha + self.l2
        self.w = divide_or_zero(-soft(self.z, self.l1), quadratic)


class Coin(Rule):
    """L ← max(L, |g|, |x|) where g ≠ 0; V ← V − g w for w = −(c + V) G / (L (L + A));

    G ← G + g; A ← A + |g|; w ← −(c + V) G / (L (L + A)).
    """

    def __init__(self, shape, penalty, c):
        super().__init__(shape, penalty)
        self.c = c
        self.G, self.A, self.V, self.L = (np.zeros(shape) for _ in range(4))

    def bet(self) -> Array:
        return divide_or_zero(-(self.c + self.V) * self.G, self.L * (self.L + self.A))

    def update(self, now: Round) -> None:
        bound = np.maximum(np.abs(now.g), np.abs(now.x))
        self.L = np.where(now.g != 0, np.maximum(self.L, bound), self.L)
        self.V = self.V - now.g * self.bet()
        self.G = self.G + now.g
        self.A = self.A + np.abs(now.g)
        self.w = self.bet()


class ScaleFree(Rule):
    """docs/reference/rules.md: r = √(Σ g²); s = √(Σ x²/n) over the n rounds with g ≠ 0; G ← G + g;

    w ← −soft(G, λ(r + βus/5)) / ((r + βus)s/(cv) + λ₂t), v being half the spread of the targets,
    and u the slope at that distance. In later passes what has no weight stays as it is.
    """

    def __init__(self, shape, penalty, c, beta):
        super().__init__(shape, penalty)
        self.c, self.beta = c, beta
        self.t = 0
        self.unit, self.slope = 1.0, 1.0
        self.w_of_cv = np.zeros(shape)
        self.squares = np.zeros(shape)
        self.occurrences = np.zeros(shape)
        self.values = np.zeros(shape)
        self.G = np.zeros(shape)

    def set_unit(self, unit: float, slope: float) -> None:
        self.unit, self.slope = unit, slope
        self.weigh()

    def weigh(self) -> None:
        r = np.sqrt(self.squares)
        s = self.scale()
        quadratic = (r + self.beta * self.slope * s) * s + self.c * self.unit * self.l2 * self.t
        self.w_of_cv = divide_or_zero(-soft(self.G, self.floor()), quadratic)
        self.w = self.c * self.unit * self.w_of_cv

    def scale(self) -> Array:
        return np.sqrt(divide_or_zero(self.values, self.occurrences))

    def floor(self) -> Array:
        return self.l1 * (np.sqrt(self.squares) + self.beta * self.slope * self.scale() / 5.0)

    def pulled(self, g: Array) -> Array:
        """By how much G changes beside g."""
        return np.zeros_like(g)

    def update(self, now: Round) -> None:
        threshold = self.floor()
        out = (now.pass_number > 1) & (threshold > 0) & (np.abs(self.G) <= threshold)
        g = np.where(out, 0.0, now.g)
        self.G = self.G + self.pulled(g) + g
        self.squares = self.squares + g**2
        self.values = self.values + np.where(g != 0, now.x**2, 0.0)
        self.occurrences = self.occurrences + (g != 0)
        self.t = now.t
        self.weigh()


class ScaleFreeFtrl(ScaleFree):
    """docs/reference/rules.md: σ = (r' − r)s/(cv); z ← z + g − σw/2, and w as before, of z."""

    def pulled(self, g: Array) -> Array:
        r, r_next = np.sqrt(self.squares), np.sqrt(self.squares + g**2)
        return -(r_next - r) * self.scale() * self.w_of_cv / 2.0  # also where v is 0


SHIFT_FREE = ("scale-free", "scale-free-ftrl")
FIRST = 256
FEWEST_TARGETS = 4


class Place(NamedTuple):
    """What rows are learned relative to."""

    means: Array
    location: float
    spread: float


def place_after(X: Array, y: Array, regression: bool, fit_intercept: bool) -> Place:
    """What examples tell of where features and targets lie; their number is a power of two."""
    first = X[:FIRST]
    means = np.where((first != 0).all(axis=0), first.mean(axis=0), 0.0)
    if not fit_intercept:
        means = np.zeros_like(means)
    if not regression:
        return Place(means, 0.0, 1.0)
    location = float(np.median(y[:FIRST])) if fit_intercept else 0.0
    if len(y) < FEWEST_TARGETS:
        return Place(means, location, 0.0)
    windows = [y] if len(y) <= FIRST else []
    n = FIRST
    while len(y) > FIRST and n <= len(y):
        windows.append(y[n - FIRST : n])
        n *= 2
    spreads = []
    for window in windows:
        distances = np.abs(window - location)
        spreads.append(1.4826 * np.median(distances) or np.mean(distances))
    return Place(means, location, float(max(spreads)))


def model_now(w: Array, place: Place, d: int, fit_intercept: bool) -> Array:
    """The weights of the features as they are, and what then is the intercept, (C, d + 1)."""
    intercept = w[:, d] if fit_intercept else np.zeros(len(w))
    intercept = intercept + place.location - w[:, :d] @ place.means
    return np.hstack([w[:, :d], intercept[:, np.newaxis]])


FEATURE_AWARE = {"fr-comid": "fobos", "frda": "rda", "ftpfrl": "ftprl"}
ADAGRAD = ("adagrad-fobos", "adagrad-rda", "adagrad-ftprl")  # feature-aware if q is given
ADAPTIVE = (*ADAGRAD, "ftrl", "coin", "scale-free", "scale-free-ftrl")
RULES = (
    "ogd",
    "fobos",
    "fr-comid",
    "da",
    "rda",
    "frda",
    "ftprl",
    "ftpfrl",
    "truncated-gradient",
    "rounding",
    "adagrad-fobos",
    "adagrad-rda",
    "adagrad-ftprl",
    "ftrl",
    "coin",
    "scale-free",
    "scale-free-ftrl",
)
UNPENALISED = (
    "ogd",
    "da",
    "coin",
    "perceptron",
    "second-order-perceptron",
    "pa",
    "pa1",
    "pa2",
)  # no parameter makes any of their weights zero


def make_rule(
    name: str,
    shape: tuple[int, int],
    penalty: Penalty,
    *,
    q: float | None,
    basis: str,
    cap: float,
    eta0: float,
    beta: float | None,
    truncate_every: int,
    cumulative: bool,
) -> Rule:
    if name in FEATURE_AWARE or (name in ADAGRAD and q is not None):
        intensity = FeatureAwareIntensity(shape, math.inf if q is None else q, basis, cap)
    else:
        intensity = PlainIntensity()
    family = FEATURE_AWARE.get(name, name)
    if cumulative and family != "fobos":
        raise ValueError(f"{name} has no cumulative penalty")
    if beta is None:
        beta = 0.0 if name.startswith("adagrad") else 1.0
    makers = {
        "ogd": lambda: Ogd(shape, penalty),
        "fobos": lambda: (CumulativeFobos if cumulative else Fobos)(shape, penalty, intensity),
        "da": lambda: DualAveraging(shape, penalty, intensity),
        "rda": lambda: DualAveraging(shape, penalty, intensity),
        "ftprl": lambda: Ftprl(shape, penalty, intensity),
        "truncated-gradient": lambda: TruncatedGradient(shape, penalty, truncate_every),
        "rounding": lambda: Rounding(shape, penalty, truncate_every),
        "adagrad-fobos": lambda: AdagradFobos(shape, penalty, intensity, eta0, beta),
        "adagrad-rda": lambda: AdagradRda(shape, penalty, intensity, eta0, beta),
        "adagrad-ftprl": lambda: AdagradFtprl(shape, penalty, intensity, eta0, beta),
        "ftrl": lambda: Ftrl(shape, penalty, eta0, beta),
        "coin": lambda: Coin(shape, penalty, eta0),
        "scale-free": lambda: ScaleFree(shape, penalty, eta0, beta),
        "scale-free-ftrl": lambda: ScaleFreeFtrl(shape, penalty, eta0, beta),
    }
    return makers[family]()


# --- the loop -------------------------------------------------------------------------------


@dataclass
class Result:
    coef: Array  # (C, d)
    intercept: Array  # (C,)
    progressive_loss: float
    rounds: int
    coef_after: Array | None = None  # (rounds, C, d), when asked for
    r: Array | None = None  # (C, d), of feature-aware rules

    @property
    def zero_after(self) -> Array:
        """(rounds, C, d): which weights are zero after each round."""
        return self.coef_after == 0


def balanced_weights(y: Array, sample_weight: Array) -> Array:
    """h_i W / (K W_k) for a row of class k, W and W_k being sums of weights over all rows."""
    classes = np.unique(y)
    totals = {k: sample_weight[y == k].sum() for k in classes}
    factors = {k: sample_weight.sum() / (len(classes) * total) for k, total in totals.items()}
    return sample_weight * np.array([factors[k] for k in y])


def running_weights(y: Array, sample_weight: Array, n_classes: int) -> Array:
    """The same with sums over the rows up to each, itself included."""
    pasts = [sample_weight[: i + 1] for i in range(len(y))]
    return np.array(
        [
            h * past.sum() / (n_classes * past[y[: len(past)] == k].sum()) if h > 0.0 else 0.0
            for h, k, past in zip(sample_weight, y, pasts, strict=True)
        ]
    )


def feature_penalty(
    d: int, l1: float | Array, l2: float, threshold: float, intercept: bool
) -> Penalty:
    """The strength for every feature, which may have an l1 each, and none for the intercept."""
    strengths = (np.broadcast_to(value, d) for value in (l1, l2, threshold))
    penalties = (np.append(strength, [0.0] * intercept) for strength in strengths)
    return Penalty(*penalties, np.append([True] * d, [False] * intercept).astype(bool))


def fit(  # noqa: PLR0912, PLR0915
    X: Array,
    y: Array,
    *,
    rule: str,
    loss: str,
    l1: float | Array = 0.0,
    l2: float = 0.0,
    q: float | None = None,
    basis: str = "gradient",
    cap: float = 1e6,
    eta0: float = 1.0,
    beta: float | None = None,
    schedule: str = "inv_sqrt",
    truncate_every: int = 1,
    threshold: float = math.inf,
    cumulative: bool = False,
    other: Callable[[tuple[int, int], Penalty], Rule] | None = None,
    passes: int = 1,
    sample_weight: Array | None = None,
    fit_intercept: bool = False,
    multiclass: str | None = None,
    epsilon: float = 0.1,
    quantile: float = 0.5,
    importance: str = "plain",
    endowment: float = 0.0,
    endowment_by: str = "prediction",
    average: bool = False,
    average_power: int = 0,
    history: bool = False,
    anchor: tuple[Array, Array] | None = None,
) -> Result:
    """Run one rule over the rows of the dense X, `passes` times; t goes on between passes.

    y is ±1 for the margin losses, real for the regression losses, and 0 … C−1 with `multiclass`.
    A row of weight 0 is no round at all. With an endowment γ, a row that is predicted right counts
    1 + γ times (T5.6), or the steps are those of the schedule times (1 + γ)^(−N_t), N_t being the
    mistakes so far, this round's too (TA.1). With `average`, the result is the mean of the weights
    by which the rounds were predicted (T3.5), where round t counts t (t + 1) ... (t + power - 1).
    `other` makes a rule that is not among those here.
    With an `anchor`, weights and intercepts, the rule learns the difference to them, and rows are
    predicted, and learned, as they are.
    """
    n, d = X.shape
    outputs = 1 if multiclass is None else int(np.max(y)) + 1
    rows = np.hstack([X, np.ones((n, 1))]) if fit_intercept else X
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    penalty = feature_penalty(d, l1, l2, threshold, fit_intercept)
    learner = make_rule(
        rule if other is None else "ogd",
        (outputs, rows.shape[1]),
        penalty,
        q=q,
        basis=basis,
        cap=cap,
        eta0=eta0,
        beta=beta,
        truncate_every=truncate_every,
        cumulative=cumulative,
    )
    if other is not None:
        learner = other((outputs, rows.shape[1]), penalty)
    score_loss = make_loss(loss, epsilon, quantile)
    objective = partial(OUTPUTS[multiclass], score_loss)
    several = multiclass is not None
    if several:
        y = np.asarray(y).astype(int)

    t, eta, eta_sum, mistakes = 0, math.inf, 0.0, 0
    loss_sum = importance_sum = 0.0
    coef_after = []
    mean, total_share = np.zeros((outputs, d + 1)), 0.0
    regression = loss in REGRESSION_LOSSES
    shift_free = rule in SHIFT_FREE and anchor is None
    given = np.zeros((outputs, rows.shape[1]))
    if anchor is not None:
        given[:, :d] = anchor[0]
        if fit_intercept:
            given[:, d] = anchor[1]
    place, seen = Place(np.zeros(d), 0.0, 1.0), []

    def place_now() -> Place:
        known = place_after(X[seen], y[seen], regression, fit_intercept)
        unit = known.spread / 2.0 if regression else 1.0
        slope = abs(score_loss.slope(0.0, unit)) if regression else 1.0
        learner.set_unit(unit, slope)
        return known

    for number, i in ((number, i) for number in range(1, passes + 1) for i in range(n)):
        x, h = rows[i].copy(), float(weights[i])
        if h == 0:
            continue
        seen.append(i)
        if shift_free and t == 0:
            place = place_now()
        x[:d] -= place.means
        label = y[i] - place.location if regression else y[i]
        learner.meet(label)
        w = given[: len(learner.w)] + learner.w  # of the classes that there are
        scores = w @ x
        value, slopes = objective(scores, label)
        if shift_free and regression and t == 0:  # it was not known when it was predicted
            value, _ = objective(np.zeros(1), y[i])
        if average:
            share = math.prod(range(t + 1, t + 1 + average_power))
            total_share += share
            now = model_now(w, place, d, fit_intercept)
            mean[: len(w)] += (now - mean[: len(w)]) * (share / total_share)
        loss_sum += h * value
        importance_sum += h
        t += 1
        eta_before, eta = eta, SCHEDULES[schedule](eta0, t)
        right = endowment > 0 and is_right(scores, label, several)
        if endowment > 0 and endowment_by == "mistakes":
            mistakes += not right
            eta *= (1 + endowment) ** -mistakes
        elif right:
            h *= 1 + endowment
        eta_sum += eta
        if importance == "aware":
            slopes = aware_slopes(score_loss, scores, label, several, h, eta * float(x @ x))
        else:
            slopes = h * slopes
        if shift_free and loss == "squared":
            slopes = np.clip(slopes, -40.0 * h * place.spread, 40.0 * h * place.spread)
        learner.update(Round(t, eta, eta_before, eta_sum, x, np.outer(slopes, x), number))
        if shift_free and t > 1 and t & (t - 1) == 0:
            place = place_now()
        if history:
            coef_after.append(given[:, :d] + learner.w[:, :d])
    final = mean if average else model_now(given + learner.w, place, d, fit_intercept)
    return Result(
        coef=final[:, :d],
        intercept=final[:, d],
        progressive_loss=loss_sum / importance_sum if importance_sum else 0.0,
        rounds=t,
        coef_after=np.array(coef_after) if history else None,
        r=learner.intensity.r[:, :d] if rule in FEATURE_AWARE else None,
    )
