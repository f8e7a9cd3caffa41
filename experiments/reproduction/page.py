"""The page: what was done, what came of it, and what follows."""

from typing import NamedTuple

from experiments.comparison import SIGNIFICANT
from experiments.reproduction import beyond_section, reasons, sections, shortfalls
from experiments.reproduction.beyond import Beyond
from experiments.reproduction.checks import (
    Check,
    gravity_checks,
    gravity_claims,
    lazy_check,
    names_checks,
)
from experiments.reproduction.claims import Claim, step_claims, text_claims
from experiments.reproduction.defaults import Defaults
from experiments.reproduction.eager import LazyAndEager
from experiments.reproduction.gravity import Trades
from experiments.reproduction.names import Kept
from experiments.reproduction.plan import TARGET_ZEROS
from experiments.reproduction.published import TABLES
from experiments.reproduction.study import Study
from experiments.reproduction.tables import checks_table, claims_table

HEAD = """<!-- Written by `make reproduce`; to change it, change experiments/reproduction/. -->
# The papers' experiments on truncation, reproduced

Are models more accurate, or smaller, if the penalty of each feature depends on its past
subgradients (*feature-aware*) instead of being the same for all features? The papers say so. This
page repeats their experiments and gives a verdict on every claim.

COMID, FOBOS and SG-L1 are three names of one rule; FR-COMID, SGFT and HF-FOBOS are its
feature-aware forms. FRDA is the feature-aware form of RDA, and FTPFRL that of FTPRL.

T is the thesis (chapter 4), S the paper on SGFT, H the paper on HF-FOBOS, L the paper on the
truncated gradient ([Notation](../reference/notation.md) has the references); T4.7 is table 4.7 of
T. The slides on STDA, an earlier name of FRDA, show parts of T4.7 to T4.9. Chapter 5 of the thesis
has [its own page](endowment-experiments.md). `make reproduce` runs everything on two cores and
writes this page, verdicts included."""
VERDICTS = ("holds", "holds mostly", "holds in part", "mostly undecided", "does not hold")


class Results(NamedTuple):
    study: Study
    kept: Kept
    lazy: LazyAndEager
    defaults: Defaults
    trades: Trades


def page(results: Results) -> str:
    study, kept, lazy, defaults, trades = results
    of_texts = text_claims(study)
    claims = [*of_texts, *step_claims(study), *gravity_claims(trades)]
    checks = [*names_checks(kept), lazy_check(lazy), *gravity_checks(trades)]
    beyond = Beyond(study)
    parts = (
        HEAD,
        verdicts(claims, checks, beyond),
        how_to_read(study),
        sections.default_parameters(study, defaults),
        shortfalls.section(study, of_texts),
        reasons.of_claims(claims),
        sections.left_open(study),
        sections.data_and_protocol(study),
        *(sections.table_of_the_papers(study, table) for table in TABLES),
        sections.every_rule(study),
        beyond_section.section(beyond),
        sections.kept_features(study, kept),
        sections.intensity(),
        sections.truncated_gradient(study, trades),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def verdicts(claims: list[Claim], checks: list[Check], beyond: Beyond) -> str:
    found = [finding.verdict for claim in claims for finding in claim.findings.values()]
    words = [verdict.split(";")[0] for verdict in found] + [check.verdict for check in checks]
    counts = ", ".join(f"{words.count(word)} {word}" for word in VERDICTS if word in words)
    return f"""## Verdicts

{len(words)} verdicts: {counts}. What the words mean is [below](#how-to-read-the-verdicts).
{beyond_section.in_short(beyond)}

{claims_table(claims)}

{checks_table(checks)}"""


def how_to_read(study: Study) -> str:
    return f"""## How to read the verdicts

- A claim is tested on every data set on which both rules were trained. A comparison is *for* the
  claim, or *against* it, if the difference is significant: p < {SIGNIFICANT} in a paired test over
  the folds of all shuffles, with the correction of Nadeau and Bengio (2003) for folds that share
  rows. By chance alone, one comparison in twenty would be significant.
- All comparisons for the claim: *holds*. None against it: *holds mostly* if at least half are for
  it, *mostly undecided* if fewer. Some against it: *holds in part* if more are for it, else *does
  not hold*.
- If the claim is that two rules are equal, the three numbers are lower / not significant / higher.
  It *holds* if no difference is significant, and *holds in part* if fewer than half are.
- Points are percentage points, averaged over the data sets.
- p-values are in this order: {", ".join(study.plan.datasets)}. Sets without both rules are left
  out. For steps they are in the order of the rules of
  [the other readings](#what-the-papers-leave-open), for L in that of
  [the UCI sets](#l-truncated-gradient-on-the-uci-sets).
- l1 is chosen in two ways: for the highest accuracy, as in S and H, and for the highest accuracy
  among models with at least {TARGET_ZEROS:.0%} zeros. The thesis wanted both accuracy and sparsity
  and does not say how it chose; [its figures](#data-and-protocol) fit the second way better."""
