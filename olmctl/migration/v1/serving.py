"""Has the suite serve the kinds of OLM v1, one controller after the other, and has it stop.

A controller of the suite serves a kind while it has the permissions of it. catalogd comes first: the Operators that take over
need Catalogs. operator-controller comes when all of them have taken over, and the CustomResourceDefinitions with it: until then
`olm suite install` leaves the kinds to OLM v1.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from olmctl.commands import REFUSED, CommandError
from olmctl.questions.own_fields import FIELD_MANAGER
from olmctl.questions.session import Session
from olmctl.suite.manifests import NAME_LABEL, PART_OF_LABEL, Manifests, load_manifests
from olmctl.suite.objects import CRD, find_all, is_own, kind_of
from olmctl.suite.v1_kinds import ServeV1, find_renewal, forget_generator, with_chosen_v1
from olmctl.terminal_output import ProgressLine, say
from olmkit.api.foreign_leader import UPSTREAM_LEASES
from olmkit.api.meta import Object
from olmkit.errors import NotFound
from olmkit.runtime.lease_holder import LEASE

CATALOGD, OPERATOR_CONTROLLER = "catalogd", "operator-controller"
_ROLES = ("ClusterRole", "ClusterRoleBinding")
STAND_ASIDE_SECONDS = 60
_PREFIX = "olm-suite-v1-"
"""The beginning of the names of the permissions."""
UPSTREAM = "olm"
"""The value of the label part-of on the objects of OLM v1."""


async def _manifests(session: Session) -> Manifests:
    return load_manifests(system_namespace=await session.system_namespace())


async def require_nobody_leads(session: Session) -> None:
    """Raises CommandError if a controller of OLM v1 renews its Lease, wherever it runs."""
    line = ProgressLine()
    try:
        renewal = await find_renewal(session.client, line.show)
    finally:
        line.end()
    if renewal is not None:
        raise CommandError(REFUSED, f"a controller of OLM v1 acts: {renewal.text}; stop it first")


async def serve_catalogs(session: Session) -> None:
    """Have catalogd serve ClusterCatalogs. Raises CommandError if ClusterExtensions are served too: their Operators would be
    given other versions than those that are installed."""
    permissions = [each for each in (await _manifests(session)).v1 if each["kind"] in _ROLES]
    name = f"{_PREFIX}{OPERATOR_CONTROLLER}"
    served = await find_all(session.client, [each for each in permissions if each["metadata"]["name"] == name])
    if any(each is not None for each in served):
        why = "the suite serves ClusterExtensions already, and would change the Operators that take over"
        raise CommandError(
            REFUSED, f"{why}: `olm suite install --serve-v1=Never`, and run the command again in a minute"
        )
    await _act_again(session)
    for each in permissions:
        if each["metadata"]["name"] == f"{_PREFIX}{CATALOGD}":
            await session.client.apply(kind_of(each), each, FIELD_MANAGER, force=True)


async def _lease(session: Session) -> Object:
    """A Lease by which the controllers of the suite stand aside, as if OLM v1 ran: they see only after some seconds that they
    have lost their permissions, and would make what has been deleted again."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    times = {"acquireTime": now, "renewTime": now, "leaseDurationSeconds": STAND_ASIDE_SECONDS}
    return {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.kind,
        "metadata": {"name": UPSTREAM_LEASES[0], "namespace": await session.system_namespace()},
        "spec": {"holderIdentity": "olm-migrate-v1", **times},
    }


async def _act_again(session: Session) -> None:
    """Delete the Lease of a migration that was given back."""
    try:
        await session.client.delete(LEASE, UPSTREAM_LEASES[0], await session.system_namespace())
    except NotFound:
        return


async def serve_everything(session: Session) -> None:
    """Have both kinds served, with the CustomResourceDefinitions of the suite."""
    await _act_again(session)
    line = ProgressLine()
    try:
        manifests, _ = await with_chosen_v1(session.client, await _manifests(session), ServeV1.ALWAYS, line.show)
    finally:
        line.end()
    for each in (*manifests.v1_crds, *manifests.v1):
        await session.client.apply(kind_of(each), each, FIELD_MANAGER, force=True)
    await forget_generator(session.client, manifests)
    say("ClusterCatalogs and ClusterExtensions are served by the suite")


async def stop_serving(session: Session) -> None:
    """Have the suite serve neither kind. What OLM v1 has too is left to it: the CustomResourceDefinitions, and what warns of
    spec.serviceAccount."""
    await session.client.apply(LEASE, await _lease(session), FIELD_MANAGER, force=True)
    manifests, _ = await with_chosen_v1(session.client, await _manifests(session), ServeV1.NEVER, lambda _: None)
    own = manifests.unwanted
    permissions = [each for each in own if each["metadata"]["name"].startswith(_PREFIX)]
    await _delete(session, sorted(permissions, key=lambda each: str(each["kind"]), reverse=True))  # bindings first
    await _delete(session, [each for each in own if each["metadata"].get("namespace")])
    kept = [each for each in own if each not in permissions and not each["metadata"].get("namespace")]
    for each in kept:
        labels = {PART_OF_LABEL: UPSTREAM, NAME_LABEL: OPERATOR_CONTROLLER}
        await session.client.patch(kind_of(each), each["metadata"]["name"], {"metadata": {"labels": labels}})
    for crd in await find_all(session.client, manifests.v1_crds):
        if crd is not None and is_own(crd):
            labels_of_crd = {"metadata": {"labels": {PART_OF_LABEL: None}}}
            await session.client.patch(CRD, crd["metadata"]["name"], labels_of_crd)


async def _delete(session: Session, objects: Sequence[Object]) -> None:
    for each in objects:
        metadata = each["metadata"]
        try:
            await session.client.delete(kind_of(each), metadata["name"], metadata.get("namespace"))
        except NotFound:
            continue
