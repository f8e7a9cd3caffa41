"""Without `rarefy[serve]` there is nothing to test here."""

from importlib.util import find_spec

NEEDED = ("starlette", "uvicorn", "msgspec", "prometheus_client", "httpx")
collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_*.py"]
