"""Text files for the benchmarks of streams: made once, of any size, by repeating some rows."""

from pathlib import Path

import numpy as np

from benchmarks.data import zipf_rows

N_ROWS = 20_000  # different rows, over and over until the file is full
LETTERS = np.array(list("etaoinshrdlucmfwypvbgkqjxz"))
CLICK_COLUMNS = 12


def write_rows(path: Path, rows: list[str], n_bytes: int) -> Path:
    text = "".join(rows).encode()
    return write_times(path, rows, -(-n_bytes // len(text)))


def write_times(path: Path, rows: list[str], times: int, header: str = "") -> Path:
    text = "".join(rows).encode()
    with path.open("wb") as file:
        file.write(header.encode())
        for _ in range(times):
            file.write(text)
    return path


def number_rows(between: str, n_features: int = 1_000_000) -> list[str]:
    """`label between index:0.1234 ...`: svmlight, or VW's text without a namespace."""
    data = zipf_rows(N_ROWS, n_features)
    values = np.random.default_rng(0).random(data.X.nnz).round(4)
    features = [f"{i}:{value}" for i, value in zip(data.X.indices, values, strict=True)]
    ends = data.X.indptr
    rows = [" ".join(features[ends[n] : ends[n + 1]]) for n in range(N_ROWS)]
    return [f"{y}{between}{row}\n" for y, row in zip(data.y.astype(int), rows, strict=True)]


def word_rows() -> list[str]:
    """`label |w word word ...`: words of 2 to 10 letters, with Zipf frequencies."""
    data = zipf_rows(N_ROWS, 1_000_000)
    words = {i: word(i) for i in set(data.X.indices.tolist())}
    ends, indices = data.X.indptr, data.X.indices.tolist()
    rows = [" ".join(words[i] for i in indices[ends[n] : ends[n + 1]]) for n in range(N_ROWS)]
    return [f"{y} |w {row}\n" for y, row in zip(data.y.astype(int), rows, strict=True)]


def word(number: int) -> str:
    rng = np.random.default_rng(number)
    return "".join(LETTERS[(len(LETTERS) ** rng.random(2 + number % 9)).astype(int) - 1])


def click_values() -> tuple[np.ndarray, list[list[str]]]:
    """Labels, and 12 categorical values a row, of columns with 10 to 300,000 values each."""
    rng = np.random.default_rng(0)
    sizes = np.geomspace(10, 300_000, CLICK_COLUMNS).astype(int)
    columns = [(size ** rng.random(N_ROWS * 5)).astype(int) for size in sizes]
    labels = (rng.random(N_ROWS * 5) < 0.05 + 0.3 * (columns[0] == 1)).astype(int)
    return labels, [
        [f"{c:x}{value * 2654435761 % 2**32:08x}" for value in column]
        for c, column in enumerate(columns)
    ]


def click_rows() -> tuple[str, list[str]]:
    """The header and rows of a CSV file of clicks."""
    labels, columns = click_values()
    names = ",".join(f"c{c}" for c in range(CLICK_COLUMNS))
    rows = [f"{y},{','.join(values)}\n" for y, *values in zip(labels, *columns, strict=True)]
    return f"label,{names}\n", rows


def click_rows_for_vw() -> list[str]:
    """The same in VW's text, a namespace a column."""
    labels, columns = click_values()
    return [
        f"{2 * y - 1} "
        + " ".join(f"|{chr(97 + c)} {value}" for c, value in enumerate(values))
        + "\n"
        for y, *values in zip(labels, *columns, strict=True)
    ]
