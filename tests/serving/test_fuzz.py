"""Requests that are made up from the OpenAPI document: none is a fault, and nothing is lost."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.serving.in_process import rows
from tests.serving.served import Served

SECONDS = 30
BEGUN = {
    "m": {"classes": ["a", "b"], "text": ["words"]},
    "numbers": {},
    "lines": {"format": "vw", "classes": ["-1", "1"]},
    "grow": {"classes": "grow"},
}


@pytest.mark.slow
def test_made_up_requests_find_no_fault(tmp_path: Path) -> None:
    pytest.importorskip("schemathesis")
    with Served(tmp_path / "served", "--checkpoint-seconds", "1") as served:
        prepare(served)
        document = httpx.get(f"{served.url}/openapi.json").json()
        names = {"type": "string", "enum": [*BEGUN, "new", "c"]}
        document["components"]["schemas"]["Name"] = names
        (tmp_path / "openapi.json").write_text(json.dumps(document))
        send_made_up(tmp_path / "openapi.json", served, seed=1)
        counts = httpx.get(f"{served.url}/metrics", timeout=400.0).text
        assert 'status="200"' in counts
        assert 'status="500"' not in counts
        files = learned(served)
        served.kill()
        served.start()
        assert learned(served) == files


@pytest.mark.slow
def test_requests_leave_nothing_in_memory(tmp_path: Path) -> None:
    many = json.dumps([*rows(1000), 3]).encode()
    kinds = ["application/json", "text/csv", "text/x-vw", "text/x-svmlight"]
    bodies = [b'{"label": "c"}', b"[[3]]", b"a,b\n3\n", b"x | y\n", many, b" " * 100_000]
    with Served(tmp_path) as served, httpx.Client(base_url=served.url, timeout=400.0) as client:
        prepare(served)

        def send() -> None:
            for path in ("predict", "learn", "label", "explain"):
                for kind in kinds:
                    for body in bodies:
                        url = f"/models/m/{path}"
                        client.post(url, content=body, headers={"Content-Type": kind})
            client.put("/models/m", json={"classes": ["a", "b"], "l1": -1.0})
            client.put("/models/m/challengers/d", json={})
            client.post("/models/m/challengers/d/promote")
            client.post("/models/m/challengers/first/promote")
            client.delete("/models/m/challengers/d")
            client.put("/models/m/file", content=b"nothing")
            client.put("/models/new/file", content=client.get("/models/m/file").content)
            client.get("/models/m")
            client.delete("/models/new")

        for _ in range(3):
            send()
        before = served.memory()
        for _ in range(15):
            send()
        print(f"{before:.0f} MB of memory, {served.memory():.0f} after 1,500 requests more")
        assert served.memory() < before + 25.0


def prepare(served: Served) -> None:
    for name, said in BEGUN.items():
        url = f"{served.url}/models/{name}"
        httpx.put(url, json=said, timeout=400.0).raise_for_status()
        if name == "lines":
            kind = {"Content-Type": "text/x-vw"}
            httpx.post(f"{url}/learn", content=b"1 | a\n-1 | b\n", headers=kind).raise_for_status()
            continue
        some = [{**one, "label": n} for n, one in enumerate(rows(20))]
        some = some if name == "numbers" else rows(20)
        httpx.post(f"{url}/learn", json=some).raise_for_status()
    url = f"{served.url}/models/m"
    httpx.put(f"{url}/challengers/c", json={"l1": 2.0}).raise_for_status()
    httpx.post(f"{url}/snapshots").raise_for_status()
    httpx.post(f"{url}/predict?id=1", json={"words": "a"}).raise_for_status()


def send_made_up(document: Path, served: Served, seed: int) -> None:
    """Requests for some time; each is to be answered as the document says."""
    options = {
        "--url": served.url,
        "--seed": seed,
        "--max-time": SECONDS,
        "--checks": "status_code_conformance",
        "--exclude-path": "/events",  # which has no end
        "--exclude-operation-id": "delete_models_name",
        "--suppress-health-check": "all",
    }
    command = [sys.executable, "-m", "schemathesis.cli", "run", str(document), "--no-color"]
    command += ["--continue-on-failure", *(str(part) for pair in options.items() for part in pair)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=document.parent, check=False)
    assert "FAILURES" not in done.stdout, done.stdout
    assert "passed" in done.stdout, done.stdout + done.stderr


def learned(served: Served) -> dict[str, bytes]:
    """The files of all models, once they have learned what has come."""
    served.wait_until_learned()
    models = httpx.get(f"{served.url}/models", timeout=400.0).json()["models"]
    urls = {one["name"]: f"{served.url}/models/{one['name']}/file" for one in models}
    return {name: httpx.get(url, timeout=60.0).content for name, url in urls.items()}
