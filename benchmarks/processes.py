"""Processes that are measured from outside."""

import os
import socket
from pathlib import Path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def cpu_seconds(pid: int) -> float:
    """What a process has taken so far; on a busy machine that says more than a clock."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
