"""Claims that do not come out, and what the other runs say about the reason."""

from experiments.comparison import HIGHER
from experiments.reproduction.claims import SAME, Claim, Finding, Statement
from experiments.reproduction.methods import PAIRS
from experiments.reproduction.study import CHOICES, Study, zeros_among_best

COMES_OUT = ("holds", "holds mostly")
MOST_SETS = 3  # that are named


def section(study: Study, claims: list[Claim]) -> str:
    missed = [
        (claim, choice, finding)
        for claim in claims
        for choice, finding in claim.findings.items()
        if finding.verdict not in COMES_OUT
    ]
    lines = "\n".join(f"- {line(study, *case)}" for case in missed) or "All of it comes out."
    return f"""## What does not come out, and why

For each claim: with which choice of l1; whether it comes out with the other choice; whether it
does with another reading of the protocol ({study.plan.open_dataset} only, where it was tried). For
claims about zeros: between which shares of zeros the accuracy of either rule is the same, to a
standard error. Where that range is wide, the share of zeros says more about the choice of l1 than
about the rule.

{lines}"""


def line(study: Study, claim: Claim, choice: str, finding: Finding) -> str:
    text = f"*{claim.text}* ({claim.source}), {choice}: {finding.verdict}"
    text += f" ({finding.points} points)."
    others = [name for name in claim.findings if name != choice]
    text += "".join(f" With {name}: {claim.findings[name].verdict}." for name in others)
    if claim.statement is None:
        return text
    if claim.statement.measure == "zeros":
        return f"{text} {ranges_of_zeros(study, claim.statement, finding)}"
    if (claim.statement.before, claim.statement.after) in PAIRS:
        return f"{text} {other_readings(study, claim.statement, choice)}"
    return text


def other_readings(study: Study, statement: Statement, choice: str) -> str:
    _, _, before, after, wanted, *_ = statement
    if not {before, after} <= set(study.plan.open_methods):
        return ""
    signs = {
        name: study.compare_cases(cases[before], cases[after], "accuracy", CHOICES[choice]).sign
        for name, cases in study.readings().items()
    }
    fitting = [name for name, sign in signs.items() if sign == wanted]
    if wanted == SAME:
        return f"No difference under {len(fitting)} of {len(signs)} readings."
    word = "Higher" if wanted == HIGHER else "Lower"
    names = f": {', '.join(fitting)}" if fitting else ""
    return f"{word} under {len(fitting)} of {len(signs)} readings{names}."


def ranges_of_zeros(study: Study, statement: Statement, finding: Finding) -> str:
    """On the first data sets that are not for the claim."""
    datasets = [c.dataset for c in finding.comparisons if c.sign != finding.wanted][:MOST_SETS]
    parts = []
    for dataset in datasets:
        ranges = [_range(study, dataset, method) for method in (statement.after, statement.before)]
        parts.append(f"{dataset}: {', '.join(ranges)}")
    return f"Zeros that go with the best accuracy, in per cent: {'; '.join(parts)}."


def _range(study: Study, dataset: str, method: str) -> str:
    least, most = zeros_among_best(study.path(study.case(dataset, method)))
    return f"{method} {100 * least:.0f}–{100 * most:.0f}"
