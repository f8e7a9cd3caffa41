"""Held-out rows and folds, drawn by hashing row numbers: the same in every pass."""

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Flags


def scattered(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random, for numbers in a row (the finaliser of SplitMix64)."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def held_out(first_row: int, n_rows: int, share: float) -> Flags:
    """Which of these rows belong to a share that is held out."""
    return are_held_out(np.arange(first_row, first_row + n_rows), share)


def are_held_out(rows: NDArray[np.int64], share: float) -> Flags:
    """Which of the rows of these numbers belong to a share that is held out."""
    return scattered(rows.astype(np.uint64) + np.uint64(1)) < np.uint64(share * 2.0**64)


def random_order(first_row: int, n_rows: int, seed: int, pass_number: int) -> NDArray[np.int64]:
    """The rows from the first one on in an order as if drawn, another one in every pass."""
    numbers = np.arange(first_row, first_row + n_rows, dtype=np.uint64)
    key = scattered(np.array([seed], np.uint64)) + np.uint64(pass_number)
    return np.argsort(scattered(scattered(numbers) + key), kind="stable")


def stream_folds(numbers: NDArray[np.uint64], n_folds: int, seed: int) -> NDArray[np.int64]:
    """The folds of rows, by their number, as if drawn."""
    return (scattered(scattered(numbers) + np.uint64(seed)) % np.uint64(n_folds)).astype(np.int64)
