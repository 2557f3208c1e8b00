"""A self-signed certificate authority and the serving certificate that it issues: creation and rotation.

Reads and writes nothing; the caller passes `now`. The same CA renews the certificate. A CA near its end is replaced in three
steps, each at least CA_OVERLAP after the previous one, so that no client is served a certificate that it does not trust yet:

    ca                     issues, trusted
    ca + next              next is trusted too               (trust the new CA)
    next as ca + old       next has issued the certificate   (use the new CA)
    ca                     old is not trusted                (drop the old CA)
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from olmkit.stored_times import MAX_CLOCK_SKEW
from olmkit.tls.key_pair import BadKeyPair, KeyPair, general_names, names_of, read_certificates

CA_LIFETIME = timedelta(days=3650)
LEAF_LIFETIME = timedelta(days=90)
RENEWAL_FRACTION = 0.6
"""The fraction of its lifetime after which a certificate is replaced."""
CA_OVERLAP = timedelta(days=1)
"""The time that an old and a new CA are both trusted at each step. Replicas and clients follow within minutes."""
_CERTIFICATE, _KEY = "tls.crt", "tls.key"


@dataclass(frozen=True)
class CertificateSet:
    """The content of the Secret: the serving certificate, its CA, the next CA, and PEM of the previous CAs."""

    leaf: KeyPair
    ca: KeyPair
    next_ca: KeyPair | None = None
    old_ca: bytes = b""

    @classmethod
    def read(cls, data: Mapping[str, bytes]) -> CertificateSet:
        """Reads a Secret's decoded data. Raises BadKeyPair when it cannot be used."""
        leaf = KeyPair.read(data.get(_CERTIFICATE, b""), data.get(_KEY, b""))
        ca = KeyPair.read(data.get("ca.crt", b""), data.get("ca.key", b""))
        next_ca = KeyPair.read(data["next-ca.crt"], data.get("next-ca.key", b"")) if data.get("next-ca.crt") else None
        for each in (ca, next_ca):
            _signing_key(each or ca)
        if not is_issued_by(leaf, ca.certificate):
            raise BadKeyPair("the certificate was not issued by the CA of the Secret")
        old_ca = data.get("old-ca.crt", b"")
        read_certificates(old_ca)
        return cls(leaf, ca, next_ca, old_ca)

    def dump(self) -> dict[str, bytes]:
        """The set as a Secret's data, before base64."""
        data = {_CERTIFICATE: self.leaf.chain, _KEY: self.leaf.key, "ca.crt": self.ca.chain, "ca.key": self.ca.key}
        if self.next_ca is not None:
            data |= {"next-ca.crt": self.next_ca.chain, "next-ca.key": self.next_ca.key}
        return data | ({"old-ca.crt": self.old_ca} if self.old_ca else {})

    def ca_bundle(self) -> bytes:
        """PEM of every CA that clients have to trust, the current one first."""
        return self.ca.chain + (self.next_ca.chain if self.next_ca is not None else b"") + self.old_ca


def create(names: Iterable[str], now: datetime, trusted: bytes = b"") -> CertificateSet:
    """A new CA and a leaf for these names; CAs of `trusted` (PEM) that are still valid stay trusted for CA_OVERLAP."""
    ca = make_ca(now)
    return CertificateSet(issue(ca, names, now), ca, old_ca=_still_valid(trusted, now))


def rotate(current: CertificateSet, names: Iterable[str], now: datetime, published: bytes) -> CertificateSet:
    """The next step of the rotation; the same object when none is due. `published` is the PEM of the CAs that clients trust.

    A certificate that is not valid now, because it has expired or not begun, is replaced at any step.
    """
    wanted = tuple(sorted(set(names)))
    ca, next_ca = current.ca, current.next_ca
    if not ca.is_valid(now):
        return create(wanted, now, current.ca_bundle())
    if not current.leaf.is_valid(now):  # a leader with a wrong clock may have issued it for a time that is far away
        current = replace(current, leaf=issue(ca, wanted, now))
    if next_ca is not None and not next_ca.is_valid(now):
        next_ca = make_ca(now)
        current = replace(current, next_ca=next_ca)
    if current.old_ca and _age(current.leaf, now) >= CA_OVERLAP:
        return replace(current, old_ca=b"")
    if next_ca is not None and _age(next_ca, now) >= CA_OVERLAP and contains_ca(published, next_ca):
        return CertificateSet(issue(next_ca, wanted, now), next_ca, old_ca=ca.chain)
    if next_ca is None and not current.old_ca and _is_due(ca, now):
        return replace(current, next_ca=make_ca(now))
    if _is_due(current.leaf, now) or names_of(current.leaf.certificate) != wanted:
        return replace(current, leaf=issue(ca, wanted, now))
    return current


def contains_ca(bundle: bytes, ca: KeyPair) -> bool:
    """Report whether a PEM text contains the certificate of the CA; False for a text that cannot be parsed."""
    try:
        return ca.certificate in read_certificates(bundle)
    except BadKeyPair:
        return False


def is_issued_by(leaf: KeyPair, authority: x509.Certificate) -> bool:
    """Report whether the CA with this certificate, whose key is of a known kind, signed it."""
    try:
        leaf.certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _age(pair: KeyPair, now: datetime) -> timedelta:
    return now - pair.certificate.not_valid_before_utc


def _is_due(pair: KeyPair, now: datetime) -> bool:
    begins = pair.certificate.not_valid_before_utc
    return now >= begins + (pair.not_after - begins) * RENEWAL_FRACTION


def _still_valid(bundle: bytes, now: datetime) -> bytes:
    try:
        found = [each for each in read_certificates(bundle) if each.not_valid_after_utc > now]
    except BadKeyPair:
        return b""
    return b"".join(each.public_bytes(Encoding.PEM) for each in found[:2])


def make_ca(now: datetime, name_prefix: str = "olm-suite CA", lifetime: timedelta = CA_LIFETIME) -> KeyPair:
    """A new CA with a unique name."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _common_name(f"{name_prefix} {secrets.token_hex(4)}")
    public = key.public_key()
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        _builder(name, name, public, now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )
    return _sign(builder, key, key)


def issue(
    ca: KeyPair,
    names: Iterable[str],
    now: datetime,
    common_name: str = "olm-suite",
    lifetime: timedelta = LEAF_LIFETIME,
) -> KeyPair:
    """A certificate of the CA for a server with these host names and addresses. It expires no later than its CA."""
    key = ec.generate_private_key(ec.SECP256R1())
    signer = _signing_key(ca)
    lifetime = min(lifetime, ca.not_after - now)
    builder = (
        _builder(_common_name(common_name), ca.certificate.subject, key.public_key(), now, lifetime)
        .add_extension(general_names(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    return _sign(builder, key, signer)


def _signing_key(ca: KeyPair) -> ec.EllipticCurvePrivateKey:
    key = ca.private_key
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise BadKeyPair("the CA's key is not an elliptic curve key")
    return key


def _common_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - MAX_CLOCK_SKEW)  # clocks differ
        .not_valid_after(now + lifetime)
    )


def _sign(
    builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
) -> KeyPair:
    certificate = builder.sign(signer, hashes.SHA256())
    private_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return KeyPair(certificate.public_bytes(Encoding.PEM), private_pem, certificate)
