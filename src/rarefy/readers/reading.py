"""`rarefy.read`: a reader of files, as users describe them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rarefy.checks import choose
from rarefy.errors import InputError
from rarefy.readers.features.columns import columns_given
from rarefy.readers.features.cross_names import check_not_ignored
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
    ngram: int | Mapping[str, int] | None = None,
    skips: int | Mapping[str, int] | None = None,
    delimiter: str | None = None,
    header: bool = True,
    quotes: bool | None = None,
) -> Reader:
    """Create a reader, for training on files or predicting them.

    Parameters
    ----------
    *paths : str or path
        Files, globs, or "-" for standard input; plain or compressed (gzip, bzip2, xz, and zstd with
        `rarefy[zstd]`).
    format : {"svmlight", "vw", "csv", "json", "parquet", "arrow"}, optional
        Format. By default it is inferred from the name or the first lines of each file. Parquet and
        Arrow need `rarefy[arrow]`.
    bad_lines : {"stop", "skip"}, default="stop"
        Whether a line that cannot be parsed is an error, or is skipped and counted in `n_bad_lines`
        of the reader.
    cross : sequence of (str, str) or (str, str, str), optional
        Pairs or triples of namespaces or columns whose features are multiplied to form new
        features. "*" stands for all features of a row.
    classes : sequence, optional
        All class labels. By default they are inferred from the first rows.
    max_classes : int, optional
        Largest number of classes, if `classes` is not given. More labels are an error, as they are
        probably ids, texts or numbers to predict. By default 1,000, and fewer for numbers that do
        not look like classes.
    label : str, optional
        Label column, by default "label". This and all parameters below are for formats with columns
        (CSV, JSON lines, Parquet, Arrow).
    weight : str, optional
        Column with sample weights; by default all are 1.
    text, categorical, numeric, ignore : sequence of str, optional
        Columns that are split into words and word pairs; that are categories; that are numbers;
        that are not used. Globs such as "C*" match all columns that are not named elsewhere. The
        type of other columns is inferred from their values.
    ngram : int or dict, optional
        Longest n-gram of the words of a text: 1 for words only, 2 for pairs too (the default of
        text columns), 3 for triples too; in VW text, of the names in a namespace (by default 1). A
        dict has numbers by column or namespace, with "*" for all others.
    skips : int or dict, optional
        How many words may be skipped within an n-gram, by default 0.
    delimiter : str, optional
        CSV delimiter. By default it is inferred from the first line.
    header : bool, default=True
        Whether CSV files have a header. Without it, columns are named 1, 2, 3.
    quotes : bool, optional
        Whether fields of a CSV file may be quoted, by default True.

    When a model predicts a reader, only `label`, `weight`, `ignore`, `delimiter` and `quotes` are
    taken from the reader; everything else is as in training.

    Returns
    -------
    Reader
        For `fit_stream`, `sweep`, `flips`, or `predict` of a model trained on a stream.

    Raises
    ------
    InputError
        If there is no such file, or a column has two roles. Errors inside files are found when they
        are read; the message has the file, the line and what is expected.
    ConfigError
        If a parameter is invalid.

    See Also
    --------
    train : Reads and learns at once.
    to_matrix : All rows of a reader in memory.

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
    columns = columns_given(
        label="label" if label is None else label,
        weight=weight,
        text=text,
        categorical=categorical,
        numeric=numeric,
        ignore=ignore,
        delimiter=delimiter,
        header=header,
        quotes=True if quotes is None else quotes,
        ngram=ngram,
        skips=skips,
    )
    crosses = checked_crosses(cross)
    check_not_ignored(crosses, columns.ignore)
    return Reader(
        expand(paths),
        format,
        columns=columns,
        classes=checked_classes(classes),
        max_classes=max_classes,
        cross=crosses,
        skip_bad_lines=bad_lines == "skip",
        stated={name: value for name, value in stated.items() if value is not None},
    )
