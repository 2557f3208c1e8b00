"""The roots that an authority for certificates trusts: those of a trusted root of Sigstore, or those of an own CA. Pure.

A trusted root (`trusted_root.json`) has certificate authorities, transparency logs and logs of certificates, each with the time
in which it is trusted. An own CA has certificates alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_der_public_key

from olmkit.sources.signatures.found import pem_certificates
from olmkit.sources.signatures.keys import checked
from olmkit.sources.signatures.policy import KeylessAuthority, NamedText, invalid_policy
from olmkit.sources.signatures.strict_json import Unreadable, decoded, items, member, read_object, text
from olmkit.sources.signatures.transparency_log import TrustedLog

MAX_CERTIFICATES = 64


@dataclass(frozen=True)
class TrustedAuthority:
    """A certificate authority: its roots and intermediates, and the time in which it is trusted."""

    roots: tuple[x509.Certificate, ...]
    intermediates: tuple[x509.Certificate, ...]
    start: datetime | None = None
    end: datetime | None = None

    def is_trusted_at(self, moment: datetime) -> bool:
        """Report whether the authority is trusted at this time."""
        return (self.start is None or self.start <= moment) and (self.end is None or moment <= self.end)


@dataclass(frozen=True)
class TrustRoot:
    """The authorities, and the logs. If there are logs of certificates, one of them has to have each certificate."""

    authorities: tuple[TrustedAuthority, ...]
    logs: tuple[TrustedLog, ...] = ()
    certificate_logs: tuple[TrustedLog, ...] = ()


def load_trust(authority: KeylessAuthority) -> TrustRoot:
    """The roots of an authority for certificates. Raises Blocked for what cannot be read."""
    named = authority.trust
    try:
        trust = _trusted_root(named.text) if authority.is_trusted_root else _own_authority(named)
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        words = str(error) if isinstance(error, Unreadable) else "has a certificate or a key that cannot be read"
        raise invalid_policy(named.origin, words) from None
    if not any(each.roots for each in trust.authorities):
        raise invalid_policy(named.origin, "has no certificate of an authority that signed itself (a root)")
    if authority.needs_log and not trust.logs:
        raise invalid_policy(named.origin, "has no transparency log: add one to tlogs, or set log to Ignored")
    return trust


def _own_authority(named: NamedText) -> TrustRoot:
    return TrustRoot((_authority(pem_certificates(named.text)),))


def _authority(
    certificates: Sequence[bytes], start: datetime | None = None, end: datetime | None = None
) -> TrustedAuthority:
    if len(certificates) > MAX_CERTIFICATES:
        raise Unreadable(f"has {len(certificates)} certificates; at most {MAX_CERTIFICATES} are read")
    loaded = [x509.load_der_x509_certificate(each) for each in certificates]
    roots = tuple(each for each in loaded if is_self_signed(each))
    return TrustedAuthority(roots, tuple(each for each in loaded if each not in roots), start, end)


def is_self_signed(certificate: x509.Certificate) -> bool:
    """Report whether the key of the certificate signed it."""
    try:
        certificate.verify_directly_issued_by(certificate)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


# --- trusted_root.json


def _trusted_root(document: str) -> TrustRoot:
    root = read_object(document, "a trusted root")
    authorities = []
    for each in items(root, "certificateAuthorities")[:MAX_CERTIFICATES]:
        chain = [decoded(one, "rawBytes") for one in items(each, "certChain", "certificates")]
        authorities.append(_authority(chain, *_valid_for(each)))
    return TrustRoot(tuple(authorities), tuple(_logs(root, "tlogs")), tuple(_logs(root, "ctlogs")))


def _logs(root: Mapping[str, Any], name: str) -> Iterator[TrustedLog]:
    for each in items(root, name)[:MAX_CERTIFICATES]:
        key = checked(load_der_public_key(decoded(each, "publicKey", "rawBytes")))
        yield TrustedLog(decoded(each, "logId", "keyId"), key, *_valid_for(member(each, "publicKey")))


def _valid_for(value: Any) -> tuple[datetime | None, datetime | None]:
    return _time(text(value, "validFor", "start")), _time(text(value, "validFor", "end"))


def _time(written: str) -> datetime | None:
    if not written:
        return None
    moment = datetime.fromisoformat(written)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
