"""Numbers in text mean what Python's float makes of them, to the last bit, in every locale."""

import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

from rarefy.readers import read

BITS_OF_INFINITY = 0x7FF0000000000000
HARD = [
    "1e-400",
    "-0e999",
    "4.9e-324",
    "2.4703282292062327208e-324",  # just below half of the smallest number
    "2.4703282292062328e-324",
    "2.2250738585072011e-308",
    "1.7976931348623158e308",
    "9007199254740993",
    "9007199254740992.999999999999999999999",
    "9007199254740993.0000000000000000000000000001",
    "0." + "0" * 200_000 + "1e200001",
    "1" + "0" * 200_000 + "e-199990",
    "1e" + "0" * 30 + "5",
    "1e-" + "0" * 30 + "50",
]


def float_of(bits: int) -> float:
    return float(struct.unpack("d", struct.pack("Q", bits))[0])


def half_way(bits: int) -> Decimal:
    """The number in the middle between a double and the next larger one."""
    exponent, mantissa = divmod(bits, 1 << 52)
    if exponent:
        mantissa += 1 << 52
        exponent -= 1
    return Decimal(2 * mantissa + 1) * Decimal(2) ** (exponent - 1075)


def written(random: random.Random, number: Decimal) -> str:
    """A number in one of the ways that it can be written."""
    _, digits, power = number.as_tuple()
    assert isinstance(power, int)
    text = "".join(map(str, digits))
    cut = random.randrange(len(text) + 1)
    zeros = "0" * random.randrange(30)
    return random.choice(
        [
            f"{text}e{power}",
            f"{text[:cut]}.{text[cut:]}e{power + len(text) - cut}",
            f"{number:f}",
            f"{zeros}.{zeros}{text}E{power + len(text) + len(zeros):+}",
        ]
    )


def any_double(random: random.Random) -> str:
    return repr(float_of(random.randrange(BITS_OF_INFINITY)))


def subnormal(random: random.Random) -> str:
    return repr(float_of(random.getrandbits(52) >> random.randrange(52)))


def many_digits(random: random.Random) -> str:
    return f"{random.randrange(10 ** random.randint(16, 60))}e{random.randint(-380, 250)}"


def nineteen_digits(random: random.Random) -> str:
    return f"{random.getrandbits(64)}e{random.randint(-345, 288)}"


def near_half_way(random: random.Random) -> str:
    """Half-way, a little more or less, or cut off somewhere."""
    anywhere = random.randrange(BITS_OF_INFINITY - 1)
    number = half_way(random.choice([anywhere, random.getrandbits(53) >> random.randrange(53)]))
    _, digits, power = number.as_tuple()
    assert isinstance(power, int)
    little = Decimal((0, (1,), power - random.randrange(50)))
    n_digits = random.randint(min(len(digits), 15), len(digits))
    cut = Decimal((0, digits[:n_digits], power + len(digits) - n_digits))
    return written(random, random.choice([number, number + little, number - little, cut]))


def decimals(random: random.Random) -> str:
    return f"{random.random():.{random.randint(15, 40)}f}"


def whole_number(random: random.Random) -> str:
    return str(random.getrandbits(random.randint(1, 1020))) + random.choice(["", ".", ".5"])


def values_of(path: Path, texts: list[str]) -> list[float]:
    path.write_text("".join(f"1 5:{text}\n" for text in texts))
    return [value for batch in read(path, format="svmlight") for value in batch.values.tolist()]


def assert_same_bits(texts: list[str], values: list[float]) -> None:
    expected = np.array([float(text) for text in texts])
    different = np.flatnonzero(expected.view(np.uint64) != np.array(values).view(np.uint64))
    assert [texts[n] for n in different] == []


@pytest.mark.parametrize(
    "kind",
    [
        any_double,
        subnormal,
        many_digits,
        nineteen_digits,
        near_half_way,
        decimals,
        whole_number,
    ],
)
def test_nearest_double(tmp_path: Path, kind: Callable[[random.Random], str]) -> None:
    own = random.Random(7)
    with localcontext() as context:
        context.prec = 1200
        texts = [own.choice(["", "-", "+"]) + kind(own) for _ in range(3000)]
    assert_same_bits(texts, values_of(tmp_path / "a.svm", texts))


def test_hard_numbers(tmp_path: Path) -> None:
    assert_same_bits(HARD, values_of(tmp_path / "a.svm", HARD))


@pytest.mark.parametrize(
    "text", ["1.7976931348623159e308", "1e309", "9" * 400, "1e" + "9" * 30, "1" + "0" * 309 + ".0"]
)
def test_too_large(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.svm").write_text(f"1 5:1\n1 5:{text}\n")
    reader = read(tmp_path / "a.svm", bad_lines="skip")
    assert sum(len(batch.labels) for batch in reader) == 1
    assert reader.n_bad_lines == 1


@pytest.fixture(scope="module")
def locale_with_comma(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that can have a locale with a decimal comma."""
    if shutil.which("localedef") is None:
        pytest.skip("a locale with a decimal comma is made by localedef, which is not there")
    folder = tmp_path_factory.mktemp("locales")
    command = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")]
    subprocess.run(command, capture_output=True, check=False)
    if not (folder / "de_DE.UTF-8").exists():
        pytest.skip("there is no definition of the locale de_DE, which has a decimal comma")
    return {**os.environ, "LOCPATH": str(folder)}


READ_IN_GERMAN = """
import locale, sys
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.localeconv()["decimal_point"] == ","
from rarefy.readers import read
for path in sys.argv[1:]:
    batches = list(read(path))
    print(*(value for batch in batches for value in batch.values.tolist()))
    print(*(label for batch in batches for label in batch.labels.tolist()))
"""


def test_locale_does_not_matter(tmp_path: Path, locale_with_comma: dict[str, str]) -> None:
    texts = ["1.5e-30", "0.12345678901234567890", "2.5", "12345678901234567.25"]
    files = {
        "a.svm": "".join(f"{text} 5:{text}\n" for text in texts),
        "a.vw": "".join(f"{text} |a x:{text}\n" for text in texts),
        "a.csv": "label,x\n" + "".join(f"{text},{text}\n" for text in texts),
        "a.jsonl": "".join(f'{{"label": {text}, "x": {text}}}\n' for text in texts),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    done = subprocess.run(
        [sys.executable, "-c", READ_IN_GERMAN, *(str(tmp_path / name) for name in files)],
        env=locale_with_comma,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = " ".join(str(float(text)) for text in texts)
    assert done.stdout.splitlines() == [expected] * 2 * len(files)
