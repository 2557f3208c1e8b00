"""What each step of a rotation leaves in a Secret, and which Secrets cannot be served from."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID

from olmkit.tls.key_pair import KeyPair, names_of, read_certificates
from rukpak.certificates import secrets
from rukpak.certificates.secrets import AUTHORITIES, CERTIFICATE, KEY, NEXT_CERTIFICATE, NEXT_KEY
from rukpak.certificates.serving_certificate import LIFETIME, ServingCertificate, Step

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAMES = ("web.ns", "web.ns.svc", "web.ns.svc.cluster.local")
Data = dict[str, bytes]


def secret(data: Data) -> dict[str, Any]:
    return {"data": secrets.encoded(data)}


def issued(now: datetime = NOW, names: tuple[str, ...] = NAMES) -> Data:
    return secrets.changed(None, Step.ISSUE, names, now)


def after(data: Data, *steps: Step, now: datetime = NOW) -> Data:
    for step in steps:
        data = secrets.changed(secret(data), step, NAMES, now)
    return data


def known(data: Data) -> ServingCertificate:
    return secrets.read(secret(data), NAMES)


def test_an_issued_certificate() -> None:
    data = issued()
    pair = KeyPair.read(data[CERTIFICATE], data[KEY])
    certificate = pair.certificate
    assert set(data) == {CERTIFICATE, KEY, AUTHORITIES}, "no key of the authority is stored"
    assert names_of(certificate) == NAMES
    assert certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "web.ns"
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert certificate.public_key().curve.name == "secp256r1"  # type: ignore[union-attr]
    found = known(data)
    assert (found.problem, found.has_next, found.has_old_authority) == ("", False, False)
    assert found.not_after == NOW + LIFETIME
    assert found.authorities.encode() == data[AUTHORITIES]


def test_a_certificate_of_olm_v0_is_served_on_and_rotated() -> None:
    data = issued()
    left = {CERTIFICATE: data[CERTIFICATE], KEY: data[KEY], secrets.OLM_V0_AUTHORITY: data[AUTHORITIES]}
    assert known(left) == known(data)
    assert secrets.is_kept(secret(left), NAMES, NOW)
    assert after(left, Step.DROP) == data
    trusting = after(left, Step.TRUST)
    assert trusting[AUTHORITIES].startswith(data[AUTHORITIES]), "clients trust the old and the next authority"
    assert known(trusting).has_next


@pytest.mark.parametrize(
    ("lack", "names", "at"),
    [
        pytest.param(secrets.OLM_V0_AUTHORITY, NAMES, NOW, id="without its authority"),
        pytest.param(KEY, NAMES, NOW, id="without its key"),
        pytest.param("", ("other.ns",), NOW, id="for another host"),
        pytest.param("", NAMES, NOW + 2 * LIFETIME, id="that has expired"),
    ],
)
def test_a_certificate_of_olm_v0_that_cannot_be_served(lack: str, names: tuple[str, ...], at: datetime) -> None:
    data = issued()
    left = {CERTIFICATE: data[CERTIFICATE], KEY: data[KEY], secrets.OLM_V0_AUTHORITY: data[AUTHORITIES]}
    assert not secrets.is_kept(secret({name: value for name, value in left.items() if name != lack}), names, at)


def test_a_secret_that_others_have_made_is_not_kept() -> None:
    assert not secrets.is_kept(secret(issued()), NAMES, NOW)


def test_a_name_that_is_too_long_for_a_common_name() -> None:
    service = "a" * 60
    data = issued(names=(f"{service}.namespace", f"{service}.namespace.svc"))
    certificate = KeyPair.read(data[CERTIFICATE], data[KEY]).certificate
    assert certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == service


def test_the_three_steps_of_a_rotation() -> None:
    first = issued()
    trusting = after(first, Step.TRUST)
    assert (trusting[CERTIFICATE], trusting[KEY]) == (first[CERTIFICATE], first[KEY])
    assert len(read_certificates(trusting[AUTHORITIES])) == 2
    seen = known(trusting)
    assert (seen.digest, seen.has_next, seen.has_old_authority) == (known(first).digest, True, False)
    switched = after(trusting, Step.SWITCH)
    assert (switched[CERTIFICATE], switched[KEY]) == (trusting[NEXT_CERTIFICATE], trusting[NEXT_KEY])
    assert NEXT_KEY not in switched
    assert switched[AUTHORITIES] == trusting[AUTHORITIES], "no client is written to while the key changes"
    assert (known(switched).has_next, known(switched).has_old_authority) == (False, True)
    dropped = after(switched, Step.DROP)
    assert (dropped[CERTIFICATE], len(read_certificates(dropped[AUTHORITIES]))) == (switched[CERTIFICATE], 1)
    assert (known(dropped).problem, known(dropped).has_old_authority) == ("", False)


def test_what_is_issued_anew_keeps_the_authorities_that_running_pods_may_need() -> None:
    broken = {**issued(), KEY: b"x"}
    repaired = after(broken, Step.ISSUE)
    assert known(repaired).problem == ""
    assert known(repaired).has_old_authority
    late = NOW + LIFETIME + timedelta(days=1)
    assert not known(after(broken, Step.ISSUE, now=late)).has_old_authority, "an expired authority is not kept"


def _with_unreadable_names(_: Data) -> Data:
    """A certificate that is its own authority, and whose host names are no ASN.1."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + LIFETIME)
    names = x509.UnrecognizedExtension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, b"no names")
    certificate = builder.add_extension(names, critical=False).sign(key, SHA256()).public_bytes(Encoding.PEM)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return {CERTIFICATE: certificate, KEY: pem, AUTHORITIES: certificate}


def _with_unknown_authority_key(data: Data) -> Data:
    """An authority of the same name is trusted too, whose key is on a curve that nobody knows."""
    der = x509.load_pem_x509_certificate(data[AUTHORITIES]).public_bytes(Encoding.DER)
    unknown = der.replace(bytes.fromhex("2a8648ce3d030107"), bytes.fromhex("2a8648ce3d03017f"))
    text = base64.encodebytes(unknown).decode()
    pem = f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"
    return {**data, AUTHORITIES: data[AUTHORITIES] + pem.encode()}


def _mixed(data: Data) -> Data:
    return {**data, AUTHORITIES: issued()[AUTHORITIES]}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(lambda _: {}, "the certificate is not PEM", id="empty"),
        pytest.param(lambda data: {**data, KEY: b"x"}, "the key is not a PEM private key", id="no key"),
        pytest.param(
            lambda data: {**data, KEY: issued()[KEY]}, "the key does not belong to the certificate", id="another key"
        ),
        pytest.param(_mixed, "none of its certificate authorities has issued it", id="another authority"),
        pytest.param(lambda data: {**data, AUTHORITIES: b""}, "none of its certificate", id="no authority"),
        pytest.param(lambda data: {**data, CERTIFICATE: data[CERTIFICATE][:99]}, "truncated", id="truncated"),
        pytest.param(_with_unreadable_names, "the extensions of the certificate cannot be read", id="unreadable names"),
        pytest.param(
            _with_unknown_authority_key,
            "the certificate's key is of a kind that is not known",
            id="unknown authority key",
        ),
        pytest.param(lambda _: issued(names=("other.ns",)), "it is not for web.ns", id="other names"),
    ],
)
def test_a_secret_that_cannot_be_served_from(change: Callable[[Data], Data], problem: str) -> None:
    found = known(change(issued()))
    assert problem in found.problem
    assert found.problem_at(NOW)


def test_an_authority_whose_key_is_not_known_is_not_kept_with_the_others() -> None:
    data = issued()
    replaced = after(_with_unknown_authority_key(data), Step.ISSUE)
    assert known(replaced).problem == ""
    assert read_certificates(replaced[AUTHORITIES])[1:] == read_certificates(data[AUTHORITIES])


def test_a_next_certificate_that_is_broken_is_replaced() -> None:
    broken = {**after(issued(), Step.TRUST), NEXT_KEY: b"x"}
    assert (known(broken).problem, known(broken).has_next, known(broken).has_old_authority) == ("", False, True)


def test_a_next_certificate_that_is_served_already_is_none() -> None:
    trusting = after(issued(), Step.TRUST)
    left = {name: trusting[name] for name in (NEXT_CERTIFICATE, NEXT_KEY)}
    assert not known({**after(trusting, Step.SWITCH), **left}).has_next


def test_annotations_have_facts_and_no_key() -> None:
    data = after(issued(), Step.TRUST)
    found = secrets.annotations_of(data, NAMES, Step.TRUST)
    assert found == {
        "core.rukpak.io/certificate-digest": known(data).digest,
        "core.rukpak.io/certificate-authorities-digest": secrets.digest(data[AUTHORITIES]),
        "core.rukpak.io/certificate-not-after": "2028-01-01T12:00:00Z",
        "core.rukpak.io/certificate-rotation": "trusts the next certificate",
    }
    assert "core.rukpak.io/certificate-rotation" not in secrets.annotations_of(issued(), NAMES, Step.ISSUE)
    secret_text = base64.b64encode(data[KEY]).decode()
    assert secret_text not in str(found)
    assert data[KEY].decode() not in repr(known(data))
