"""What it means that the API server does not take an object, in words for people. Used by rukpak.install.apply. Never writes.

it stands there, and is another's     Refused, naming who has it
it stands there, and was not seen     Settling: the next pass sees it
no such kind or Namespace             Waiting
its Namespace goes away               Waiting
refused as it is (schema, admission)  Refused
no answer, too busy                   the ApiError itself: the queue backs off
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from olmkit.api.bundledeployments import OWNER_UID_LABEL, Reason
from olmkit.api.meta import Kind
from olmkit.client import Client
from olmkit.errors import ApiError, Conflict, Invalid, NotFound, OlmError, Unavailable, Waiting
from rukpak.install.kinds import NAMESPACES
from rukpak.install.world import CRD, NAMESPACE, RELEASED_ANNOTATION, Refused, Settling
from rukpak.manifest import ObjectKey

SOON = timedelta(seconds=1)
NOT_THERE = timedelta(seconds=5)
RETRY_TAKEN = timedelta(minutes=1)
RETRY_REFUSED = timedelta(minutes=5)
NAMED = 3
"""Objects whose refusal a message tells in full."""

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Refusals:
    """Asks the API server what is so, if the answer does not tell."""

    client: Client
    holder: Callable[[str], str]
    """The name of the BundleDeployment of a uid, empty when there is none."""

    async def explain(self, uid: str, kind: Kind, body: Object, error: ApiError) -> None:
        """Raise what the failed apply of `body` means for the BundleDeployment of that uid; returns when it may just pass."""
        key = _key(kind, body)
        if isinstance(error, Conflict) or (isinstance(error, Invalid) and "uid" in body["metadata"]):
            await self._explain_lock(uid, kind, body)
        if isinstance(error, Conflict):
            return
        if isinstance(error, NotFound):
            raise Waiting(Reason.RETRYING, f"{key}: {error.message}", NOT_THERE) from error
        # The API server answers 500 without a reason when fields do not fit the kind's schema.
        if isinstance(error, Unavailable) and not (error.status == 500 and not error.reason):
            return
        await self._explain_namespace(key)
        raise Refused(Reason.BLOCKED, f"{key}: {error.message}", RETRY_REFUSED) from error

    async def _explain_lock(self, uid: str, kind: Kind, body: Object) -> None:
        """Something else stands there than was seen; returns when it is what was seen."""
        key = _key(kind, body)
        try:
            live = await self.client.get(kind, key.name, key.namespace or None)
        except NotFound:
            raise Settling(Reason.RETRYING, f"{key} went away", SOON) from None
        metadata = live["metadata"]
        if body["metadata"].get("uid") == metadata["uid"]:
            return
        holder = (metadata.get("labels") or {}).get(OWNER_UID_LABEL, "")
        is_released = key[:2] == CRD and not holder and RELEASED_ANNOTATION in (metadata.get("annotations") or {})
        if key[:2] == NAMESPACE or holder == uid or is_released:
            raise Settling(Reason.RETRYING, f"{key} changed", SOON)
        raise Refused(Reason.BLOCKED, f"{key} {self._has_it(metadata, holder)}", RETRY_TAKEN)

    def _has_it(self, metadata: Object, holder: str) -> str:
        if holder:
            name = self.holder(holder)
            if name:
                return f"is there already and belongs to BundleDeployment {name}"
            gone = f"is there already and belongs to a BundleDeployment that is gone (uid {holder})"
            return f"{gone}: delete it, and the bundle's is installed"
        managers = sorted({entry.get("manager", "") for entry in metadata.get("managedFields") or ()} - {""})
        by = f" (written by {', '.join(managers)})" if managers else ""
        return f"is there already and not managed by olm-suite{by}: delete it, and the bundle's is installed"

    async def _explain_namespace(self, key: ObjectKey) -> None:
        """In a Namespace that goes away nothing can be made."""
        if not key.namespace:
            return
        try:
            namespace = await self.client.get(NAMESPACES, key.namespace)
        except NotFound:
            return
        if namespace["metadata"].get("deletionTimestamp"):
            text = f"waiting until it is gone: Namespace {key.namespace}"
            raise Waiting(Reason.RETRYING, text, NOT_THERE)


def together(failed: Mapping[ObjectKey, Exception], applied: frozenset[ObjectKey]) -> Exception:
    """One error for several objects: what only a person can help with first, then what is waited for, then the rest."""
    ordered = [error for _, error in sorted(failed.items())]
    refused = [error for error in ordered if isinstance(error, Refused)]
    if refused:
        more = len(refused) - NAMED
        text = "; ".join(error.message for error in refused[:NAMED]) + (f"; and {more} more" if more > 0 else "")
        return Refused(refused[0].reason, text, min(error.after for error in refused), applied)
    waiting = [error for error in ordered if isinstance(error, OlmError)]
    return (waiting or ordered)[0]


def _key(kind: Kind, body: Object) -> ObjectKey:
    metadata = body["metadata"]
    return ObjectKey(kind.group, kind.kind, metadata.get("namespace") or "", metadata["name"])
