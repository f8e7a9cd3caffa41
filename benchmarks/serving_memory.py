"""The memory of `rarefy serve`: `python -m benchmarks.serving_memory 10000000` (requests).

Of a thousand requests, 949 predict a row, 50 have one learned, and one is refused.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

from benchmarks.processes import free_port
from benchmarks.serving import row, running

SECONDS = 20  # between looks at the memory
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


def measure(n_requests: int) -> None:
    """Print the memory whenever some requests more have been answered."""
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
                print(f"{n_done:,} requests: {megabytes(pid)} MB", flush=True)


if __name__ == "__main__":
    measure(int(sys.argv[1]))
