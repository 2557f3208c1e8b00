"""Packs: valid ones, and malicious ones."""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Sequence

import pytest
from dulwich.object_format import SHA1
from hypothesis import given, settings
from hypothesis import strategies as some

from olmkit.sources.errors import SourceReason
from olmkit.sources.git.pack import FILE, OFS_DELTA, REF_DELTA, TREE, PackError, PackLimits, PackObjects, read_pack
from tests.examples import example_count

LIMITS = PackLimits(bytes=1_000_000, objects=100, object_bytes=200_000, structure_bytes=50_000)


def number(value: int) -> bytes:
    """7 bits per byte, least significant first."""
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def head(kind: int, size: int) -> bytes:
    first = kind << 4 | size & 15
    return bytes([first | 0x80]) + number(size >> 4) if size > 15 else bytes([first])


def entry(kind: int, data: bytes, base: bytes = b"", claimed: int | None = None) -> bytes:
    """An object in a pack; `claimed` is the size in its header."""
    return head(kind, len(data) if claimed is None else claimed) + base + zlib.compress(data)


def pack(entries: Sequence[bytes], count: int | None = None) -> bytes:
    body = (
        b"PACK"
        + (2).to_bytes(4, "big")
        + (len(entries) if count is None else count).to_bytes(4, "big")
        + b"".join(entries)
    )
    return body + hashlib.sha1(body).digest()


def back(distance: int) -> bytes:
    """The offset of a base before its object."""
    assert distance < 128
    return bytes([distance])


def name(kind: bytes, data: bytes) -> bytes:
    return hashlib.sha1(kind + b" " + str(len(data)).encode() + b"\0" + data).digest()


def read(data: bytes, limits: PackLimits = LIMITS) -> PackObjects:
    return read_pack(io.BytesIO(data), io.BytesIO(), SHA1, limits, lambda line: None)


def text(objects: PackObjects, found: bytes) -> bytes:
    file = objects.file(found)
    assert file is not None
    return file.read()


def test_files_and_deltas() -> None:
    base, result = b"0123456789", b"0123X"
    delta = number(len(base)) + number(len(result)) + b"\x90\x04" + b"\x01X"
    first = entry(FILE, base)
    for second in (
        entry(OFS_DELTA, delta, back(len(first))),
        entry(REF_DELTA, delta, name(b"blob", base)),
    ):
        objects = read(pack([first, second]))
        assert text(objects, name(b"blob", base)) == base
        assert text(objects, name(b"blob", result)) == result
        assert objects.file(b"x" * 20) is None
        assert objects.root(name(b"blob", base)) is None


def test_a_tree_is_read_by_its_own_hash() -> None:
    data = b"100644 a\0" + b"x" * 20
    objects = read(pack([entry(TREE, data)]))
    entries = objects.tree(name(b"tree", data))
    assert entries is not None
    assert list(entries) == [(b"a", 0o100644, b"x" * 20)]


def test_a_delta_with_a_huge_claimed_size_is_refused_before_allocation() -> None:
    first = entry(FILE, b"x" * 100)
    delta = number(100) + number(10**12) + b"\x90\x64" * 10
    with pytest.raises(PackError) as raised:
        read(pack([first, entry(OFS_DELTA, delta, back(len(first)))]))
    assert raised.value.reason is SourceReason.TOO_LARGE
    assert "contains a file of 1,000,000,000,000 bytes" in raised.value.detail


def test_an_object_with_a_huge_claimed_size_is_refused_before_allocation() -> None:
    with pytest.raises(PackError) as raised:
        read(pack([entry(FILE, b"x" * 100, claimed=10**12)]))
    assert raised.value.reason is SourceReason.TOO_LARGE


def test_the_total_size_of_deltas_is_limited() -> None:
    """A hundred results of 150 kB each, from one base and small deltas."""
    base = entry(FILE, bytes(50_000))
    entries, distance = [base], len(base)
    for each in range(99):
        delta = number(50_000) + number(150_001) + b"\xb0\x50\xc3" * 3 + b"\x01" + bytes([each])
        made = entry(REF_DELTA, delta, name(b"blob", bytes(50_000)))
        entries.append(made)
        distance += len(made)
    data = pack(entries)
    assert len(data) < 6000
    with pytest.raises(PackError) as raised:
        read(data)
    assert raised.value.detail == "contains more than 1,000,000 bytes, the most that is read"


def test_too_many_objects() -> None:
    with pytest.raises(PackError) as raised:
        read(pack([], count=2**32 - 1))
    assert "has 4,294,967,295 files and directories" in raised.value.detail


def test_too_many_bytes_of_directories() -> None:
    limits = PackLimits(bytes=1_000_000, objects=100, object_bytes=200_000, structure_bytes=100)
    with pytest.raises(PackError) as raised:
        read(pack([entry(TREE, b"100644 a\0" + b"x" * 200)]), limits)
    assert raised.value.reason is SourceReason.TOO_LARGE


FIRST = entry(FILE, b"0123456789")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"PACK", id="its first word"),
        pytest.param(b"KCAP" + bytes(40), id="another word"),
        pytest.param(pack([FIRST], count=2), id="fewer objects than claimed"),
        pytest.param(pack([FIRST])[:20], id="half an object"),
        pytest.param(pack([entry(FILE, b"0123456789", claimed=5)]), id="more bytes than claimed"),
        pytest.param(pack([entry(FILE, b"0123456789", claimed=50)]), id="fewer bytes than claimed"),
        pytest.param(pack([head(FILE, 10) + b"no zlib"]), id="not zlib"),
        pytest.param(pack([b"\xff" * 500]), id="a size without end"),
        pytest.param(pack([bytes([OFS_DELTA << 4 | 3]) + b"\xff" * 500]), id="a distance without end"),
        pytest.param(pack([entry(0, b"x")]), id="kind 0"),
        pytest.param(pack([entry(5, b"x")]), id="kind 5"),
        pytest.param(pack([entry(OFS_DELTA, b"\x01\x01\x01x", back(100))]), id="a base before the beginning"),
        pytest.param(pack([FIRST, entry(OFS_DELTA, b"\x01\x01\x01x", back(3))]), id="a base within an object"),
        pytest.param(pack([entry(OFS_DELTA, b"\x01\x01\x01x", back(0))]), id="a delta of itself"),
        pytest.param(pack([entry(REF_DELTA, b"\x01\x01\x01x", b"x" * 20)]), id="a missing base"),
        pytest.param(pack([FIRST, entry(REF_DELTA, b"", name(b"blob", b"0123456789"))]), id="an empty delta"),
        pytest.param(
            pack([FIRST, entry(REF_DELTA, b"\xff" * 200, name(b"blob", b"0123456789"))]), id="numbers without end"
        ),
        pytest.param(
            pack([FIRST, entry(REF_DELTA, b"\x0a\x05\x90\x64", name(b"blob", b"0123456789"))]), id="a copy from behind"
        ),
        pytest.param(
            pack([FIRST, entry(REF_DELTA, b"\x0a\x05\x00", name(b"blob", b"0123456789"))]), id="a delta of another kind"
        ),
    ],
)
def test_invalid_packs(data: bytes) -> None:
    with pytest.raises(PackError) as raised:
        read(data)
    assert raised.value.reason is SourceReason.SOURCE_UNAVAILABLE
    assert raised.value.detail == "sent a pack that cannot be read: it is corrupt or truncated"


@settings(max_examples=example_count(300))
@given(some.data())
def test_a_pack_with_changed_bytes_is_read_or_refused(data: some.DataObject) -> None:
    base = b"0123456789" * 20
    delta = number(200) + number(100) + b"\x90\x64"
    whole = bytearray(
        pack([entry(FILE, base), entry(REF_DELTA, delta, name(b"blob", base)), entry(TREE, b"100644 a\0" + b"x" * 20)])
    )
    for _ in range(data.draw(some.integers(1, 4))):
        whole[data.draw(some.integers(0, len(whole) - 1))] = data.draw(some.integers(0, 255))
    try:
        objects = read(bytes(whole))
    except PackError:
        return
    for found, (start, length) in objects.files.items():
        objects.spool.seek(start)
        assert name(b"blob", objects.spool.read(length)) == found
