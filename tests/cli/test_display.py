"""What commands show while they run: lines of text, JSON, and a bar in a terminal."""

from __future__ import annotations

import io
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from rarefy.cli.views.display import Display, JsonLines, make_display
from rarefy.cli.views.formatting import clock, count, duration, number, percent, size
from rarefy.cli.views.running_table import COLUMNS, RunningTable, fitting
from rarefy.cli.views.terminal_display import Bar, Sample, TerminalDisplay, parts
from rarefy.cli.views.text_display import TextDisplay
from rarefy.system.memory import resident_memory
from rarefy.training.progress_tracker import ProgressLine

ROOT = Path(__file__).parents[2]
CONTROL_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*[349][0-7]")
SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"

LINE = ProgressLine(
    seconds=12.34,
    pass_number=1,
    examples=1_234_567,
    loss=0.31234,
    loss_since=0.29876,
    accuracy=0.8712,
    accuracy_since=0.8834,
    kept=12_345,
    zeros=0.99876,
    rate=100_046.4,
    memory=213_400_000,
    holdout={},
)
SUMMARY = {
    "examples": 20_000,
    "passes": 1,
    "first_pass": 20_000,
    "loss": 0.31234,
    "accuracy": 0.8712,
    "weighted_by_class": False,
    "kept": 1_234,
    "seconds": 0.6149,
    "rate": 32_525.6,
    "path": "reviews.model",
    "bytes": 84_123,
    "refitted": {},
    "cut_to": None,
    "holdout": {},
}


def display(passes=1, regression=False, holdout=False, **options):
    table = RunningTable(passes, regression=regression, holdout=holdout)
    return make_display(table, **options)


def plain_text(capsys, *lines: ProgressLine, **options) -> list[str]:
    with display(**options) as shown:
        for line in lines:
            shown.line(line)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


# --- text -----------------------------------------------------------------------------------


def test_plain_lines(capsys):
    with display() as shown:
        shown.say("Columns: site, ad.")
        shown.line(LINE)
        shown.advance(0.5, 2_000_000)
        shown.line(LINE._replace(seconds=65.0, pass_number=1, examples=20_000_000, loss=0.3))
        shown.say("Warning: [b]2[/b] :warning:")
        shown.end(SUMMARY)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "Columns: site, ad.\n"
        "                        loss     loss  accuracy  accuracy    weights"
        "            examples\n"
        "   time    examples   so far   recent    so far    recent       kept"
        "    zeros      per s   memory\n"
        " 12.3 s   1,234,567   0.3123   0.2988    87.1 %    88.3 %     12,345"
        "  99.88 %    100,046   213 MB\n"
        "   1:05  20,000,000   0.3000   0.2988    87.1 %    88.3 %     12,345"
        "  99.88 %    100,046   213 MB\n"
        "Warning: [b]2[/b] :warning:\n"
        "20,000 examples in 0.61 s: progressive loss 0.3123, accuracy 87.1 %\n"
        "1,234 weights kept: reviews.model (84 kB)\n"
    )


def test_columns_without_anything_to_say_are_left_out(capsys):
    line = LINE._replace(accuracy=None, accuracy_since=None, zeros=None, memory=None)
    assert plain_text(capsys, line, regression=True) == [
        "                        loss     loss    weights   examples",
        "   time    examples   so far   recent       kept      per s",
        " 12.3 s   1,234,567   0.3123   0.2988     12,345    100,046",
    ]


def test_passes_and_held_out_data_have_columns(capsys):
    _, heading, first, second = plain_text(
        capsys,
        LINE,
        LINE._replace(pass_number=2, holdout={"loss": 0.4, "accuracy": 0.81}),
        passes=2,
        holdout=True,
    )
    assert heading.split()[:3] == ["time", "pass", "examples"]
    assert heading.split()[-2:] == ["loss", "accuracy"]
    assert first.split()[2:4] == ["1", "1,234,567"]
    assert first.endswith("213 MB         -         -")
    assert second.endswith("213 MB    0.4000    81.0 %")
    assert len({len(heading), len(first), len(second)}) == 1


def test_metrics_of_held_out_data_have_their_names(capsys):
    above, heading, _ = plain_text(
        capsys, LINE._replace(holdout={"loss": 0.4, "area under curve": 0.9}), holdout=True
    )
    assert heading.endswith("    loss  area under curve")
    assert above.endswith("held out          held out")
    assert "accuracy" not in heading


def test_nan_is_a_dash(capsys):
    *_, row = plain_text(capsys, LINE._replace(loss_since=float("nan"), rate=float("inf")))
    assert row.split()[4] == row.split()[-3] == "-"


def test_a_column_grows_with_a_new_header(capsys):
    lines = plain_text(capsys, LINE, LINE._replace(examples=123_456_789_012), LINE)
    assert len(lines) == 7
    assert len(lines[1]) == len(lines[2])
    assert len(lines[4]) == len(lines[5]) == len(lines[6]) == len(lines[1]) + 5


def test_the_last_word_has_passes_and_held_out_data(capsys):
    with display() as shown:
        shown.end(
            SUMMARY
            | {"passes": 5, "first_pass": 4_000, "seconds": 3_723.0, "accuracy": None}
            | {
                "holdout": {
                    "examples": 1_000,
                    "loss": 0.4,
                    "rmse": 2,
                    "r2": 0.7,
                    "progressive": False,
                }
            }
        )
    assert capsys.readouterr().err == (
        "20,000 examples (5 passes) in 1:02:03: progressive loss 0.3123 "
        "(the first pass: 4,000 examples)\n"
        "held out: loss 0.4000, rmse 2.0000, r2 0.7000 (1,000 examples, by the final model)\n"
        "1,234 weights kept: reviews.model (84 kB)\n"
    )


def test_the_last_word_tells_what_figures_are_of(capsys):
    held_out = {"examples": 7, "loss": 0.4, "progressive": True}
    with display() as shown:
        shown.end(SUMMARY | {"first_pass": 5_000, "holdout": held_out})
        shown.end(SUMMARY | {"passes": 2, "first_pass": 0, "holdout": {"examples": 0}})
        shown.end(SUMMARY | {"weighted_by_class": True})
    resumed, held_out, _, unknown, none_held_out, _, weighted, _ = (
        capsys.readouterr().err.splitlines()
    )
    assert resumed.endswith("loss 0.3123, accuracy 87.1 % (this run: 5,000 examples)")
    assert held_out == "held out: loss 0.4000 (7 examples, each by the model at that time)"
    assert none_held_out == "held out: no rows"
    assert unknown == "20,000 examples (2 passes) in 0.61 s"
    assert weighted.endswith("loss 0.3123, accuracy 87.1 % (weighted by class)")


def test_so_far_is_of_the_first_pass_where_there_are_several(capsys):
    _, heading, _ = plain_text(capsys, LINE, passes=2)
    assert heading.count("pass 1") == 2
    assert "so far" not in heading


def test_columns_go_in_the_stated_order():
    columns = list(COLUMNS)
    gone = []
    for width in range(200, 0, -1):
        fit = fitting(columns, width)
        assert sum(column.width + 2 for column in fit) - 2 <= width or len(fit) == 1
        gone += [column.name for column in columns if column not in fit]
        columns = fit
    assert gone == [
        *("memory", "rate", "zeros", "accuracy_since", "loss_since", "pass_number", "seconds"),
        *("kept", "accuracy", "loss"),
    ]
    assert [column.name for column in columns] == ["examples"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (number(0.312345), "0.3123"),
        (number(0.0), "0.0000"),
        (number(1.23e-5), "1.23e-05"),
        (number(-99.5), "-99.5000"),
        (number(1234.567), "1234.57"),
        (number(123_456.7), "123,457"),
        (number(1.234e9), "1.23e+09"),
        (number(float("inf")), "-"),
        (count(1_234_567.8), "1,234,568"),
        (percent(1.0), "100.0 %"),
        (percent(float("nan")), "-"),
        (duration(0.614), "0.61 s"),
        (duration(9.999), "10.0 s"),
        (duration(59.99), "1:00"),
        (duration(3_723.4), "1:02:03"),
        (clock(12.3), "0:12"),
        (clock(100_000), "27:46:40"),
        (size(0), "0 bytes"),
        (size(999), "999 bytes"),
        (size(1_234), "1.2 kB"),
        (size(84_123), "84 kB"),
        (size(213_400_000), "213 MB"),
        (size(12_345 * 10**12), "12,345 TB"),
    ],
)
def test_numbers_as_people_read_them(text, expected):
    assert text == expected


# --- JSON, and nothing ----------------------------------------------------------------------


def test_json_lines(capsys):
    with display(json=True) as shown:
        shown.advance(math.nan, 10)
        shown.line(LINE._replace(holdout={"loss": 0.4}))
        shown.say("Something to know.")
        shown.end(SUMMARY)
    captured = capsys.readouterr()
    assert captured.err == "Something to know.\n"
    first, second = captured.out.splitlines()
    assert first == (
        '{"event": "line", "seconds": 12.34, "pass_number": 1, "examples": 1234567, '
        '"loss": 0.31234, "loss_since": 0.29876, "accuracy": 0.8712, "accuracy_since": 0.8834, '
        '"kept": 12345, "zeros": 0.99876, "rate": 100046.4, "memory": 213400000, '
        '"holdout": {"loss": 0.4}}'
    )
    assert json.loads(second) == {"event": "end", **SUMMARY}


def test_json_has_null_for_what_is_no_number(capsys):
    nan, infinity = float("nan"), float("inf")
    with display(json=True) as shown:
        shown.line(LINE._replace(loss=nan, rate=infinity, accuracy=None, holdout={"loss": -nan}))
        shown.end(SUMMARY | {"loss": -infinity})
    text = capsys.readouterr().out
    assert "NaN" not in text
    assert "Infinity" not in text
    line, end = map(json.loads, text.splitlines())
    assert line["loss"] is line["rate"] is line["accuracy"] is line["holdout"]["loss"] is None
    assert end["loss"] is None


def test_json_is_there_at_once(monkeypatch):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with open(reading, "rb") as pipe, open(writing, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        with display(json=True) as shown:
            for _ in range(2):
                shown.line(LINE)
                assert json.loads(pipe.read())["examples"] == LINE.examples


def test_quiet_says_nothing_but_warnings(capsys):
    with display(quiet=True, json=True) as shown:
        shown.advance(0.5, 1)
        shown.line(LINE)
        shown.say("none")
        shown.warn("one.")
        shown.end(SUMMARY)
    assert capsys.readouterr() == ("", "Warning: one.\n")


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stderr", "term", "options", "kind"),
    [
        (FakeTerminal(), "xterm", {}, TerminalDisplay),
        (FakeTerminal(), "dumb", {}, TextDisplay),
        (FakeTerminal(), "xterm", {"json": True}, JsonLines),
        (FakeTerminal(), "xterm", {"quiet": True}, Display),
        (io.StringIO(), "xterm", {}, TextDisplay),
        (None, "xterm", {}, TextDisplay),  # closed by the shell
    ],
)
def test_the_display_is_chosen_by_who_looks(monkeypatch, stderr, term, options, kind):
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", term)
    with display(**options) as shown:
        assert type(shown) is kind
        shown.line(LINE)


def test_commands_import_no_large_library_before_they_need_it():
    code = """if True:
        import sys
        from importlib import import_module
        from rarefy.cli import COMMANDS
        from rarefy.cli.views.display import make_display
        for command in COMMANDS:
            import_module(f"rarefy.cli.commands.{command}")
        make_display(json=True), make_display(quiet=True)
        assert not {"rich", "scipy", "sklearn", "numba"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", code], check=True, stderr=subprocess.PIPE, timeout=60)


# --- stages ---------------------------------------------------------------------------------


def test_shares_of_stages_come_now_and_then(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    with make_display() as shown:
        shown.advance(0.9)
        shown.stage("Reading")
        for now[0], share in ((1.0, 0.1), (11.0, 0.25), (12.0, 0.3), (30.0, math.nan), (31.0, 0.5)):
            shown.advance(share)
        shown.say("A remark [b]")
    assert capsys.readouterr().err == "Reading ...\n 25 %\n 50 %\nA remark [b]\n"


def test_without_a_table_there_are_no_lines(capsys):
    shown = make_display()
    assert not shown.wants_lines
    shown.line(LINE)
    shown.end(SUMMARY)
    assert capsys.readouterr() == ("", "")


def test_stages_have_bars_of_their_own(capsys):
    with TerminalDisplay() as shown:
        shown.stage("Reading [a]")
        shown.advance(math.nan)
        shown.advance(0.75)
        shown.stage("Learning")
        assert math.isnan(shown.bar.progress[0])
        shown.advance(0.5)
        shown.say("a remark [b]")
        shown.end(SUMMARY)
    seen = CONTROL_CODE.sub("", capsys.readouterr().err)
    assert "a remark [b]" in seen
    assert "weights kept" not in seen


# --- the bar --------------------------------------------------------------------------------


def test_what_is_said_beside_the_bar():
    first = Sample(5.0, 0.25, 1_000_000)
    assert list(parts(first, Sample(15.0, 0.5, 2_000_000))) == [
        " 50 %",
        " 0:20 left",
        "2,000,000 examples",
        "100,000/s",
    ]
    assert list(parts(first, first)) == [" 25 %", "1,000,000 examples"]
    assert list(parts(Sample(5.0, 0.5, 0), Sample(6.0, 0.75, 0))) == [" 75 %", " 0:01 left"]
    assert list(parts(Sample(5.0, math.nan, 0), Sample(6.0, math.nan, 500))) == [
        "500 examples",
        "500/s",
    ]


def drawn(bar: Bar, width: int, encoding: str = "utf-8") -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding)
    Console(file=file, width=width, force_terminal=True, no_color=True).print(bar)
    file.seek(0)
    return file.read()


@pytest.mark.parametrize("title", ["", "Learning 1,234,567 models: 123 points of the grid"])
@pytest.mark.parametrize("share", [math.nan, 0.0, 0.46, 1.0, 1.01])
def test_the_bar_fits(share, title):
    bar = Bar()
    bar.begin(title)
    bar.progress = (share, 123_456_789)
    for width in range(8, 130):
        text = drawn(bar, width)
        assert 1 <= len(text) <= width - 4
        assert text.count("━") == (0 if math.isnan(share) else int(min(share, 1.0) * (width // 4)))
    assert text.startswith(title[:10])
    assert " examples" in text
    assert ("100 %" in text) == (share >= 1.0)


def test_the_bar_in_ascii():
    bar = Bar()
    assert drawn(bar, 80, "ascii")[0] in "|/-\\"
    bar.progress = (0.5, 10)
    assert drawn(bar, 80, "ascii").startswith("##########----------   50 %")


def test_a_million_batches_are_not_drawn_one_by_one(monkeypatch, capsys):
    draw, seen = Bar.__rich_console__, []

    def counted(self, console, options):
        seen.append(self.progress)
        assert len(seen) < 1_000
        return draw(self, console, options)

    monkeypatch.setattr(Bar, "__rich_console__", counted)
    with TerminalDisplay() as shown:
        for n in range(1_000_000):
            shown.advance(n / 1e6, n)
    assert seen[-1] == (0.999999, 999_999)


# --- a real terminal ------------------------------------------------------------------------

SCRIPT = """
import sys
from tests.cli.test_display import LINE, SUMMARY, display
with display() as shown:
    shown.advance(0.5, 1000)
    shown.line(LINE)
    shown.say("It is [b]half[/b] done :+1:")
    shown.line(LINE)
    {}
    shown.end(SUMMARY)
"""


def in_terminal(
    action: str = "pass", *, stdout: bytes = b"", width: int = 80, **environment: str
) -> str:
    """All that a run writes to a terminal, while `stdout` is what goes to standard output."""
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(action)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=ROOT,
        env=inherited | {"TERM": "xterm-256color", "PYTHONUTF8": "1"} | environment,
    )
    os.close(theirs)
    seen = b""
    with open(ours, "rb", buffering=0) as terminal:
        try:
            while some := terminal.read(4096):
                seen += some
        except OSError:  # how Linux says that nobody writes to it any more
            pass
    assert process.communicate(timeout=60)[0] == stdout
    return seen.decode().replace("\r\n", "\n")


def test_a_run_in_a_terminal():
    seen = in_terminal()
    assert seen.count("examples   so far") == 1
    assert seen.count(" 12.3 s   1,234,567   0.3123") == 2
    assert "It is [b]half[/b] done :+1:" in seen
    assert "━━━━━━━━━━" in seen
    assert " 50 %" in seen
    assert seen.rindex(SHOW_CURSOR) > seen.rindex(HIDE_CURSOR)
    after_the_bar = CONTROL_CODE.sub("", seen[seen.rindex("━") :]).partition("\r")[2]
    assert after_the_bar == (
        "20,000 examples in 0.61 s: progressive loss 0.3123, accuracy 87.1 %\n"
        "1,234 weights kept: reviews.model (84 kB)\n"
    )


@pytest.mark.parametrize(
    ("width", "last"), [(40, "12,345"), (60, "12,345"), (80, "99.88 %"), (120, "213 MB")]
)
def test_rows_fit_the_terminal(width, last):
    rows = [row for row in in_terminal(width=width).splitlines() if "1,234,567" in row]
    assert len(rows) == 2
    for row in rows:
        text = CONTROL_CODE.sub("", row.rpartition("\r")[2])
        assert text.endswith(last)
        assert len(text) <= width


@pytest.mark.parametrize("error", ["ValueError('no')", "KeyboardInterrupt", "SystemExit(1)"])
def test_an_error_leaves_the_terminal_clean(error):
    seen = in_terminal(f"raise {error}")
    assert seen.rindex(SHOW_CURSOR) > seen.rindex(HIDE_CURSOR)
    assert "\x1b[2K" in seen[seen.rindex("━") :]
    assert "weights kept" not in seen


def test_standard_output_is_not_touched():
    assert "[b]result" not in in_terminal("print('[b]result')", stdout=b"[b]result\n")


def test_no_colour_where_none_is_wanted():
    assert COLOUR.search(in_terminal())
    seen = in_terminal(NO_COLOR="1")
    assert not COLOUR.search(seen)
    assert "━━━━━━━━━━" in seen


def test_no_control_codes_for_a_dumb_terminal():
    seen = in_terminal(TERM="dumb")
    assert "\x1b" not in seen
    assert " 12.3 s   1,234,567   0.3123" in seen


# --- memory, and the page about all this ----------------------------------------------------


TAKES_MEMORY = """
from rarefy.system.memory import resident_memory
before = resident_memory()
taken = b"x" * 64_000_000
print(resident_memory() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is resident now")
def test_resident_memory():
    """In a process of its own: that of the tests gives memory back when it likes."""
    seen = subprocess.run(
        [sys.executable, "-c", TAKES_MEMORY], capture_output=True, text=True, check=True
    )
    assert 60e6 < float(seen.stdout) < 70e6


def test_memory_is_unknown_elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert resident_memory() is None


def test_the_page_shows_the_table_as_it_is(capsys):
    header = plain_text(capsys, LINE)[:2]
    page = (ROOT / "docs" / "reference" / "commands.md").read_text()
    assert "\n".join(header) in page
