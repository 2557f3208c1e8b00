"""The suite itself: its controllers, versions and leaders, and its CustomResourceDefinitions.

An object is judged as `olm suite status` judges it, as far as the user may read it. Leaders are those that the Leases name.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from console.page import Answer, Page, PageRequest
from console.pages.setup_help import on_suite
from console.routes import Route
from console.views.parts import Badge, Note
from console.views.suite import ObjectRow, suite_view
from olmctl.questions.operator_state import text_at
from olmctl.questions.suite_status import version_warning
from olmctl.suite.objects import CRD, DEPLOYMENT, ObjectState, explained, state_of
from olmctl.suite.running import with_image_differences, with_leader
from olmkit.api import bundledeployments, bundles, catalogs, operators, packages
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.lease_holder import LEASE, holder_host

KINDS = (operators.KIND, catalogs.KIND, packages.KIND, bundledeployments.KIND, bundles.KIND)


@on_suite
async def show(request: PageRequest) -> Answer:
    """The page."""
    namespace = await request.session.system_namespace()
    notes: list[Note] = []
    deployments, leases = await asyncio.gather(
        _listed(request, DEPLOYMENT, namespace, notes), _listed(request, LEASE, namespace, notes)
    )
    names = [f"{each.plural}.{each.group}" for each in KINDS]
    definitions = await asyncio.gather(*(_definition(request, name) for name in names))
    found = with_image_differences([await _deployment(request, each) for each in deployments or ()])
    if leases is not None:
        leaders = {
            text_at(each, "metadata", "name"): holder_host(text_at(each, "spec", "holderIdentity")) for each in leases
        }
        found = [with_leader(each, leaders.get(each.name, "")) for each in found]
    versions = sorted({each.version for each in found if each.version})
    if warning := version_warning(versions, request.options.version, "console"):
        notes.append(Note("warn", f"{warning[:1].upper()}{warning[1:]}.", "", "alert"))
    value = suite_view([_row(each) for each in found], [_row(each) for each in definitions], notes)
    return Page("suite.html", value, "Suite", "Suite")


async def _listed(request: PageRequest, kind: Kind, namespace: str, notes: list[Note]) -> list[Object] | None:
    """The objects; None, with a note, if they may not be listed."""
    try:
        found, _ = await request.session.client.list(kind, namespace)
    except ApiError as error:
        notes.append(Note("info", f"{kind.kind}s of {namespace} are not shown.", error.message))
        return None
    return sorted(found, key=lambda each: text_at(each, "metadata", "name"))


async def _deployment(request: PageRequest, found: Object) -> ObjectState:
    state = state_of(found, found)
    with suppress(ApiError):  # its pods may not be listed
        state = await explained(request.session.client, state)
    return state


async def _definition(request: PageRequest, name: str) -> ObjectState:
    expected = {"kind": CRD.kind, "metadata": {"name": name}}
    try:
        found: Object | None = await request.session.client.get(CRD, name)
    except NotFound:
        found = None
    except ApiError:
        established = {"type": "Established", "status": "True"}
        # the page is about a kind that the API server serves
        found = {**expected, "status": {"conditions": [established]}}
    return state_of(expected, found)


def _row(state: ObjectState) -> ObjectRow:
    badge = Badge("ok", state.status, "check") if state.is_good else Badge("bad", state.status, "alert")
    return ObjectRow(
        state.expected["kind"],
        state.name,
        text_at(state.expected, "metadata", "namespace"),
        badge,
        "" if state.is_good else state.message,
        state.shown_version,
        state.ready,
        state.leader,
    )


ROUTES = (Route("GET", "/suite", show),)
