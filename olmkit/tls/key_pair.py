"""A certificate with its private key, as PEM: parsing and validation.

Does no I/O. Reprs and messages never contain a private key.
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
    """A certificate and a key that cannot be used. The message never contains a part of the key."""


@dataclass(frozen=True)
class KeyPair:
    """`chain` is PEM: the server's certificate first, then those that lead to its CA. `key` is PEM, not encrypted."""

    chain: bytes
    key: bytes = field(repr=False)
    certificate: x509.Certificate = field(repr=False, compare=False)

    @classmethod
    def read(cls, chain: bytes, key: bytes) -> KeyPair:
        """Parse two PEM texts. Raises BadKeyPair when one is invalid, its names among it, or they do not match."""
        certificates = read_certificates(chain)
        if not certificates:
            raise BadKeyPair("the certificate is not PEM")
        if public_bytes(read_key(key)) != public_key_of(certificates[0]):
            raise BadKeyPair("the key does not belong to the certificate")
        names_of(certificates[0])
        return cls(chain, key, certificates[0])

    @property
    def private_key(self) -> PrivateKeyTypes:
        """The key as an object."""
        return read_key(self.key)

    @property
    def not_after(self) -> datetime:
        """The time at which the certificate expires, UTC."""
        return self.certificate.not_valid_after_utc

    def is_valid(self, now: datetime) -> bool:
        """Report whether `now` is within the validity period."""
        return self.certificate.not_valid_before_utc <= now <= self.not_after

    def validity_error(self, now: datetime) -> str:
        """Explain why clients reject it at `now`; "" within the validity period."""
        if now > self.not_after:
            return f"the certificate expired on {self.not_after:%Y-%m-%d %H:%M} UTC"
        if now < self.certificate.not_valid_before_utc:
            return f"the certificate is valid only from {self.certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on"
        return ""

    def log_fields(self) -> dict[str, str]:
        """Fields for log lines."""
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
        raise BadKeyPair("the certificate cannot be read: it is truncated or not a certificate") from error


def read_key(text: bytes) -> PrivateKeyTypes:
    """A private key. Raises BadKeyPair."""
    try:
        return load_pem_private_key(text, password=None)
    except TypeError as error:
        raise BadKeyPair("the key is encrypted with a password: store it without one") from error
    except (ValueError, UnsupportedAlgorithm):
        # `from None`: the message of the parser may quote the key.
        raise BadKeyPair("the key is not a PEM private key") from None


def public_bytes(key: PrivateKeyTypes) -> bytes:
    """The public key, as DER, which a private key and its certificate have in common."""
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def public_key_of(certificate: x509.Certificate) -> bytes:
    """The public key of a certificate, as DER. Raises BadKeyPair when it is of a kind that is not known."""
    try:
        return certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadKeyPair("the certificate's key is of a kind that is not known") from error


def names_of(certificate: x509.Certificate) -> tuple[str, ...]:
    """The host names and addresses of the certificate, sorted. Raises BadKeyPair when its extensions cannot be read."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise BadKeyPair("the extensions of the certificate cannot be read") from error
    addresses = (str(each) for each in found.get_values_for_type(x509.IPAddress))
    return tuple(sorted([*found.get_values_for_type(x509.DNSName), *addresses]))


def general_names(names: Iterable[str]) -> x509.SubjectAlternativeName:
    """The subjectAltName extension for these hosts and addresses."""
    return x509.SubjectAlternativeName([_general_name(name) for name in sorted(set(names))])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
