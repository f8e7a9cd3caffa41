"""The recipes for Dask and Spark, as they are in the documentation."""

from __future__ import annotations

import glob
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rarefy
from tests.streams.test_merging import vw_lines

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "cluster.md"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]


def recipes(heading: str) -> list[str]:
    section = PAGE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```py\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


@pytest.fixture
def clicks(tmp_path, monkeypatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    Path("clicks").mkdir()
    for n in range(4):
        Path(f"clicks/{n}.vw").write_text(vw_lines(700, n))
    return sorted(glob.glob("clicks/*.vw"))


def run_as_script(recipe: str) -> None:
    """Dask starts processes, which import the script again."""
    Path("recipe.py").write_text(recipe)
    subprocess.run([sys.executable, "recipe.py"], check=True, timeout=300)


def test_dask_merges(clicks):
    pytest.importorskip("dask.bag", reason="Dask is not installed")
    run_as_script(recipes("Dask")[0])
    model = rarefy.load("clicks.model")
    assert model.t_ == 4 * 700
    expected = rarefy.merge([rarefy.train(file) for file in clicks])
    assert model.weights_ == pytest.approx(expected.weights_, rel=1e-9, abs=1e-12)


def test_dask_learns_shards(clicks):
    pytest.importorskip("dask.distributed", reason="Dask is not installed")
    run_as_script(recipes("Dask")[1])
    rarefy.train(*clicks, shards=4, output="here.model")
    assert Path("clicks.model").read_bytes() == Path("here.model").read_bytes()


@pytest.mark.parametrize("heading", ["Dask", "Spark"])
def test_recipes_are_short(heading):
    for recipe in recipes(heading):
        assert len([line for line in recipe.splitlines() if line]) <= 20


def test_spark_merges(tmp_path, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    random = np.random.default_rng(0)
    words = [" ".join(f"w{k}" for k in random.zipf(1.4, 8) % 300) for _ in range(2000)]
    rows = [(text, "spam" if "w3" in text.split() else "ham") for text in words]
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    spark = spark.getOrCreate()
    try:
        mails = spark.createDataFrame(rows, ["words", "label"])
        found = {"mails": mails}
        exec(recipes("Spark")[0], found)
    finally:
        spark.stop()
    model = found["model"]
    assert model.t_ == 2000
    right = [model.predict_one({"words": text}) == label for text, label in rows]
    assert np.mean(right) > 0.95
