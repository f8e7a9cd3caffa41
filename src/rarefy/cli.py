"""The command line: `rarefy train` and `rarefy predict`."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import IO, Any

import click

from rarefy import quick_start  # noqa: F401
from rarefy.config import make_loss, make_rule
from rarefy.errors import InputError, RarefyError
from rarefy.intensity import Basis
from rarefy.losses import LOSSES, REGRESSION_LOSSES
from rarefy.model_file import check_place, load_model, model_of, save_model
from rarefy.multiclass import MULTICLASS, check_multiclass
from rarefy.probabilities import LOSSES_WITH_PROBABILITIES
from rarefy.probabilities import probabilities as probabilities_of
from rarefy.readers import BAD_LINES, Reader, read
from rarefy.readers.formats import FORMATS
from rarefy.replacing import replacing
from rarefy.rules import ALIASES, RULES
from rarefy.schedules import SCHEDULES
from rarefy.stores import DEFAULT_BITS, MOST_BITS, STORES, make_store
from rarefy.stream import StreamModel, Task, predicted_labels

STDOUT = "-"
ENOUGH_TO_DOUBT = 100  # examples
NO_MEMORY = "there is not enough memory; try fewer --bits, or a smaller --max-features."


class Commands(click.Group):
    """Turns the library's errors into one line and exit code 1."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except RarefyError as error:
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:
            raise  # who reads the predictions has seen enough; click ends without a word
        except OSError as error:
            raise click.ClickException(f"{error.filename}: {error.strerror}.") from error
        except MemoryError as error:
            raise click.ClickException(NO_MEMORY) from error


class Names(click.ParamType):  # type: ignore[type-arg]
    """Names with commas between them."""

    name = "NAME,..."

    def convert(self, value: Any, param: Any, context: Any) -> tuple[str, ...]:
        return value if isinstance(value, tuple) else tuple(value.split(","))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rarefy")
def main() -> None:
    """Sparse online learning that keeps the rare features that matter.

    Exit codes: 0 done; 1 the data or the parameters are wrong; 2 the command is wrong.
    """


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def names_option(*flags: str, help: str) -> Callable[[Any], Any]:
    return click.option(*flags, type=Names(), default=(), help=help)


data_options = options(
    click.argument("data", nargs=-1, required=True),
    click.option("--format", type=click.Choice(FORMATS), help="Told from the data."),
    click.option("--bad-lines", type=click.Choice(BAD_LINES), default="stop", show_default=True),
)
column_options = options(
    click.option("--label", default="label", show_default=True, help="Column of the labels."),
    click.option("--weight", help="Column of the importance of a row."),
    names_option("--text", help="Columns to cut into words and word pairs."),
    names_option("--categorical", help="Columns whose values are names."),
    names_option("--numeric", help="Columns whose values are numbers."),
    names_option("--ignore", help="Columns to pass over."),
    click.option("--delimiter", help="Of CSV; told from the first line."),
    click.option(
        "--header/--no-header", default=True, help="Of CSV; without one, columns are 1, 2."
    ),
    click.option("--quotes/--no-quotes", default=True, help="Whether CSV fields may be quoted."),
    click.option(
        "--cross",
        type=Names(),
        multiple=True,
        metavar="A,B",
        help="Every feature of namespace or column A times every one of B; may be repeated.",
    ),
    names_option("--classes", help="All labels that may come; told from the first rows."),
)
rule_options = options(
    click.option(
        "--rule",
        type=click.Choice([*RULES, *ALIASES]),
        help="Default: frda, or adagrad-fobos for regression.",
    ),
    click.option("--l1", type=float, help="More of it, fewer weights."),
    click.option("--l2", type=float),
    click.option("--q", type=float, help="Norm of the feature-aware penalty: 1, 2, inf, ..."),
    click.option("--basis", type=click.Choice([basis.name.lower() for basis in Basis])),
    click.option("--cap", type=float, help="Upper bound of that norm."),
    click.option("--eta0", type=float, help="The first step."),
    click.option("--beta", type=float),
    click.option("--schedule", type=click.Choice(list(SCHEDULES))),
    click.option("--truncate-every", type=int),
    click.option("--threshold", type=float),
    click.option("--cumulative", is_flag=True, help="Cumulative penalty (fobos, fr-comid)."),
)


@main.command()
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


# The parameters of `train` that say how to read.
READING = (
    *("format", "bad_lines", "cross", "classes", "label", "weight", "text", "categorical"),
    *("numeric", "ignore", "delimiter", "header", "quotes"),
)


@main.command()
@click.argument("model_path", metavar="MODEL")
@data_options
@click.option("-o", "--output", default=STDOUT, help="Where to write the predictions.")
@click.option("--scores", is_flag=True, help="Scores instead of labels, one a class.")
@click.option(
    "--probabilities", is_flag=True, help="Probabilities instead (logistic, modified_huber)."
)
def predict(
    model_path: str,
    data: tuple[str, ...],
    format: str | None,
    bad_lines: str,
    output: str,
    scores: bool,
    probabilities: bool,
) -> None:
    """Predict DATA with MODEL, a line each.

    With two classes the score, or the probability, is that of the second one; with more, there is
    one for each, in the order of the classes, with a tab between them.

    \b
    Example:
      rarefy predict reviews.model new.svm --probabilities
    """
    if scores and probabilities:
        raise click.UsageError("choose between --scores and --probabilities.")
    if output != STDOUT:
        check_place(output)
    saved = load_model(model_path)
    if probabilities and saved.loss not in LOSSES_WITH_PROBABILITIES:
        raise click.UsageError(f"the model has the {saved.loss} loss, which has no probabilities.")
    reader = read(*data, format=format, bad_lines=bad_lines, classes=saved.classes)
    model = saved.scorer()
    with predictions_file(output) as file:
        for batch in model.scores(reader):
            if probabilities:
                lines = table_lines(probabilities_of(saved.loss, model.learner.loss, batch))
            elif scores or model.task.is_regression:
                lines = table_lines(batch)
            else:
                lines = predicted_labels(model, batch)
            file.write("\n".join(lines) + "\n" if lines else "")
    report_bad_lines(reader)


def predictions_file(path: str) -> AbstractContextManager[IO[str]]:
    """Where predictions go; an older file stays as it is until all of them are there."""
    return click.open_file(path, "w") if path == STDOUT else replacing(path, "w", encoding="utf-8")


def table_lines(numbers: Any) -> list[str]:
    """Numbers as text, a row a line, in full precision."""
    if numbers.shape[1] == 1:
        return list(map(str, numbers.ravel().tolist()))
    return ["\t".join(map(str, row)) for row in numbers.tolist()]


def report_bad_lines(reader: Reader) -> None:
    if reader.n_bad_lines:
        shown = "\n  ".join(reader.bad_lines)
        click.echo(f"{reader.n_bad_lines:,} bad lines were skipped, first:\n  {shown}", err=True)


def run() -> None:
    """The command as a process, which ends at once: tidying up would take an eighth of a second."""
    try:
        main()
    except SystemExit as end:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(int(end.code or 0))


if __name__ == "__main__":
    run()
