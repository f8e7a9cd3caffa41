"""`rarefy releases`: chains of releases."""

from collections.abc import Iterator, Sequence
from typing import Any

from rarefy.analysis.release_records import METHODS, Chain, Release
from rarefy.cli.views.formatting import percent
from rarefy.cli.views.tables import Column, Page

COMPARED = ("lost_rate", "won_rate", "churn", "n_changed")


def releases_as_json(chains: Sequence[Chain]) -> dict[str, Any]:
    return {
        "methods": [
            {
                "method": chain.method,
                "accuracy": chain.accuracy,
                **{name: chain.mean(name) for name in COMPARED},
                "lost_at_the_end": chain.lost_at_the_end,
                "won_at_the_end": chain.won_at_the_end,
                "new_models": chain.n_new,
                "releases": [release._asdict() for release in chain.releases],
            }
            for chain in chains
        ]
    }


def show_releases(chains: Sequence[Chain]) -> None:
    page = Page()
    page.say(f"{len(chains[0].releases):,} releases; means over them:")
    page.table(*_means(chains))
    for chain in chains:
        page.say(f"\n{chain.method}: {METHODS[chain.method]}")
        if chain.releases[-1].n_models > 1:
            page.say("Not one model: to predict, all models so far are needed.")
        page.table(*_by_release(chain.releases))


def _means(chains: Sequence[Chain]) -> Iterator[Column]:
    yield Column("", [chain.method for chain in chains], "bars")
    yield Column("accuracy", [percent(chain.accuracy, 2) for chain in chains])
    yield Column("lost", [percent(chain.mean("lost_rate"), 2) for chain in chains])
    yield Column("won", [percent(chain.mean("won_rate"), 2) for chain in chains])
    yield Column("churn", [percent(chain.mean("churn"), 2) for chain in chains])
    yield Column("lost in all", [percent(chain.lost_at_the_end, 2) for chain in chains])
    yield Column("won in all", [percent(chain.won_at_the_end, 2) for chain in chains])
    yield Column("changed", [f"{chain.mean('n_changed'):,.0f}" for chain in chains])
    yield Column("weights", [f"{chain.releases[-1].n_weights:,}" for chain in chains])
    yield Column("new models", [f"{chain.n_new:,}" for chain in chains])
    yield Column("models needed", [f"{chain.releases[-1].n_models:,}" for chain in chains])


def _by_release(found: Sequence[Release]) -> Iterator[Column]:
    yield Column("release", [f"{release.number:,}" for release in found])
    yield Column("rows so far", [f"{release.n_learned:,}" for release in found])
    yield Column("judged by", [f"{release.n_rows:,}" for release in found])
    yield Column("accuracy", [percent(release.accuracy, 2) for release in found])
    yield Column("lost", [_rate(release.lost_rate) for release in found])
    yield Column("won", [_rate(release.won_rate) for release in found])
    yield Column("churn", [_rate(release.churn) for release in found])
    changed = ["" if release.n_changed is None else f"{release.n_changed:,}" for release in found]
    yield Column("changed", changed)
    yield Column("weights", [f"{release.n_weights:,}" for release in found])
    yield Column("", ["" if release.is_new else "the old one stays" for release in found], "bars")


def _rate(rate: float | None) -> str:
    return "" if rate is None else percent(rate, 2)
