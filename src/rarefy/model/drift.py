"""Closed forms of importance-aware updates: how far a score moves while it is learned.

None of them overflows or loses digits, however long the time and however far the way.
"""

import math

from rarefy.jit import helper

STRAIGHT_BELOW = -40.0  # margins where e^m is nothing beside 1


@helper
def decayed(distance: float, time: float) -> float:
    """What is lost of a distance that falls at the rate of itself."""
    return -distance * math.expm1(-time)


@helper
def run_down(distance: float, time: float, corner: float, rate: float) -> float:
    """What is lost of a distance that falls at rate * corner, and from the corner on decays."""
    straight = max(distance - corner, 0.0)
    speed = rate * corner
    if speed * time <= straight:
        return speed * time
    return straight + decayed(distance - straight, rate * (time - straight / speed))


@helper
def logistic_drift(m: float, time: float) -> float:
    """δ such that m' = m + δ solves e^{m'} + m' = time + m + e^m, to the last digits of δ itself.

    Far below zero the slope is 1, and so δ is the time. From there on, divide by 1 + e^m: with
    a = 1/(1 + e^{-m}) and b = 1 - a, b δ + a (e^δ - 1) = b time. No term is negative, which bounds
    δ from above; from that bound Newton's steps fall to the solution.
    """
    straight = min(time, max(STRAIGHT_BELOW - m, 0.0))
    time, m = time - straight, m + straight
    if time <= 0.0:
        return straight
    e = math.exp(-abs(m))
    a, b = (1.0, e) if m > 0.0 else (e, 1.0)
    a, b = a / (1.0 + e), b / (1.0 + e)
    delta = min(time, math.log1p(time * math.exp(-m)))
    step = delta
    while step > 1e-9 * delta:  # of the next step, the square of this one is left
        grown = a * math.expm1(delta)
        step = (grown - b * (time - delta)) / (1.0 + grown)
        delta -= step
    return straight + delta
