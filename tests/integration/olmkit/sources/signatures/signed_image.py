"""An image on the registry of the session, the policy for its signatures, and the result of their verification."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field

import pytest

from olmkit.errors import OlmError
from olmkit.jobs import codec
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.signatures.policy import (
    Authority,
    Identity,
    KeyAuthority,
    KeylessAuthority,
    NamedText,
    SignaturePolicy,
)
from olmkit.sources.signatures.verify import verify
from tests import images
from tests.images import tar
from tests.servers.local_registry import LocalRegistry
from tests.signing import PrivateKey, Referrers, TestAuthority, TestLog, payload_of, public_pem

NUMBERS = itertools.count()
ISSUER = "https://issuer.example"


def by_keys(*keys: PrivateKey | str) -> KeyAuthority:
    texts = [each if isinstance(each, str) else public_pem(each) for each in keys]
    return KeyAuthority(tuple(NamedText(f"key {number}", text) for number, text in enumerate(texts)))


def by_identity(
    authority: TestAuthority,
    subject: str = "",
    *logs: TestLog,
    issuer: str = ISSUER,
    pattern: str = "",
    needs_log: bool = True,
) -> KeylessAuthority:
    trust = NamedText("trusted_root.json", authority.trusted_root(*logs))
    return KeylessAuthority(trust, True, (Identity(issuer, subject, pattern),), needs_log)


@dataclass
class SignedImage:
    """An image with a repository of its own."""

    registry: LocalRegistry
    name: str = field(default_factory=lambda: f"signed/{os.getpid()}-{next(NUMBERS)}")
    digest: str = ""

    def __post_init__(self) -> None:
        self.digest = self.digest or images.push(self.address, self.name, "v1", [tar({"a": self.name})], {})

    @property
    def address(self) -> str:
        return self.registry.address

    @property
    def repository(self) -> str:
        """The name in the spec, whose mirror is the registry."""
        return f"quay.io/{self.name}"

    @property
    def payload(self) -> bytes:
        return payload_of(self.repository, self.digest)

    @property
    def referrers(self) -> Referrers:
        return Referrers(self.address, self.name, self.digest)

    def registries(self) -> Registries:
        return Registries.load(self.registry.registries_conf)

    async def signed_by(self, *authorities: Authority, registries: Registries | None = None) -> dict[str, str]:
        """The value of status.signedBy. The policy is encoded and decoded first, as for a job."""
        policy = codec.decode(SignaturePolicy, codec.encode(SignaturePolicy(authorities)))
        return await verify(f"{self.repository}:v1", self.digest, registries or self.registries(), policy)

    async def refusal(self, *authorities: Authority, registries: Registries | None = None) -> OlmError:
        with pytest.raises(OlmError) as raised:
            await self.signed_by(*authorities, registries=registries)
        return raised.value

    async def problem(self, *authorities: Authority) -> str:
        """The text after "image … has no valid signature: "."""
        error = await self.refusal(*authorities)
        beginning = f"image {self.repository}@{self.digest} has no valid signature: "
        assert (error.reason, error.message[: len(beginning)]) == ("SignatureVerificationFailed", beginning)
        return error.message[len(beginning) :]
