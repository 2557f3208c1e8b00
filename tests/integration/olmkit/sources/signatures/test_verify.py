"""Signatures on a real registry: those that are valid, and what hostile signers and registries try."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID, ObjectIdentifier

from olmkit.errors import Blocked, Waiting
from olmkit.sources.oci.registries_conf import Registries, parse
from olmkit.sources.signatures.found import base64_text
from olmkit.sources.signatures.policy import Authority, Identity, KeylessAuthority, NamedText, SignaturePolicy
from olmkit.sources.signatures.verify import verify
from tests import images, registry_content, signing
from tests.images import tar
from tests.integration.olmkit.sources.proxied_image import insecure_rule
from tests.integration.olmkit.sources.signatures.signed_image import ISSUER, SignedImage, by_identity, by_keys
from tests.servers.local_registry import LocalRegistry
from tests.servers.registry_proxy import RegistryProxy, status
from tests.signing import (
    TestAuthority,
    TestLog,
    bundle_by_certificate,
    bundle_by_key,
    classic,
    classic_by_certificate,
    key_id,
    new_key,
    payload_of,
    push_classic,
    statement_of,
)

ANNA = "anna@example.com"


@pytest.fixture
def image(local_registry: LocalRegistry) -> SignedImage:
    return SignedImage(local_registry)


def sign_classic(image: SignedImage, *found: signing.ClassicSignature) -> None:
    push_classic(image.address, image.name, image.digest, *found)


# --- keys


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(new_key(), id="ECDSA P-256"),
        pytest.param(ec.generate_private_key(ec.SECP384R1()), id="ECDSA P-384, with SHA-256 as cosign"),
        pytest.param(ec.generate_private_key(ec.SECP521R1()), id="ECDSA P-521"),
        pytest.param(rsa.generate_private_key(65537, 2048), id="RSA 2048"),
    ],
)
async def test_a_signature_by_a_key(image: SignedImage, key: signing.PrivateKey) -> None:
    sign_classic(image, classic(key, image.payload))
    assert await image.signed_by(by_keys(key)) == {"key": key_id(key)}


async def test_a_bundle_by_a_key(image: SignedImage) -> None:
    key = new_key()
    image.referrers.add(bundle_by_key(key, statement_of(image.digest)))
    assert await image.signed_by(by_keys(key)) == {"key": key_id(key)}


async def test_one_key_of_one_authority_suffices(image: SignedImage) -> None:
    key, authority = new_key(), TestAuthority()
    sign_classic(image, classic(new_key(), image.payload), classic(key, image.payload))
    policy = (by_keys(new_key()), by_identity(authority, ANNA, TestLog()), by_keys(new_key(), key))
    assert await image.signed_by(*policy) == {"key": key_id(key)}


async def test_a_key_that_nobody_signed_with(image: SignedImage) -> None:
    key = new_key()
    sign_classic(image, classic(new_key(), image.payload))
    assert await image.problem(by_keys(key)) == (
        f"the signature of tag {image.digest.replace(':', '-')}.sig is not by key {key_id(key)}"
    )


@pytest.mark.parametrize("is_by_key", [True, False], ids=["a key", "an identity"])
async def test_an_image_without_signatures(image: SignedImage, is_by_key: bool) -> None:
    authority = by_keys(new_key()) if is_by_key else by_identity(TestAuthority(), ANNA, TestLog())
    error = await image.refusal(authority)
    ref = f"{image.repository}@{image.digest}"
    assert isinstance(error, Waiting)
    assert (error.reason, error.subject) == ("SignatureVerificationFailed", (ref,))
    command = f"cosign sign --key cosign.key {ref}" if is_by_key else f"cosign sign {ref}"
    assert error.message == (
        f"image {ref} has no signature: sign it with `{command}`, or copy its signatures too (cosign copy)"
    )


# --- what cosign itself signed

COSIGN = json.loads((Path(__file__).parent / "cosign.json").read_text())
"""Written by tests/signatures/fixtures.py."""


@pytest.mark.parametrize("case", [pytest.param(case, id=case["title"]) for case in COSIGN["cases"]])
async def test_signatures_of_cosign(local_registry: LocalRegistry, case: dict[str, Any]) -> None:
    name = f"cosign/{os.getpid()}/{COSIGN['cases'].index(case)}"
    registry_content.put(local_registry.address, name, case)
    location = insecure_rule(f"{local_registry.address}/{name}", COSIGN["repository"])

    async def signed_by(authority: Authority, digest: str = case["digest"]) -> dict[str, str]:
        registries, ref = Registries(parse(location)), f"{COSIGN['repository']}:v1"
        return await verify(ref, digest, registries, SignaturePolicy((authority,)))

    if "key" in case:
        assert (await signed_by(by_keys(case["key"])))["key"].startswith("sha256:")
    else:
        trust = NamedText("certificates", case["certificates"])
        mine = KeylessAuthority(trust, False, (Identity("", "", r"releases@.*"),), False)
        assert await signed_by(mine) == {"subject": "releases@olm-suite.example"}
    with pytest.raises(Waiting, match="has no valid signature"):
        await signed_by(by_keys(new_key()))


# --- what was signed


async def test_the_signature_of_another_digest(image: SignedImage) -> None:
    key, other = new_key(), f"sha256:{'1' * 64}"
    sign_classic(image, classic(key, payload_of(image.repository, other)))
    assert (await image.problem(by_keys(key))).endswith(f'is for another image: "{other}"')


async def test_an_image_that_was_copied_to_another_repository_with_its_signature(image: SignedImage) -> None:
    key = new_key()
    sign_classic(image, classic(key, payload_of("quay.io/other/repository", image.digest)))
    assert (await image.problem(by_keys(key))).endswith(
        f'is for the repository "quay.io/other/repository", and the image is of {image.repository}'
    )


async def test_the_name_of_the_mirror_is_no_name_of_the_image(image: SignedImage) -> None:
    key = new_key()
    sign_classic(image, classic(key, payload_of(f"{image.address}/{image.name}", image.digest)))
    assert "is for the repository" in await image.problem(by_keys(key))


async def test_a_tag_in_the_signed_name_does_not_count(image: SignedImage) -> None:
    key = new_key()
    sign_classic(image, classic(key, payload_of(f"{image.repository}:v7", image.digest)))
    assert await image.signed_by(by_keys(key)) == {"key": key_id(key)}


async def test_the_signature_of_an_image_in_an_index_is_none_of_the_index(image: SignedImage) -> None:
    key = new_key()
    index = images.push_index(image.address, image.name, "v1", {"linux/amd64": image.digest})
    sign_classic(image, classic(key, image.payload))
    whole = SignedImage(image.registry, image.name, index)
    assert "has no signature" in (await whole.refusal(by_keys(key))).message
    sign_classic(whole, classic(key, image.payload))
    assert "is for another image" in await whole.problem(by_keys(key))
    sign_classic(whole, classic(key, whole.payload))
    assert await whole.signed_by(by_keys(key)) == {"key": key_id(key)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(
            lambda text: text[:-1] + ',"critical":' + json.dumps(json.loads(text)["critical"]) + "}",
            'has a payload with the key "critical" twice',
            id="two critical keys",
        ),
        pytest.param(
            lambda text: text[:-1] + ',"Critical":{}}',
            'has a payload with the key "Critical" twice',
            id="two critical keys in another case, of which Go would read one",
        ),
        pytest.param(
            lambda text: text.replace("cosign container image signature", "atomic container signature"),
            'has a payload of the type "atomic container signature", which is no signature of an image',
            id="the signature of another tool",
        ),
        pytest.param(lambda text: "[1]", "has a payload that is not a JSON object", id="no object"),
        pytest.param(lambda text: "[" * 30_000, "has a payload that is not JSON", id="a deep payload"),
        pytest.param(lambda text: '{"critical":{}}', 'of the type ""', id="an empty payload"),
    ],
)
async def test_payloads_that_are_refused(image: SignedImage, change: object, words: str) -> None:
    key = new_key()
    payload = change(image.payload.decode()).encode()  # type: ignore[operator]
    sign_classic(image, classic(key, payload))
    assert words in await image.problem(by_keys(key))


async def test_a_payload_that_was_changed_after_it_was_signed(image: SignedImage) -> None:
    key = new_key()
    signed = classic(key, image.payload)
    sign_classic(image, signing.ClassicSignature(image.payload + b" ", signed.annotations))
    assert f"is not by key {key_id(key)}" in await image.problem(by_keys(key))


async def test_a_statement_about_another_image(image: SignedImage) -> None:
    key, other = new_key(), f"sha256:{'2' * 64}"
    image.referrers.add(bundle_by_key(key, statement_of(other)))
    assert (await image.problem(by_keys(key))).endswith(f'is for another image: "{other}"')


async def test_a_referrer_of_another_image(image: SignedImage) -> None:
    key, other = new_key(), f"sha256:{'3' * 64}"
    image.referrers.add(bundle_by_key(key, statement_of(image.digest)), subject=other)
    assert (await image.problem(by_keys(key))).endswith("is attached to another image")


async def test_an_attestation_is_no_signature(image: SignedImage) -> None:
    key = new_key()
    image.referrers.add(bundle_by_key(key, statement_of(image.digest, "https://slsa.dev/provenance/v1")))
    assert "has no signature" in (await image.refusal(by_keys(key))).message


# --- sizes and numbers


async def test_ten_thousand_signatures(image: SignedImage) -> None:
    key = new_key()
    sign_classic(image, *(classic(key, image.payload) for _ in range(65)))
    assert (await image.problem(by_keys(key))).endswith(".sig has 65 signatures; at most 64 are read")


async def test_a_huge_payload(image: SignedImage) -> None:
    key = new_key()
    sign_classic(image, classic(key, image.payload + b" " * 70_000))
    assert "; at most 65,536 are read" in await image.problem(by_keys(key))


async def test_certificates_that_never_end_take_no_time(image: SignedImage) -> None:
    key, began = new_key(), time.process_time()
    endless = {"dev.sigstore.cosign/certificate": "-----BEGIN CERTIFICATE-----" * 40_000}
    sign_classic(image, classic(new_key(), image.payload, **endless), classic(key, image.payload))
    assert await image.signed_by(by_keys(key)) == {"key": key_id(key)}
    assert time.process_time() - began < 10


async def test_many_failures_are_counted(image: SignedImage) -> None:
    key = new_key()
    sign_classic(image, *(classic(new_key(), image.payload) for _ in range(8)))
    problem = await image.problem(by_keys(key))
    assert problem.count("is not by key") == 5
    assert problem.endswith("; and 3 more")


# --- policies that cannot be used


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "key 0 has no public key in PEM (BEGIN PUBLIC KEY)", id="no key"),
        pytest.param(
            "-----BEGIN A-----" * 60_000,
            "key 0 has 1,020,000 characters; at most 32,768 are read",
            id="blocks that never end",
        ),
        pytest.param(
            signing.public_pem(rsa.generate_private_key(65537, 1024)),
            "key 0 has an RSA key of 1024 bits: at least 2048 and at most 8192 are required",
            id="RSA 1024",
        ),
        pytest.param(
            signing.public_pem(ec.generate_private_key(ec.SECP256K1())),
            "key 0 has a key of the curve secp256k1: P-256, P-384 and P-521 are accepted",
            id="another curve",
        ),
        pytest.param(
            signing.public_pem(ed25519.Ed25519PrivateKey.generate()),
            "key 0 has an Ed25519 key: cosign signs with Ed25519ph, which is not verified; use ECDSA or RSA",
            id="Ed25519",
        ),
        pytest.param(
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
            "key 0 has a public key that cannot be read",
            id="a damaged key",
        ),
        pytest.param(
            "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nc2VjcmV0\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----",
            "key 0 has a private key: give the public key, as in cosign.pub",
            id="the private key, which is not shown",
        ),
    ],
)
async def test_keys_that_cannot_be_used(image: SignedImage, text: str, words: str) -> None:
    error = await image.refusal(by_keys(text))
    assert isinstance(error, Blocked)
    assert (error.reason, error.message) == ("InvalidSignaturePolicy", f"signatures cannot be verified: {words}")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{", "has a trusted root that is not JSON", id="no JSON"),
        pytest.param("{}", "has no certificate of an authority that signed itself (a root)", id="no authority"),
        pytest.param(
            TestAuthority().trusted_root(),
            "has no transparency log: add one to tlogs, or set log to Ignored",
            id="no log, and one is required",
        ),
        pytest.param(
            TestAuthority().trusted_root(tlogs=[{"publicKey": {"rawBytes": "AAAA"}}]),
            "has a certificate or a key that cannot be read",
            id="a damaged key of a log",
        ),
    ],
)
async def test_trusted_roots_that_cannot_be_used(image: SignedImage, text: str, words: str) -> None:
    root = KeylessAuthority(NamedText("trusted_root.json", text), True, (Identity(ISSUER, ANNA),), True)
    error = await image.refusal(root)
    assert isinstance(error, Blocked)
    assert error.message == f"signatures cannot be verified: trusted_root.json {words}"


# --- certificates


async def test_a_classic_signature_by_a_certificate(image: SignedImage) -> None:
    authority, log = TestAuthority(), TestLog()
    leaf = authority.leaf(ANNA, ISSUER)
    sign_classic(image, classic_by_certificate(leaf, image.payload, log))
    assert await image.signed_by(by_identity(authority, ANNA, log)) == {"subject": ANNA, "issuer": ISSUER}


async def test_a_bundle_by_a_certificate(image: SignedImage) -> None:
    authority, log = TestAuthority(), TestLog()
    subject = "https://github.com/team/operator/.github/workflows/release.yml@refs/tags/v1"
    leaf = authority.leaf(subject, ISSUER)
    image.referrers.add(bundle_by_certificate(leaf, statement_of(image.digest), log))
    trusted = by_identity(authority, "", log, pattern=r"https://github\.com/team/operator/.*")
    assert await image.signed_by(trusted) == {"subject": subject, "issuer": ISSUER}


async def test_a_certificate_of_an_own_authority(image: SignedImage) -> None:
    authority = TestAuthority()
    sign_classic(image, classic_by_certificate(authority.leaf(ANNA), image.payload))
    own = KeylessAuthority(NamedText("trustRoot.certificates", authority.pem), False, (Identity("", ANNA),), False)
    assert await image.signed_by(own) == {"subject": ANNA}


async def test_a_certificate_that_has_expired_counts_at_the_time_of_the_log_alone(image: SignedImage) -> None:
    authority, log = TestAuthority(), TestLog()
    then = datetime.now(UTC) - timedelta(days=30)
    leaf = authority.leaf(ANNA, ISSUER, start=then, end=then + timedelta(minutes=10))
    sign_classic(image, classic_by_certificate(leaf, image.payload, log, then + timedelta(minutes=1)))
    assert await image.signed_by(by_identity(authority, ANNA, log)) == {"subject": ANNA, "issuer": ISSUER}
    assert "the certificate is valid from " in await image.problem(by_identity(authority, ANNA, log, needs_log=False))
    sign_classic(image, classic_by_certificate(leaf, image.payload, log, then + timedelta(minutes=11)))
    assert "the certificate is valid from " in await image.problem(by_identity(authority, ANNA, log))


@pytest.mark.parametrize(
    ("issuer", "subject", "pattern"),
    [
        pytest.param(ISSUER, "anna@example.co", "", id="the beginning of the subject"),
        pytest.param(ISSUER, "nna@example.com", "", id="the end of the subject"),
        pytest.param(ISSUER, "", "anna@example", id="a pattern for the beginning"),
        pytest.param(ISSUER, "", "example.com", id="a pattern for the end"),
        pytest.param("https://other.example", ANNA, "", id="another issuer"),
        pytest.param(ISSUER, "", r"(([a-z]+)+@?)+!", id="a pattern that takes other libraries for ever"),
    ],
)
async def test_identities_that_do_not_match(image: SignedImage, issuer: str, subject: str, pattern: str) -> None:
    authority, log = TestAuthority(), TestLog()
    sign_classic(image, classic_by_certificate(authority.leaf(ANNA, ISSUER), image.payload, log))
    trusted = by_identity(authority, subject, log, issuer=issuer, pattern=pattern)
    assert (await image.problem(trusted)).endswith(
        f'by "{ANNA}" (issuer "{ISSUER}") is none of the identities that are trusted'
    )


async def test_a_certificate_of_another_authority_of_the_same_name(image: SignedImage) -> None:
    authority, log = TestAuthority(), TestLog()
    sign_classic(image, classic_by_certificate(TestAuthority().leaf(ANNA, ISSUER), image.payload, log))
    assert f'by "{ANNA}" (issuer "{ISSUER}") ' in await image.problem(by_identity(authority, ANNA, log))


async def test_a_certificate_for_servers(image: SignedImage) -> None:
    authority, log = TestAuthority(), TestLog()
    leaf = authority.leaf(ANNA, ISSUER, usage=ExtendedKeyUsageOID.SERVER_AUTH)
    sign_classic(image, classic_by_certificate(leaf, image.payload, log))
    assert "not for signing code" in await image.problem(by_identity(authority, ANNA, log))


_SUBJECT_NAMES = ExtensionOID.SUBJECT_ALTERNATIVE_NAME
_A, _B = (x509.UnrecognizedExtension(ObjectIdentifier(f"1.2.3.{end}"), b"\x05\x00") for end in (4, 5))


@pytest.mark.parametrize(
    ("extensions", "change"),
    [
        pytest.param((_A, _B), (b"\x06\x03\x2a\x03\x05", b"\x06\x03\x2a\x03\x04"), id="an extension twice"),
        pytest.param(
            (x509.UnrecognizedExtension(_SUBJECT_NAMES, bytes.fromhex("3004a3023000")),),
            (b"", b""),
            id="an X.400 address",
        ),
        pytest.param((), (b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x07"), id="version 8"),
    ],
)
async def test_a_certificate_that_no_library_reads_keeps_no_other_signature_from_counting(
    image: SignedImage, extensions: tuple[x509.ExtensionType, ...], change: tuple[bytes, bytes]
) -> None:
    key, signer, now = new_key(), new_key(), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mallory")])
    builder = x509.CertificateBuilder(name, name, signer.public_key(), 1, now, now + timedelta(days=1))
    for each in extensions:
        builder = builder.add_extension(each, critical=False)
    der = builder.sign(signer, SHA256()).public_bytes(Encoding.DER).replace(*change)
    pem = f"-----BEGIN CERTIFICATE-----\n{base64_text(der)}\n-----END CERTIFICATE-----"
    bad = classic(signer, image.payload, **{"dev.sigstore.cosign/certificate": pem})
    sign_classic(image, bad, classic(key, image.payload))
    authorities = (by_identity(TestAuthority(), ANNA, TestLog()), by_keys(key))
    assert await image.signed_by(*authorities) == {"key": key_id(key)}
    assert "has a certificate that cannot be read" in await image.problem(*authorities[:1])


async def test_a_certificate_beside_the_signature_of_another_key(image: SignedImage) -> None:
    authority, log = TestAuthority(), TestLog()
    leaf = authority.leaf(ANNA, ISSUER)
    made = classic_by_certificate(leaf, image.payload, log)
    other = classic(new_key(), image.payload)
    sign_classic(image, signing.ClassicSignature(image.payload, {**made.annotations, **other.annotations}))
    assert "is not by the key of its certificate" in await image.problem(by_identity(authority, ANNA, log))


async def test_a_trusted_root_with_logs_of_certificates_requires_their_timestamp(image: SignedImage) -> None:
    authority, log, certificates = TestAuthority(), TestLog(), TestLog()
    sign_classic(image, classic_by_certificate(authority.leaf(ANNA, ISSUER), image.payload, log))
    root = authority.trusted_root(log, ctlogs=[certificates.trusted(authority.start)])
    trusted = KeylessAuthority(NamedText("trusted_root.json", root), True, (Identity(ISSUER, ANNA),), True)
    words = "has a certificate without a timestamp (SCT) of a trusted log of certificates"
    assert words in await image.problem(trusted)


async def test_a_certificate_with_the_timestamp_of_a_log_of_certificates(image: SignedImage) -> None:
    authority, log, certificates, other = TestAuthority(), TestLog(), TestLog(), TestLog()
    root = authority.trusted_root(log, ctlogs=[certificates.trusted(authority.start)])
    trusted = KeylessAuthority(NamedText("trusted_root.json", root), True, (Identity(ISSUER, ANNA),), True)
    leaf = authority.leaf(ANNA, ISSUER, log=certificates)
    sign_classic(image, classic_by_certificate(leaf, image.payload, log))
    assert await image.signed_by(trusted) == {"subject": ANNA, "issuer": ISSUER}
    other.id = certificates.id
    for wrong in (TestLog(), other):
        leaf = authority.leaf(ANNA, ISSUER, log=wrong)
        sign_classic(image, classic_by_certificate(leaf, image.payload, log))
        assert "without a timestamp (SCT) of a trusted log of certificates" in await image.problem(trusted)


async def test_an_authority_that_its_issuer_did_not_permit(image: SignedImage) -> None:
    """The path length of an intermediate certificate, and the certificate of a signer, end the chain."""
    authority = TestAuthority(path_length=0)
    trust = KeylessAuthority(NamedText("pem", authority.pem), False, (Identity("", ANNA),), False)
    below = TestAuthority.below(authority)
    made = classic_by_certificate(below.leaf(ANNA), image.payload)
    chain = {"dev.sigstore.cosign/chain": below.pem}
    sign_classic(image, signing.ClassicSignature(image.payload, {**made.annotations, **chain}))
    assert f'by "{ANNA}" ' in await image.problem(trust)
    wide = TestAuthority()
    below = TestAuthority.below(wide)
    made = classic_by_certificate(below.leaf(ANNA), image.payload)
    chain = {"dev.sigstore.cosign/chain": below.pem}
    sign_classic(image, signing.ClassicSignature(image.payload, {**made.annotations, **chain}))
    trust = KeylessAuthority(NamedText("pem", wide.pem), False, (Identity("", ANNA),), False)
    assert await image.signed_by(trust) == {"subject": ANNA}


# --- logs


async def test_a_signature_without_an_entry_where_the_policy_requires_one(image: SignedImage) -> None:
    authority, log = TestAuthority(), TestLog()
    leaf = authority.leaf(ANNA, ISSUER)
    sign_classic(image, classic_by_certificate(leaf, image.payload))
    image.referrers.add(bundle_by_certificate(leaf, statement_of(image.digest)))
    problem = await image.problem(by_identity(authority, ANNA, log))
    assert problem.count("has no entry of a transparency log") == 2
    assert await image.signed_by(by_identity(authority, ANNA, log, needs_log=False))


async def test_an_entry_of_an_unknown_log(image: SignedImage) -> None:
    authority, log, other = TestAuthority(), TestLog(), TestLog()
    sign_classic(image, classic_by_certificate(authority.leaf(ANNA, ISSUER), image.payload, other))
    assert f"has an entry of the unknown log {other.id.hex()}" in await image.problem(by_identity(authority, ANNA, log))


async def test_an_entry_that_pretends_to_be_of_a_known_log(image: SignedImage) -> None:
    authority, log, other = TestAuthority(), TestLog(), TestLog()
    other.id = log.id
    sign_classic(image, classic_by_certificate(authority.leaf(ANNA, ISSUER), image.payload, other))
    assert "whose signed timestamp is not of its log" in await image.problem(by_identity(authority, ANNA, log))


async def test_the_entry_of_another_signature_of_the_same_signer(image: SignedImage) -> None:
    authority, log = TestAuthority(), TestLog()
    leaf = authority.leaf(ANNA, ISSUER)
    other = classic_by_certificate(leaf, payload_of(image.repository, f"sha256:{'4' * 64}"), log)
    entry = json.loads(other.annotations["dev.sigstore.cosign/bundle"])
    sign_classic(image, classic_by_certificate(leaf, image.payload, entry=entry))
    assert "has an entry that is about another signature" in await image.problem(by_identity(authority, ANNA, log))


async def test_a_time_that_the_log_did_not_sign(image: SignedImage) -> None:
    authority, log = TestAuthority(), TestLog()
    leaf = authority.leaf(ANNA, ISSUER)
    made = classic_by_certificate(leaf, image.payload, log)
    entry = json.loads(made.annotations["dev.sigstore.cosign/bundle"])
    entry["Payload"]["integratedTime"] -= 1
    sign_classic(image, classic_by_certificate(leaf, image.payload, entry=entry))
    assert "whose signed timestamp is not of its log" in await image.problem(by_identity(authority, ANNA, log))


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        pytest.param("treeSize", "5", "proof is for another checkpoint", id="another size"),
        pytest.param("logIndex", "2", "that the checkpoint of its log does not include", id="another index"),
        pytest.param("logIndex", "4", "that the checkpoint of its log does not include", id="beyond the end"),
        pytest.param("hashes", [], "that the checkpoint of its log does not include", id="without hashes"),
        pytest.param("rootHash", "AAAA", "proof is for another checkpoint", id="another root"),
        pytest.param("checkpoint", {"envelope": "x"}, "checkpoint is not of its log", id="no checkpoint"),
        pytest.param("checkpoint", {"envelope": "HALF\n\n— a QUFBQUFB"}, "is not of its log", id="half of a pair"),
    ],
)
async def test_proofs_of_inclusion_that_are_refused(image: SignedImage, part: str, value: object, words: str) -> None:
    authority, log = TestAuthority(), TestLog()
    bundle = bundle_by_certificate(authority.leaf(ANNA, ISSUER), statement_of(image.digest), log)
    bundle["verificationMaterial"]["tlogEntries"][0]["inclusionProof"][part] = value
    image.referrers.add(json.dumps(bundle).replace("HALF", "\\ud800").encode())
    assert words in await image.problem(by_identity(authority, ANNA, log))


async def test_an_entry_without_a_signed_time(image: SignedImage) -> None:
    """The new form of Rekor, which needs the timestamp of an authority."""
    authority, log = TestAuthority(), TestLog()
    bundle = bundle_by_certificate(authority.leaf(ANNA, ISSUER), statement_of(image.digest), log)
    del bundle["verificationMaterial"]["tlogEntries"][0]["inclusionPromise"]
    image.referrers.add(bundle)
    words = "has an entry without a signed time (Rekor 2), and timestamps of authorities are not read"
    assert words in await image.problem(by_identity(authority, ANNA, log))


# --- registries


@pytest.mark.parametrize(
    ("part", "code"),
    [
        pytest.param(".sig", 500, id="the tag of cosign, 500"),
        pytest.param(".sig", 503, id="the tag of cosign, 503"),
        pytest.param(".sig", 401, id="the tag of cosign, 401"),
        pytest.param("/referrers/", 502, id="the referrers, 502"),
        pytest.param("/blobs/", 404, id="a signature that is listed and missing"),
    ],
)
async def test_signatures_that_cannot_be_read_are_neither_missing_nor_valid(
    image: SignedImage, part: str, code: int
) -> None:
    sign_classic(image, classic(new_key(), image.payload))
    async with RegistryProxy(image.address) as proxy:
        proxy.on(part, status(code))
        registries = Registries(parse(insecure_rule(proxy.address, "quay.io")))
        error = await image.refusal(by_keys(new_key()), registries=registries)
    assert isinstance(error, Waiting)
    assert error.reason in ("RegistryUnavailable", "Unauthorized")
    assert error.message.startswith(f"the signatures of image {image.repository}@{image.digest} cannot be read: ")


async def test_a_valid_signature_counts_although_another_place_cannot_be_read(image: SignedImage) -> None:
    key = new_key()
    image.referrers.add(bundle_by_key(key, statement_of(image.digest)))
    async with RegistryProxy(image.address) as proxy:
        proxy.on(".sig", status(500))
        registries = Registries(parse(insecure_rule(proxy.address, "quay.io")))
        assert await image.signed_by(by_keys(key), registries=registries) == {"key": key_id(key)}


async def test_a_mirror_without_signatures(image: SignedImage, local_registry: LocalRegistry) -> None:
    """The signature is read from the registry that has it."""
    key = new_key()
    sign_classic(image, classic(key, image.payload))
    mirror = f"{image.address}/mirrors/{image.name}"
    images.push(image.address, f"mirrors/{image.name}", "v1", [tar({"a": image.name})], {})
    rule = f'[[registry.mirror]]\nlocation = "{mirror}"\ninsecure = true'
    registries = Registries(parse(insecure_rule(f"{image.address}/{image.name}", image.repository, rule)))
    assert await image.signed_by(by_keys(key), registries=registries) == {"key": key_id(key)}
