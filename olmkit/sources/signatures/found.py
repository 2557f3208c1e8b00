"""Signatures as a registry has them, read and not verified: of the classic form of cosign, and Sigstore bundles. Pure.

Classic: the payload names the image, and the annotations of its layer have the signature, and of a certificate the chain and the
entry of a log. A bundle has all of it in one document, and names the digest of the image alone.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.sources.errors import quoted
from olmkit.sources.signatures.strict_json import Unreadable, decoded, items, member, number, read_object, text

SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json"
BUNDLE_PREFIX = "application/vnd.dev.sigstore.bundle"
BUNDLE = f"{BUNDLE_PREFIX}.v0.3+json"
COSIGN_TYPE = "cosign container image signature"
IN_TOTO = "application/vnd.in-toto+json"
SIGN_PREDICATE = "https://sigstore.dev/cosign/sign/v1"
SIGNATURE_ANNOTATION = "dev.cosignproject.cosign/signature"
CERTIFICATE_ANNOTATION = "dev.sigstore.cosign/certificate"
CHAIN_ANNOTATION = "dev.sigstore.cosign/chain"
ENTRY_ANNOTATION = "dev.sigstore.cosign/bundle"
TIMESTAMP_ANNOTATION = "dev.sigstore.cosign/rfc3161timestamp"
MAX_CHAIN, MAX_ENTRIES = 8, 8
_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


@dataclass(frozen=True)
class InclusionProof:
    """The proof that a log includes an entry, and the statement of the log about its size and root."""

    index: int
    size: int
    root: bytes
    hashes: tuple[bytes, ...]
    checkpoint: str


@dataclass(frozen=True)
class LogEntry:
    """An entry of a transparency log, with its promise (a signed timestamp), or its proof of inclusion, or both."""

    body: bytes
    integrated_time: int
    log_id: bytes
    index: int
    promise: bytes = b""
    proof: InclusionProof | None = None


@dataclass(frozen=True)
class Signature:
    """One signature. `signed` are the bytes that it covers; `payload` is what is signed, without the envelope of a bundle."""

    signed: bytes
    payload: bytes
    signature: bytes
    is_bundle: bool
    certificate: bytes = b""
    """The certificate of the signer in DER; empty for a signature by a key."""
    chain: tuple[bytes, ...] = ()
    entries: tuple[LogEntry, ...] = ()
    has_timestamp: bool = False
    """True if it has a timestamp of an authority (RFC 3161), which is not read."""


@dataclass(frozen=True)
class Claim:
    """The image that a payload is about. `repository` is the name as signed; None in a bundle, which has none."""

    digests: frozenset[str]
    repository: str | None


# --- classic


def classic(payload: bytes, annotations: Mapping[str, str]) -> Signature:
    """The signature of one layer. Raises Unreadable."""
    certificates = pem_certificates(annotations.get(CERTIFICATE_ANNOTATION, ""))
    entry = annotations.get(ENTRY_ANNOTATION, "")
    return Signature(
        payload,
        payload,
        decoded(dict(annotations), SIGNATURE_ANNOTATION),
        is_bundle=False,
        certificate=certificates[0] if certificates else b"",
        chain=(*certificates[1:], *pem_certificates(annotations.get(CHAIN_ANNOTATION, "")))[:MAX_CHAIN],
        entries=(_classic_entry(entry),) if entry else (),
        has_timestamp=bool(annotations.get(TIMESTAMP_ANNOTATION)),
    )


def _classic_entry(document: str) -> LogEntry:
    entry = read_object(document, "an entry of a log")
    try:
        log_id = bytes.fromhex(text(entry, "Payload", "logID"))
    except ValueError:
        raise Unreadable("has an entry of a log without the id of the log") from None
    return LogEntry(
        decoded(entry, "Payload", "body"),
        number(entry, "Payload", "integratedTime"),
        log_id,
        number(entry, "Payload", "logIndex"),
        promise=decoded(entry, "SignedEntryTimestamp"),
    )


def classic_claim(payload: bytes) -> Claim:
    """The image that a classic payload is about. Raises Unreadable."""
    document = read_object(payload, "a payload")
    if (kind := text(document, "critical", "type")) != COSIGN_TYPE:
        raise Unreadable(f"has a payload of the type {quoted(kind)}, which is no signature of an image")
    digest = text(document, "critical", "image", "docker-manifest-digest")
    repository = text(document, "critical", "identity", "docker-reference")
    return Claim(frozenset({digest}), repository)


# --- bundles


def bundle(document: bytes) -> Signature | None:
    """The signature of a bundle; None for one of another predicate, such as an attestation. Raises Unreadable."""
    found = read_object(document, "a bundle")
    kind = text(found, "mediaType")
    if not kind.startswith(BUNDLE_PREFIX):
        raise Unreadable(f"has a bundle of the type {quoted(kind)}")
    envelope, material = member(found, "dsseEnvelope"), member(found, "verificationMaterial")
    signatures = items(envelope, "signatures")
    if len(signatures) != 1:
        raise Unreadable("has a bundle without an envelope of one signature")
    payload, payload_type = decoded(envelope, "payload"), text(envelope, "payloadType")
    if payload_type != IN_TOTO or text(_statement(payload), "predicateType") != SIGN_PREDICATE:
        return None
    certificates = [decoded(material, "certificate", "rawBytes")]
    certificates += [decoded(each, "rawBytes") for each in items(material, "x509CertificateChain", "certificates")]
    certificates = [each for each in certificates if each]
    return Signature(
        pre_authentication_encoding(payload_type, payload),
        payload,
        decoded(signatures[0], "sig"),
        is_bundle=True,
        certificate=certificates[0] if certificates else b"",
        chain=tuple(certificates[1:])[:MAX_CHAIN],
        entries=tuple(_bundle_entry(each) for each in items(material, "tlogEntries")[:MAX_ENTRIES]),
        has_timestamp=bool(items(material, "timestampVerificationData", "rfc3161Timestamps")),
    )


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """The bytes that the signature of an envelope covers (DSSE)."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def _bundle_entry(entry: Any) -> LogEntry:
    proof = member(entry, "inclusionProof")
    return LogEntry(
        decoded(entry, "canonicalizedBody"),
        number(entry, "integratedTime") if member(entry, "integratedTime") is not None else 0,
        decoded(entry, "logId", "keyId"),
        number(entry, "logIndex") if member(entry, "logIndex") is not None else 0,
        promise=decoded(entry, "inclusionPromise", "signedEntryTimestamp"),
        proof=_proof(proof) if isinstance(proof, dict) else None,
    )


def _proof(proof: Mapping[str, Any]) -> InclusionProof:
    return InclusionProof(
        number(proof, "logIndex") if "logIndex" in proof else 0,
        number(proof, "treeSize"),
        decoded(proof, "rootHash"),
        tuple(_hash(each) for each in items(proof, "hashes")[:64]),
        text(proof, "checkpoint", "envelope"),
    )


def _hash(value: Any) -> bytes:
    return decoded({"hash": value}, "hash")


def bundle_claim(payload: bytes) -> Claim:
    """The image that the statement of a bundle is about. Raises Unreadable."""
    digests: set[str] = set()
    for subject in items(_statement(payload), "subject"):
        found = member(subject, "digest")
        if isinstance(found, dict):
            digests |= {f"{algorithm}:{value}" for algorithm, value in found.items() if isinstance(value, str)}
    return Claim(frozenset(digests), None)


def _statement(payload: bytes) -> dict[str, Any]:
    return read_object(payload, "a statement")


def pem_certificates(pem: str) -> tuple[bytes, ...]:
    """The certificates of a PEM text in DER. Raises Unreadable. Takes time in proportion to the text, whatever it is."""
    found: list[bytes] = []
    position = 0
    while (start := pem.find(_BEGIN, position)) >= 0 and (end := pem.find(_END, start)) >= 0:
        body = "".join(pem[start + len(_BEGIN) : end].split())
        found.append(decoded({"certificate": body}, "certificate"))
        position = end + len(_END)
    return tuple(found)


def canonical_json(value: Mapping[str, Any]) -> bytes:
    """The JSON of an object of texts and integers, as RFC 8785 writes it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def base64_text(data: bytes) -> str:
    """The bytes in base64."""
    return base64.b64encode(data).decode()
