"""The clock and the calibration of a learner, on loan where rows are learned one at a time.

To hand them over as numbers, and to take them back, takes longer than to learn a row. So they are
lent as arrays, which go on by themselves, until rows are learned in another way.
"""

from typing import NamedTuple

import numpy as np

from rarefy.arrays import Floats
from rarefy.model.calibration import Calibration
from rarefy.model.clock import Clock

NO_CALIBRATION: Floats = np.empty(0)


class Loan(NamedTuple):
    """The numbers of a clock, without its schedule and what is common, and of a calibration."""

    clock: Floats
    calibration: Floats  # empty: there is none


class Lending:
    """The base of learners, which have a clock and may have a calibration.

    To look at them leaves the loan as it is, so that any thread may do so; to set them ends it.
    """

    _clock: Clock
    _calibration: Calibration | None
    loan: Loan | None = None

    @property
    def clock(self) -> Clock:
        if self.loan is None:
            return self._clock
        numbers = zip(Clock._fields[1:-1], self.loan.clock.tolist(), strict=True)
        return self._clock._replace(**dict(numbers))

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._end_loan()
        self._clock = clock

    @property
    def calibration(self) -> Calibration | None:
        """That of scores before learning; None: not wanted, or not honest."""
        if self.loan is None or not len(self.loan.calibration):
            return self._calibration
        return Calibration(*self.loan.calibration.tolist())

    @calibration.setter
    def calibration(self, calibration: Calibration | None) -> None:
        self._end_loan()
        self._calibration = calibration

    def lend(self) -> Loan:
        """Lend clock and calibration, until `loan` is another one."""
        self._end_loan()
        of_clock = np.array(self._clock[1:-1])
        of_calibration = (
            NO_CALIBRATION if self._calibration is None else np.array(self._calibration)
        )
        self.loan = Loan(of_clock, of_calibration)
        return self.loan

    def _end_loan(self) -> None:
        if self.loan is not None:
            self._clock, self._calibration = self.clock, self.calibration
            self.loan = None
