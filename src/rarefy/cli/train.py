"""`rarefy train`."""

import time
from typing import Any

import click

from rarefy.cli.options import (
    READING,
    column_options,
    data_options,
    report_bad_lines,
    rule_options,
)
from rarefy.config import make_loss, make_rule
from rarefy.errors import InputError
from rarefy.losses import LOSSES, REGRESSION_LOSSES
from rarefy.model_file import check_place, model_of, save_model
from rarefy.multiclass import MULTICLASS, check_multiclass
from rarefy.readers import read
from rarefy.stores import DEFAULT_BITS, MOST_BITS, STORES, make_store
from rarefy.stream import StreamModel, Task

ENOUGH_TO_DOUBT = 100  # examples


@click.command()
@data_options
@click.option("-o", "--output", "model_path", required=True, help="Where to write the model.")
@column_options
@click.option("--loss", type=click.Choice(list(LOSSES)), default="logistic", show_default=True)
@click.option("--epsilon", type=float, help="Of huber and epsilon_insensitive.")
@click.option("--quantile", type=float, help="Of the quantile loss.")
@click.option("--multiclass", type=click.Choice(MULTICLASS), default="auto", show_default=True)
@rule_options
@click.option("--no-intercept", is_flag=True)
@click.option("--passes", type=click.IntRange(1), default=1, show_default=True)
@click.option(
    "--store",
    type=click.Choice(STORES),
    help="Where weights are: by index, shared by hash, or exact. Default: table; hashed with -b.",
)
@click.option(
    "-b",
    "--bits",
    type=click.IntRange(1, MOST_BITS),
    help=f"Features share 2^bits weights (store hashed).  [default: {DEFAULT_BITS}]",
)
@click.option(
    "--max-features",
    type=click.IntRange(1),
    help="Never hold more; the least useful ones are dropped (store table).",
)
@click.option("--names/--no-names", default=True, help="Keep the names of features (store table).")
@click.option(
    "--cache",
    type=click.Path(dir_okay=False),
    help="File to keep the parsed rows in, for further passes and runs (needs rarefy[arrow]).",
)
@click.option("--quiet", is_flag=True, help="Say nothing unless something is wrong.")
def train(
    data: tuple[str, ...],
    model_path: str,
    loss: str,
    epsilon: float | None,
    quantile: float | None,
    multiclass: str,
    no_intercept: bool,
    passes: int,
    store: str | None,
    bits: int | None,
    max_features: int | None,
    names: bool,
    cache: str | None,
    quiet: bool,
    **others: Any,
) -> None:
    """Learn a model from DATA: files, globs, or - for standard input.

    \b
    Examples:
      rarefy train reviews.svm.gz -o reviews.model --rule frda --l1 3e-4
      rarefy train clicks.csv -o clicks.model --label click --cross site,ad
      rarefy train sms.tsv -o sms.model --label kind --text message
    """
    start = time.perf_counter()
    check_place(model_path)
    reading = {name: others.pop(name) for name in READING}
    reader = read(*data, **reading)
    rule_name = others.pop("rule") or ("adagrad-fobos" if loss in REGRESSION_LOSSES else "frda")
    rule, schedule = make_rule(rule_name, loss=loss, **others)
    check_multiclass(multiclass, loss)
    own_loss = make_loss(loss, **given_to_loss(loss, epsilon=epsilon, quantile=quantile))
    store = store or ("table" if bits is None else "hashed")
    model = StreamModel(
        Task(rule, schedule, own_loss, multiclass, not no_intercept),
        make_store(store, bits=bits, max_features=max_features, names=names),
        reading["classes"],
    )
    model.learn(reader, passes=passes, cache=cache)
    report_bad_lines(reader)
    if model.t == 0:
        raise InputError(f"{' '.join(data)}: there are no examples to learn from.")
    saved = model_of(model, {"passes": passes, "data": data})
    save_model(model_path, saved)
    if not quiet:
        for remark in (model.store.report(), doubt(model)):
            if remark:
                click.echo(remark, err=True)
        click.echo(
            f"{saved.examples:,} examples, progressive loss {saved.progressive_loss:.5f}, "
            f"{len(saved.kept.weights):,} weights kept, {time.perf_counter() - start:.2f} s: "
            f"{model_path}",
            err=True,
        )


def doubt(model: StreamModel) -> str:
    """A warning, if what was learned made predictions worse than none."""
    before = model.loss_without_weights()
    if model.t < ENOUGH_TO_DOUBT or not model.learner.progressive_loss > before:
        return ""
    return (
        f"Warning: predictions made while learning were worse than without any weights (loss "
        f"{before:.5f}). Numbers may be too large for the steps: try --rule ftrl, smaller --eta0, "
        f"or --categorical for columns that are names."
    )


def given_to_loss(loss: str, **parameters: float | None) -> dict[str, float]:
    """The parameters that were given; one that the loss does not have is a mistake."""
    given = {name: value for name, value in parameters.items() if value is not None}
    for name in given:
        if name not in LOSSES[loss]._fields:
            raise click.UsageError(f"--{name} has no meaning for the {loss} loss.")
    return given
