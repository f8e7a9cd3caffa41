"""What changes of a learner beside its state, on loan where rows are learned one at a time.

That is the clock, the calibration, and the targets that the reference has seen. To hand them over
as numbers, and to take them back, takes longer than to learn a row. So they are lent as arrays,
which go on by themselves, until rows are learned in another way.
"""

from typing import NamedTuple

import numpy as np

from rarefy.arrays import Floats, Numbers
from rarefy.engine.reference import Reference
from rarefy.model.calibration import Calibration
from rarefy.model.clock import Clock

NO_NUMBERS: Floats = np.empty(0)


class Loan(NamedTuple):
    """Numbers that go on by themselves."""

    clock: Floats  # without its schedule and what is common
    calibration: Floats  # empty: there is none
    n_examples: Numbers  # one number, of the reference
    targets: Floats  # the last ones, for the reference; empty: they do not matter
    is_on: Numbers  # one number, 1 until the loan ends


class Lending:
    """The base of learners, which have a clock and a reference, and may have a calibration.

    To look at them leaves the loan as it is, so that any thread may do so; to set them ends it.
    """

    _clock: Clock
    _calibration: Calibration | None
    _reference: Reference
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

    @property
    def reference(self) -> Reference:
        """What rows are learned relative to."""
        if self.loan is None or not len(self.loan.targets):
            return self._reference
        n = int(self.loan.n_examples[0])
        return self._reference._replace(n=n, targets=self.loan.targets.copy())

    @reference.setter
    def reference(self, reference: Reference) -> None:
        self._end_loan()
        self._reference = reference

    def lend(self, earlier: Loan | None = None) -> Loan:
        """Lend clock, calibration and targets, until `loan` is another one, or none.

        The arrays are those of an earlier loan of this learner, if the numbers fit into them.
        """
        self._end_loan()
        reference, calibration = self._reference, self._calibration
        loan = Loan(
            np.array(self._clock[1:-1]),
            NO_NUMBERS if calibration is None else np.array(calibration),
            np.array([reference.n]),
            reference.targets.copy() if reference.spread_wanted else NO_NUMBERS,
            np.ones(1, np.int64),
        )
        if earlier is not None and [*map(len, earlier)] == [*map(len, loan)]:
            for old, new in zip(earlier, loan, strict=True):
                old[:] = new
            loan = earlier
        self.loan = loan
        return loan

    def _end_loan(self) -> None:
        if self.loan is not None:
            now = self.clock, self.calibration, self.reference
            self._clock, self._calibration, self._reference = now
            self.loan.is_on[0] = 0
            self.loan = None
