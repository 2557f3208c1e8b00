"""The kinds of OLM v1, ClusterCatalog and ClusterExtension, as a part of the suite: `olm suite install --serve-v1`.

OLM v1 may have them on the cluster, and its controllers may run. Two controllers of one object would write against each other:
while a Lease of OLM v1 is renewed, nothing of this part is applied. Its CRDs are taken over on request only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from olmctl.questions.errors import Refused
from olmctl.questions.operator_state import is_terminating, part, text_at
from olmctl.suite.label_guard import serves_policies
from olmctl.suite.manifests import Manifests
from olmctl.suite.objects import CRD, find, find_all, is_own
from olmctl.suite.watched import Watched
from olmctl.terminal import clean
from olmkit.api.foreign_leader import UPSTREAM_LEASES
from olmkit.api.label_policy import BINDINGS, POLICIES
from olmkit.api.meta import Object
from olmkit.errors import Forbidden
from olmkit.runtime.client import Client
from olmkit.runtime.foreign_leaders import is_where_upstream_is
from olmkit.runtime.lease_holder import LEASE, holder_host
from olmkit.tls.certificate_rotator import SECRET
from olmkit.tls.service import V1_CA_SECRET, V1_NAMESPACE

RENEWAL_SECONDS = 30.0
"""The time to wait for a renewal. Controllers of OLM v1 renew their Lease every 26 seconds."""
GENERATOR_ANNOTATION = "olm.operatorframework.io/generator"
"""The annotation of OLM v1's CRDs with the set that they belong to."""
_CA_OBJECTS = (V1_CA_SECRET, "olm-suite-v1-catalogd-ca")
"""The Secret with the CA, and the Role and the RoleBinding with which catalogd writes it."""
_KINDS = "ClusterCatalog and ClusterExtension"


class ServeV1(StrEnum):
    """The values of --serve-v1."""

    AUTO = "Auto"
    ALWAYS = "Always"
    NEVER = "Never"


@dataclass(frozen=True)
class Renewal:
    """A Lease of OLM v1 that a controller renews."""

    namespace: str
    name: str
    holder: str

    @property
    def text(self) -> str:
        """Names the Lease and who renews it."""
        return f"Lease {self.namespace}/{self.name} is renewed by {clean(holder_host(self.holder))}"


@dataclass(frozen=True)
class Choice:
    """The decision about this part. `text` is what a person should know about it; "" if there is nothing to say."""

    is_applied: bool
    text: str = ""


def choose(mode: ServeV1, crds: Sequence[Object | None], renewal: Renewal | None) -> Choice:
    """Decide if the part is applied to a cluster with these CRDs. Raises Refused if it cannot be, although it always should."""
    found = [each for each in crds if each is not None]
    if mode is ServeV1.NEVER:
        own = any(map(is_own, found))
        return Choice(
            False, f"the CRDs of {_KINDS} stay, because their objects would be deleted with them" if own else ""
        )
    if mode is ServeV1.ALWAYS:
        if renewal is not None:
            raise Refused(f"--serve-v1=Always: {renewal.text}: stop the controllers of OLM v1 first")
        return Choice(True)
    if not all(map(is_own, found)):
        text = f"{_KINDS} are OLM v1's: --serve-v1=Always takes them over when its controllers are gone"
        return Choice(False, text)
    if renewal is not None:
        return Choice(False, f"{_KINDS} are left to OLM v1: {renewal.text}")
    return Choice(True)


def with_v1(manifests: Manifests) -> Manifests:
    """The manifests with this part."""
    return replace(manifests, crds=(*manifests.crds, *manifests.v1_crds), objects=(*manifests.objects, *manifests.v1))


async def with_chosen_v1(
    client: Client, manifests: Manifests, mode: ServeV1, show: Callable[[str], None]
) -> tuple[Manifests, str]:
    """The manifests with this part or without it, and what a person should know about it. Raises Refused.

    Under Always, all of it that others have is taken over. `show` gets a text about each wait.
    """
    manifests = await _fitted(client, manifests)
    crds = await find_all(client, manifests.v1_crds)
    is_decided = mode is ServeV1.NEVER or (mode is ServeV1.AUTO and not all(map(is_own, filter(None, crds))))
    choice = choose(mode, crds, None if is_decided else await find_renewal(client, show))
    if mode is ServeV1.NEVER:
        return replace(manifests, unwanted=tuple(await own_objects(client, manifests))), choice.text
    if not choice.is_applied:
        return manifests, choice.text
    if mode is ServeV1.ALWAYS:
        foreign = await _found(client, (*manifests.v1_crds, *manifests.v1), is_chosen=lambda each: not is_own(each))
        manifests = replace(manifests, taken_over=frozenset(map(_place, foreign)))
    return with_v1(manifests), choice.text


async def with_own_v1(client: Client, manifests: Manifests) -> Manifests:
    """The manifests with this part if the suite serves the kinds on the cluster, else with its CRDs that are left. CRDs of others
    are no part of it."""
    manifests = await _fitted(client, manifests)
    is_served = bool(await own_objects(client, manifests))
    found = zip(manifests.v1_crds, await find_all(client, manifests.v1_crds), strict=True)
    own = tuple(wanted for wanted, each in found if (is_served if each is None else is_own(each)))
    manifests = replace(manifests, v1_crds=own)
    return with_v1(manifests) if is_served else replace(manifests, crds=(*manifests.crds, *own))


def without_secrets(manifests: Manifests) -> Manifests:
    """The manifests for who only looks: few users may read Secrets, and those of this part say nothing that its Roles do not."""
    return replace(manifests, v1=tuple(each for each in manifests.v1 if each["kind"] != SECRET.kind))


async def own_objects(client: Client, manifests: Manifests) -> list[Object]:
    """The objects of this part that the suite has on the cluster, without the CRDs: without them the kinds are not served."""
    return await _found(client, manifests.v1, is_chosen=is_own)


async def forget_generator(client: Client, manifests: Manifests) -> None:
    """Remove OLM v1's annotation from the CRDs that are taken over: tools know its CRDs by it."""
    for each in await _found(client, manifests.v1_crds, is_chosen=lambda crd: _place(crd) in manifests.taken_over):
        if GENERATOR_ANNOTATION in (part(each, "metadata", "annotations") or {}):
            await client.patch(
                CRD, each["metadata"]["name"], {"metadata": {"annotations": {GENERATOR_ANNOTATION: None}}}
            )


async def find_renewal(client: Client, show: Callable[[str], None]) -> Renewal | None:
    """The Lease of OLM v1 that is renewed, for which it waits if one has a holder; None if there is none. `show` gets a text
    about the wait. Raises ApiError."""
    selectors = [f"metadata.name={name}" for name in UPSTREAM_LEASES]
    found = [each for selector in selectors for each in (await client.list(LEASE, field_selector=selector))[0]]
    known: dict[tuple[str, str], bool] = {}
    before = await _of_upstream(client, _held(found), known)
    if not before:
        return None
    async with Watched(client) as watched:
        informers = [await watched.follow(LEASE, field_selector=selector) for selector in selectors]
        until = asyncio.get_running_loop().time() + RENEWAL_SECONDS
        while held := await _of_upstream(
            client, _held(each for informer in informers for each in informer.objects.values()), known
        ):
            renewed = [each for each, time in held.items() if before.get(each) != time]
            if renewed or asyncio.get_running_loop().time() >= until:
                return renewed[0] if renewed else None
            show(f"waiting for a renewal of {', '.join(f'Lease {each.namespace}/{each.name}' for each in held)}")
            await watched.change(until)
    return None


async def _of_upstream(
    client: Client, held: dict[Renewal, str], known: dict[tuple[str, str], bool]
) -> dict[Renewal, str]:
    """Those that are where OLM v1 is; `known` remembers which are. For who may not ask, all are."""
    for each in held:
        place = each.namespace, each.name
        if place not in known:
            try:
                known[place] = await is_where_upstream_is(client, *place)
            except Forbidden:
                known[place] = True
    return {each: time for each, time in held.items() if known[each.namespace, each.name]}


def _held(leases: Iterable[Object]) -> dict[Renewal, str]:
    """The Leases that have a holder, with the time of the last renewal."""
    times = {_renewal(each): text_at(each, "spec", "renewTime") for each in leases}
    return {each: time for each, time in times.items() if each.holder}


def _renewal(lease: Object) -> Renewal:
    metadata = lease["metadata"]
    return Renewal(metadata["namespace"], metadata["name"], text_at(lease, "spec", "holderIdentity"))


async def _fitted(client: Client, manifests: Manifests) -> Manifests:
    """The manifests for this cluster: without the policy where it does not have its kind, and with the CA for clients of OLM v1
    where their namespace exists."""
    objects = manifests.v1
    if not serves_policies(await client.discover()):
        objects = tuple(each for each in objects if each["kind"] not in (POLICIES.kind, BINDINGS.kind))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": V1_NAMESPACE}}
    found = await find(client, namespace)
    if found is not None and not is_terminating(found):
        objects = (*objects, *_ca_objects_for_clients(objects))
    return replace(manifests, v1=objects)


def _ca_objects_for_clients(objects: Iterable[Object]) -> Iterator[Object]:
    for each in objects:
        metadata = each["metadata"]
        if metadata["name"] in _CA_OBJECTS and metadata["namespace"] != V1_NAMESPACE:
            yield {**each, "metadata": {**metadata, "namespace": V1_NAMESPACE}}


async def _found(client: Client, objects: Sequence[Object], *, is_chosen: Callable[[Object], bool]) -> list[Object]:
    found = await find_all(client, objects)
    return [each for each in found if each is not None and is_chosen(each)]


def _place(obj: Object) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]
