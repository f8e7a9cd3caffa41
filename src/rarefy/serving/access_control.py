"""Access control: tokens, hosts, origins, and security headers."""

import hashlib
import hmac
import json
import secrets
import threading
import time
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from rarefy.errors import InputError
from rarefy.serving.calls import Call
from rarefy.serving.limits import check_name
from rarefy.serving.refusals import NotAllowedError, NoTokenError, UnreadableTokensError
from rarefy.system.atomic_write import Output

SCOPES = ("read", "learn", "admin")  # each may do what those before it may
TOKENS = "tokens.json"
LOOKING = 1.0  # seconds between looks at the file
LOOPBACK = ("127.0.0.1", "::1", "localhost")
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
HEADERS_OF_PAGES = [  # and of all else that a browser can be led to
    *HEADERS,
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        b"require-trusted-types-for 'script'",
    ),
]


class Tokens:
    """The tokens of a folder, of which only hashes are kept; a changed file counts at once."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / TOKENS
        self._read_at: tuple[int, int] | None = None
        self._known: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()
        self._right_until = 0.0

    def known(self) -> dict[str, dict[str, str]]:
        """Scope and hash by name, as of a second ago at most."""
        if time.monotonic() < self._right_until:
            return self._known
        return self._read()

    def _read(self) -> dict[str, dict[str, str]]:
        with self._lock:
            self._right_until = time.monotonic() + LOOKING
            try:
                status = self.path.stat()
            except FileNotFoundError:
                self._known, self._read_at = {}, None
                return self._known
            state = status.st_mtime_ns, status.st_ino
            if state != self._read_at:
                self._right_until = 0.0  # unless it can be read, nobody is let in
                self._known, self._read_at = _tokens_in(self.path), state
                self._right_until = time.monotonic() + LOOKING
            return self._known

    def add(self, name: str, scope: str) -> str:
        """A new token, also in the place of an old one of that name; it is told only now."""
        check_name("token", name)
        if scope not in SCOPES:
            raise InputError(f"scope {scope!r}: one of {', '.join(SCOPES)} is expected.")
        token = secrets.token_urlsafe(32)
        self._write({**self.known(), name: {"scope": scope, "sha256": _hash(token)}})
        return token

    def remove(self, name: str) -> None:
        known = dict(self.known())
        if known.pop(name, None) is None:
            raise InputError(f"there is no token {name!r}.")
        self._write(known)

    def _write(self, known: dict[str, dict[str, str]]) -> None:
        with Output(self.path, mode=0o600).writing("w") as file:
            json.dump(known, file, indent=2)
        self._right_until = 0.0

    def check(self, authorization: str, scope: str) -> None:
        """Refuse who has no token for this."""
        kind, _, token = authorization.partition(" ")
        given = _hash(token.strip() if kind.lower() == "bearer" else "")
        scopes = [
            SCOPES.index(one["scope"])
            for one in self.known().values()
            if hmac.compare_digest(one["sha256"], given)
        ]
        if not scopes:
            raise NoTokenError("a token is needed: Authorization: Bearer TOKEN.")
        if max(scopes) < SCOPES.index(scope):
            raise NotAllowedError(f"the token does not have the scope {scope!r}.")


class AccessControl:
    """Looks at a request before anyone else does."""

    def __init__(self, tokens: Tokens, host: str, *, is_open: bool = False) -> None:
        self._tokens, self._is_open = tokens, is_open
        self._hosts = frozenset((*LOOPBACK, host))
        self._needs_token = host not in LOOPBACK and not is_open  # also when the last has gone

    def check(self, call: Call, scope: str | None) -> None:
        """Refuse pages of other sites, names that lead here by a trick, and missing tokens."""
        host = call.headers.get(b"host", b"")
        if not self._is_served(host) and not self._tokens.known():
            raise NotAllowedError(
                f"the host {_host(host)!r} is not served here; name it with --host."
            )
        origin = call.headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != host:
            raise NotAllowedError("requests from pages of other sites are refused.")
        if scope is not None and (self._needs_token or self._tokens.known()):
            self._tokens.check(call.header(b"authorization"), scope)

    def _is_served(self, host: bytes) -> bool:
        return self._is_open or _host(host) in self._hosts


@lru_cache(1000)
def _host(header: bytes) -> str:
    """The host of a header, without its port."""
    try:
        return urlsplit(f"//{header.decode('latin-1')}").hostname or ""
    except ValueError:
        return ""


def check_listening(host: str, tokens: Tokens, *, is_open: bool) -> None:
    """Refuse to listen beyond this machine without a token."""
    if host in LOOPBACK or is_open or tokens.known():
        return
    raise InputError(
        f"--host {host}: others could reach the service, and there is no token. Make one with "
        f"`rarefy token`, or say --open if anyone may."
    )


def _tokens_in(path: Path) -> dict[str, dict[str, str]]:
    try:
        known: dict[str, dict[str, str]] = json.loads(path.read_bytes())
        if all(one["scope"] in SCOPES and one["sha256"].isascii() for one in known.values()):
            return known
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        pass
    raise UnreadableTokensError(
        f"{path.name} cannot be read, and nobody is let in: restore it, or remove it and make new "
        f"tokens with `rarefy token`."
    )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
