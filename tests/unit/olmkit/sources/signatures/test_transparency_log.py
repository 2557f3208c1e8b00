"""Proofs of inclusion, compared with the tree of RFC 9162, and the time of an entry."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from olmkit.sources.signatures.found import Signature, bundle
from olmkit.sources.signatures.strict_json import Unreadable
from olmkit.sources.signatures.transparency_log import TrustedLog, Untrusted, log_time
from tests.signing import (
    Leaf,
    TestAuthority,
    TestLog,
    base64_text,
    bundle_by_certificate,
    compact,
    sign,
    statement_of,
)

DIGEST = f"sha256:{'1' * 64}"
NOW = datetime.now(UTC).replace(microsecond=0)


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root of a tree, as RFC 9162 2.1.1 defines it."""
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\1" + root_of(leaves[:split]) + root_of(leaves[split:])).digest()


def path_of(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """The proof for a leaf, as RFC 9162 2.1.3.1 defines it."""
    if len(leaves) == 1:
        return []
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    if index < split:
        return [*path_of(index, leaves[:split]), root_of(leaves[split:])]
    return [*path_of(index - split, leaves[split:]), root_of(leaves[:split])]


@pytest.fixture(scope="module")
def leaf() -> Leaf:
    return TestAuthority().leaf("anna@example.com")


def trusted(log: TestLog, **times: datetime) -> tuple[TrustedLog, ...]:
    return (TrustedLog(log.id, log.key.public_key(), **times),)


def signed(leaf: Leaf, log: TestLog, moment: datetime = NOW) -> tuple[dict[str, Any], Signature]:
    document = bundle_by_certificate(leaf, statement_of(DIGEST), log, moment)
    found = bundle(compact(document))
    assert found is not None
    return document, found


def test_proofs_of_all_entries_of_small_logs(leaf: Leaf) -> None:
    log = TestLog()
    document, _ = signed(leaf, log)
    entry = document["verificationMaterial"]["tlogEntries"][0]
    own = hashlib.sha256(b"\0" + compact_body(entry)).digest()
    for size in range(1, 10):
        for index in range(size):
            leaves = [hashlib.sha256(bytes([size, each])).digest() for each in range(size)]
            leaves[index] = own
            note = f"log\n{size}\n{base64_text(root_of(leaves))}\n"
            signature = base64_text(b"hint" + sign(log.key, note.encode()))
            proof = {
                "logIndex": str(index),
                "treeSize": str(size),
                "rootHash": base64_text(root_of(leaves)),
                "hashes": [base64_text(each) for each in path_of(index, leaves)],
                "checkpoint": {"envelope": f"{note}\n— log {signature}\n"},
            }
            for wrong in (None, *range(size + 1)):
                if wrong == index:
                    continue
                entry["inclusionProof"] = proof if wrong is None else {**proof, "logIndex": str(wrong)}
                found = bundle(compact(document))
                assert found is not None
                if wrong is None:
                    assert log_time(found, trusted(log)) == NOW
                else:
                    with pytest.raises(Untrusted, match="does not include"):
                        log_time(found, trusted(log))


def compact_body(entry: dict[str, Any]) -> bytes:
    return base64.b64decode(entry["canonicalizedBody"])


def test_the_key_of_a_log_is_trusted_in_its_time(leaf: Leaf) -> None:
    log, minute = TestLog(), timedelta(minutes=1)
    _, found = signed(leaf, log)
    assert log_time(found, trusted(log, start=NOW, end=NOW)) == NOW
    for times in ({"start": NOW + minute}, {"end": NOW - minute}):
        with pytest.raises(Untrusted, match="from a time in which the key of the log is not trusted"):
            log_time(found, trusted(log, **times))


def test_one_entry_suffices(leaf: Leaf) -> None:
    log, other = TestLog(), TestLog()
    _, found = signed(leaf, log)
    _, unknown = signed(leaf, other)
    both = replace(found, entries=(*unknown.entries, *found.entries))
    assert log_time(both, trusted(log)) == NOW


def test_times_that_cannot_be_represented_are_refused(leaf: Leaf) -> None:
    log = TestLog()
    _, found = signed(leaf, log)
    late = replace(found, entries=(replace(found.entries[0], integrated_time=2**62),))
    with pytest.raises(Untrusted, match="signed timestamp is not of its log"):
        log_time(late, trusted(log))


@pytest.mark.parametrize("body", [b"{}", b"[]", b"\xff", b'{"kind":"intoto","apiVersion":"0.0.2"}'])
def test_bodies_of_other_types(leaf: Leaf, body: bytes) -> None:
    log = TestLog()
    _, found = signed(leaf, log)
    promise = log.promise(body, NOW)
    entry = replace(found.entries[0], body=body, proof=None, promise=base64.b64decode(promise["SignedEntryTimestamp"]))
    with pytest.raises((Untrusted, Unreadable)):
        log_time(replace(found, entries=(entry,)), trusted(log))
