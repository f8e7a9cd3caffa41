"""Ray: the same bytes, whatever happens to workers; errors that say what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rarefy
from rarefy.cluster import train
from rarefy.engine import sharding
from rarefy.errors import ConfigError, InputError
from tests.streams.test_merging import vw_lines

ray = pytest.importorskip("ray", reason="rarefy[ray] is not installed")
pytest.importorskip("ray.data")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

HOW = {"shards": 4, "holdout": 0.1}


@pytest.fixture(scope="module")
def cluster():
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def few_rows_are_enough(monkeypatch):
    """What shards learn is decided here, and not by workers."""
    monkeypatch.setattr(sharding, "FEWEST_OF_A_SHARD", 64)


@pytest.fixture
def files(tmp_path, monkeypatch) -> list[str]:
    from experiments.cluster.faults import write_rows

    monkeypatch.chdir(tmp_path)
    return write_rows(tmp_path, 12_000)


def expected(files: list[str], **how) -> bytes:
    rarefy.train(*files, output="here.model", **how)
    return Path("here.model").read_bytes()


@pytest.mark.parametrize("how", [{}, {"bits": 12}, {"capacity": 1000}], ids=str)
def test_the_same_bytes(cluster, files, how):
    lines = []
    train(*files, output="there.model", progress=lines.append, **HOW, **how)
    assert Path("there.model").read_bytes() == expected(files, **HOW, **how)
    assert lines[0].examples >= 1000


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_datasets(cluster, tmp_path, monkeypatch, kind):
    pytest.importorskip("pandas")
    from tests.cluster.test_same_bytes import _frame

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ray.data.DataContext.get_current(), "enable_progress_bars", False)
    frame = _frame(3000, "words")
    frame.to_parquet("rows.parquet", row_group_size=500)
    frame.to_csv("rows.csv", index=False)
    rows = frame.to_dict("records")
    Path("rows.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    how = {"shards": 3, "text": ["words"], "holdout": 0.1}
    here = rarefy.train("rows.parquet", **how)
    dataset = getattr(ray.data, f"read_{kind}")(str(tmp_path / f"rows.{kind}"))
    dataset = dataset.repartition(5)
    there = train(dataset, output="there.model", **how)
    assert there.t_ == here.t_
    assert weights(there) == weights(here)
    assert there.holdout_ == pytest.approx(here.holdout_)
    assert weights(rarefy.load("there.model")) == weights(here)


def test_an_interrupted_run_over_a_dataset_goes_on_with_files(cluster, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    from tests.cluster.test_same_bytes import _frame

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ray.data.DataContext.get_current(), "enable_progress_bars", False)
    _frame(6000, "words").to_parquet("rows.parquet", row_group_size=500)
    how = {"shards": 3, "text": ["words"]}
    whole = rarefy.train("rows.parquet", **how)

    def interrupt(line):
        if line.examples >= 4000:
            raise KeyboardInterrupt

    dataset = ray.data.read_parquet(str(tmp_path / "rows.parquet")).repartition(4)
    with pytest.raises(KeyboardInterrupt):
        train(dataset, output="part.model", progress=interrupt, **how)
    assert 0 < rarefy.load("part.model").t_ < 6000
    with pytest.raises(ConfigError, match=r"a dataset in memory\. To continue, write"):
        rarefy.train(resume="part.model")
    resumed = rarefy.train("rows.parquet", resume="part.model", output="whole.model")
    assert resumed.t_ == 6000
    assert weights(resumed) == weights(whole)


@pytest.mark.parametrize("format", ["vw", "svmlight", "json"])
def test_lines_of_datasets(cluster, tmp_path, monkeypatch, format):
    """Of formats that Ray Data does not know, too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ray.data.DataContext.get_current(), "enable_progress_bars", False)
    lines = vw_lines(5000, 0).splitlines()
    if format == "svmlight":
        lines = [f"{(-1) ** (n % 7)} {n % 30 + 1}:1 {n % 7 + 40}:0.5" for n in range(5000)]
    elif format == "json":
        lines = [json.dumps({"label": line[0], "w": line.split()[-1]}) for line in lines]
    Path("rows.txt").write_text("\n".join(lines) + "\n")
    how = {"shards": 3, "format": format, "passes": 2}
    here = rarefy.train("rows.txt", **how)
    dataset = ray.data.read_text(str(tmp_path / "rows.txt")).repartition(3)
    there = train(dataset, output="there.model", **how)
    assert there.t_ == here.t_ == 10_000
    assert there.weights_ == here.weights_


def test_lines_that_cannot_be_read(cluster, monkeypatch):
    monkeypatch.setattr(ray.data.DataContext.get_current(), "enable_progress_bars", False)
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"text": ["1 | a", "-1 | b", "1 | c:x"]})
    with pytest.raises(InputError, match=r"^dataset, block 0:3:"):
        train(ray.data.from_pandas([rows]), format="vw", shards=2)
    two = rows.assign(other=1)
    with pytest.raises(InputError, match=r"has one column, .* and this one has text, other"):
        train(ray.data.from_pandas([two]), format="vw", shards=2)
    with pytest.raises(ConfigError, match="format='csv': the lines of a dataset can be svmlight"):
        train(ray.data.from_pandas([rows]), format="csv", shards=2)


@pytest.mark.parametrize("block", [0, 2])
def test_messages_name_the_block_of_a_dataset(cluster, tmp_path, monkeypatch, block):
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(ray.data.DataContext.get_current(), "enable_progress_bars", False)
    good = pandas.DataFrame({"label": ["a", "b"] * 500, "x": [1.0, 2.0] * 500})
    bad = good.assign(x=[*good.x[:-1], 1e60])
    frames = [bad if n == block else good for n in range(3)]
    with pytest.raises(InputError, match=f"^dataset, block {block}:1000: the value 1e\\+60"):
        train(ray.data.from_pandas(frames), shards=2)


def test_a_dataset_that_cannot_be_read(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(ray.data.DataContext.get_current(), "enable_progress_bars", False)
    (tmp_path / "rows.csv").write_text("label,x\na,1\nb,2\n")
    dataset = ray.data.read_csv(str(tmp_path / "rows.csv"))
    (tmp_path / "rows.csv").unlink()
    with pytest.raises(InputError, match=r"^dataset: Ray Data cannot read it: .*rows\.csv"):
        train(dataset, shards=2)


def weights(model) -> dict[str, list[float]]:
    return {name: weight.tolist() for name, weight in model.weights_.items()}


def test_workers_that_are_killed(cluster, files):
    from experiments.cluster.faults import trained_among_kills

    here, n_killed = expected(files, **HOW), 0
    for run in range(3):
        there, n = trained_among_kills(files, Path("there.model"), run, 0.3, **HOW)
        assert there == here
        n_killed += n
    assert n_killed > 0


def test_a_damaged_part_leaves_the_last_checkpoint(cluster, files):
    with open(files[4], "a") as file:
        file.write("1 |a x:y\n")
    n_lines = len(Path(files[4]).read_text().splitlines())
    with pytest.raises(InputError, match=f"{files[4]}:{n_lines}:"):
        train(*files, output="there.model", save_every=2000, **HOW)
    Path(files[4]).write_text("".join(Path(files[4]).read_text().splitlines(keepends=True)[:-1]))
    train(resume="there.model", output="there.model")
    assert Path("there.model").read_bytes() == expected(files, save_every=2000, **HOW)


def test_a_lost_file_leaves_the_last_checkpoint(cluster, files):
    def lose(line) -> None:
        if line.examples >= 4000 and Path(files[5]).exists():
            Path(files[5]).rename("away")

    # with one reader at a time the last file is opened late
    with pytest.raises(InputError, match="No such file"):
        train(*files, output="there.model", save_every=2000, progress=lose, **HOW)
    Path("away").rename(files[5])
    train(resume="there.model", output="there.model")
    assert Path("there.model").read_bytes() == expected(files, save_every=2000, **HOW)


def test_shards_learn(cluster, files, monkeypatch):
    """Lest all of the above be learned in order: with 1,024 rows for a shard, these are too few."""
    four = expected(files, **HOW)
    monkeypatch.setattr(sharding, "FEWEST_OF_A_SHARD", 1024)
    assert expected(files, **HOW) != four


def test_the_command_starts_its_own_cluster(tmp_path, monkeypatch):
    from experiments.cluster.faults import write_rows

    monkeypatch.setattr(sharding, "FEWEST_OF_A_SHARD", 1024)  # as in the command
    monkeypatch.chdir(tmp_path)
    files = [Path(file).name for file in write_rows(tmp_path, 42_000)]
    command = [sys.executable, "-m", "rarefy", "train", *files, "-o", "there.model"]
    options = ["--shards", "4", "--holdout", "0.1", "--on", "ray"]
    done = subprocess.run([*command, *options], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "examples" in done.stderr
    assert Path("there.model").read_bytes() == expected(files, **HOW)


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "127.0.0.1:99999"])
def test_no_cluster_at_the_address(tmp_path, address):
    (tmp_path / "rows.vw").write_text("1 | a\n-1 | b\n" * 50)
    command = [sys.executable, "-m", "rarefy", "train", "rows.vw", "-o", "some.model"]
    options = ["--shards", "2", "--on", f"ray:{address}"]
    done = subprocess.run(
        [*command, *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,  # Ray itself tries for a quarter of an hour
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: Ray: there is no cluster at {address}: ")
    assert not (tmp_path / "some.model").exists()


def test_a_cluster_of_this_machine_that_has_died(tmp_path):
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:9")
    (tmp_path / "rows.vw").write_text("1 | a\n-1 | b\n" * 50)
    command = [sys.executable, "-m", "rarefy", "train", "rows.vw", "--shards", "2", "--on", "ray"]
    done = subprocess.run(
        [*command, "-o", "some.model"],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "RAY_TMPDIR": str(tmp_path)},
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: Ray: there is no cluster at 127.0.0.1:9 (it was started")


def test_a_node_that_is_lost_with_its_memory(tmp_path):
    command = [sys.executable, "-m", "experiments.cluster.lost_node", str(tmp_path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root)
    assert "lost same" in done.stdout.splitlines(), done.stderr[-2000:]
