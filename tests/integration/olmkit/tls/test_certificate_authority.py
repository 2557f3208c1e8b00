"""Rotation of a CA over ten years: each step keeps every client connected."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from olmkit.tls.certificate_authority import (
    CA_LIFETIME,
    CA_OVERLAP,
    LEAF_LIFETIME,
    CertificateSet,
    contains_ca,
    create,
    is_issued_by,
    issue,
    make_ca,
    rotate,
)
from olmkit.tls.key_pair import BadKeyPair, KeyPair, names_of, read_certificates
from olmkit.tls.server_tls import server_context_with

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("127.0.0.1", "::1", "catalogs.olm.svc", "localhost")


def handshake(material: CertificateSet, trusted: bytes, name: str) -> None:
    """A complete TLS handshake in memory. Raises ssl.SSLError."""
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.load_verify_locations(cadata=trusted.decode())
    client_context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(down, up, server_hostname=name)
    server = server_context_with(material.leaf).wrap_bio(up, down, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert client.version() == "TLSv1.3"


@pytest.mark.parametrize("name", NAMES)
def test_a_client_that_trusts_the_ca_accepts_the_certificate_for_each_name(name: str) -> None:
    made = create(NAMES, datetime.now(UTC))
    handshake(made, made.ca_bundle(), name)


def test_no_other_name_is_accepted() -> None:
    made = create(NAMES, datetime.now(UTC))
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(made, made.ca_bundle(), "catalogs.other.svc")


def test_a_client_that_trusts_another_ca_rejects_the_certificate() -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(create(NAMES, datetime.now(UTC)), make_ca(datetime.now(UTC)).chain, "localhost")


def test_the_ca_is_valid_for_ten_years_and_the_certificate_for_ninety_days() -> None:
    made = create(NAMES, NOW)
    assert (made.ca.not_after, made.leaf.not_after) == (NOW + CA_LIFETIME, NOW + LEAF_LIFETIME)
    assert names_of(made.leaf.certificate) == NAMES


def test_a_new_certificate_is_not_rotated() -> None:
    made = create(NAMES, NOW)
    assert rotate(made, reversed(NAMES), NOW + timedelta(days=50), made.ca_bundle()) is made


def test_the_same_ca_renews_the_certificate_before_two_thirds_of_its_lifetime() -> None:
    made = create(NAMES, NOW)
    renewed = rotate(made, NAMES, NOW + LEAF_LIFETIME * 2 / 3, made.ca_bundle())
    assert renewed.leaf != made.leaf
    assert (renewed.ca, renewed.ca_bundle()) == (made.ca, made.ca_bundle())
    assert is_issued_by(renewed.leaf, made.ca.certificate)


def test_changed_names_require_a_new_certificate() -> None:
    made = create(NAMES, NOW)
    renewed = rotate(made, (*NAMES, "catalogs.example.com"), NOW, made.ca_bundle())
    assert names_of(renewed.leaf.certificate) == tuple(sorted((*NAMES, "catalogs.example.com")))
    assert renewed.ca == made.ca


def test_a_certificate_does_not_outlive_its_ca() -> None:
    ca = make_ca(NOW)
    assert issue(ca, NAMES, ca.not_after - timedelta(days=3)).not_after == ca.not_after


def test_an_expired_ca_is_replaced_at_once() -> None:
    made = create(NAMES, NOW)
    later = NOW + CA_LIFETIME + timedelta(days=1)
    again = rotate(made, NAMES, later, made.ca_bundle())
    assert again.ca != made.ca
    assert again.leaf.is_valid(later)
    assert not again.old_ca


def test_over_thirty_years_a_client_that_is_a_day_behind_trusts_the_served_certificate() -> None:
    """Each day: servers and clients that apply a change at once, and others that apply it a day later."""
    material = create(NAMES, NOW)
    yesterday = material
    authorities = {material.ca.chain}
    for day in range(30 * 365):
        now = NOW + timedelta(days=day)
        published = yesterday.ca_bundle()
        material = rotate(yesterday, NAMES, now, published)
        for served in (material, yesterday):
            for trusted in (material.ca_bundle(), published):
                assert contains_ca(trusted, served.ca), f"day {day}"
        assert material.leaf.is_valid(now)
        assert material.ca.is_valid(now)
        authorities.add(material.ca.chain)
        yesterday = material
    assert len(authorities) == 5
    assert len(read_certificates(material.ca_bundle())) <= 2


def test_the_new_ca_is_not_used_before_it_is_published() -> None:
    made = create(NAMES, NOW)
    late = NOW + CA_LIFETIME * 0.61
    with_next = rotate(rotate(made, NAMES, late, made.ca_bundle()), NAMES, late, made.ca_bundle())
    assert with_next.next_ca is not None
    rotated = rotate(with_next, NAMES, late + CA_OVERLAP, with_next.ca_bundle())
    assert rotated.ca == with_next.next_ca
    unrotated = rotate(with_next, NAMES, late + CA_OVERLAP, made.ca_bundle())
    assert unrotated.ca == made.ca


def test_after_a_new_start_the_previous_ca_stays_trusted_for_the_overlap() -> None:
    old = create(NAMES, NOW)
    again = create(NAMES, NOW, old.ca_bundle())
    assert contains_ca(again.ca_bundle(), old.ca)
    assert contains_ca(again.ca_bundle(), again.ca)
    assert not contains_ca(rotate(again, NAMES, NOW + CA_OVERLAP, again.ca_bundle()).ca_bundle(), old.ca)


@pytest.mark.parametrize(
    "trusted",
    [
        pytest.param(b"nothing of that sort", id="no PEM"),
        pytest.param(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", id="a corrupt certificate"),
        pytest.param(make_ca(NOW - CA_LIFETIME * 2).chain, id="one that has expired"),
    ],
)
def test_invalid_and_expired_cas_do_not_stay_trusted(trusted: bytes) -> None:
    assert create(NAMES, NOW, trusted).old_ca == b""


def test_a_certificate_set_survives_dump_and_read() -> None:
    made = create(NAMES, NOW, make_ca(NOW).chain)
    late = rotate(create(NAMES, NOW), NAMES, NOW + CA_LIFETIME * 0.6, b"")
    for each in (made, late):
        assert CertificateSet.read(each.dump()) == each


def rsa_key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def rsa_ca() -> dict[str, bytes]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + CA_LIFETIME)

    made = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    return {"ca.crt": made, "ca.key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())}


GOOD = create(NAMES, NOW).dump()
OTHER = create(NAMES, NOW).dump()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"tls.crt": b""}, "the certificate is not PEM", id="no certificate"),
        pytest.param(
            {"tls.crt": GOOD["tls.crt"][:300]}, "is truncated or not a certificate", id="a certificate that is cut"
        ),
        pytest.param({"tls.key": b""}, "the key is not a PEM private key", id="no key"),
        pytest.param({"tls.key": OTHER["tls.key"]}, "the key does not belong to the certificate", id="another's key"),
        pytest.param({"tls.key": rsa_key()}, "the key does not belong to the certificate", id="a key of another kind"),
        pytest.param({"ca.crt": OTHER["ca.crt"], "ca.key": OTHER["ca.key"]}, "not issued by the CA", id="another CA"),
        pytest.param({"next-ca.crt": OTHER["ca.crt"]}, "the key is not a PEM private key", id="a next CA without key"),
        pytest.param(
            {"old-ca.crt": GOOD["ca.crt"][:300]}, "is truncated or not a certificate", id="an old CA that is cut"
        ),
        pytest.param(rsa_ca(), "the CA's key is not an elliptic curve key", id="a person's CA"),
    ],
)
def test_an_invalid_key_pair_is_refused_without_quoting_the_key(change: dict[str, bytes], said: str) -> None:
    with pytest.raises(BadKeyPair, match=said) as refused:
        CertificateSet.read({**GOOD, **change})
    assert "BEGIN" not in str(refused.value)


def test_an_encrypted_key_is_refused() -> None:

    ca = make_ca(NOW)
    key = ca.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    with pytest.raises(BadKeyPair, match="encrypted with a password"):
        KeyPair.read(ca.chain, key)


def test_no_key_is_in_a_repr() -> None:
    made = create(NAMES, NOW)
    secret = made.leaf.key.decode().splitlines()[1]
    assert secret not in repr(made)
    assert secret not in str(made.leaf.log_fields())
