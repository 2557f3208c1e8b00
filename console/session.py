"""The cookie that holds a session, sealed with AES-256-GCM: who, by which token, until when. And the marks of forms.

Nothing is kept on the server that the cookie does not have: another replica, or this process after a restart, opens it with
the same key. A token is readable by nobody but the console: not by scripts, not by the browser's owner, not in a log.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from olmkit.errors import OlmError

KEY_BYTES = 32
SESSION_SECONDS = 8 * 3600
MAX_COOKIE_BYTES = 3500
"""The longest value of one cookie: browsers keep 4096 bytes with its name and attributes. A longer session has two."""
MAX_COOKIES = 2
_NONCE_BYTES = 12


@dataclass(frozen=True)
class Ticket:
    """A session as its cookie has it. `token` is a secret; "" where the process has the credentials itself."""

    id: str
    user: str
    expires: int
    token: str = field(default="", repr=False)
    groups: tuple[str, ...] = ()

    def dump(self) -> bytes:
        """The ticket as bytes to seal."""
        return orjson.dumps([self.id, self.user, self.expires, self.token, self.groups])

    @classmethod
    def load(cls, plain: bytes | None, now: float) -> Ticket | None:
        """The ticket in bytes that were sealed; None if there are none, or if it has expired."""
        if plain is None:
            return None
        identity, user, expires, token, groups = orjson.loads(plain)
        return cls(identity, user, expires, token, tuple(groups)) if now < expires else None


def new_id() -> str:
    """A name for a session that nobody can guess."""
    return secrets.token_urlsafe(24)


class Sealer:
    """Seals tickets and marks forms with keys derived from one secret."""

    def __init__(self, key: bytes) -> None:
        """`key` has KEY_BYTES bytes."""
        self._cipher = AESGCM(_derived(key, b"cookie"))
        self._form_key = _derived(key, b"form")

    @classmethod
    def read(cls, path: Path | None) -> Sealer:
        """With the key in a file (32 bytes, or 64 hexadecimal digits), or a random one. Raises OlmError."""
        if path is None:
            return cls(os.urandom(KEY_BYTES))
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise OlmError("BadSessionKey", f"the session key cannot be read: {path}: {error.strerror}") from error
        if len(raw) != KEY_BYTES:
            try:
                raw = bytes.fromhex(raw.decode("ascii").strip())
            except ValueError:
                raw = b""
        if len(raw) != KEY_BYTES:
            raise OlmError(
                "BadSessionKey", f"the session key in {path} is not {KEY_BYTES} bytes, or 64 hexadecimal digits"
            )
        return cls(raw)

    def seal(self, plain: bytes, name: str) -> str:
        """The bytes as the value of the cookie of that name, which nobody else can read or make."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, plain, name.encode())
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def open(self, value: str, name: str) -> bytes | None:
        """The bytes in a value; None if it is not ours, was changed, or belongs to another cookie."""
        try:
            sealed = base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True)
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], name.encode())
        except (InvalidTag, ValueError):  # ValueError: also one of base64, or a value that is too short
            return None

    def mark(self, purpose: str, text: str) -> str:
        """A text that only this console can make of a purpose and a text; for forms."""
        return hmac.new(self._form_key, f"{purpose}\0{text}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def is_mark(self, mark: str, purpose: str, text: str) -> bool:
        """Report whether mark() made it."""
        return is_same(mark, self.mark(purpose, text))


def is_same(one: str, other: str) -> bool:
    """Compare two texts in a time that says nothing about them."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hmac.new(key, b"olm-console " + purpose, hashlib.sha256).digest()


def token_expiry(token: str) -> int | None:
    """`exp` of a token that is a JWT, unverified: a session is never longer than its token. None if it does not say."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        raw = base64.b64decode(parts[1] + "=" * (-len(parts[1]) % 4), altchars=b"-_", validate=True)
        claims = orjson.loads(raw)
    except ValueError:
        return None
    found = claims.get("exp") if isinstance(claims, dict) else None
    if not isinstance(found, int | float) or isinstance(found, bool) or abs(found) >= 2**53:
        return None
    return int(found)


def join_parts(cookies: Mapping[str, str], name: str) -> str:
    """The value that split_parts() has distributed over cookies; "" if there is none."""
    return "".join(cookies.get(each, "") for each in part_names(name))


def split_parts(value: str, name: str) -> dict[str, str]:
    """The value of each cookie of a session: "" for one that is not needed. Raises OlmError for a session that is too long."""
    parts = [value[at : at + MAX_COOKIE_BYTES] for at in range(0, len(value), MAX_COOKIE_BYTES)]
    if len(parts) > MAX_COOKIES:
        raise OlmError("TokenTooLong", "the token is too long for a session: use one of a ServiceAccount")
    names = part_names(name)
    return dict(zip(names, [*parts, ""][: len(names)], strict=False))


def part_names(name: str) -> tuple[str, ...]:
    """The names of the cookies of a session."""
    return (name, f"{name}-2")
