"""Clock, calibration and recent targets of a learner as arrays that the fast path updates in place.

Passing these numbers to compiled code and back takes longer than learning a single row. While rows
are learned one at a time, they therefore live in arrays; when rows are learned in another way, the
values are copied back into the learner.
"""

from typing import NamedTuple

import numpy as np

from rarefy.arrays import Floats, Numbers
from rarefy.engine.reference import Reference
from rarefy.model.calibration import Calibration
from rarefy.model.clock import Clock

NO_NUMBERS: Floats = np.empty(0)


class LiveScalars(NamedTuple):
    """The arrays, which compiled code updates in place."""

    clock: Floats  # without its schedule and what is common
    calibration: Floats  # empty: there is none
    n_examples: Numbers  # one number, of the reference
    targets: Floats  # the last ones, for the reference; empty: they do not matter
    is_on: Numbers  # one number, 1 until the values are copied back


class LiveScalarsOwner:
    """The base of learners, which have a clock and a reference, and may have a calibration.

    Reading one of them takes the live value, from any thread; setting one copies all values back
    first.
    """

    _clock: Clock
    _calibration: Calibration | None
    _reference: Reference
    live_scalars: LiveScalars | None = None

    @property
    def clock(self) -> Clock:
        if self.live_scalars is None:
            return self._clock
        numbers = zip(Clock._fields[1:-1], self.live_scalars.clock.tolist(), strict=True)
        return self._clock._replace(**dict(numbers))

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._settle_live_scalars()
        self._clock = clock

    @property
    def calibration(self) -> Calibration | None:
        """That of scores before learning; None: not wanted, or not honest."""
        if self.live_scalars is None or not len(self.live_scalars.calibration):
            return self._calibration
        return Calibration(*self.live_scalars.calibration.tolist())

    @calibration.setter
    def calibration(self, calibration: Calibration | None) -> None:
        self._settle_live_scalars()
        self._calibration = calibration

    @property
    def reference(self) -> Reference:
        """What rows are learned relative to."""
        if self.live_scalars is None or not len(self.live_scalars.targets):
            return self._reference
        n = int(self.live_scalars.n_examples[0])
        return self._reference._replace(n=n, targets=self.live_scalars.targets.copy())

    @reference.setter
    def reference(self, reference: Reference) -> None:
        self._settle_live_scalars()
        self._reference = reference

    def go_live(self, earlier: LiveScalars | None = None) -> LiveScalars:
        """Copy clock, calibration and targets into arrays that are valid while `is_on` is 1.

        The arrays of an earlier call on this learner are used again if the sizes agree.
        """
        self._settle_live_scalars()
        reference, calibration = self._reference, self._calibration
        live_scalars = LiveScalars(
            np.array(self._clock[1:-1]),
            NO_NUMBERS if calibration is None else np.array(calibration),
            np.array([reference.n]),
            reference.targets.copy() if reference.spread_wanted else NO_NUMBERS,
            np.ones(1, np.int64),
        )
        if earlier is not None and [*map(len, earlier)] == [*map(len, live_scalars)]:
            for old, new in zip(earlier, live_scalars, strict=True):
                old[:] = new
            live_scalars = earlier
        self.live_scalars = live_scalars
        return live_scalars

    def _settle_live_scalars(self) -> None:
        if self.live_scalars is not None:
            now = self.clock, self.calibration, self.reference
            self._clock, self._calibration, self._reference = now
            self.live_scalars.is_on[0] = 0
            self.live_scalars = None
