"""Verifies the signatures of an image: one that is valid for one authority of the policy suffices.

Runs in jobs, before any content of the image is requested. An image without a valid signature is refused, and requested again
later, because signatures are pushed after the image. What cannot be read is never taken for a missing or a valid signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from olmkit.errors import Waiting
from olmkit.gocompat.text import one_line, truncate
from olmkit.sources.errors import BadReference, SourceReason, quoted
from olmkit.sources.oci.image import endpoints_of
from olmkit.sources.oci.reference import Reference, parse
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.signatures.certificates import check_certificate, matching_identity, read_certificate
from olmkit.sources.signatures.found import Signature, bundle_claim, classic_claim
from olmkit.sources.signatures.keys import Key, load_keys, verifies
from olmkit.sources.signatures.places import PLACES
from olmkit.sources.signatures.policy import (
    KeyAuthority,
    KeylessAuthority,
    SignaturePolicy,
    signer_by_certificate,
    signer_by_key,
)
from olmkit.sources.signatures.strict_json import Unreadable
from olmkit.sources.signatures.transparency_log import Untrusted, log_time
from olmkit.sources.signatures.trust import TrustRoot, load_trust

RETRY_DELAY = timedelta(seconds=30)
"""The first delay after an image was refused; olmkit.jobs doubles it, up to 5 minutes."""
MAX_FAILURE_BYTES = 1000
"""The bytes of the explanation of one signature, which contains texts of its signer."""
MAX_FAILURES = 5
"""Signatures that a message explains."""


@dataclass(frozen=True)
class Verifier:
    """The authorities of a policy, read."""

    keys: tuple[tuple[Key, ...], ...]
    roots: tuple[tuple[KeylessAuthority, TrustRoot], ...]

    @classmethod
    def load(cls, policy: SignaturePolicy) -> Verifier:
        """Read all keys and certificates. Raises Blocked."""
        authorities = policy.authorities
        keys = tuple(load_keys(each) for each in authorities if isinstance(each, KeyAuthority))
        roots = tuple((each, load_trust(each)) for each in authorities if isinstance(each, KeylessAuthority))
        return cls(keys, roots)

    def signer(self, signature: Signature, reference: Reference, digest: str, now: datetime) -> dict[str, str]:
        """The value of status.signedBy for a valid signature of this image. Raises Untrusted, Unreadable."""
        signer, problems = None, []
        for check in (self._by_key, self._by_certificate):
            try:
                signer = check(signature, now)
                break
            except (Untrusted, Unreadable) as error:
                problems.append(str(error))
        if signer is None:
            raise Untrusted("; ".join(filter(None, problems)))
        check_claim(signature, reference, digest)
        return signer

    def _by_key(self, signature: Signature, now: datetime) -> dict[str, str]:
        keys = [key for found in self.keys for key in found]
        for key in keys:
            if verifies(key.public_key, signature.signature, signature.signed):
                return signer_by_key(key.id)
        if not keys or (signature.certificate and self.roots):
            raise Untrusted("")
        raise Untrusted(f"is not by {' or '.join(f'key {key.id}' for key in keys[:4])}")

    def _by_certificate(self, signature: Signature, now: datetime) -> dict[str, str]:
        if not self.roots:
            raise Untrusted("")
        if not signature.certificate:
            raise Untrusted("" if self.keys else "has no certificate")
        signer = read_certificate(signature.certificate)
        if not verifies(signer.key, signature.signature, signature.signed):
            raise Untrusted(f"is not by the key of its certificate, {signer.name}")
        problems = []
        for authority, trust in self.roots:
            try:
                moment = log_time(signature, trust.logs) if authority.needs_log else now
                check_certificate(signer, signature.chain, trust, moment)
                return signer_by_certificate(matching_identity(signer, authority.identities), signer.issuer)
            except (Untrusted, Unreadable) as error:
                problems.append(str(error))
        raise Untrusted(f"by {signer.name} {'; '.join(dict.fromkeys(problems))}")


def check_claim(signature: Signature, reference: Reference, digest: str) -> None:
    """Raises Untrusted unless what was signed is this image: its digest, and in the classic form its repository too."""
    claim = bundle_claim(signature.payload) if signature.is_bundle else classic_claim(signature.payload)
    if digest not in claim.digests:
        shown = ", ".join(quoted(each, 80) for each in sorted(claim.digests)[:3]) or "no digest"
        raise Untrusted(f"is for another image: {shown}")
    if claim.repository is None:
        return
    try:
        signed = parse(claim.repository)
    except BadReference:
        raise Untrusted(f"is for the repository {quoted(claim.repository)}, which cannot be read") from None
    if (signed.registry, signed.repository) != (reference.registry, reference.repository):
        raise Untrusted(f"is for the repository {quoted(claim.repository)}, and the image is of {reference.written}")


async def verify(ref: str, digest: str, registries: Registries, policy: SignaturePolicy) -> dict[str, str]:
    """The value of status.signedBy of the image, whose reference is as in the spec and was resolved to `digest`.

    Raises Blocked for a policy that cannot be used, and Waiting if a place of signatures cannot be read or no signature is valid.
    """
    reference, verifier, now = parse(ref), Verifier.load(policy), datetime.now(UTC)
    failures: list[str] = []
    unreadable: Waiting | None = None
    async with endpoints_of(reference, registries) as endpoints:
        for place in PLACES:
            try:
                async for found in place(endpoints, digest):
                    try:
                        if found.signature is None:
                            raise Unreadable(found.problem)
                        return verifier.signer(found.signature, reference, digest, now)
                    except (Untrusted, Unreadable) as error:
                        failures.append(truncate(one_line(f"{found.name} {error}"), MAX_FAILURE_BYTES))
            except Waiting as error:
                unreadable = unreadable or error
    if unreadable is not None:
        raise Waiting(
            unreadable.reason,
            f"the signatures of image {reference.by_digest(digest)} cannot be read: {unreadable.message}",
            unreadable.after,
            unreadable.subject,
        )
    is_by_key = all(isinstance(each, KeyAuthority) for each in policy.authorities)
    raise refusal(reference.by_digest(digest), failures, is_by_key=is_by_key)


def refusal(ref: str, failures: Sequence[str], *, is_by_key: bool) -> Waiting:
    """The error for an image without a valid signature."""
    if not failures:
        command = f"cosign sign {'--key cosign.key ' if is_by_key else ''}{ref}"
        words = f"image {ref} has no signature: sign it with `{command}`, or copy its signatures too (cosign copy)"
        return Waiting(SourceReason.SIGNATURE_REFUSED, words, RETRY_DELAY, [ref])
    shown = "; ".join(failures[:MAX_FAILURES])
    more = f"; and {len(failures) - MAX_FAILURES} more" if len(failures) > MAX_FAILURES else ""
    words = f"image {ref} has no valid signature: {shown}{more}"
    return Waiting(SourceReason.SIGNATURE_REFUSED, words, RETRY_DELAY, [ref])
