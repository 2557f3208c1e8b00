"""A certificate with its private key, as PEM: read, checked, told about.

Used by all of olmkit.tls. Does no I/O; a private key is in no repr and no message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key


class BadKeyPair(Exception):
    """Why a certificate and a key cannot be used together, for people; never names a part of the key."""


@dataclass(frozen=True)
class KeyPair:
    """`chain` is PEM: the server's certificate first, then those that lead to its CA. `key` is PEM, not encrypted."""

    chain: bytes
    key: bytes = field(repr=False)
    certificate: x509.Certificate = field(repr=False, compare=False)

    @classmethod
    def read(cls, chain: bytes, key: bytes) -> KeyPair:
        """From two PEM texts. Raises BadKeyPair when one cannot be read or they do not belong together."""
        certificates = read_certificates(chain)
        if not certificates:
            raise BadKeyPair("the certificate is no PEM certificate")
        if public_bytes(read_key(key)) != _public(certificates[0]):
            raise BadKeyPair("the key does not belong to the certificate")
        return cls(chain, key, certificates[0])

    @property
    def private_key(self) -> PrivateKeyTypes:
        """The key as an object."""
        return read_key(self.key)

    @property
    def not_after(self) -> datetime:
        """When the certificate expires, UTC."""
        return self.certificate.not_valid_after_utc

    def is_valid(self, now: datetime) -> bool:
        """Whether `now` is within the certificate's time."""
        return self.certificate.not_valid_before_utc <= now <= self.not_after

    def validity_error(self, now: datetime) -> str:
        """What clients will object to about its time; "" when nothing."""
        if now > self.not_after:
            return f"the certificate expired on {self.not_after:%Y-%m-%d %H:%M} UTC"
        if now < self.certificate.not_valid_before_utc:
            return f"the certificate is valid only from {self.certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on"
        return ""

    def log_fields(self) -> dict[str, str]:
        """What a log line says of it."""
        return {
            "serial": f"{self.certificate.serial_number:x}",
            "expires": self.not_after.isoformat(),
            "names": ",".join(names_of(self.certificate)),
        }


def read_certificates(text: bytes) -> list[x509.Certificate]:
    """All certificates of a PEM text, none when there is none in it. Raises BadKeyPair when one of them is broken."""
    if b"-----BEGIN CERTIFICATE-----" not in text:
        return []
    try:
        return x509.load_pem_x509_certificates(text)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadKeyPair("the certificate cannot be read: it is cut or no certificate") from error


def read_key(text: bytes) -> PrivateKeyTypes:
    """A private key. Raises BadKeyPair."""
    try:
        return load_pem_private_key(text, password=None)
    except TypeError as error:
        raise BadKeyPair("the key is encrypted with a password: store it without one") from error
    except (ValueError, UnsupportedAlgorithm):
        # `from None`: what the parser says may quote what it read.
        raise BadKeyPair("the key is no PEM private key") from None


def public_bytes(key: PrivateKeyTypes) -> bytes:
    """What a private key and the certificate made for it have in common."""
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _public(certificate: x509.Certificate) -> bytes:
    try:
        return certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadKeyPair("the certificate's key is of a kind that is not known") from error


def names_of(certificate: x509.Certificate) -> tuple[str, ...]:
    """The host names and addresses that it is for, sorted."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    addresses = (str(each) for each in found.get_values_for_type(x509.IPAddress))
    return tuple(sorted([*found.get_values_for_type(x509.DNSName), *addresses]))


def general_names(names: Iterable[str]) -> x509.SubjectAlternativeName:
    """The extension that names these hosts and addresses."""
    return x509.SubjectAlternativeName([_general_name(name) for name in sorted(set(names))])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
