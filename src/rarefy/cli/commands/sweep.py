"""`rarefy sweep`."""

import csv
import json
import math
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from rarefy.analysis.model_description import feature_as_json
from rarefy.cli.command_line import RememberingCommand, command_line
from rarefy.cli.option_types import FILE, Name, Passes, Several, Size, WholeNumber
from rarefy.cli.options import (
    class_weight_option,
    column_options,
    format_options,
    grid_options,
    loss_options,
    no_intercept_option,
)
from rarefy.cli.sweeping import plan_of_point, swept
from rarefy.cli.training import carry_out
from rarefy.cli.views.display import make_display
from rarefy.cli.views.feature_view import order_of
from rarefy.cli.views.formatting import count, visible
from rarefy.cli.views.sweep_view import (
    MODEL,
    REPORT,
    TABLE,
    choices_as_json,
    facts_of,
    meaning_of_weights,
    point_in_words,
    show_sweep,
)
from rarefy.files.model import model_of
from rarefy.model.scoring import OF_CLASSES, OF_NUMBERS, TALLIED
from rarefy.parameters.entry import LARGEST_SEED
from rarefy.parameters.table import CHOICE, DEFAULT_RULE
from rarefy.readers.source import expand
from rarefy.stores import MOST_FEATURES
from rarefy.streams.stream_model import StreamModel
from rarefy.system.atomic_write import Output
from rarefy.system.output_checks import STREAM, check_outputs
from rarefy.training.checkpoints import Checkpoints
from rarefy.version import __version__

FEATURES_IN_REPORT = 100


@click.command(cls=RememberingCommand)
@click.argument("data", nargs=-1, required=True, type=FILE)
@format_options
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False),
    metavar="DIR",
    required=True,
    help="Output folder; created if missing.",
)
@column_options
@loss_options
@grid_options
@no_intercept_option
@click.option("--folds", type=click.IntRange(2), help="Number of folds.  [default: 10]")
@click.option(
    "--progressive",
    is_flag=True,
    help="Use no folds: judge predictions made for each row before it is learned, in one pass.",
)
@click.option(
    "--passes",
    type=Passes(),
    help="Number of passes over the data.  [default: 20, or 1 with --progressive]",
)
@click.option("--shuffle", is_flag=True, help="Learn the rows in random order.")
@click.option(
    "--by",
    type=Name([name.replace("_", "-") for name in dict.fromkeys(OF_CLASSES + OF_NUMBERS)]),
    help="Metric for the choice.  [default: accuracy, or r2 in regression]",
)
@class_weight_option
@click.option(
    "--choose",
    type=Name(["best", "one-standard-error"]),
    default="best",
    show_default=True,
    help="Choose the best score, or the smallest model within one standard error of it.",
)
@click.option(
    "--within-features",
    type=WholeNumber(1, MOST_FEATURES),
    help=CHOICE["within_features"].help,
)
@click.option(
    "--refit",
    is_flag=True,
    help="Train the non-zero weights again without l1, in every model before it is judged.",
)
@click.option(
    "--refit-features",
    type=Several(click.IntRange(1)),
    metavar="INTEGER,...",
    help="With --refit, keep only this number of features, the strongest.",
)
@click.option(
    "--seed",
    type=WholeNumber(0, LARGEST_SEED),
    default=0,
    show_default=True,
    help="Seed of the folds and of the random order.",
)
@click.option(
    "--memory",
    type=Size(),
    default="4GB",
    show_default=True,
    help="Memory for rows and models; models that do not fit are trained in parts.",
)
@click.option(
    "--on",
    metavar="ray[:ADDRESS]",
    help="Train the models on the workers of a cluster (needs rarefy[ray]).",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@click.pass_context
def sweep(
    context: click.Context, /, folder: str, as_json: bool, quiet: bool, memory: int, **asked: Any
) -> None:
    """Cross-validate parameters on DATA, and train the best model.

    Options with commas take several values, and all combinations are tried, from one reading of
    DATA; rows that do not fit in memory are read again in every pass. DIR gets table.csv, with a
    row for every combination; report.html, with plots; and best.model, trained on all rows.

    \b
    Examples:
      rarefy sweep reviews.svm.gz -o reviews --n-l1 8 --folds 3 --passes 2
      rarefy sweep clicks.csv -o clicks --label click --rule ftrl --eta0 0.1,1 --progressive
    """
    if as_json and quiet:
        raise click.UsageError("choose between --json and --quiet.")
    if asked["refit_features"] is not None and not asked["refit"]:
        raise click.UsageError("--refit-features needs --refit.")
    asked["by"] = asked["by"] and asked["by"].replace("-", "_")
    _settle_validation(asked)
    if asked["rule"] is None:
        asked["rule"] = [DEFAULT_RULE]
    Path(folder).mkdir(parents=True, exist_ok=True)
    outputs = _outputs(folder, asked["data"], None if quiet else STREAM)
    start = time.perf_counter()
    with make_display(quiet=as_json or quiet) as display:
        found, n_points, label_runs = swept(asked, memory, display)
        _write_table(outputs[TABLE], found.table)
        choices = _choices(found, asked["within_features"])
        chosen = _label(asked["choose"], asked["within_features"])
        best = plan_of_point(asked, choices[chosen].parameters, outputs[MODEL].path)
        if label_runs.was_said:
            best.run.label_runs = label_runs  # so that nothing is said twice
        display.stage(f"Learning {visible(outputs[MODEL].path)}")
        carry_out(best, Checkpoints(best, outputs[MODEL]), display)
        model = best.run.model
        facts = facts_of(asked, found, n_points, time.perf_counter() - start)
        facts["weights of best.model"] = count(model.learner.settled().n_nonzero())
        display.stage("Writing the report")
        about = {"rarefy": __version__, "command": command_line(context), **facts}
        _write_report(outputs[REPORT], model, found, about, choices, chosen)
    with suppress(BrokenPipeError):  # what matters is in the files
        if as_json:
            about = choices_as_json(folder, found, choices, chosen)
            click.echo(json.dumps(about, allow_nan=False, indent=2))
        elif not quiet:
            show_sweep(folder, found, facts, choices, chosen)


def _outputs(folder: str, data: tuple[str, ...], stream: str | None) -> dict[str, Output]:
    """The files to write, by their names."""
    paths = {name: os.path.join(folder, name) for name in (TABLE, MODEL, REPORT)}
    check_outputs([*paths.values(), stream], expand(data))
    return {name: Output(path) for name, path in paths.items()}


def _settle_validation(asked: dict[str, Any]) -> None:
    """Put in the defaults of --folds and --passes."""
    if not asked["progressive"]:
        asked["folds"], asked["passes"] = asked["folds"] or 10, asked["passes"] or 20
        return
    if asked["folds"] is not None or asked["passes"] not in (None, 1):
        raise click.UsageError("--progressive is for one pass and no folds.")
    needs_folds = {
        f"--choose {asked['choose']}": asked["choose"] != "best",
        "--refit": asked["refit"],
        "--shuffle": asked["shuffle"],
    }
    for name in (name for name, is_asked in needs_folds.items() if is_asked):
        raise click.UsageError(f"{name} needs folds, and cannot be combined with --progressive.")
    if asked["by"] is not None and asked["by"] not in TALLIED:
        raise click.UsageError(
            f"--by {asked['by'].replace('_', '-')} needs folds; with --progressive, choose by "
            f"accuracy or loss (r2, rmse or loss in regression)."
        )
    asked["passes"] = 1


def _label(choose: str, within_features: int | None) -> str:
    name = choose.replace("-", " ")
    return name if within_features is None else f"{name}, at most {count(within_features)} features"


def _choices(found: Any, within_features: int | None) -> dict[str, Any]:
    """By what they are called; those with few features only if that is asked for."""
    choices = {}
    for most in dict.fromkeys((None, within_features)):
        limit = math.inf if most is None else most
        choices[_label("best", most)] = found.best(within_features=limit)
        if found.by_fold["loss"].shape[1] > 1:
            one = found.one_standard_error(within_features=limit)
            choices[_label("one-standard-error", most)] = one
    return choices


def _write_table(output: Output, table: dict[str, list[Any]]) -> None:
    with output.writing("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))


def _write_report(
    output: Output,
    learned: StreamModel,
    found: Any,
    facts: dict[str, str],
    choices: dict[str, Any],
    chosen: str,
) -> None:
    from rarefy.sweeping.report import report

    model = model_of(learned, {}, slim=True)
    strongest = order_of(model.kept, "weight", None)[:FEATURES_IN_REPORT]
    features = [feature_as_json(model, at) for at in strongest.tolist()]
    for feature in features:
        del feature["key"]
    facts = {
        **facts,
        "best.model": f"{chosen}: {point_in_words(found, choices[chosen])}",
        "a positive weight": meaning_of_weights(model.classes),
    }
    with output.writing("w") as file:
        file.write(report(found, facts, choices, chosen, features))
