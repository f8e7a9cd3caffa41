"""What options take, as users write it."""

import click
import pytest

from rarefy.cli.option_types import Name, Size


@pytest.mark.parametrize("written", ["average-precision", "average_precision"])
def test_names_with_either_sign(written):
    assert Name(["auc", "average-precision"]).convert(written, None, None) == "average-precision"
    assert Name(["auc", "average_precision"]).convert(written, None, None) == "average_precision"
    with pytest.raises(click.BadParameter, match="'average' is not one of 'auc'"):
        Name(["auc", "average-precision"]).convert("average", None, None)


@pytest.mark.parametrize(
    ("written", "n_bytes"),
    [("1", 1), ("1.5kB", 1500), ("2KB", 2000), ("3M", 3_000_000), ("4mb", 4_000_000)],
)
def test_sizes(written, n_bytes):
    assert Size().convert(written, None, None) == n_bytes


@pytest.mark.parametrize("written", ["MB", "-1MB", "1PB", "1 M B"])
def test_no_sizes(written):
    with pytest.raises(click.BadParameter, match="a size such as 500MB or 4GB is expected"):
        Size().convert(written, None, None)
