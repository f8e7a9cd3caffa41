"""The rules that the papers compare, by the names that they have there."""

import math
from typing import Any

COMID, RDA, FTPRL = "COMID", "RDA", "FTPRL"
ADAGRAD_COMID, ADAGRAD_RDA = "AdaGrad COMID", "AdaGrad RDA"
CUMULATIVE_COMID = "COMID, cumulative"
SCALE_FREE = "scale-free"  # our own, which is only compared with as a default
ALL_Q = (1.0, 2.0, math.inf)
ALL_P = (1.0, 2.0, 3.0, math.inf)


def number(q: float) -> str:
    return "∞" if math.isinf(q) else f"{q:g}"


def fr_comid(q: float) -> str:
    return f"FR-COMID q={number(q)}"


def frda(q: float) -> str:
    return f"FRDA q={number(q)}"


def ftpfrl(q: float) -> str:
    return f"FTPFRL q={number(q)}"


def feature_frda(q: float) -> str:
    return f"FRDA q={number(q)}, by features"


def sgft(p: float) -> str:
    return f"SGFT p={number(p)}"


def cumulative_sgft(p: float) -> str:
    return f"SGFT p={number(p)}, cumulative"


METHODS: dict[str, dict[str, Any]] = {
    COMID: {"rule": "fobos"},
    **{fr_comid(q): {"rule": "fr-comid", "q": q} for q in ALL_Q},
    RDA: {"rule": "rda"},
    **{frda(q): {"rule": "frda", "q": q} for q in ALL_Q},
    FTPRL: {"rule": "ftprl"},
    **{ftpfrl(q): {"rule": "ftpfrl", "q": q} for q in ALL_Q},
    **{feature_frda(q): {"rule": "frda", "q": q, "basis": "feature"} for q in ALL_Q},
    **{sgft(p): {"rule": "sgft", "q": p} for p in ALL_P},
    CUMULATIVE_COMID: {"rule": "fobos", "cumulative": True},
    cumulative_sgft(2.0): {"rule": "sgft", "q": 2.0, "cumulative": True},
    ADAGRAD_COMID: {"rule": "adagrad-fobos"},
    ADAGRAD_RDA: {"rule": "adagrad-rda"},
    SCALE_FREE: {"rule": "scale-free"},
}
OF_THE_PAPERS = tuple(name for name in METHODS if name != SCALE_FREE)

# A plain rule and one that is said to do better with the same protocol: by penalties, or else by
# steps, of the features' own.
FEATURE_AWARE_PAIRS = (
    (COMID, fr_comid(2.0)),
    (COMID, fr_comid(math.inf)),
    (COMID, sgft(2.0)),
    (COMID, sgft(math.inf)),
    (RDA, frda(2.0)),
    (RDA, frda(math.inf)),
    (FTPRL, ftpfrl(math.inf)),
)
ADAGRAD_PAIRS = ((COMID, ADAGRAD_COMID), (RDA, ADAGRAD_RDA))
PAIRS = FEATURE_AWARE_PAIRS + ADAGRAD_PAIRS
