"""Copying state between lanes, and between a lane and a single model."""

from typing import Any

from rarefy.arrays import Floats
from rarefy.jit import compiled, inlined
from rarefy.jit.intrinsics import prefetch_row
from rarefy.jit.lane_intrinsics import each_lane, put

FETCHED_AHEAD = 24  # rows of a model that are copied


@compiled
def copy_lane(state: Floats, source: int, target: int) -> None:
    """Copy the state of one lane to another."""
    for slot in range(len(state)):
        for field in range(state.shape[1]):
            state[slot, field, target] = state[slot, field, source]


@inlined
def _give(lane: int, state: Floats, row: int, number: float) -> None:
    put(state, row, lane, number)


@compiled
def give_all_lanes(rows: Floats, features: Any, n_outputs: int, state: Floats) -> None:
    """Copy a model's rows of some features to every lane, one after the other."""
    n_fields, last = state.shape[1], len(features) - 1
    for place in range(len(features)):
        prefetch_row(rows, features[min(place + FETCHED_AHEAD, last)] * n_outputs)
        for output in range(n_outputs):
            row, slot = features[place] * n_outputs + output, place * n_outputs + output
            for field in range(n_fields):
                each_lane(_give, (state, slot * n_fields + field, rows[row, field]))


@compiled
def take_lane(state: Floats, lane: int, features: Any, n_outputs: int, rows: Floats) -> None:
    """Copy the state of one lane to a model's rows of the features."""
    last = len(features) - 1
    for place in range(len(features)):
        prefetch_row(rows, features[min(place + FETCHED_AHEAD, last)] * n_outputs)
        for output in range(n_outputs):
            row, slot = features[place] * n_outputs + output, place * n_outputs + output
            for field in range(state.shape[1]):
                rows[row, field] = state[slot, field, lane]
