"""Numbers that are parsed several at once: every short one, and the borders of what is one go."""

from __future__ import annotations

import itertools
import random

import pytest

from rarefy.readers.text.scan import SCANNED_BYTES
from rarefy.readers.text.short_numbers import ENOUGH
from tests.readers.test_readers import FORMATS, check_text, message_of, written

TEMPLATES = {"svmlight": "1 {}\n", "vw": "1 | {}\n"}
SHORT = ["".join(t) for n in range(5) for t in itertools.product("05.-/", repeat=n)]


@pytest.mark.parametrize("format", FORMATS)
class TestShortNumbers:
    @pytest.mark.parametrize("pair", ["7:{}", "{}:7", "7:1{}56", "7:{} 8:5", "name:{}"])
    def test_all_that_can_be_written(self, tmp_path, format, pair):
        """In one go with good ones, and in one with bad ones only."""
        lines = [TEMPLATES[format].format(pair.format(token)) for token in SHORT]
        good = TEMPLATES[format].format("1:2 3:-4.5")
        check_text(tmp_path, "".join(lines).encode(), format)
        check_text(tmp_path, "".join(line + good for line in lines).encode(), format)

    @pytest.mark.parametrize("n_bytes", range(1, 20))
    def test_of_every_length(self, tmp_path, format, n_bytes):
        rng = random.Random(n_bytes)
        pairs = []
        for _ in range(500):
            value = "".join(rng.choices("0123456789", k=n_bytes))
            point = rng.randrange(n_bytes)
            value = rng.choice((value, f"{value[:point]}.{value[point + 1 :]}", f"-{value[1:]}"))
            pairs.append(f"{value.strip('-.')}:{value}0")
        check_text(tmp_path, TEMPLATES[format].format(" ".join(pairs)).encode(), format)

    @pytest.mark.parametrize("n_pairs", [ENOUGH - 1, ENOUGH, ENOUGH + 1, 5 * ENOUGH])
    @pytest.mark.parametrize("fault", ["", "5:1-", "x:", "5:1e", "1.5:1"])
    def test_in_long_rows(self, tmp_path, format, n_pairs, fault):
        rng = random.Random(n_pairs)
        kinds = ("1", "0.25", "-3.5", "1e-5", "123456.789", "0.1234567890123456")
        pairs = [f"{rng.randrange(10**7)}:{rng.choice(kinds)}" for _ in range(n_pairs)]
        row = TEMPLATES[format].format(" ".join(pairs))
        pairs[rng.randrange(n_pairs)] += f" {fault}"
        check_text(
            tmp_path, (row + TEMPLATES[format].format(" ".join(pairs)) + row).encode(), format
        )

    def test_where_a_scan_ends(self, tmp_path, format):
        for n_bytes in range(SCANNED_BYTES - 40, SCANNED_BYTES + 40):
            pairs = "1234:0.5678 " * (n_bytes // 12)
            pairs += "1" * (n_bytes - len(pairs)) + ":1"
            check_text(tmp_path, (TEMPLATES[format].format(pairs) * 2).encode(), format)

    @pytest.mark.parametrize("later", ["5:x", "7:1-", "5:1:2"])
    def test_the_first_fault_of_a_row_is_the_one_that_is_told(self, tmp_path, format, later):
        row = TEMPLATES[format].format(f"1:2 3:1-2 4:5 {later}")
        column = row.index("-") + 1
        message = message_of(written(tmp_path, row.encode()), format)
        assert f":1:{column}: a space after the feature" in message
