"""Claims that do not come out, and what the other runs say about the reason."""

import math
from statistics import median

from experiments.comparison import SIGNIFICANT
from experiments.reproduction.claims import AT_BEST, SAME, Claim, Finding, Statement
from experiments.reproduction.data import SOURCES
from experiments.reproduction.methods import COMID, FTPRL, RDA, fr_comid, frda, ftpfrl
from experiments.reproduction.published import T4_7
from experiments.reproduction.study import CHOICES, Study, zeros_among_best

COMES_OUT = ("holds", "holds mostly")
MOST_SETS = 3  # that are named
NOTHING = Finding(SAME, ())
PLAIN_AND_AWARE = (
    (COMID, fr_comid(math.inf)),
    (RDA, frda(math.inf)),
    (FTPRL, ftpfrl(math.inf)),
)


def section(study: Study, claims: list[Claim]) -> str:
    missed = [
        claim
        for claim in claims
        if any(finding.verdict not in COMES_OUT for finding in claim.findings.values())
    ]
    lines = "\n".join(f"- {line(study, claim)}" for claim in missed) or "All of it comes out."
    return f"""## What could not be reproduced, and why

**Differences too small to detect.** {smallest_differences(study, claims)}

**Other reasons.** For each claim that fails with one way of choosing l1: whether it holds
with the other, and under how many readings of the protocol ({study.plan.open_dataset}, where
tried). For claims about zeros: the range of zeros over which the accuracy of each rule is
within one
standard error of its best. If that range is wide, the share of zeros depends more on the choice
of l1
than on the rule.

{lines}"""


def smallest_differences(study: Study, claims: list[Claim]) -> str:
    """What could be told on each data set, beside the differences that T4.7 prints."""
    resolutions: dict[str, list[float]] = {name: [] for name in study.plan.datasets}
    for claim in claims:
        if claim.statement is not None and claim.statement.measure == "accuracy":
            for comparison in claim.findings.get(AT_BEST[0], NOTHING).comparisons:
                resolutions[comparison.dataset].append(100 * comparison.resolution)
    least = {name: median(found) for name, found in resolutions.items() if found}
    published = [
        (figures[after].accuracy - figures[before].accuracy, least[dataset])
        for dataset in study.plan.binary
        for figures in [T4_7.figures[SOURCES[dataset].published_as]]
        for before, after in PLAIN_AND_AWARE
    ]
    small = sum(abs(difference) < told for difference, told in published)
    shown = ", ".join(f"{name} {points:.1f}" for name, points in least.items())
    return f"""The smallest difference in accuracy that would have p < {SIGNIFICANT}, in points
(median
over the comparisons with l1 chosen for accuracy): {shown}. Of the {len(published)}
differences between feature-aware and plain rules in T4.7, counted for both versions of the reviews,
{small} are smaller than that. The thesis reports no standard errors."""


def line(study: Study, claim: Claim) -> str:
    found = "; ".join(
        f"{choice}: {finding.verdict} ({finding.points} points)"
        for choice, finding in claim.findings.items()
    )
    text = f"*{claim.text}* ({claim.source}). {found[0].upper()}{found[1:]}."
    statement = claim.statement
    if statement is None:
        return text
    if statement.measure == "zeros":
        return f"{text} {ranges_of_zeros(study, statement, claim.findings[AT_BEST[0]])}"
    if {statement.before, statement.after} <= set(study.plan.open_methods):
        readings = (other_readings(study, statement, choice) for choice in claim.findings)
        return f"{text} Other readings: {'; '.join(readings)}."
    return text


def other_readings(study: Study, statement: Statement, choice: str) -> str:
    _, _, before, after, wanted, *_ = statement
    signs = {
        name: study.compare_cases(cases[before], cases[after], "accuracy", CHOICES[choice]).sign
        for name, cases in study.readings().items()
    }
    fitting = [name for name, sign in signs.items() if sign == wanted]
    names = f" ({', '.join(fitting)})" if fitting and wanted != SAME else ""
    return f"{choice}, for the claim under {len(fitting)} of {len(signs)}{names}"


def ranges_of_zeros(study: Study, statement: Statement, finding: Finding) -> str:
    """On the first data sets that are not for the claim."""
    datasets = [c.dataset for c in finding.comparisons if c.sign != finding.wanted][:MOST_SETS]
    parts = []
    for dataset in datasets:
        ranges = [_range(study, dataset, method) for method in (statement.after, statement.before)]
        parts.append(f"{dataset}: {', '.join(ranges)}")
    return f"Zeros at about the best accuracy, in per cent: {'; '.join(parts)}."


def _range(study: Study, dataset: str, method: str) -> str:
    least, most = zeros_among_best(study.path(study.case(dataset, method)))
    return f"{method} {100 * least:.0f}–{100 * most:.0f}"
