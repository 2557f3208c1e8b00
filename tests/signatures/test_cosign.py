"""Images that cosign itself signs are verified, and what the other tests sign is what cosign accepts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from olmkit.sources.oci.registries_conf import Registries, parse
from olmkit.sources.signatures.policy import Authority, Identity, KeylessAuthority, NamedText, SignaturePolicy
from olmkit.sources.signatures.verify import verify
from tests import images
from tests.images import tar
from tests.integration.olmkit.sources.proxied_image import insecure_rule
from tests.integration.olmkit.sources.signatures.signed_image import by_keys
from tests.servers.local_registry import LocalRegistry
from tests.signatures.cosign import Cosign
from tests.signing import (
    PrivateKey,
    Referrers,
    TestAuthority,
    TestLog,
    bundle_by_certificate,
    bundle_by_key,
    classic,
    classic_by_certificate,
    new_key,
    payload_of,
    public_pem,
    push_classic,
    statement_of,
)

ANNA, ISSUER = "anna@example.com", "https://issuer.example"


@dataclass
class Image:
    """An image under the name that its registry has, so that cosign signs that name."""

    address: str
    name: str
    digest: str

    @property
    def repository(self) -> str:
        return f"{self.address}/{self.name}"

    @property
    def ref(self) -> str:
        return f"{self.repository}@{self.digest}"

    async def signed_by(self, *authorities: Authority) -> dict[str, str]:
        registries = Registries(parse(insecure_rule(self.address)))
        return await verify(f"{self.repository}:v1", self.digest, registries, SignaturePolicy(authorities))


@pytest.fixture
def image(local_registry: LocalRegistry, request: pytest.FixtureRequest) -> Image:
    name = f"cosign/{os.getpid()}-{abs(hash(request.node.name))}"
    return Image(local_registry.address, name, images.push(local_registry.address, name, "v1", [tar({"a": name})], {}))


def own(authority: TestAuthority) -> Authority:
    return KeylessAuthority(NamedText("pem", authority.pem), False, (Identity("", ANNA),), False)


KEYS = [
    pytest.param(lambda: None, id="the key that cosign makes"),
    pytest.param(lambda: ec.generate_private_key(ec.SECP384R1()), id="ECDSA P-384"),
    pytest.param(lambda: ec.generate_private_key(ec.SECP521R1()), id="ECDSA P-521"),
    pytest.param(lambda: rsa.generate_private_key(65537, 3072), id="RSA"),
]


@pytest.mark.parametrize("make_key", KEYS)
@pytest.mark.parametrize("is_classic", [True, False], ids=["classic", "bundle"])
async def test_images_that_cosign_signs_with_a_key(
    cosign: Cosign, image: Image, make_key: object, is_classic: bool
) -> None:
    key: PrivateKey | None = make_key()  # type: ignore[operator]
    public = cosign.generate("a") if key is None else cosign.import_key("a", key)
    cosign.sign(image.ref, "a", classic=is_classic)
    assert (await image.signed_by(by_keys(public)))["key"].startswith("sha256:")
    with pytest.raises(Exception, match="is not by key"):
        await image.signed_by(by_keys(new_key()))


async def test_an_image_that_several_people_sign(cosign: Cosign, image: Image) -> None:
    first, second = cosign.generate("a"), cosign.generate("b")
    for name in ("a", "b"):
        cosign.sign(image.ref, name, classic=True)
        cosign.sign(image.ref, name)
    assert await image.signed_by(by_keys(first)) != await image.signed_by(by_keys(second))


async def test_an_image_that_cosign_signs_with_a_certificate(cosign: Cosign, image: Image) -> None:
    authority = TestAuthority()
    leaf = authority.leaf(ANNA)
    cosign.import_key("leaf", leaf.key)
    (cosign.directory / "leaf.crt").write_text(leaf.pem)
    (cosign.directory / "chain.crt").write_text(authority.pem)
    flags = ("--certificate", "leaf.crt", "--certificate-chain", "chain.crt")
    cosign.sign(image.ref, "leaf", *flags, classic=True)
    assert await image.signed_by(own(authority)) == {"subject": ANNA}
    with pytest.raises(Exception, match="has no valid signature"):
        await image.signed_by(own(TestAuthority()))


async def test_an_attestation_of_cosign_is_no_signature(cosign: Cosign, image: Image) -> None:
    public = cosign.generate("a")
    (cosign.directory / "predicate.json").write_text("{}")
    form = ("--use-signing-config=false", "--tlog-upload=false", "--allow-http-registry", "--yes")
    cosign.run("attest", *form, "--key", "a.key", "--predicate", "predicate.json", image.ref)
    with pytest.raises(Exception, match="has no signature"):
        await image.signed_by(by_keys(public))


# --- cosign accepts what the other tests sign


def verify_with_cosign(cosign: Cosign, image: Image, *flags: str) -> None:
    cosign.run("verify", "--allow-http-registry", *flags, image.ref)


def by_key(cosign: Cosign, key: PrivateKey) -> tuple[str, ...]:
    (cosign.directory / "test.pub").write_text(public_pem(key))
    return ("--key", "test.pub", "--insecure-ignore-tlog=true")


def by_certificate(cosign: Cosign, authority: TestAuthority, log: TestLog) -> tuple[str, ...]:
    (cosign.directory / "root.json").write_text(authority.trusted_root(log))
    identity = ("--certificate-identity", ANNA, "--certificate-oidc-issuer", ISSUER)
    return ("--trusted-root", "root.json", "--insecure-ignore-sct=true", *identity)


async def test_cosign_accepts_the_classic_signatures_of_tests(cosign: Cosign, image: Image) -> None:
    key = new_key()
    payload = payload_of(image.repository, image.digest)
    push_classic(image.address, image.name, image.digest, classic(key, payload))
    verify_with_cosign(cosign, image, *by_key(cosign, key))


async def test_cosign_accepts_the_bundles_of_tests(cosign: Cosign, image: Image) -> None:
    key = new_key()
    Referrers(image.address, image.name, image.digest).add(bundle_by_key(key, statement_of(image.digest)))
    verify_with_cosign(cosign, image, *by_key(cosign, key))


async def test_cosign_accepts_the_entries_of_tests_in_the_classic_form(cosign: Cosign, image: Image) -> None:
    authority, log = TestAuthority(), TestLog()
    then = datetime.now(UTC) - timedelta(days=30)
    leaf = authority.leaf(ANNA, ISSUER, start=then, end=then + timedelta(minutes=10))
    payload = payload_of(image.repository, image.digest)
    signature = classic_by_certificate(leaf, payload, log, then + timedelta(minutes=1))
    push_classic(image.address, image.name, image.digest, signature)
    verify_with_cosign(cosign, image, *by_certificate(cosign, authority, log))


async def test_cosign_accepts_the_entries_of_tests_in_bundles(cosign: Cosign, image: Image) -> None:
    authority, log = TestAuthority(), TestLog()
    then = datetime.now(UTC) - timedelta(days=30)
    leaf = authority.leaf(ANNA, ISSUER, start=then, end=then + timedelta(minutes=10))
    bundle = bundle_by_certificate(leaf, statement_of(image.digest), log, then + timedelta(minutes=1))
    Referrers(image.address, image.name, image.digest).add(bundle)
    verify_with_cosign(cosign, image, *by_certificate(cosign, authority, log))
