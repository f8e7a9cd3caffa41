"""When a mean has risen: the Page-Hinkley test.

Page, Continuous inspection schemes, Biometrika 41, 1954; as Gama, Sebastião and Rodrigues (On
evaluating stream learning algorithms, Machine Learning 90, 2013) use it for losses: with the mean
x̄_t of the numbers x_1, ..., x_t so far,

    m_t = α m_{t-1} + (x_t - x̄_t - δ),    M_t = min(m_1, ..., m_t),    alarm if m_t - M_t > λ,

after which everything begins anew. δ is how much of a rise does not matter; α, slightly below 1,
lets old differences fade.
"""

import math

FADING = 0.9999  # α
LEAST_NUMBERS = 30  # before the mean says anything


class PageHinkley:
    """Looks for a rise of the mean, by δ or more, until the excess adds up to a threshold λ."""

    def __init__(self, delta: float, threshold: float) -> None:
        self.delta = delta
        self.threshold = threshold
        self._begin()

    def _begin(self) -> None:
        self._n = 0
        self._mean = 0.0
        self._excess = 0.0
        self._least = math.inf

    def rises_with(self, x: float) -> bool:
        """Whether there is an alarm, now that this number has come."""
        self._n += 1
        self._mean += (x - self._mean) / self._n
        self._excess = FADING * self._excess + (x - self._mean - self.delta)
        self._least = min(self._least, self._excess)
        if self._n < LEAST_NUMBERS or self._excess - self._least <= self.threshold:
            return False
        self._begin()
        return True
