"""`rarefy.read`: a reader of files, as users describe them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rarefy.checks import choose
from rarefy.errors import InputError
from rarefy.readers.features.columns import Columns, checked_columns, checked_names
from rarefy.readers.features.crosses import checked_crosses
from rarefy.readers.features.labels import checked_classes
from rarefy.readers.formats.registry import FORMATS
from rarefy.readers.reader import Reader
from rarefy.readers.source import expand

BAD_LINES = ("stop", "skip")


def read(
    *paths: str | Path,
    format: str | None = None,
    bad_lines: str = "stop",
    cross: Sequence[tuple[str, ...]] = (),
    classes: Sequence[Any] = (),
    max_classes: int | None = None,
    label: str | None = None,
    weight: str | None = None,
    text: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    ignore: Sequence[str] = (),
    delimiter: str | None = None,
    header: bool = True,
    quotes: bool | None = None,
) -> Reader:
    """Make a reader of files, which are read when a model learns from it or predicts it.

    Parameters
    ----------
    *paths : str or path
        Files, globs, or "-" for standard input; plain or compressed (gzip, bzip2, xz, and zstd with
        `rarefy[zstd]`).
    format : {"svmlight", "vw", "csv", "json", "parquet", "arrow"}, optional
        Told from the name or the first lines of each file if it is not given. Parquet and Arrow
        need `rarefy[arrow]`.
    bad_lines : {"stop", "skip"}, default="stop"
        Whether a line that cannot be parsed is an error, or is passed over and counted in
        `n_bad_lines` of the reader.
    cross : sequence of (str, str) or (str, str, str), optional
        Pairs or triples of namespaces or columns: the products of all features of the one with all
        features of the others are features too. "*" stands for all features of a row.
    classes : sequence, optional
        All labels that may come. Without it, they are told from the first rows.
    max_classes : int, optional
        How many different labels are believed to be classes, if `classes` is not given; more are
        refused. By default 1,000; and numbers only if there are 20 at most, or ten rows for each.
    label : str, optional
        The column of the label, by default "label", in formats with columns (CSV, JSON lines,
        Parquet, Arrow), as for all parameters below.
    weight : str, optional
        The column of the importance of a row, by default 1.
    text, categorical, numeric, ignore : sequence of str, optional
        Columns that are cut into words and word pairs; whose every value is a feature; whose number
        is the value of a feature; that are not looked at. Globs, as in "C*", stand for all columns
        that they match and that are named nowhere else. What is not named is inferred from what
        it contains.
    delimiter : str, optional
        What stands between the fields of a CSV file; told from its first line if it is not given.
    header : bool, default=True
        Whether the first line of a CSV file names the columns; else they are called 1, 2, 3.
    quotes : bool, optional
        Whether fields of a CSV file may be quoted, by default True.

    Of a reader whose rows a model predicts, `label`, `weight`, `ignore`, `delimiter` and `quotes`
    hold if they are given; all else is as the model has learned it.

    Returns
    -------
    Reader
        To be given to `fit_stream`, `sweep`, `flips`, or `predict` of a model that has learned from
        a stream.

    Raises
    ------
    InputError
        If there is no such file, or a column is said to be two things. Faults inside files are
        found when they are read; the message says file, line and what is expected.
    ConfigError
        If a parameter makes no sense.

    Examples
    --------
    >>> import rarefy, tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = file.write_text("label,words\\nspam,win a prize\\nham,see you\\n")
    >>> for batch in rarefy.read(file, text=["words"]):
    ...     [batch.label(row) for row in range(len(batch.labels))]
    ['spam', 'ham']
    """
    if not paths:
        raise InputError("nothing to read: name a file, or '-' for standard input.")
    if format is not None:
        choose("format", format, dict.fromkeys(FORMATS))
    choose("bad_lines", bad_lines, dict.fromkeys(BAD_LINES))
    stated = {"label": label, "weight": weight, "delimiter": delimiter, "quotes": quotes}
    columns = Columns(
        "label" if label is None else label,
        weight,
        checked_names("text", text),
        checked_names("categorical", categorical),
        checked_names("numeric", numeric),
        checked_names("ignore", ignore),
        delimiter,
        header,
        True if quotes is None else quotes,
    )
    return Reader(
        expand(paths),
        format,
        columns=checked_columns(columns),
        classes=checked_classes(classes),
        max_classes=max_classes,
        cross=checked_crosses(cross),
        skip_bad_lines=bad_lines == "skip",
        stated={name: value for name, value in stated.items() if value is not None},
    )
