"""Secrets with serving certificates: what is in them, and what each step of a rotation writes.

Each certificate has an authority of its own, whose key is dropped as soon as it has issued: nobody can issue another one with
what is stored. Private keys are returned in the data of a Secret and nowhere else. Reads and writes nothing; the caller passes
`now`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from olmkit.api.bundledeployments import (
    AUTHORITIES_ANNOTATION,
    CERTIFICATE_ANNOTATION,
    LABELS_ANNOTATION,
    NOT_AFTER_ANNOTATION,
    ROTATION_ANNOTATION,
)
from olmkit.tls.certificate_authority import is_issued_by, issue, make_ca
from olmkit.tls.key_pair import BadKeyPair, KeyPair, names_of, public_key_of, read_certificates
from rukpak.certificates.serving_certificate import LIFETIME, ServingCertificate, Step, common_name

WORKLOAD = "Deployment"


CERTIFICATE, KEY = "tls.crt", "tls.key"
"""Keys of the data that the pods mount."""
AUTHORITIES = "ca.crt"
"""PEM of the certificate authorities that clients trust."""
OLM_V0_AUTHORITY = "olmCAKey"
"""PEM of the certificate authority, in a Secret that OLM v0 has made."""
NEXT_CERTIFICATE, NEXT_KEY = "next.crt", "next.key"
"""Keys of the data that the pods do not mount: the next certificate, while its authority is only trusted."""
MAX_OLD_AUTHORITIES = 3
"""Earlier authorities that stay trusted when a certificate is replaced at once."""

Data = dict[str, bytes]


def read(secret: Mapping[str, Any], host_names: Iterable[str]) -> ServingCertificate:
    """Read the certificate in a Secret, for a server of these host names. Never raises for its content."""
    try:
        known = _read(_decoded(secret), host_names)
    except BadKeyPair as error:
        return ServingCertificate(problem=str(error))
    annotations = (secret.get("metadata") or {}).get("annotations") or {}
    return replace(known, labels_digest=annotations.get(LABELS_ANNOTATION, ""))


def _read(data: Data, host_names: Iterable[str]) -> ServingCertificate:
    pair = KeyPair.read(data.get(CERTIFICATE, b""), data.get(KEY, b""))
    authorities = read_certificates(_authorities(data))
    for each in authorities:
        public_key_of(each)
    following = _next(data, authorities)
    issuers = [each for each in authorities if is_issued_by(pair, each)]
    if not issuers:
        raise BadKeyPair("none of its certificate authorities has issued it")
    missing = sorted(set(host_names) - set(names_of(pair.certificate)))
    if missing:
        raise BadKeyPair(f"it is not for {missing[0]}")
    used = issuers + [each for each in authorities if following is not None and is_issued_by(following, each)]
    return ServingCertificate(
        digest=digest(pair.certificate.fingerprint(SHA256())),
        authorities=_pem(authorities).decode(),
        not_before=pair.certificate.not_valid_before_utc,
        not_after=min(pair.not_after, max(each.not_valid_after_utc for each in issuers)),
        has_next=following is not None,
        next_not_before=following.certificate.not_valid_before_utc if following is not None else None,
        has_old_authority=any(each not in used for each in authorities),
    )


def changed(secret: Mapping[str, Any] | None, step: Step, host_names: tuple[str, ...], now: datetime) -> Data:
    """The data of a Secret after a step; `secret` is as it is, None if there is none. `host_names` begins with the common name.

    Raises BadKeyPair if what the step needs is not there.
    """
    data = _decoded(secret or {})
    authorities = _readable(_authorities(data))
    pair = {name: data[name] for name in (CERTIFICATE, KEY) if name in data}
    if step is Step.ISSUE:
        made, authority = _issue(host_names, now)
        kept = [each for each in authorities if each.not_valid_after_utc > now][:MAX_OLD_AUTHORITIES]
        return {CERTIFICATE: made.chain, KEY: made.key, AUTHORITIES: _pem([authority, *kept])}
    if step is Step.TRUST:
        made, authority = _issue(host_names, now)
        following = {NEXT_CERTIFICATE: made.chain, NEXT_KEY: made.key}
        return pair | following | {AUTHORITIES: _pem([*authorities, authority])}
    if step is Step.SWITCH:
        following = {CERTIFICATE: data.get(NEXT_CERTIFICATE, b""), KEY: data.get(NEXT_KEY, b"")}
        KeyPair.read(following[CERTIFICATE], following[KEY])
        return following | {AUTHORITIES: _pem(authorities)}
    own = KeyPair.read(data.get(CERTIFICATE, b""), data.get(KEY, b""))
    return pair | {AUTHORITIES: _pem([each for each in authorities if is_issued_by(own, each)])}


def is_kept(secret: Mapping[str, Any], host_names: Iterable[str], now: datetime) -> bool:
    """Report whether OLM v0 has made the Secret, with a certificate that is served on: its clients trust no other one."""
    return OLM_V0_AUTHORITY in (secret.get("data") or {}) and not read(secret, host_names).problem_at(now)


def annotations_of(data: Data, host_names: Iterable[str], step: Step) -> dict[str, str]:
    """The annotations of a Secret with this data, written by this step: facts for people, without a key."""
    known = _read(data, host_names)
    facts = {
        CERTIFICATE_ANNOTATION: known.digest,
        AUTHORITIES_ANNOTATION: digest(known.authorities.encode()),
        NOT_AFTER_ANNOTATION: f"{known.not_after:%Y-%m-%dT%H:%M:%SZ}",
    }
    return facts | ({ROTATION_ANNOTATION: step.value} if known.has_next or known.has_old_authority else {})


def digest(content: bytes) -> str:
    """A short digest, for comparisons."""
    return hashlib.sha256(content).hexdigest()[:16]


def encoded(data: Data) -> dict[str, str]:
    """The data as a Secret has it."""
    return {name: base64.b64encode(content).decode() for name, content in data.items()}


def _decoded(secret: Mapping[str, Any]) -> Data:
    return {name: base64.b64decode(content or "") for name, content in (secret.get("data") or {}).items()}


def _authorities(data: Data) -> bytes:
    """PEM of the authorities that clients trust."""
    return data.get(AUTHORITIES) or data.get(OLM_V0_AUTHORITY, b"")


def _readable(text: bytes) -> list[x509.Certificate]:
    """The authorities in the text, without those whose key is of an unknown kind; none if the text is broken."""
    try:
        found = read_certificates(text)
    except BadKeyPair:
        return []
    return [each for each in found if _has_known_key(each)]


def _has_known_key(certificate: x509.Certificate) -> bool:
    try:
        public_key_of(certificate)
    except BadKeyPair:
        return False
    return True


def _next(data: Data, authorities: list[x509.Certificate]) -> KeyPair | None:
    """The next certificate; None if there is none that can be used: another one is issued then.

    An apply does not remove what others wrote, so the next one may still be there when it is served.
    """
    if data.get(NEXT_CERTIFICATE) in (None, data.get(CERTIFICATE)):
        return None
    try:
        following = KeyPair.read(data[NEXT_CERTIFICATE], data.get(NEXT_KEY, b""))
    except BadKeyPair:
        return None
    return following if any(is_issued_by(following, each) for each in authorities) else None


def _issue(host_names: tuple[str, ...], now: datetime) -> tuple[KeyPair, x509.Certificate]:
    """A certificate, and that of the authority that issued it."""
    authority = make_ca(now, "rukpak CA", LIFETIME)
    return issue(authority, host_names, now, common_name(host_names[0]), LIFETIME), authority.certificate


def _pem(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)


def injected_digest(kind: str, certificate: ServingCertificate) -> str:
    """A digest of what is written into an object of this kind."""
    content = certificate.digest if kind == WORKLOAD else certificate.authorities
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def inject(body: dict[str, Any], certificate: ServingCertificate) -> None:
    """Change a body in place: caBundle of a client, or the annotation of the pods of a Deployment."""
    authorities = base64.b64encode(certificate.authorities.encode()).decode()
    match body["kind"]:
        case kind if kind == WORKLOAD:
            metadata = body["spec"]["template"].setdefault("metadata", {})
            metadata["annotations"] = {
                **(metadata.get("annotations") or {}),
                CERTIFICATE_ANNOTATION: certificate.digest,
            }
        case "CustomResourceDefinition":
            body["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = authorities
        case "APIService":
            body["spec"]["caBundle"] = authorities
        case _:
            for webhook in body["webhooks"]:
                webhook["clientConfig"]["caBundle"] = authorities
