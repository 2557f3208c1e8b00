"""Directories of certificate authorities: trusted, or refused with the name of the file."""

from __future__ import annotations

import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from olmkit.errors import Blocked
from olmkit.sources.ca_bundle import CABundle


def authority(name: str) -> str:
    """A certificate in PEM form."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def names(trust: CABundle) -> set[str]:
    """The authorities that are trusted in addition to the system's."""
    mine, systems = trust.context().get_ca_certs(), CABundle().context().get_ca_certs()
    return {certificate["subject"][0][0][1] for certificate in mine if certificate not in systems}


def test_all_certificates_of_a_directory_are_trusted(tmp_path: Path) -> None:
    (tmp_path / "one.crt").write_text(f"# a comment in ä\n{authority('one')}{authority('two')}")
    (tmp_path / "three.pem").write_text("before\r\n" + authority("three").replace("\n", "\r\n"))
    (tmp_path / "not.txt").write_text("no certificate")
    (tmp_path / "key.key").write_text("no certificate")
    (tmp_path / "below.crt").mkdir()
    assert names(CABundle.load(tmp_path)) == {"one", "two", "three"}
    assert names(CABundle.load(None)) == set()


def test_a_mounted_configmap_is_read_once(tmp_path: Path) -> None:
    """The files of a mounted ConfigMap are links into a hidden directory, which kubelet replaces."""
    (tmp_path / "..2024").mkdir()
    (tmp_path / "..2024" / "ca.crt").write_text(authority("one"))
    os.symlink("..2024", tmp_path / "..data")
    os.symlink("..data/ca.crt", tmp_path / "ca.crt")
    assert CABundle.load(tmp_path).authorities.count("BEGIN CERTIFICATE") == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(b"", "it does not contain a PEM certificate", id="empty"),
        pytest.param(b"\x30\x82\xff", "it does not contain a PEM certificate", id="DER"),
        pytest.param(
            b"-----BEGIN PRIVATE KEY-----\nQQ==\n-----END PRIVATE KEY-----\n",
            "it does not contain a PEM certificate",
            id="a key",
        ),
        pytest.param(
            b"-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n",
            "the text between BEGIN and END CERTIFICATE is not a certificate",
            id="invalid base64",
        ),
        pytest.param(
            b"-----BEGIN CERTIFICATE-----\nQQ==\n",
            "the text between BEGIN and END CERTIFICATE is not a certificate",
            id="a truncated certificate",
        ),
    ],
)
def test_an_invalid_file_is_named(tmp_path: Path, text: bytes, why: str) -> None:
    (tmp_path / "good.crt").write_text(authority("one"))
    (tmp_path / "x.pem").write_bytes(text)
    with pytest.raises(Blocked) as raised:
        CABundle.load(tmp_path)
    assert raised.value.reason == "InvalidConfiguration"
    assert raised.value.message == f"certificate authorities of {tmp_path}/x.pem cannot be read: {why}"


def test_a_missing_directory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Blocked, match="absent cannot be read: no such file or directory"):
        CABundle.load(tmp_path / "absent")


def test_without_verification_every_certificate_is_accepted() -> None:
    context = CABundle().context(verified=False)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)
    strict = CABundle().context()
    assert (strict.verify_mode, strict.check_hostname) == (ssl.CERT_REQUIRED, True)
