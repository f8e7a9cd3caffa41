"""What is done for the folder of a service: files come, entries go, challengers win."""

import json
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rarefy.serving.track_record import Rivalry
from tests.serving.in_process import SAID, Client, model_of, rows
from tests.serving.test_app import copy_folder


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path / "served", promote_within=0.05)
    client.put("/models/m", json=SAID).raise_for_status()
    yield client
    client.service.close()


# --- files that come ----------------------------------------------------------------------------


def test_file_in_the_folder_is_served(client: Client, tmp_path: Path) -> None:
    path = client.service.folder / "trained.model"
    path.write_bytes(model_of(rows(30), tmp_path))
    client.housekeeper.look()
    client.housekeeper.look()
    assert client.get("/models/trained").json()["examples"] == 30
    client.post("/models/trained/learn", json=rows(5)).raise_for_status()
    client.housekeeper.look()
    assert client.service.wait()
    assert client.get("/models/trained").json()["examples"] == 35
    path.write_bytes(model_of(rows(31), tmp_path))
    client.housekeeper.look()
    assert client.get("/models/trained").json()["examples"] == 31


def test_file_that_is_no_model_is_in_nobodys_way(client: Client, tmp_path: Path) -> None:
    folder = client.service.folder
    (folder / "a.model").write_bytes(b"rarefy, but not quite")
    (folder / "folder.model").mkdir()
    (folder / "gone.model").symlink_to(folder / "nothing")
    (folder / "no name.model").write_bytes(model_of(rows(30), tmp_path))
    (folder / "z.model").write_bytes(model_of(rows(30), tmp_path))
    client.housekeeper.look()
    assert set(client.service.served_models) == {"m", "z"}
    (folder / "a.model").write_bytes(model_of(rows(29), tmp_path))
    client.housekeeper.look()
    assert client.get("/models/a").json()["examples"] == 29


def test_model_of_a_file_is_deleted_with_the_file(client: Client, tmp_path: Path) -> None:
    path = client.service.folder / "trained.model"
    path.write_bytes(model_of(rows(30), tmp_path))
    client.housekeeper.look()
    assert client.delete("/models/trained").status_code == 409
    path.unlink()
    assert client.delete("/models/trained").status_code == 204
    client.housekeeper.look()
    assert client.get("/models/trained").status_code == 404


# --- entries that go ----------------------------------------------------------------------------


def kept_entries(client: Client, n_rounds: int) -> list[int]:
    """The entries that are kept of some requests with a snapshot after each."""
    for seed in range(n_rounds):
        client.post("/models/m/learn", json=rows(5, seed)).raise_for_status()
        client.service.wait()
        client.post("/models/m/snapshots").raise_for_status()
    client.housekeeper.look()
    with sqlite3.connect(client.service.folder / "log.db") as db:
        return [seq for (seq,) in db.execute("SELECT seq FROM entries ORDER BY seq")]


def test_entries_go_once_they_are_old_and_in_two_snapshots(tmp_path: Path) -> None:
    client = Client(tmp_path, keep_days=0.0)
    client.put("/models/m", json=SAID).raise_for_status()
    assert kept_entries(client, 3) == [4]
    client.service.close()


def test_entries_go_once_they_take_too_much_room(tmp_path: Path) -> None:
    client = Client(tmp_path, keep_bytes=3 * len("".join(map(json.dumps, rows(5)))))
    client.put("/models/m", json=SAID).raise_for_status()
    kept = kept_entries(client, 8)
    assert kept[-1] == 9
    assert len(kept) in (2, 3)
    before = client.learned()
    client.service.close()
    again = Client(tmp_path)
    assert again.learned() == before
    again.service.close()


def test_young_entries_stay(client: Client) -> None:
    assert kept_entries(client, 3) == [1, 2, 3, 4]


def test_many_entries_go_a_thousand_at_a_time(tmp_path: Path) -> None:
    client = Client(tmp_path, keep_days=0.0)
    client.put("/models/m", json=SAID).raise_for_status()
    with sqlite3.connect(tmp_path / "log.db") as db:
        db.executemany(
            "INSERT INTO entries (model, kind, at, rows, format, body) VALUES "
            "('m', 'learn', 0, 1, 'json', ?)",
            [(b'{"f1": 1, "label": "a"}\n',)] * 2500,
        )
    client.service.close()
    again = Client(tmp_path, keep_days=0.0)
    again.service.wait()
    assert kept_entries(again, 2) == [2503]
    again.service.close()


def test_uploaded_files_go_with_the_last_entry_that_names_them(client: Client) -> None:
    files = client.service.folder / "files"
    client.post("/models/m/learn", json=rows(5)).raise_for_status()
    old = client.learned()
    client.put("/models/copy/file", content=old).raise_for_status()
    assert len(list(files.iterdir())) == 1
    for path in files.iterdir():
        os.utime(path, (0, 0))
    client.housekeeper.look()
    assert len(list(files.iterdir())) == 1
    client.delete("/models/copy").raise_for_status()
    client.housekeeper.look()
    assert list(files.iterdir()) == []


# --- challengers that win -----------------------------------------------------------------------


def clear(n_rows: int, seed: int) -> list[dict[str, object]]:
    """Rows whose label is in one of their features."""
    rng = random.Random(seed)
    labels = rng.choices("ab", k=n_rows)
    return [{"x": 1.0 if label == "b" else -1.0, "label": label} for label in labels]


def champion_after(client: Client, seed: int) -> str:
    client.post("/models/m/learn", json=clear(600, seed)).raise_for_status()
    client.service.wait()
    client.housekeeper.look()
    return client.get("/models").json()["models"][0]["champion"]


def test_better_challenger_is_promoted_and_that_is_undone_in_a_second(tmp_path: Path) -> None:
    folder = tmp_path / "served"
    client = Client(folder, promote_within=0.05)
    client.put("/models/m", json={**SAID, "l1": 1e6}).raise_for_status()  # knows nothing
    client.put("/models/m/challengers/good", json={}).raise_for_status()
    client.put("/models/m/challengers/same", json={"l1": 1e6}).raise_for_status()
    client.post("/models/m/learn", json=clear(100, 0)).raise_for_status()
    client.service.wait()
    client.housekeeper.look()
    assert client.service.served_models["m"].champion_name == "first"  # too few rows to tell
    assert champion_after(client, 1) == "good"
    began = time.monotonic()
    client.post("/models/m/challengers/first/promote").raise_for_status()
    answers = [client.post("/models/m/predict", json={"x": x}).json() for x in (-1.0, 1.0)]
    assert answers[0] == answers[1]
    assert time.monotonic() - began < 1.0
    assert champion_after(client, 2) == "first"  # what was undone stays so
    client.post("/models/m/snapshots").raise_for_status()
    copy_folder(folder, tmp_path / "copy")
    client.service.close()
    again = Client(tmp_path / "copy", promote_within=0.05)
    assert champion_after(again, 3) == "first"
    again.post("/models/m/challengers/good/promote").raise_for_status()  # by hand
    assert champion_after(again, 4) == "good"
    again.service.close()


def test_challenger_that_loses_too_many_answers_is_not_promoted(client: Client) -> None:
    client.put("/models/m/challengers/c", json={}).raise_for_status()
    rivalry = client.service.served_models["m"].rivalries.setdefault("c", Rivalry())
    rng = np.random.default_rng(0)
    is_lost = rng.random(2000) < 0.1
    champion = np.column_stack([np.ones(2000), np.full(2000, 2.0), ~is_lost])
    challenger = np.column_stack([np.ones(2000), rng.random(2000), is_lost])
    rivalry.add(champion, challenger)
    figures = rivalry.figures()
    assert figures["is_better"]
    assert figures["lost_at_most"] > 0.05
    client.housekeeper.look()
    assert client.service.served_models["m"].champion_name == "first"


@pytest.mark.slow
def test_equal_challengers_are_seldom_better_by_chance() -> None:
    """A look after every 500 rows, a million of them: at most one in ten is ever called better."""
    rng, n_series, n_wrong = np.random.default_rng(0), 60, 0
    for _ in range(n_series):
        rivalry = Rivalry()
        for _ in range(2000):
            losses = rng.exponential(size=(2, 500))
            champion, challenger = (np.column_stack([np.ones(500), one, one]) for one in losses)
            rivalry.add(champion, challenger)
            if rivalry.figures()["is_better"]:
                n_wrong += 1
                break
    print(n_wrong, "of", n_series)
    assert n_wrong <= n_series // 10
