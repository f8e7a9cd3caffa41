"""N-grams and skips, against VW's own recursion, in all formats that have words."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

import rarefy
from rarefy.errors import ConfigError, InputError, RarefyWarning
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import texts_by_key
from rarefy.readers.in_memory import RowsReader
from rarefy.readers.source import blocks
from tests.selecting import examples, slow_but

WORDS = ("a", "b", "see", "prize", "a1", "averyverylongword", "été")


def vw_grams(words: list[str], ngram: int, skips: int) -> list[str]:
    """Transcribed from add_grams and generate_grams of VW's kskip_ngram_transformer.cc."""
    found = list(words)

    def add_grams(more: int, skip_gram: int, mask: list[int], skipped: int) -> None:
        if more == 0 and mask[-1] < len(words):
            for i in range(len(words) - mask[-1]):
                found.append(" ".join(words[i + offset] for offset in mask))
        if more > 0:
            add_grams(more - 1, skip_gram, [*mask, mask[-1] + 1 + skipped], 0)
        if skip_gram > 0 and more > 0:
            add_grams(more, skip_gram - 1, mask, skipped + 1)

    for n in range(1, ngram):
        add_grams(n, skips, [0], 0)
    return found


def keys_of(column: str, features: list[str]) -> list[int]:
    seed = xxhash.xxh64_intdigest(column.encode(), 0)
    return sorted(xxhash.xxh64_intdigest(feature.encode(), seed) for feature in features)


def rows_of(reader) -> list[list[int]]:
    """The sorted keys of each row."""
    return [
        sorted(batch.keys[begin:end].tolist())
        for batch in reader
        for begin, end in zip(batch.indptr[:-1], batch.indptr[1:], strict=True)
    ]


def names_in(batch: Batch) -> list[str]:
    texts = texts_by_key(batch.names, batch.keys.tolist())
    return [texts[key] for key in batch.keys.tolist()]


def write_vw(path, texts: list[str]):
    path.write_text("".join(f"1 |m {text}\n" for text in texts))
    return path


def write_csv(path, texts: list[str]):
    path.write_text("label,m\n" + "".join(f"1,{text}\n" for text in texts))
    return path


def write_json(path, texts: list[str]):
    path.write_text("".join(f'{{"label": 1, "m": "{text}"}}\n' for text in texts))
    return path


def write_parquet(path, texts: list[str]):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"label": [1] * len(texts), "m": texts}), path)
    return path


FORMATS = {
    "a.vw": (write_vw, {}),
    "a.csv": (write_csv, {"text": ["m"]}),
    "a.jsonl": (write_json, {"text": ["m"]}),
    "a.parquet": (write_parquet, {"text": ["m"]}),
}


@settings(deadline=None, max_examples=examples(60))
@given(
    texts=st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), min_size=1, max_size=3
    ),
    ngram=st.integers(1, 5),
    skips=st.integers(0, 3),
)
@pytest.mark.parametrize("name", slow_but(["a.vw", "a.csv"], "a.vw"))
def test_as_vw_makes_them(tmp_path_factory, name, texts, ngram, skips):
    write, reading = FORMATS[name]
    path = write(tmp_path_factory.mktemp("grams") / name, [" ".join(words) for words in texts])
    if ngram == 1:
        skips = 0
    reader = rarefy.read(path, ngram=ngram, skips=skips, **reading)
    assert rows_of(reader) == [keys_of("m", vw_grams(words, ngram, skips)) for words in texts]


@pytest.mark.parametrize("name", slow_but(FORMATS, "a.vw"))
@pytest.mark.parametrize(("ngram", "skips"), [(1, 0), (3, 0), (2, 1), (3, 2)])
def test_the_same_in_all_formats(tmp_path, name, ngram, skips):
    words = [["win", "a", "prize", "now", "and", "again"], ["see"], ["see", "you", "at", "lunch"]]
    write, reading = FORMATS[name]
    path = write(tmp_path / name, [" ".join(row) for row in words])
    reader = rarefy.read(path, ngram=ngram, skips=skips, **reading)
    assert rows_of(reader) == [keys_of("m", vw_grams(row, ngram, skips)) for row in words]


def test_the_same_from_dicts_and_frames(tmp_path):
    pd = pytest.importorskip("pandas")
    texts = ["win a prize now", "see you at lunch"]
    first = rarefy.read(write_csv(tmp_path / "a.csv", texts), text=["m"], ngram=3, skips=1)
    expected = rows_of(first)
    columns = first.columns._replace(label_needed=False)
    for rows in ([{"m": text} for text in texts], pd.DataFrame({"m": texts})):
        reader = RowsReader(rows, ())
        reader.read_like(columns, ())
        assert rows_of(reader) == expected


def test_pairs_of_words_are_the_default_of_texts_and_names_alone_that_of_namespaces(tmp_path):
    csv = write_csv(tmp_path / "a.csv", ["win a prize"])
    assert rows_of(rarefy.read(csv, text=["m"])) == rows_of(rarefy.read(csv, text=["m"], ngram=2))
    vw = write_vw(tmp_path / "a.vw", ["win a prize"])
    assert rows_of(rarefy.read(vw)) == rows_of(rarefy.read(vw, ngram=1))


def test_values_are_one_and_names_are_the_words(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("1 |m:0.5 new:2 york  times |other x y\n")
    reader = rarefy.read(path, ngram={"m": 2}, skips={"m": 1})
    reader.names_wanted = True
    (batch,) = reader
    named = dict(zip(names_in(batch), batch.values.tolist(), strict=True))
    assert named == {
        "m=new": 1.0, "m=york": 0.5, "m=times": 0.5, "m=new york": 1.0, "m=york times": 1.0,
        "m=new times": 1.0, "other=x": 1.0, "other=y": 1.0,
    }  # fmt: skip


def test_of_some_columns_only(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,title,body\n1,one two three,four five six\n")
    reader = rarefy.read(path, text=["title", "body"], ngram={"title": 3, "*": 1})
    title = keys_of("title", vw_grams(["one", "two", "three"], 3, 0))
    body = keys_of("body", ["four", "five", "six"])
    assert rows_of(reader) == [sorted(title + body)]


def test_indices_make_grams_too(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("1 | 7 8:0.5 word\n")
    pairs = [xxhash.xxh64_intdigest(text, 0) for text in (b"7 8", b"8 word")]
    word = xxhash.xxh64_intdigest(b"word", 0)
    assert rows_of(rarefy.read(path, ngram=2)) == [sorted([7, 8, word, *pairs])]


def test_crosses_have_them(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("1 |m new york |s x\n")
    reader = rarefy.read(path, ngram={"m": 2}, cross=[("m", "s")])
    reader.names_wanted = True
    (batch,) = reader
    assert "m=new york*s=x" in names_in(batch)


@pytest.mark.parametrize("name", FORMATS)
def test_batches_of_any_size_have_the_same_rows(tmp_path, name, monkeypatch):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS[:5], rng.integers(1, 30))) for _ in range(300)]
    write, reading = FORMATS[name]
    path = write(tmp_path / name, texts)
    small = partial(blocks, block_bytes=50_000)
    monkeypatch.setattr("rarefy.readers.reader.blocks", small)
    reader = rarefy.read(path, ngram=4, skips=2, **reading)
    batches = [batch.labels for batch in reader]
    assert len(batches) > 3
    assert rows_of(reader) == [keys_of("m", vw_grams(text.split(), 4, 2)) for text in texts]


@pytest.mark.parametrize("name", ["a.vw", "a.csv", "a.jsonl", "a.parquet"])
def test_too_many_in_a_row_are_refused(tmp_path, name, monkeypatch):
    monkeypatch.setattr("rarefy.readers.buffers.MOST_IN_ROW", 1000)
    write, reading = FORMATS[name]
    path = write(tmp_path / name, ["a b", "a " * 200])
    reader = rarefy.read(path, ngram=6, skips=3, **reading)
    with pytest.raises(InputError, match=r"fewer n-grams \(16,777,216 at most\)") as caught:
        rows_of(reader)
    assert ("--ngram" in str(caught.value)) == (name != "a.parquet")


def test_a_model_reads_new_rows_in_the_same_way(tmp_path):
    texts = ["win a prize now", "see you at lunch"]
    path = tmp_path / "a.csv"
    path.write_text("label,m\n" + "".join(f"{k % 2},{texts[k % 2]}\n" for k in range(40)))
    model = rarefy.train(path, text=["m"], ngram=3, skips=1, l1=0.0, output=tmp_path / "m")
    assert {"m=win a prize", "m=win prize", "m=see you lunch"} <= set(model.weights_)
    loaded = rarefy.load(tmp_path / "m")
    scores = model.decision_function(rarefy.read(path))
    for rows in (rarefy.read(path), [{"m": texts[k % 2]} for k in range(40)]):
        assert (loaded.decision_function(rows) == scores).all()


# --- what makes no sense --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"ngram": 0}, "ngram"),
        ({"ngram": 2.5}, "ngram"),
        ({"ngram": {"m": "two"}}, "ngram of 'm'"),
        ({"ngram": {"": 2}}, "names of columns or namespaces"),
        ({"skips": -1}, "skips"),
        ({"ngram": 1, "skips": 1}, "skips has no meaning with ngram=1"),
        ({"ngram": {"m": 1, "*": 2}, "skips": 1}, "skips of 'm' has no meaning"),
        ({"ngram": 9, "skips": 9}, "n-grams of each word; 127 at most"),
    ],
)
def test_numbers_that_make_no_sense(tmp_path, asked, says):
    with pytest.raises(ConfigError, match=says):
        rarefy.read(write_csv(tmp_path / "a.csv", ["a b"]), text=["m"], **asked)


def test_names_of_no_text_are_refused(tmp_path):
    path = write_csv(tmp_path / "a.csv", ["a b"])
    with pytest.raises(InputError, match=r"there is no text column 'mm' \(is it 'm'\?\)"):
        rows_of(rarefy.read(path, text=["m"], ngram={"mm": 3}))
    with pytest.raises(
        InputError, match=r"there is no text column; text=\[...\] \(--text\) names text columns"
    ):
        rows_of(rarefy.read(path, ngram=3))


def test_namespaces_that_are_not_there_are_refused(tmp_path):
    path = write_vw(tmp_path / "a.vw", ["a b"])
    with pytest.raises(InputError, match=r"ngram='x' \(--ngram\): there is no feature of 'x'"):
        rows_of(rarefy.read(path, ngram={"x": 2}))
    both = rarefy.read(path, path, ngram={"x": 2})
    with pytest.warns(RarefyWarning, match="no feature of 'x'"):
        rows_of(both)


def test_formats_without_words(tmp_path):
    svm = tmp_path / "a.svm"
    svm.write_text("1 1:1\n")
    with pytest.raises(InputError, match="svmlight has no words, and so no ngram"):
        rows_of(rarefy.read(svm, ngram=2))
    with pytest.raises(InputError, match="no meaning for VW's text without ngram"):
        rows_of(rarefy.read(write_vw(tmp_path / "a.vw", ["a b"]), skips=1))
