"""The policy of a spec, with the keys of Secrets and ConfigMaps."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from olmkit.api.signatures import Verification
from olmkit.errors import Blocked
from olmkit.sources.signatures.policy import (
    Identity,
    KeyAuthority,
    KeylessAuthority,
    NamedText,
    SignaturePolicy,
    check_signed,
    signer_by_certificate,
)
from olmkit.sources.signatures.spec_policy import make_policy
from olmkit.sources.spec_source import InputReference


def encoded(text: str | bytes) -> str:
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


OBJECTS: dict[InputReference, dict[str, Any]] = {
    InputReference("Secret", "keys"): {
        "data": {"b.pub": encoded("B"), "a.pub": encoded("A"), "cosign.key": encoded("P"), "c.pub": encoded(b"\xff")}
    },
    InputReference("ConfigMap", "keys"): {"data": {"a.pub": "A", "ca.crt": "C"}},
    InputReference("ConfigMap", "root"): {"data": {"trusted_root.json": "{}"}},
    InputReference("Secret", "none"): {},
}


def policy(*authorities: dict[str, Any]) -> SignaturePolicy:
    return make_policy(Verification.load({"authorities": list(authorities)}), OBJECTS.__getitem__)


def keyless(root: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"keyless": {"trustRoot": root, "identities": [{"issuer": "i", "subject": "s"}], **more}}


def test_authorities() -> None:
    found = policy(
        {"key": {"data": "D"}},
        {"key": {"secret": {"name": "keys"}}},
        {"key": {"configMap": {"name": "keys"}}},
        keyless({"configMap": {"name": "root"}}),
    )
    assert found.authorities == (
        KeyAuthority((NamedText("key.data", "D"),)),
        KeyAuthority((NamedText("a.pub of Secret keys", "A"), NamedText("b.pub of Secret keys", "B"))),
        KeyAuthority((NamedText("a.pub of ConfigMap keys", "A"),)),
        KeylessAuthority(
            NamedText("trusted_root.json of ConfigMap root", "{}"), True, (Identity("i", "s"),), needs_log=True
        ),
    )
    own = keyless({"certificates": "C"}, log="Ignored", identities=[{"subjectRegExp": "s.*"}])
    assert policy(own).authorities == (
        KeylessAuthority(NamedText("trustRoot.certificates", "C"), False, (Identity("", "", "s.*"),), needs_log=False),
    )


@pytest.mark.parametrize(
    ("authority", "words"),
    [
        pytest.param(
            {"key": {"secret": {"name": "none"}}}, "Secret none has no key that ends with .pub", id="an empty Secret"
        ),
        pytest.param(
            keyless({"configMap": {"name": "keys"}}), "ConfigMap keys has no key trusted_root.json", id="no root"
        ),
        pytest.param(
            keyless({"certificates": "C"}, identities=[{"subjectRegExp": "("}]),
            "subjectRegExp is no regular expression: missing ): (",
            id="no regular expression",
        ),
        pytest.param({}, "verify has an authority with neither key nor keyless", id="nothing"),
        pytest.param({"key": {}}, "has none of data, secret and configMap", id="no key"),
    ],
)
def test_policies_that_cannot_be_used(authority: dict[str, Any], words: str) -> None:
    with pytest.raises(Blocked) as raised:
        policy(authority)
    assert raised.value.reason == "InvalidSignaturePolicy"
    assert words in raised.value.message


def test_the_result_of_a_job_has_to_say_who_signed() -> None:
    required = SignaturePolicy((), verified_digest="sha256:1")
    check_signed(None, "sha256:2", {})
    check_signed(required, "sha256:1", {})
    check_signed(required, "", {})
    check_signed(required, "sha256:2", {"subject": "s"})
    for signed_by in ({}, {"issuer": "i"}, {"key": ""}):
        with pytest.raises(ValueError, match="without saying who signed it"):
            check_signed(required, "sha256:2", signed_by)


def test_names_of_certificates_are_bounded_and_printable() -> None:
    found = signer_by_certificate("a\n\x1b[31m" + "x" * 5000, "")
    assert found.keys() == {"subject"}
    assert found["subject"].isprintable()
    assert len(found["subject"].encode()) <= 1024
