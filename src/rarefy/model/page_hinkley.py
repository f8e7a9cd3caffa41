"""The Page-Hinkley test: has the mean risen?

Page, Continuous inspection schemes, Biometrika 41, 1954; as Gama, Sebastião and Rodrigues (On
evaluating stream learning algorithms, Machine Learning 90, 2013) use it for losses: with the mean
x̄_t of the numbers x_1, ..., x_t so far,

    m_t = α m_{t-1} + (x_t - x̄_t - δ),    M_t = min(m_1, ..., m_t),    alarm if m_t - M_t > λ,

after which everything begins anew. δ is how much of a rise does not matter; α, slightly below 1,
lets old differences fade.

Where numbers, none of them negative, have no unit of their own, their roots are standardised by
those before them, as in self-starting CUSUM charts (Hawkins, The Statistician 36, 1987): x_t - x̄_t
becomes

    z_t = min(5, (√x_t - μ_{t-1}) / σ_{t-1}),

so that δ and λ are in standard deviations. Roots, as the tails of squared errors are so heavy that
their deviation hides a rise. Mean μ and deviation σ fade, as large losses of the first examples
would count for ever; that z is 5 at most keeps single outliers from being an alarm.
α is 1 then: below, m would end up where fading takes back what δ takes off, and be an alarm every
ten thousand examples or so by chance alone.
"""

import math
from collections.abc import Sequence

FADING = 0.9999  # α
LEAST_NUMBERS = 30  # before the mean says anything
LARGEST_DIFFERENCE = 5.0  # in standard deviations
SPAN = 1000.0  # numbers that mean and deviation are of, roughly
DELTA, THRESHOLD = 0.005, 50.0  # as in River
DELTA_STANDARDISED = 0.1
BEGINNING = 0, 0.0, 0.0, 0.0, math.inf  # how many there are, mean, variance, m and M


class PageHinkley:
    """Looks for a rise of the mean, by δ or more, until the excess adds up to a threshold λ."""

    def __init__(self, delta: float, threshold: float, *, is_standardised: bool = False) -> None:
        self.delta = delta
        self.threshold = threshold
        self.is_standardised = is_standardised
        self._state = BEGINNING

    def rises_at(self, numbers: Sequence[float]) -> list[int]:
        """With which of these numbers, which come one after the other, there is an alarm."""
        delta, threshold, is_standardised = self.delta, self.threshold, self.is_standardised
        fading = 1.0 if is_standardised else FADING
        alarms = []
        n, mean, variance, excess, least = self._state
        for place, x in enumerate(numbers):
            n += 1
            if is_standardised:
                rise, mean, variance = _standardised(x, n, mean, variance)
            else:
                mean += (x - mean) / n
                rise = x - mean
            excess = fading * excess + (rise - delta)
            if excess < least:  # noqa: PLR1730  # in half of the time of min()
                least = excess
            if n >= LEAST_NUMBERS and not excess - least <= threshold:
                alarms.append(place)
                n, mean, variance, excess, least = BEGINNING
        self._state = n, mean, variance, excess, least
        return alarms


def _standardised(x: float, n: int, mean: float, variance: float) -> tuple[float, float, float]:
    """How many standard deviations √x is above the mean of those before, 0 at first.

    With it, mean and variance as they are now.
    """
    difference, deviation = math.sqrt(x) - mean, math.sqrt(variance)
    share = 1.0 / min(float(n), SPAN)
    mean += share * difference
    variance = (1.0 - share) * (variance + share * difference * difference)
    if n < LEAST_NUMBERS or deviation == 0.0:
        return 0.0, mean, variance
    return min(LARGEST_DIFFERENCE, difference / deviation), mean, variance


def losses_test(
    *, of_numbers: bool, delta: float | None = None, threshold: float = THRESHOLD
) -> PageHinkley:
    """The test of a model's losses: of classes as they are, of numbers in standard deviations."""
    if delta is None:
        delta = DELTA_STANDARDISED if of_numbers else DELTA
    return PageHinkley(delta, threshold, is_standardised=of_numbers)
