"""The command line: `rarefy train` and `rarefy predict`."""

import sys
import time
from typing import Any

import click
import numpy as np

from rarefy.config import make_rule
from rarefy.errors import InputError, RarefyError
from rarefy.intensity import Basis
from rarefy.learner import Learner
from rarefy.losses import MARGIN_LOSSES, REGRESSION_LOSSES
from rarefy.model_file import Model, check_place, load_model, save_model
from rarefy.readers import BAD_LINES, PARSERS, Reader, read
from rarefy.rules import ALIASES, RULES
from rarefy.rules.ogd import Ogd
from rarefy.schedules import SCHEDULES, Constant
from rarefy.slots import MOST_BITS, HashedSlots
from rarefy.stream import learn_stream, score_stream

LOSSES = {**MARGIN_LOSSES, **REGRESSION_LOSSES}


class Commands(click.Group):
    """Turns the library's errors into one line and exit code 1."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except RarefyError as error:
            raise click.ClickException(str(error)) from error
        except OSError as error:
            raise click.ClickException(f"{error.filename}: {error.strerror}.") from error
        except MemoryError as error:
            raise click.ClickException("there is not enough memory; try fewer --bits.") from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rarefy")
def main() -> None:
    """Sparse online learning that keeps the rare features that matter.

    Exit codes: 0 done; 1 the data or the parameters are wrong; 2 the command is wrong.
    """


def reading_options(command: Any) -> Any:
    """How to read the data."""
    options = [
        click.argument("data", nargs=-1, required=True),
        click.option("--format", type=click.Choice(list(PARSERS)), help="Told from the data."),
        click.option(
            "--bad-lines", type=click.Choice(BAD_LINES), default="stop", show_default=True
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@main.command()
@reading_options
@click.option("-o", "--output", "model_path", required=True, help="Where to write the model.")
@click.option(
    "--rule",
    type=click.Choice([*RULES, *ALIASES]),
    help="Default: frda, or adagrad-fobos for regression.",
)
@click.option("--loss", type=click.Choice(list(LOSSES)), default="logistic", show_default=True)
@click.option("--l1", type=float, help="More of it, fewer weights.")
@click.option("--l2", type=float)
@click.option("--q", type=float, help="Norm of the feature-aware penalty: 1, 2, inf, ...")
@click.option("--basis", type=click.Choice([basis.name.lower() for basis in Basis]))
@click.option("--cap", type=float, help="Upper bound of that norm.")
@click.option("--eta0", type=float, help="The first step.")
@click.option("--beta", type=float)
@click.option("--schedule", type=click.Choice(list(SCHEDULES)))
@click.option("--truncate-every", type=int)
@click.option("--threshold", type=float)
@click.option("--cumulative", is_flag=True, help="Cumulative penalty (fobos, fr-comid).")
@click.option("--no-intercept", is_flag=True)
@click.option("--passes", type=click.IntRange(1), default=1, show_default=True)
@click.option(
    "-b",
    "--bits",
    type=click.IntRange(1, MOST_BITS),
    default=22,
    show_default=True,
    help="Features share 2^bits weights.",
)
@click.option("--quiet", is_flag=True, help="Say nothing unless something is wrong.")
def train(
    data: tuple[str, ...],
    format: str | None,
    bad_lines: str,
    model_path: str,
    loss: str,
    no_intercept: bool,
    passes: int,
    bits: int,
    quiet: bool,
    **rule_parameters: Any,
) -> None:
    """Learn a model from DATA: files, globs, or - for standard input.

    Labels are 1 and -1 (or 0) for the classification losses.

    \b
    Example:
      rarefy train reviews.svm.gz -o reviews.model --rule frda --l1 3e-4
    """
    start = time.perf_counter()
    check_place(model_path)
    reader = read(*data, format=format, bad_lines=bad_lines)
    slots = HashedSlots(bits)
    default_rule = "adagrad-fobos" if loss in REGRESSION_LOSSES else "frda"
    chosen = rule_parameters.pop("rule") or default_rule
    rule, schedule = make_rule(chosen, loss=loss, **rule_parameters)
    learner = Learner(
        rule, schedule, LOSSES[loss](), n_features=slots.n_slots, fit_intercept=not no_intercept
    )
    learn_stream(learner, reader, slots, loss, passes=passes)
    report_bad_lines(reader)
    if learner.t == 0:
        raise InputError(f"{' '.join(data)}: there are no examples to learn from.")
    kept, weights = learner.nonzero()
    parameters = {"rule": str(rule), "schedule": str(schedule), "passes": passes, "data": data}
    save_model(
        model_path,
        Model(
            loss=loss,
            bits=bits,
            intercept=float(learner.intercept()[0]),
            parameters=parameters,
            examples=learner.t,
            progressive_loss=learner.progressive_loss,
            slots=kept,
            weights=weights,
        ),
    )
    if not quiet:
        seconds = time.perf_counter() - start
        click.echo(
            f"{learner.t:,} examples, progressive loss {learner.progressive_loss:.5f}, "
            f"{len(kept):,} weights kept, {seconds:.2f} s: {model_path}",
            err=True,
        )


@main.command()
@click.argument("model_path", metavar="MODEL")
@reading_options
@click.option("-o", "--output", default="-", help="Where to write the predictions.")
@click.option("--scores", is_flag=True, help="Scores instead of labels.")
@click.option("--probabilities", is_flag=True, help="Probabilities of label 1 (logistic loss).")
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

    \b
    Example:
      rarefy predict reviews.model new.svm --probabilities
    """
    if scores and probabilities:
        raise click.UsageError("choose between --scores and --probabilities.")
    model = load_model(model_path)
    if probabilities and model.loss != "logistic":
        raise click.UsageError(f"the model has the {model.loss} loss, which has no probabilities.")
    reader = read(*data, format=format, bad_lines=bad_lines)
    learner = scorer(model)
    with click.open_file(output, "w") as file:
        for batch in score_stream(learner, reader, HashedSlots(model.bits)):
            if probabilities:
                lines = 0.5 * (1.0 + np.tanh(0.5 * batch))
            elif scores or model.loss in REGRESSION_LOSSES:
                lines = batch
            else:
                lines = np.where(batch > 0.0, 1, -1)
            file.write("\n".join(map(str, lines.tolist())) + "\n" if len(lines) else "")
    report_bad_lines(reader)


def scorer(model: Model) -> Learner:
    """A learner with the weights of the model, to predict with."""
    n_slots = 1 << model.bits
    learner = Learner(Ogd(), Constant(1.0), LOSSES[model.loss](), n_features=n_slots)
    learner.state[model.slots, 0] = model.weights
    learner.intercept_state[0, 0] = model.intercept
    return learner


def report_bad_lines(reader: Reader) -> None:
    if reader.n_bad_lines:
        shown = "\n  ".join(reader.bad_lines)
        click.echo(f"{reader.n_bad_lines:,} bad lines were skipped, first:\n  {shown}", err=True)


if __name__ == "__main__":
    sys.exit(main())
