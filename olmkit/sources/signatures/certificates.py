"""The certificate of a signer: its chain to a trusted root, its use for signing code, its identity, and its logs. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.certificate_transparency import LogEntryType, SignedCertificateTimestamp, Version
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier
from cryptography.x509.verification import Criticality, ExtensionPolicy, Policy, PolicyBuilder, Store, VerificationError

from olmkit.gocompat.text import printable
from olmkit.sources.errors import quoted
from olmkit.sources.signatures.keys import SigningKey, checked, spki, verifies
from olmkit.sources.signatures.policy import Identity
from olmkit.sources.signatures.subject_pattern import matches
from olmkit.sources.signatures.transparency_log import TrustedLog, Untrusted
from olmkit.sources.signatures.trust import TrustedAuthority, TrustRoot

OTHER_NAME = ObjectIdentifier("1.3.6.1.4.1.57264.1.7")
ISSUER = ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
OLD_ISSUER = ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
MAX_CHAIN_DEPTH = 8
UNREADABLE = (
    ValueError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""The exceptions of the library for the bytes of a certificate, which anybody may have written."""
MAX_NAME_CHARACTERS = 2048


@dataclass(frozen=True)
class SignerCertificate:
    """A certificate, not verified, and what it says about its owner."""

    certificate: x509.Certificate
    key: SigningKey
    subjects: tuple[str, ...]
    issuer: str

    @property
    def name(self) -> str:
        """The subject and the issuer, for messages."""
        subject = ", ".join(quoted(each) for each in self.subjects[:3]) or "no subject"
        return f"{subject} (issuer {quoted(self.issuer)})" if self.issuer else subject


def read_certificate(der: bytes) -> SignerCertificate:
    """The certificate of a signature. Raises Untrusted."""
    try:
        certificate = x509.load_der_x509_certificate(der)
        key = checked(certificate.public_key())
        return SignerCertificate(certificate, key, tuple(_subjects(certificate)), _issuer(certificate))
    except UNREADABLE:
        raise Untrusted("has a certificate that cannot be read") from None


def _subjects(certificate: x509.Certificate) -> Iterator[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return
    for name in names:
        match name:
            case x509.RFC822Name(value=value) | x509.UniformResourceIdentifier(value=value):
                found = value
            case x509.OtherName(type_id=type_id, value=data) if type_id == OTHER_NAME:
                found = _der_text(data)
            case _:
                continue
        if len(found) <= MAX_NAME_CHARACTERS:  # the beginning of a longer one is another name
            yield found


def _issuer(certificate: x509.Certificate) -> str:
    """The issuer of the token that the certificate was made for; "" if there is none."""
    for oid in (ISSUER, OLD_ISSUER):
        try:
            found = certificate.extensions.get_extension_for_oid(oid).value
        except x509.ExtensionNotFound:
            continue
        assert isinstance(found, x509.UnrecognizedExtension)
        return (_der_text(found.value) if oid == ISSUER else found.value.decode())[:MAX_NAME_CHARACTERS]
    return ""


def _der_text(data: bytes) -> str:
    """A UTF8String in DER. Raises ValueError."""
    if len(data) < 2 or data[0] != 0x0C:
        raise ValueError("no UTF8String")
    count = data[1] & 0x7F if data[1] & 0x80 else 0
    length = int.from_bytes(data[2 : 2 + count], "big") if count else data[1]
    if count > 2 or len(data) != 2 + count + length:
        raise ValueError("no UTF8String")
    return data[2 + count :].decode()


# --- trust


def check_certificate(
    signer: SignerCertificate, intermediates: Sequence[bytes], trust: TrustRoot, moment: datetime
) -> None:
    """Raises Untrusted unless the certificate was valid for signing code at this time, by an authority that was trusted then."""
    problems = []
    for authority in trust.authorities:
        if not authority.is_trusted_at(moment):
            continue
        try:
            chain = _chain(signer.certificate, intermediates, authority, moment)
        except (VerificationError, *UNREADABLE) as error:
            problems.append(printable(str(error))[:300])
            continue
        _check_logged(signer.certificate, chain, trust.certificate_logs)
        return
    when = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    raise Untrusted("; ".join(dict.fromkeys(problems)) or f"no authority of the root is trusted at {when}")


def _chain(
    leaf: x509.Certificate, intermediates: Sequence[bytes], authority: TrustedAuthority, moment: datetime
) -> Sequence[x509.Certificate]:
    if not leaf.not_valid_before_utc <= moment <= leaf.not_valid_after_utc:
        first, last = (f"{each:%Y-%m-%dT%H:%M:%SZ}" for each in (leaf.not_valid_before_utc, leaf.not_valid_after_utc))
        raise ValueError(f"the certificate is valid from {first} to {last}, and not when it was used")
    between = [x509.load_der_x509_certificate(each) for each in intermediates]
    verifier = (
        PolicyBuilder()
        .store(Store(list(authority.roots)))
        .time(moment.replace(tzinfo=None))
        .max_chain_depth(MAX_CHAIN_DEPTH)
        .extension_policies(ca_policy=_CA, ee_policy=_SIGNER)
        .build_client_verifier()
    )
    return verifier.verify(leaf, [*authority.intermediates, *between]).chain


def _for_signing_code(policy: Policy, certificate: x509.Certificate, usage: x509.ExtendedKeyUsage | None) -> None:
    if usage is None or ExtendedKeyUsageOID.CODE_SIGNING not in usage:
        raise ValueError("the certificate is not for signing code (codeSigning)")


def _for_signatures(policy: Policy, certificate: x509.Certificate, usage: x509.KeyUsage | None) -> None:
    if usage is not None and not usage.digital_signature:
        raise ValueError("the certificate is not for signatures (digitalSignature)")


def _no_authority(policy: Policy, certificate: x509.Certificate, found: x509.BasicConstraints | None) -> None:
    if found is not None and found.ca:
        raise ValueError("the certificate is that of an authority")


def _an_authority(policy: Policy, certificate: x509.Certificate, found: x509.BasicConstraints | None) -> None:
    if found is None or not found.ca:
        raise ValueError("a certificate of the chain is not that of an authority")


def _signs_certificates(policy: Policy, certificate: x509.Certificate, usage: x509.KeyUsage | None) -> None:
    if usage is not None and not usage.key_cert_sign:
        raise ValueError("a certificate of the chain is not for signing certificates")


_SIGNER = (
    ExtensionPolicy.permit_all()
    .require_present(x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _for_signing_code)
    .may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, _for_signatures)
    .may_be_present(x509.BasicConstraints, Criticality.AGNOSTIC, _no_authority)
)
_CA = (
    ExtensionPolicy.permit_all()
    .require_present(x509.BasicConstraints, Criticality.AGNOSTIC, _an_authority)
    .may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, _signs_certificates)
)


# --- identity


def matching_identity(signer: SignerCertificate, identities: Sequence[Identity]) -> str:
    """The subject that one of the identities permits. Raises Untrusted."""
    for identity in identities:
        if identity.issuer and identity.issuer != signer.issuer:
            continue
        for subject in signer.subjects:
            is_same = subject == identity.subject
            if is_same or (identity.subject_pattern and matches(identity.subject_pattern, subject)):
                return subject
    raise Untrusted("is none of the identities that are trusted")


# --- logs of certificates


def _check_logged(leaf: x509.Certificate, chain: Sequence[x509.Certificate], logs: Sequence[TrustedLog]) -> None:
    """Raises Untrusted unless the certificate has a timestamp of one of the logs, if there are any."""
    if not logs:
        return
    try:
        kind = x509.PrecertificateSignedCertificateTimestamps
        stamps = list(leaf.extensions.get_extension_for_class(kind).value)
    except x509.ExtensionNotFound:
        stamps = []
    if not any(_is_stamped(leaf, chain[1].public_key(), stamp, log) for stamp in stamps[:16] for log in logs):
        raise Untrusted("has a certificate without a timestamp (SCT) of a trusted log of certificates")


def _is_stamped(
    leaf: x509.Certificate, issuer: CertificatePublicKeyTypes, stamp: SignedCertificateTimestamp, log: TrustedLog
) -> bool:
    if (stamp.log_id, stamp.version, stamp.entry_type) != (log.id, Version.v1, LogEntryType.PRE_CERTIFICATE):
        return False
    if not ((log.start is None or log.start <= _when(stamp)) and (log.end is None or _when(stamp) <= log.end)):
        return False
    milliseconds = round(_when(stamp).timestamp() * 1000)
    body = leaf.tbs_precertificate_bytes
    signed = b"".join(
        (
            b"\0\0",
            milliseconds.to_bytes(8, "big"),
            b"\0\1",
            hashlib.sha256(spki(issuer)).digest(),
            len(body).to_bytes(3, "big"),
            body,
            len(stamp.extension_bytes).to_bytes(2, "big"),
            stamp.extension_bytes,
        )
    )
    return verifies(log.key, stamp.signature, signed)


def _when(stamp: SignedCertificateTimestamp) -> datetime:
    return stamp.timestamp.replace(tzinfo=UTC)
