"""Words and pairs of text columns, against a slow tokeniser written from docs/reference/text.md."""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import xxhash
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rarefy.readers
from rarefy.jit import compiled
from rarefy.readers.buffers import BatchBuffer, new_buffer
from rarefy.readers.features.grams import NAMES_FULL, room_for_words
from rarefy.readers.features.words import add_words, word_tables
from tests.selecting import examples

TABLE = Path(rarefy.readers.__file__).parent / "features" / "unicode.txt"
VERSION = TABLE.read_text().split("Unicode ")[1].split(";")[0]
SEED = xxhash.xxh64_intdigest(b"column", 0)
PREFIX = np.frombuffer(b"<column>", np.uint8)


# --- the slow tokeniser ---------------------------------------------------------------------

ALONE = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "HENTAIGANA", "KATAKANA",
    "HALFWIDTH KATAKANA", "HANGZHOU NUMERAL", "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC NUMBER ZERO", "VERTICAL IDEOGRAPHIC ITERATION MARK",
)  # fmt: skip


def is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def is_alone(character: str) -> bool:
    return is_letter(character) and unicodedata.name(character, "").startswith(ALONE)


def folded(character: str) -> str:
    folds = (character.casefold(), character.lower(), character)
    return next(fold for fold in folds if len(fold) == 1)


def words_of(text: str) -> list[str]:
    words = [""]
    for character in text:
        if is_alone(character):
            words += [character, ""]
        elif is_letter(character):
            words[-1] += folded(character)
        else:
            words.append("")
    return [word for word in words if word]


def features_of(text: str) -> list[str]:
    """Each word, and behind it the pair with the word before it."""
    words = words_of(text)
    features = words[:1]
    for first, second in pairwise(words):
        features += [second, f"{first} {second}"]
    return features


# --- the compiled one -----------------------------------------------------------------------


@compiled
def tokenise(buffer, tables, scratch, data, begin, end, seed, prefix):
    return add_words(buffer, 0, tables, scratch, data, begin, end, seed, (prefix, 1, 7))


class Found(NamedTuple):
    keys: list[int]
    values: list[float]
    groups: list[int]
    names: dict[int, str]


def names_of(buffer: BatchBuffer) -> dict[int, str]:
    names = buffer.names
    n = int(names.used[0])
    ends = names.ends[:n].tolist()
    texts = [names.text[a:b].tobytes().decode() for a, b in pairwise([0, *ends])]
    return dict(zip(names.keys[:n].tolist(), texts, strict=True))


def found_in(text: bytes) -> Found:
    """The text stands between others, of which nothing may be seen."""
    data = np.frombuffer(b"before" + text + b"after", np.uint8)
    buffer = new_buffer(len(text), groups=True, names=True)
    scratch = room_for_words(len(text))
    scratch.text[:] = 0x41
    n = tokenise(buffer, word_tables(), scratch, data, 6, 6 + len(text), np.uint64(SEED), PREFIX)
    assert n != NAMES_FULL
    keys, values, groups = (a[:n].tolist() for a in (buffer.keys, buffer.values, buffer.groups))
    return Found(keys, values, groups, names_of(buffer))


def check(text: str) -> None:
    features = features_of(text)
    keys = [xxhash.xxh64_intdigest(feature.encode(), SEED) for feature in features]
    found = found_in(text.encode())
    assert found.keys == keys
    assert found.values == [1.0] * len(keys)
    assert found.groups == [SEED] * len(keys)
    assert found.names == {
        key: f"column={feature}" for key, feature in zip(keys, features, strict=True)
    }


# --- words ----------------------------------------------------------------------------------

TEXTS = {
    "": [],
    " \t.,-": [],
    "word": ["word"],
    "Two Words": ["two", "words", "two words"],
    "it's 3.5%": ["it", "s", "it s", "3", "s 3", "5", "3 5"],
    "ÉCOLE Straße": ["école", "straße", "école straße"],
    "東京は": ["東", "京", "東 京", "は", "京 は"],
    "iPhone用ケース": ["iphone", "用", "iphone 用", "ケ", "用 ケ", "ー", "ケ ー", "ス", "ー ス"],
    "ﾊﾟ": ["ﾊ", "ﾟ", "ﾊ ﾟ"],
    "हिन्दी": ["हिन्दी"],
    "İ ẞ K": ["İ", "ß", "İ ß", "k", "ß k"],
    "ȺȺ": ["ⱥⱥ"],
    "𐐀𐐁": ["𐐨𐐩"],
    "e\u0301 é": ["e\u0301", "é", "e\u0301 é"],
    "a_b": ["a", "b", "a b"],
    "①🙂x": ["①", "x", "① x"],
    "a\u200bb": ["a", "b", "a b"],
}


@pytest.mark.parametrize(("text", "features"), TEXTS.items(), ids=repr)
def test_words_and_pairs(text, features):
    assert features_of(text) == features
    check(text)


same_unicode = pytest.mark.skipif(
    unicodedata.unidata_version != VERSION, reason="this Python knows other characters"
)


def test_every_character():
    """Characters that only one of the two Unicode versions knows are left out."""
    tables = word_tables()
    known = [code for code in range(0x110000) if unicodedata.category(chr(code)) != "Cn"]
    if unicodedata.unidata_version != VERSION:
        known = [code for code in known if tables.kinds[tables.pages[code >> 8] | code & 255]]
    for code in known:
        place = tables.pages[code >> 8] | code & 255
        character = chr(code)
        kind = 2 if is_alone(character) else int(is_letter(character))
        assert tables.kinds[place] == kind, hex(code)
        if kind:
            assert chr(code + tables.folds[place]) == folded(character), hex(code)


@same_unicode
def test_the_table_is_what_the_script_writes(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools"))
    import make_unicode_table as script

    header = script.HEADER.format(version=unicodedata.unidata_version)
    assert TABLE.read_text() == header + "".join(script.lines())


def test_ascii_characters_are_their_own_places():
    assert word_tables().pages[0] == 0


def test_folding_makes_three_bytes_of_two_at_most():
    """The room that `new_scratch` gives depends on it."""
    tables = word_tables()
    for code in range(0x110000):
        to = code + int(tables.folds[tables.pages[code >> 8] | code & 255])
        if to != code:
            assert 2 * len(chr(to).encode()) <= 3 * len(chr(code).encode()), hex(code)


some_characters = st.one_of(
    st.sampled_from(
        'aZ09 _.-\n"éÉßẞİıſKȺʼ東はカーﾊ゙〇々٣①🙂ǅΣςꭰᎠ𐐀𠀀\u0301\u200b\u00a0\u3000\u0000\U0010ffff'
    ),
    st.characters(codec="utf-8"),
)


@settings(deadline=None, max_examples=examples(400))
@given(st.text(some_characters, max_size=40))
@example("Ⱥ東" * 20)
@example("a東" * 20)
def test_any_text(text):
    if unicodedata.unidata_version == VERSION or text.isascii():
        check(text)


@settings(deadline=None, max_examples=examples(400))
@given(st.binary(max_size=30))
@example(b"\xf0\x9f\x99")
@example(b"\xf7\xbf\xbf\xbf\xff\xc8")
def test_bytes_that_are_no_text_do_no_harm(text):
    found = found_in(text)
    assert len(found.keys) <= len(text)


def test_names_without_room():
    text = " ".join(map(str, range(5000))).encode()
    data = np.frombuffer(text, np.uint8)
    buffer, scratch = new_buffer(len(text), groups=True, names=True), room_for_words(len(text))
    arguments = (word_tables(), scratch, data, 0, len(text), np.uint64(SEED), PREFIX)
    assert tokenise(buffer, *arguments) == NAMES_FULL
