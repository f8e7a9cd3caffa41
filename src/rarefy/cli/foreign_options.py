"""Options and commands of other programs, most of them Vowpal Wabbit's, and what to use instead."""

import click

from rarefy.checks import nearest
from rarefy.cli import COMMANDS

_CROSS = "Use --cross alpha,beta, with full names of namespaces or columns; '*,*' crosses all."
_CLASSES = "Leave it out: classes are inferred from the labels."
_DATA = "Name files without an option: rarefy train rows.vw -o rows.model."
_PREDICT = "rarefy predict MODEL DATA only predicts; -o FILE writes to a file."
_OUTPUT = "Use -o MODEL."
_RESUME = "To train a model further, use rarefy train --resume MODEL; to predict, rarefy predict."
_STATE = "Leave it out: the state is always saved (--slim leaves it out)."
_STEPS = "Use --eta0 and --schedule; the default rule seldom needs them."
_RULE = "Use --rule: its default, scale-free, adapts steps to each feature and needs no scaling."
_WHY = "Use rarefy inspect MODEL --why DATA."
_NAMES = "Use rarefy inspect MODEL: the model keeps the names of features."
_STOPPING = "Use --early-stopping with --holdout SHARE and --passes N, the most passes."
_READING = "Leave it out: the model reads data as in training."
_THRESHOLD = "Use rarefy threshold MODEL --set SCORE: the model keeps it."
_TASK = "Use --loss: squared, for one, is for numbers, and logistic, the default, for classes."
_OWN_L1 = "Use --l1-of NAME=100: a large l1 of their own keeps features out, but not their crosses."
_LINEAR = "There is nothing like it: rarefy trains linear models for classes and numbers."
_MADE_FEATURES = "There is nothing like it: write such features into the data."
_PROGRESS = "Leave it out: progress is shown, unless you give --quiet."

INSTEAD = {
    **dict.fromkeys(("-d", "--data"), _DATA),
    **dict.fromkeys(("-f", "--final_regressor"), _OUTPUT),
    **dict.fromkeys(("-i", "--initial_regressor"), _RESUME),
    **dict.fromkeys(("-q", "--quadratic", "--interactions"), _CROSS),
    "--cubic": "Use --cross alpha,beta,gamma, with full names of namespaces or columns.",
    **dict.fromkeys(("-t", "--testonly", "-p", "--predictions"), _PREDICT),
    **dict.fromkeys(("-r", "--raw_predictions"), "Use rarefy predict MODEL DATA --scores."),
    "--link": "Use rarefy predict MODEL DATA --probabilities.",
    "--loss_function": "Use --loss.",
    "--quantile_tau": "Use --quantile.",
    **dict.fromkeys(("--oaa", "--ect", "--csoaa"), _CLASSES),
    **dict.fromkeys(("-l", "--learning_rate", "--power_t", "--initial_t"), _STEPS),
    **dict.fromkeys(("--adaptive", "--normalized", "--invariant", "--sgd"), _RULE),
    "--ftrl": "Use --rule ftrl.",
    "--coin": "Use --rule coin.",
    **dict.fromkeys(("-c", "--cache_file"), "Use --cache FILE."),
    **dict.fromkeys(("-k", "--kill_cache"), "Leave it out: an outdated cache is written again."),
    "--bit_precision": "Use -b or --bits.",
    "--noconstant": "Use --no-intercept.",
    "--holdout_off": "Leave it out: all rows are learned, unless --holdout is given.",
    "--keep": "Use --ignore, with the names of the other namespaces.",
    "--random_seed": "Use --seed.",
    "--save_resume": _STATE,
    "--preserve_performance_counters": _STATE,
    "--invert_hash": _NAMES,
    "--readable_model": "Use rarefy export MODEL --to vw -o FILE.",
    **dict.fromkeys(("-a", "--audit"), _WHY),
    **dict.fromkeys(("--daemon", "--port"), "Use rarefy serve."),
    **dict.fromkeys(("-P", "--progress"), "Leave it out: lines come as rows double."),
    **dict.fromkeys(("--holdout_period", "--holdout_after"), "Use --holdout SHARE or FILE."),
    "--hash": "Leave it out: -b hashes names; by default, features are kept exactly.",
    **dict.fromkeys(("--ignore_linear", "--feature_mask"), _OWN_L1),
    "--bfgs": "Use --refit, which minimises the loss of the weights that were selected.",
    **dict.fromkeys(("--bootstrap", "--boosting", "--nn", "--lrq", "--ksvm"), _LINEAR),
    **dict.fromkeys(("--cb", "--cb_explore", "--cb_adf", "--search", "--active", "--lda"), _LINEAR),
    **dict.fromkeys(("--affix", "--spelling", "--dictionary"), _MADE_FEATURES),
    # common elsewhere
    "--target": "Use --label COLUMN.",
    "--epochs": "Use --passes.",
    **dict.fromkeys(("--lr", "--learning-rate"), _STEPS),
    "--sep": "Use --delimiter.",
    **dict.fromkeys(("--alpha", "--penalty", "--l1-ratio", "--l1_ratio"), "Use --l1 and --l2."),
    **dict.fromkeys(("--max-iter", "--max_iter"), "Use --passes."),
    **dict.fromkeys(("--random-state", "--random_state"), "Use --seed."),
    **dict.fromkeys(("-v", "--verbose"), _PROGRESS),
    **dict.fromkeys(("--regression", "--task", "--objective"), _TASK),
    **dict.fromkeys(("--validation", "--validation-split", "--test-size"), "Use --holdout SHARE."),
    **dict.fromkeys(("--drop", "--exclude"), "Use --ignore NAME,..."),
    **dict.fromkeys(("--metric", "--scoring"), "In rarefy sweep, use --by."),
    "--cv": "Use --folds.",
    **dict.fromkeys(("--early_terminate", "--early_stopping", "--patience", "--tol"), _STOPPING),
    "--balanced": "Use --class-weight balanced.",
    # ours, of commands that train
    **dict.fromkeys(("--text", "--categorical", "--numeric", "--ngram", "--skips"), _READING),
    **dict.fromkeys(("--header", "--no-header", "--cross"), _READING),
    "--label": "Leave it out: labels are not needed.",
    **dict.fromkeys(("--decision-threshold", "--decision_threshold", "--threshold"), _THRESHOLD),
}

COMMANDS_INSTEAD = {
    **dict.fromkeys(("fit", "learn"), "Use rarefy train."),
    **dict.fromkeys(("test", "score"), "Use rarefy evaluate."),
    "explain": _WHY,
    "tune": "Use rarefy sweep, or rarefy train --target-features N.",
    "convert": "Use rarefy export.",
}


def with_advice(error: click.NoSuchOption) -> click.UsageError:
    """The error, with what to use instead of an option that is another program's."""
    if error.option_name not in INSTEAD:
        return error
    text = f"No such option {error.option_name!r}. {INSTEAD[error.option_name]}"
    return click.UsageError(text, error.ctx)


def command_advice(name: str) -> str:
    """What to use instead of a command that there is not."""
    instead = COMMANDS_INSTEAD.get(name)
    return f" {instead}" if instead else nearest(name, COMMANDS)
