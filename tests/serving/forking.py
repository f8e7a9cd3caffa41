"""A process that has all modules loaded, and makes services by forking: `start` takes no time.

It reads a line for each: folder, port and seconds between snapshots; it writes the process id.
"""

import os
import sys
from pathlib import Path

from rarefy.serving.limits import Limits
from rarefy.serving.member import Member
from rarefy.serving.process import Running, set_up_logs
from rarefy.serving.service import Service


def main() -> None:
    Member.created({"classes": ["a", "b"]}, Limits())
    number = 0
    for line in sys.stdin:
        folder, port, seconds = line.split()
        if number:
            os.waitpid(number, 0)  # it was killed, and may not be gone yet
        number = os.fork()
        if number == 0:
            set_up_logs(with_requests=False)
            service = Service(Path(folder), checkpoint_seconds=float(seconds))
            Running(service, "127.0.0.1", int(port)).serve()
            os._exit(0)
        print(number, flush=True)


if __name__ == "__main__":
    main()
