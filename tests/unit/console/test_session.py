"""What a cookie holds, and who can open it."""

from __future__ import annotations

import base64
from pathlib import Path

import orjson
import pytest

from console.session import (
    MAX_COOKIE_BYTES,
    Sealer,
    Ticket,
    join_parts,
    split_parts,
    token_expiry,
)
from olmkit.errors import OlmError

KEY = bytes(range(32))
TICKET = Ticket("id", "anna", 2000, "the-token", ("a", "b"))


def test_a_ticket_is_read_as_it_was_written_until_it_expires() -> None:
    sealer = Sealer(KEY)
    value = sealer.seal(TICKET.dump(), "name")
    assert Ticket.load(sealer.open(value, "name"), 1999.0) == TICKET
    assert Ticket.load(sealer.open(value, "name"), 2000.0) is None
    assert "the-token" not in value + repr(TICKET)
    assert value != sealer.seal(TICKET.dump(), "name")


def test_nobody_else_opens_it() -> None:
    value = Sealer(KEY).seal(b"plain", "name")
    assert Sealer(KEY).open(value, "name") == b"plain"
    assert Sealer(bytes(32)).open(value, "name") is None
    assert Sealer(KEY).open(value, "another") is None
    raw = bytearray(base64.urlsafe_b64decode(value + "=="))
    for at in range(len(raw)):
        changed = bytes([*raw[:at], raw[at] ^ 1, *raw[at + 1 :]])
        assert Sealer(KEY).open(base64.urlsafe_b64encode(changed).decode().rstrip("="), "name") is None


@pytest.mark.parametrize("value", ["", "A", "AAAA", "é", "\udcff", "a b", "====", "A" * 10_000])
def test_what_is_no_cookie_of_ours_is_nothing(value: str) -> None:
    assert Sealer(KEY).open(value, "name") is None


def test_a_mark_is_of_its_purpose_and_its_text() -> None:
    sealer = Sealer(KEY)
    mark = sealer.mark("form", "session")
    assert sealer.is_mark(mark, "form", "session")
    assert not any(
        (
            sealer.is_mark(mark, "login", "session"),
            sealer.is_mark(mark, "form", "other"),
            sealer.is_mark("", "form", "session"),
            Sealer(bytes(32)).is_mark(mark, "form", "session"),
        )
    )


@pytest.mark.parametrize(("length", "cookies"), [(10, 1), (MAX_COOKIE_BYTES, 1), (MAX_COOKIE_BYTES + 1, 2)])
def test_a_long_session_is_two_cookies(length: int, cookies: int) -> None:
    value = "x" * length
    parts = split_parts(value, "name")
    assert len([part for part in parts.values() if part]) == cookies
    assert all(len(part) <= MAX_COOKIE_BYTES for part in parts.values())
    assert join_parts(parts, "name") == value


def test_a_session_that_is_too_long_is_refused() -> None:
    with pytest.raises(OlmError, match="too long"):
        split_parts("x" * (2 * MAX_COOKIE_BYTES + 1), "name")


@pytest.mark.parametrize("text", [KEY, KEY.hex().encode(), f"{KEY.hex()}\n".encode()])
def test_the_key_is_read_from_a_file(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "key").write_bytes(text)
    assert Sealer.read(tmp_path / "key").mark("a", "b") == Sealer(KEY).mark("a", "b")


@pytest.mark.parametrize("text", [b"", b"short", b"z" * 64, b"\xff" * 33])
def test_what_is_no_key_is_refused_without_showing_it(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "key").write_bytes(text)
    with pytest.raises(OlmError, match="not 32 bytes") as error:
        Sealer.read(tmp_path / "key")
    assert "zzz" not in str(error.value)


def test_a_key_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OlmError, match="No such file"):
        Sealer.read(tmp_path / "key")


def jwt(claims: object) -> str:
    return f"e30.{base64.urlsafe_b64encode(orjson.dumps(claims)).decode().rstrip('=')}.c2ln"


@pytest.mark.parametrize(
    ("token", "expiry"),
    [
        (jwt({"exp": 1234}), 1234),
        (jwt({"exp": 1234.9}), 1234),
        (jwt({}), None),
        (jwt({"exp": "1234"}), None),
        (jwt({"exp": True}), None),
        (jwt({"exp": 1e300}), None),
        (jwt([]), None),
        ("a.b.c", None),
        ("sha256~opaque", None),
        ("a.\udcff.c", None),
    ],
)
def test_the_expiry_of_a_token(token: str, expiry: int | None) -> None:
    assert token_expiry(token) == expiry
