"""When to stop making passes."""

GAIN = 0.003  # of the loss, by which more passes must lower it for still more to be made


def is_judged(number: int) -> bool:
    """Whether it is 1, 2, 3, 4, 6, 8, 12, 16, ..."""
    return number % (1 << max(number.bit_length() - 2, 0)) == 0


def pays(loss: float, before: float) -> bool:
    """Whether more passes have lowered the loss enough for still more."""
    return loss < (1.0 - GAIN) * before
