"""The memory of `rarefy serve`, as requests come."""

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx

from benchmarks.processes import free_port
from benchmarks.serving import NO_WRK, row, running
from benchmarks.tables import markdown_table

SECONDS = 20  # between looks at the memory
N_REQUESTS = 10_000_000
SHOWN = (0, 1_000_000, 2_000_000, 5_000_000, N_REQUESTS)  # at the first look after so many
LUA = """
local headers = {["Content-Type"] = "application/json"}
local n = 0
request = function()
  n = n + 1
  if n %% 1000 == 0 then return wrk.format("POST", "/models/m/learn", headers, "{") end
  local path = n %% 20 == 0 and "/models/m/learn" or "/models/m/predict"
  return wrk.format("POST", path, headers, [==[%s]==])
end
"""


def megabytes(pid: int) -> int:
    """Memory of a process, without files."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) // 1024


def looks(n_requests: int) -> Iterator[tuple[int, int]]:
    """Requests that have been answered, and megabytes, every few seconds."""
    one, port, n_done = json.dumps(row(random.Random(0))), free_port(), 0
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "mixed.lua"
        script.write_text(LUA % one)
        serve = [sys.executable, "-m", "rarefy", "serve", f"{folder}/models", "--port", str(port)]
        with running([*serve, "--checkpoint-seconds", "10"], port, "/health") as (url, pid):
            said = {"classes": ["a", "b"]}
            httpx.put(f"{url}/models/m", json=said, timeout=600.0).raise_for_status()
            command = ["wrk", "-t1", "-c32", f"-d{SECONDS}s", "-s", str(script), url]
            while n_done < n_requests:
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                count = re.search(r"(\d+) requests in", output)
                assert count is not None, output
                n_done += int(count[1])
                yield n_done, megabytes(pid)


def measure(n_requests: int = N_REQUESTS) -> str:
    if shutil.which("wrk") is None:
        return NO_WRK
    list(looks(1))  # so that machine code is in the cache
    found = list(looks(n_requests))
    wanted = [n for n in SHOWN if n <= n_requests]
    shown = {next(look for look in found if look[0] >= n) for n in wanted}
    text = "Memory of `rarefy serve` with one small model, without files, and with its machine "
    text += "code in the cache. Of a thousand requests, 949 predict a row, 50 have one learned, "
    text += f"and one is refused. At most {max(size for _, size in found)} MB:\n\n"
    rows = [[f"{n_done:,}", size] for n_done, size in sorted(shown)]
    return text + markdown_table(["requests", "MB"], rows)


if __name__ == "__main__":
    print(measure(int(sys.argv[1])))
