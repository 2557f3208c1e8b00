"""Public keys: read from PEM, named by the hash of their SubjectPublicKeyInfo, and asked about a signature. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512, HashAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from olmkit.sources.signatures.policy import KeyAuthority, invalid_policy

SigningKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey

MIN_RSA_BITS, MAX_RSA_BITS = 2048, 8192
MAX_KEYS = 32
"""Public keys of one authority."""
MAX_TEXT_CHARACTERS = 32 * 1024
"""Characters of one key of a Secret or ConfigMap: a search for the ends of its blocks takes time by the square of them."""
_CURVES: dict[str, tuple[HashAlgorithm, ...]] = {
    "secp256r1": (SHA256(),),
    "secp384r1": (SHA384(), SHA256()),
    "secp521r1": (SHA512(), SHA256()),
}
"""Curve -> the hashes that cosign signs with: that of the curve's size in bundles, and SHA-256 otherwise."""
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)


@dataclass(frozen=True)
class Key:
    """A public key that the policy trusts."""

    id: str
    public_key: SigningKey


def load_keys(authority: KeyAuthority) -> tuple[Key, ...]:
    """The keys of an authority. Raises Blocked for a key that cannot be read or is too weak."""
    found = []
    for named in authority.keys:
        if len(named.text) > MAX_TEXT_CHARACTERS:
            words = f"has {len(named.text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are read"
            raise invalid_policy(named.origin, words)
        blocks = [match[0] for match in _BLOCK.finditer(named.text)]
        if not blocks:
            raise invalid_policy(named.origin, "has no public key in PEM (BEGIN PUBLIC KEY)")
        for block in blocks:
            if "PRIVATE KEY" in block.partition("\n")[0]:
                raise invalid_policy(named.origin, "has a private key: give the public key, as in cosign.pub")
            found.append(_load(block, named.origin))
    if len(found) > MAX_KEYS:
        raise invalid_policy(
            authority.keys[0].origin, f"and others have {len(found)} keys; at most {MAX_KEYS} are read"
        )
    return tuple(found)


def _load(block: str, origin: str) -> Key:
    try:
        loaded = load_pem_public_key(block.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise invalid_policy(origin, "has a public key that cannot be read") from None
    if isinstance(loaded, ed25519.Ed25519PublicKey):
        raise invalid_policy(
            origin, "has an Ed25519 key: cosign signs with Ed25519ph, which is not verified; use ECDSA or RSA"
        )
    try:
        return Key(key_id(loaded), checked(loaded))
    except ValueError as error:
        raise invalid_policy(origin, f"has {error}") from None


def checked(key: PublicKeyTypes) -> SigningKey:
    """The key itself. Raises ValueError for a type or a size that is not accepted."""
    match key:
        case ed25519.Ed25519PublicKey():
            return key
        case ec.EllipticCurvePublicKey() if key.curve.name in _CURVES:
            return key
        case ec.EllipticCurvePublicKey():
            raise ValueError(f"a key of the curve {key.curve.name}: P-256, P-384 and P-521 are accepted")
        case rsa.RSAPublicKey() if MIN_RSA_BITS <= key.key_size <= MAX_RSA_BITS:
            return key
        case rsa.RSAPublicKey():
            words = f"at least {MIN_RSA_BITS} and at most {MAX_RSA_BITS} are required"
            raise ValueError(f"an RSA key of {key.key_size} bits: {words}")
    raise ValueError(f"a key of the type {type(key).__name__}: ECDSA, RSA and Ed25519 are accepted")


def spki(key: PublicKeyTypes) -> bytes:
    """The SubjectPublicKeyInfo of a key, in DER."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def key_id(key: PublicKeyTypes) -> str:
    """ "sha256:<hex>" of the SubjectPublicKeyInfo."""
    return f"sha256:{hashlib.sha256(spki(key)).hexdigest()}"


def verifies(key: SigningKey, signature: bytes, data: bytes) -> bool:
    """Report whether the key made the signature over these bytes."""
    match key:
        case ed25519.Ed25519PublicKey():
            return _is_valid(partial(key.verify, signature, data))
        case ec.EllipticCurvePublicKey():
            algorithms = map(ec.ECDSA, _CURVES[key.curve.name])
            return any(_is_valid(partial(key.verify, signature, data, each)) for each in algorithms)
        case rsa.RSAPublicKey():
            return _is_valid(partial(key.verify, signature, data, padding.PKCS1v15(), SHA256()))


def _is_valid(verify: Callable[[], None]) -> bool:
    try:
        verify()
    except InvalidSignature:
        return False
    return True
