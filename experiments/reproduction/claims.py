"""What the papers say, and the comparisons that bear it out or do not."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from experiments.comparison import HIGHER, LOWER, Comparison, Tally
from experiments.reproduction.methods import (
    ADAGRAD_COMID,
    ADAGRAD_RDA,
    COMID,
    CUMULATIVE_COMID,
    FTPRL,
    RDA,
    cumulative_sgft,
    feature_frda,
    fr_comid,
    frda,
    ftpfrl,
    sgft,
)
from experiments.reproduction.runs import Case
from experiments.reproduction.study import CHOICES, Study, best, best_sparse

SAME = 0
INF = math.inf


class Finding(NamedTuple):
    """What comparisons say of a claim; `wanted` is HIGHER, LOWER or SAME."""

    wanted: int
    comparisons: Sequence[Comparison]

    @property
    def verdict(self) -> str:
        if self.wanted != SAME:
            return Tally(self.wanted, self.comparisons).verdict
        against = [c.dataset for c in self.comparisons if c.sign != 0]
        if not against:
            return "holds"
        few = 2 * len(against) < len(self.comparisons)
        return f"{'holds in part' if few else 'does not hold'}; against it: {', '.join(against)}"

    @property
    def counts(self) -> str:
        """Better / cannot be told / worse; for sameness lower / the same / higher."""
        return Tally(self.wanted or LOWER, self.comparisons).counts

    @property
    def points(self) -> str:
        """The mean difference, in points."""
        return f"{100 * np.mean([c.difference for c in self.comparisons]):+.1f}"

    @property
    def p_values(self) -> str:
        return ", ".join(shown_p(c.p) for c in self.comparisons)


def shown_p(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.2g}"


class Statement(NamedTuple):
    """`after` has a higher, lower or equal measure than `before`."""

    source: str
    text: str
    before: str
    after: str
    wanted: int = HIGHER
    measure: str = "accuracy"
    choices: tuple[str, ...] = tuple(CHOICES)


class Claim(NamedTuple):
    """A sentence of the papers, and a finding for each way of choosing l1."""

    source: str
    text: str
    findings: dict[str, Finding]
    statement: Statement | None = None


AT_BEST = tuple(name for name, choose in CHOICES.items() if choose is best)
AT_SPARSE = tuple(name for name, choose in CHOICES.items() if choose is best_sparse)


def more_zeros(source: str, after: str, before: str, wanted: int = HIGHER) -> Statement:
    words = {HIGHER: "has more zeros than", LOWER: "has fewer zeros than",
             SAME: "has as many zeros as"}  # fmt: skip
    return Statement(
        source, f"{after} {words[wanted]} {before}", before, after, wanted, "zeros", AT_BEST
    )


def more_accurate(source: str, after: str, before: str, wanted: int = HIGHER) -> Statement:
    words = {HIGHER: "is more accurate than", SAME: "is as accurate as"}
    return Statement(source, f"{after} {words[wanted]} {before}", before, after, wanted)


STATEMENTS = (
    more_accurate("T4.7", fr_comid(INF), COMID),
    more_accurate("T4.7", frda(INF), RDA),
    more_accurate("T4.7", ftpfrl(INF), FTPRL),
    more_zeros("T4.7", frda(INF), RDA),
    more_zeros("T4.7", ftpfrl(INF), FTPRL, SAME),
    more_accurate("T4.3", fr_comid(INF), fr_comid(1.0)),
    more_accurate("T4.3", fr_comid(INF), fr_comid(2.0)),
    more_zeros("T4.3", fr_comid(INF), fr_comid(2.0)),
    more_accurate("T4.5", frda(INF), frda(2.0), SAME),
    more_zeros("T4.5", frda(INF), frda(1.0)),
    Statement(
        "T, section 4.5.1",
        f"{frda(INF)} is more accurate than {frda(1.0)}, which gives no useful sparse model",
        frda(1.0),
        frda(INF),
        choices=AT_SPARSE,
    ),
    more_accurate("T4.5", frda(INF), fr_comid(INF)),
    more_accurate("T4.5", frda(INF), ftpfrl(INF)),
    more_accurate("T4.6", ftpfrl(INF), ftpfrl(1.0)),
    more_accurate("T4.6", ftpfrl(INF), ftpfrl(2.0)),
    more_zeros("T4.6", ftpfrl(INF), fr_comid(INF)),
    more_zeros("T4.6", ftpfrl(INF), frda(INF)),
    more_accurate("T4.9", frda(INF), feature_frda(2.0)),
    more_accurate("T4.9", frda(INF), feature_frda(INF)),
    more_zeros("T4.9", frda(INF), feature_frda(INF)),
    more_accurate("T, section 4.5", ADAGRAD_COMID, COMID, SAME),
    more_accurate("T, section 4.5", ADAGRAD_RDA, RDA, SAME),
    more_accurate("S4, H2", sgft(2.0), COMID),
    more_accurate("H2", sgft(3.0), COMID),
    more_accurate("S3", sgft(2.0), sgft(1.0)),
    more_accurate("S3", sgft(2.0), sgft(INF)),
    more_zeros("S3", sgft(INF), sgft(1.0)),
    more_accurate("S4", RDA, sgft(2.0)),
    more_zeros("S4", RDA, sgft(2.0), LOWER),
    more_accurate("S, eq. 13–14", cumulative_sgft(2.0), sgft(2.0), SAME),
    more_accurate("S, eq. 13–14", CUMULATIVE_COMID, COMID, SAME),
)


def text_claims(study: Study) -> list[Claim]:
    """Those on the rules of which the plan has both."""
    claims = []
    for statement in STATEMENTS:
        datasets = [
            dataset
            for dataset in study.plan.datasets
            if {statement.before, statement.after} <= set(study.methods(dataset))
        ]
        if datasets:
            findings = {
                name: Finding(statement.wanted, comparisons_of(study, statement, datasets, name))
                for name in statement.choices
            }
            claims.append(Claim(statement.source, statement.text, findings, statement))
    return claims


def comparisons_of(
    study: Study, statement: Statement, datasets: Iterable[str], choice: str
) -> list[Comparison]:
    _, _, before, after, _, measure, _ = statement
    return [study.compare(dataset, before, after, measure, CHOICES[choice]) for dataset in datasets]


def step_claims(study: Study) -> Iterator[Claim]:
    """That the size of the steps hardly matters (T4.5's footnote)."""
    plan = study.plan
    for name, variant in plan.variants.items():
        if variant._replace(eta0=plan.protocol.eta0) != plan.protocol or variant == plan.protocol:
            continue
        found = []
        for method in plan.open_methods:
            before = study.case(plan.open_dataset, method)
            after = Case(plan.open_dataset, method, variant)
            comparison = study.compare_cases(before, after, "accuracy", best)
            found.append(comparison._replace(dataset=method))
        text = f"{name} is as good as η = {plan.protocol.eta0:g}/√t"
        yield Claim("T, section 4.5", text, {AT_BEST[0]: Finding(SAME, found)})
