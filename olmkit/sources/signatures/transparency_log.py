"""Entries of transparency logs: whether a trusted log has promised or proved to include one, and whether it is about a signature.

An entry that is not about exactly this signature proves nothing: a signer could reuse the entry of another one. Pure.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from olmkit.sources.signatures.found import (
    InclusionProof,
    LogEntry,
    Signature,
    base64_text,
    canonical_json,
    pem_certificates,
)
from olmkit.sources.signatures.keys import SigningKey, verifies
from olmkit.sources.signatures.strict_json import Unreadable, decoded, items, read_object, text

MAX_TIME = 253_402_300_799
"""The end of the year 9999: later times cannot be represented."""


@dataclass(frozen=True)
class TrustedLog:
    """A log by the hash of its key, and the time in which its key is trusted."""

    id: bytes
    key: SigningKey
    start: datetime | None = None
    end: datetime | None = None


class Untrusted(ValueError):
    """The message follows the name of the signature."""


def log_time(signature: Signature, logs: tuple[TrustedLog, ...]) -> datetime:
    """The time at which a trusted log included the signature. Raises Untrusted, Unreadable."""
    if not signature.entries:
        unread = " (its timestamp of an authority is not read)" if signature.has_timestamp else ""
        raise Untrusted(f"has no entry of a transparency log{unread}")
    problems: list[str] = []
    for entry in signature.entries:
        try:
            return _time(entry, signature, logs)
        except (Untrusted, Unreadable) as error:
            problems.append(str(error))
    raise Untrusted("; ".join(dict.fromkeys(problems)))


def _time(entry: LogEntry, signature: Signature, logs: tuple[TrustedLog, ...]) -> datetime:
    known = [log for log in logs if log.id == entry.log_id]
    if not known:
        raise Untrusted(f"has an entry of the unknown log {entry.log_id.hex()[:64]}")
    if not entry.promise and entry.proof is None:
        raise Untrusted("has an entry that its log neither promised nor proved to include")
    if entry.promise and not any(verifies(log.key, entry.promise, _promised(entry)) for log in known):
        raise Untrusted("has an entry whose signed timestamp is not of its log")
    if entry.proof is not None:
        _check_inclusion(entry.body, entry.proof, known)
    _check_subject(entry.body, signature)
    if not entry.promise:
        raise Untrusted("has an entry without a signed time (Rekor 2), and timestamps of authorities are not read")
    moment = datetime.fromtimestamp(min(entry.integrated_time, MAX_TIME), UTC)
    if not any((log.start is None or log.start <= moment) and (log.end is None or moment <= log.end) for log in known):
        raise Untrusted("has an entry from a time in which the key of the log is not trusted")
    return moment


def _promised(entry: LogEntry) -> bytes:
    """The bytes that a signed entry timestamp covers."""
    return canonical_json(
        {
            "body": base64_text(entry.body),
            "integratedTime": entry.integrated_time,
            "logIndex": entry.index,
            "logID": entry.log_id.hex(),
        }
    )


# --- inclusion


def _check_inclusion(body: bytes, proof: InclusionProof, logs: list[TrustedLog]) -> None:
    """Raises Untrusted unless a checkpoint of the log has the root that the proof leads to."""
    size, root = _checkpoint(proof.checkpoint, logs)
    if (size, root) != (proof.size, proof.root):
        raise Untrusted("has an entry whose proof is for another checkpoint")
    if _root(hashlib.sha256(b"\0" + body).digest(), proof) != root:
        raise Untrusted("has an entry that the checkpoint of its log does not include")


def _checkpoint(note: str, logs: list[TrustedLog]) -> tuple[int, bytes]:
    """The size and root of a signed note. Raises Untrusted, Unreadable."""
    signed, separator, signatures = note.partition("\n\n")
    data = f"{signed}\n".encode("utf-8", "surrogatepass")  # JSON may have half of a pair, and no log signs one
    lines = [line.split(" ") for line in signatures.splitlines()[:16] if line.startswith("— ")]
    made = [decoded({"signature": line[2]}, "signature")[4:] for line in lines if len(line) == 3]
    if not separator or not any(verifies(log.key, each, data) for log in logs for each in made):
        raise Untrusted("has an entry whose checkpoint is not of its log")
    parts = signed.split("\n")
    if len(parts) < 3 or not (parts[1].isascii() and parts[1].isdigit() and len(parts[1]) < 20):
        raise Unreadable("has an entry with a checkpoint that cannot be read")
    return int(parts[1]), decoded({"root": parts[2]}, "root")


def _root(leaf: bytes, proof: InclusionProof) -> bytes:
    """The root that a proof leads to, as RFC 9162 2.1.3.2 calculates it; empty for a proof of another length."""
    node, last, found = proof.index, proof.size - 1, leaf
    if node > last:
        return b""
    for sibling in proof.hashes:
        if last == 0:
            return b""
        if node % 2 or node == last:
            found = hashlib.sha256(b"\1" + sibling + found).digest()
            while not node % 2 and node:
                node, last = node // 2, last // 2
        else:
            found = hashlib.sha256(b"\1" + found + sibling).digest()
        node, last = node // 2, last // 2
    return found if last == 0 else b""


# --- the subject of an entry


def _check_subject(body: bytes, signature: Signature) -> None:
    """Raises Untrusted unless the entry is about this payload, signature and certificate."""
    entry = read_object(body, "an entry of a log")
    kind, version = text(entry, "kind"), text(entry, "apiVersion")
    payload = hashlib.sha256(signature.payload).hexdigest()
    match kind, version, signature.is_bundle:
        case "hashedrekord", "0.0.1", False:
            algorithm, found = (text(entry, "spec", "data", "hash", name) for name in ("algorithm", "value"))
            made = decoded(entry, "spec", "signature", "content")
            signer = decoded(entry, "spec", "signature", "publicKey", "content")
            is_same = made == signature.signature and _is_certificate(signer, signature.certificate)
        case "dsse", "0.0.1", True:
            algorithm, found = (text(entry, "spec", "payloadHash", name) for name in ("algorithm", "value"))
            is_same = any(_is_of(each, signature) for each in items(entry, "spec", "signatures"))
        case _:
            raise Untrusted(f"has an entry of the type {kind[:32]} {version[:16]}, which is not read")
    if algorithm != "sha256" or found != payload or not is_same:
        raise Untrusted("has an entry that is about another signature")


def _is_of(entry: Any, signature: Signature) -> bool:
    made = decoded(entry, "signature")
    return made == signature.signature and _is_certificate(decoded(entry, "verifier"), signature.certificate)


def _is_certificate(pem: bytes, certificate: bytes) -> bool:
    found = pem_certificates(pem.decode("utf-8", "replace"))
    return bool(certificate) and found[:1] == (certificate,)
