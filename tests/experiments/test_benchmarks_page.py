"""The page of benchmarks is written section by section."""

from benchmarks.tables import HEAD, page_with

TITLES = ["First", "Second", "Third"]
PAGE = HEAD + "\n## First\n\n|a|\n\nmore\n\n## Third\n\nc\n"


def test_a_section_is_replaced_and_the_others_stay():
    assert page_with(PAGE, "First", "new", TITLES) == HEAD + "\n## First\n\nnew\n\n## Third\n\nc\n"


def test_a_new_section_stands_where_it_belongs():
    with_second = PAGE.replace("## Third", "## Second\n\nb\n\n## Third")
    assert page_with(PAGE, "Second", "b", TITLES) == with_second


def test_what_is_no_longer_measured_goes():
    assert page_with(PAGE, "First", "new", ["First"]) == HEAD + "\n## First\n\nnew\n"
