"""The policy for the signatures of an image, as a value of a job's request. Pure.

Texts of keys and certificates are as written: the job reads them. Contains no private key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec
import msgspec.structs

from olmkit.errors import Blocked
from olmkit.gocompat.text import one_line, truncate
from olmkit.sources.errors import SourceReason


class NamedText(msgspec.Struct, frozen=True):
    """A text, and where it is from, for messages: `spec.verify`, or a key of a Secret or ConfigMap."""

    origin: str
    text: str


class KeyAuthority(msgspec.Struct, frozen=True, tag="key"):
    """Public keys, of which one suffices."""

    keys: tuple[NamedText, ...]


class Identity(msgspec.Struct, frozen=True):
    """The identity of a certificate. `subject_pattern` matches the whole subject; the issuer "" is any."""

    issuer: str = ""
    subject: str = ""
    subject_pattern: str = ""


class KeylessAuthority(msgspec.Struct, frozen=True, tag="keyless"):
    """Certificates of an authority for one of the identities: of a trusted root of Sigstore (JSON), or of an own CA (PEM)."""

    trust: NamedText
    is_trusted_root: bool
    identities: tuple[Identity, ...]
    needs_log: bool


Authority: TypeAlias = KeyAuthority | KeylessAuthority


class SignaturePolicy(msgspec.Struct, frozen=True):
    """The authorities, of which one suffices. The image of `verified_digest` has been verified by this policy; "" for none."""

    authorities: tuple[Authority, ...]
    verified_digest: str = ""

    def with_verified(self, digest: str) -> SignaturePolicy:
        """The same policy, after it has verified the content of this digest; "" for none."""
        return msgspec.structs.replace(self, verified_digest=digest)


MAX_NAME_BYTES = 1024
"""The bytes of a subject or an issuer in a status."""

SignedBy: TypeAlias = Mapping[str, str]
"""The value of status.signedBy: `key`, or `subject` and `issuer`."""


def signer_by_key(key_id: str) -> dict[str, str]:
    """The value for a public key, by the sha256 of its SubjectPublicKeyInfo."""
    return {"key": key_id}


def signer_by_certificate(subject: str, issuer: str) -> dict[str, str]:
    """The value for a certificate, whose texts are untrusted; the issuer "" is absent."""
    found = {"subject": subject, "issuer": issuer}
    return {name: truncate(one_line(text), MAX_NAME_BYTES) for name, text in found.items() if text}


def check_signed(policy: SignaturePolicy | None, digest: str, signed_by: SignedBy) -> None:
    """Raises ValueError unless a job has verified the content of this digest as its request asked.

    For controllers, because results of jobs are not trusted.
    """
    if policy is None or digest in ("", policy.verified_digest):
        return
    if not (signed_by.get("key") or signed_by.get("subject")):
        raise ValueError(f"the job reported {digest} without saying who signed it")


def invalid_policy(origin: str, words: str) -> Blocked:
    """The error for a key, a certificate or a trusted root that cannot be used."""
    return Blocked(SourceReason.INVALID_SIGNATURE_POLICY, f"signatures cannot be verified: {origin} {words}", [origin])
