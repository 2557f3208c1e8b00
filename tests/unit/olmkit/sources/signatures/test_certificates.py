"""Certificates of hostile signers are refused, whatever they contain."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from olmkit.sources.signatures.certificates import check_certificate, matching_identity, read_certificate
from olmkit.sources.signatures.policy import Identity, KeylessAuthority, NamedText
from olmkit.sources.signatures.transparency_log import Untrusted
from olmkit.sources.signatures.trust import load_trust
from tests.signing import TestAuthority, TestLog

ANNA, ISSUER = "anna@example.com", "https://issuer.example"
NOW = datetime.now(UTC)
"""The time at which the certificate is used: it is valid for five minutes from then, and the tests may run later."""
LOG = TestLog()
AUTHORITY = TestAuthority()
LEAF = AUTHORITY.leaf(ANNA, ISSUER, log=LOG)
ROOT = AUTHORITY.trusted_root(ctlogs=[LOG.trusted(AUTHORITY.start)])
TRUST = load_trust(KeylessAuthority(NamedText("root", ROOT), True, (Identity(ISSUER, ANNA),), needs_log=False))
_OLD, _NEW = (bytes.fromhex(f"060a2b0601040183bf3001{last}") for last in ("01", "08"))


def verify(der: bytes) -> str:
    signer = read_certificate(der)
    check_certificate(signer, (), TRUST, NOW)
    return matching_identity(signer, (Identity(ISSUER, ANNA),))


def test_a_certificate_that_is_valid() -> None:
    assert verify(LEAF.der) == ANNA


@pytest.mark.parametrize(
    "der",
    [
        pytest.param(LEAF.der.replace(_OLD, _NEW), id="an extension twice"),
        pytest.param(LEAF.der.replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x3f"), id="version 64"),
        pytest.param(LEAF.der[:-1], id="its last byte is missing"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_certificates_that_cannot_be_read(der: bytes) -> None:
    assert der != LEAF.der
    with pytest.raises(Untrusted, match="has a certificate that cannot be read"):
        verify(der)


def test_a_changed_certificate_is_refused() -> None:
    """Whatever byte is changed, the result is a reason, and no other error."""
    random_bytes = random.Random(7)
    for _ in range(300):
        der = bytearray(LEAF.der)
        at = random_bytes.randrange(len(der))
        der[at] ^= random_bytes.randrange(1, 256)
        with pytest.raises(Untrusted):
            verify(bytes(der))
