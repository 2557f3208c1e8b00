"""The policy that a spec asks for, with the keys and roots of the Secrets and ConfigMaps that it refers to. Pure.

Of a Secret only the public keys are used: that of cosign has the private key too. Jobs do not import it: it knows
the models of the API.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator

from olmkit.api.meta import Object
from olmkit.api.signatures import Authority, KeyAuthority, KeylessAuthority, SignerIdentity, Verification
from olmkit.sources.signatures import policy
from olmkit.sources.signatures.policy import NamedText, SignaturePolicy, invalid_policy
from olmkit.sources.signatures.subject_pattern import InvalidPattern, check_pattern
from olmkit.sources.spec_source import CONFIG_MAP, SECRET, InputReference

TRUSTED_ROOT_KEY = "trusted_root.json"
PUBLIC_KEY_SUFFIX = ".pub"

ReadInput = Callable[[InputReference], Object]
"""Gives the Secret or ConfigMap as read."""


def make_policy(verification: Verification, read: ReadInput) -> SignaturePolicy:
    """The policy. Raises Blocked for what cannot be used."""
    return SignaturePolicy(tuple(_authority(each, read) for each in verification.authorities))


def _authority(authority: Authority, read: ReadInput) -> policy.Authority:
    if authority.key is not None:
        return policy.KeyAuthority(tuple(_keys(authority.key, read)))
    if authority.keyless is not None:
        return _keyless(authority.keyless, read)
    raise invalid_policy("verify", "has an authority with neither key nor keyless")


def _keys(key: KeyAuthority, read: ReadInput) -> Iterator[NamedText]:
    if key.data is not None:
        yield NamedText("key.data", key.data)
        return
    reference = _input(key)
    found = sorted(_texts(reference, read, PUBLIC_KEY_SUFFIX))
    if not found:
        raise invalid_policy(str(reference), f"has no key that ends with {PUBLIC_KEY_SUFFIX}, such as cosign.pub")
    for name, text in found:
        yield NamedText(f"{name} of {reference}", text)


def _input(key: KeyAuthority) -> InputReference:
    if key.secret is not None:
        return InputReference(SECRET, key.secret.name)
    if key.config_map is not None:
        return InputReference(CONFIG_MAP, key.config_map.name)
    raise invalid_policy("verify", "has an authority whose key has none of data, secret and configMap")


def _keyless(keyless: KeylessAuthority, read: ReadInput) -> policy.KeylessAuthority:
    needs_log = keyless.log != "Ignored"
    identities = tuple(map(_identity, keyless.identities))
    root = keyless.trust_root
    if root.config_map is None:
        trust = NamedText("trustRoot.certificates", root.certificates or "")
        return policy.KeylessAuthority(trust, False, identities, needs_log)
    reference = InputReference(CONFIG_MAP, root.config_map.name)
    text = dict(_texts(reference, read, TRUSTED_ROOT_KEY)).get(TRUSTED_ROOT_KEY)
    if text is None:
        raise invalid_policy(str(reference), f"has no key {TRUSTED_ROOT_KEY}")
    trust = NamedText(f"{TRUSTED_ROOT_KEY} of {reference}", text)
    return policy.KeylessAuthority(trust, True, identities, needs_log)


def _identity(identity: SignerIdentity) -> policy.Identity:
    pattern = identity.subject_reg_exp or ""
    try:
        check_pattern(pattern)
    except InvalidPattern as error:
        raise invalid_policy("subjectRegExp", f"is no regular expression: {error}") from None
    return policy.Identity(identity.issuer or "", identity.subject or "", pattern)


def _texts(reference: InputReference, read: ReadInput, suffix: str) -> Iterator[tuple[str, str]]:
    """The keys of a Secret or ConfigMap that end with the suffix, and their texts; without those that are no text."""
    for name, value in (read(reference).get("data") or {}).items():
        if not name.endswith(suffix):
            continue
        try:
            text = value if reference.kind == CONFIG_MAP else base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
        yield name, text
