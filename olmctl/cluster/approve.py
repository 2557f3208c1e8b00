"""`olm approve OPERATOR`: approve the version that waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmctl.cluster.installed_objects import bundle_deployment_of
from olmctl.cluster.list import RESOURCE
from olmctl.cluster.operator_state import (
    available_version,
    awaits_approval,
    installed,
    is_terminating,
    refusal,
    text_at,
)
from olmctl.cluster.planned_bundle import Cluster, rendered, wanted_bundle, wanted_spec
from olmctl.cluster.planned_definitions import definitions_of, planned_definitions
from olmctl.cluster.session import Session, on_cluster
from olmctl.cluster.waiting import wait_for_operator
from olmctl.commands import FAILED, REFUSED, CommandError, warn
from olmctl.terminal import clean
from olmkit.api import operators
from olmkit.api.meta import Object
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION
from olmkit.errors import ApiError, OlmError


@on_cluster
async def approve(
    session: Session, operator: str, version: str | None, force: bool, wait: bool, seconds: float, **options: Any
) -> int:
    """Approve the version that waits for approval of OPERATOR, unless the upgrade would be refused."""
    found = await kept_operator(session, operator)
    pending = available_version(found)
    if version is not None and version != pending:
        raise CommandError(FAILED, f"version {version} does not wait for approval: {pending or 'no version'} does")
    if not pending:
        refused = refusal(found)
        print(
            f"{RESOURCE}/{operator} has no version that waits for approval{f': it is {clean(refused)}' * bool(refused)}"
        )
        return 0
    if not awaits_approval(found):
        message = text_at(found, "status", "available", "message")
        print(f"{RESOURCE}/{operator} needs no approval: version {clean(pending)} waits: {clean(message)}")
        return 0
    if not force:
        await check_approval(session, found, options)
    await approve_version(session, found, pending)
    print(f"{RESOURCE}/{operator} approved: version {clean(pending)}")
    return await wait_for_operator(session, operator, seconds, pending) if wait else 0


async def kept_operator(session: Session, name: str) -> Object:
    """The Operator as it is. Raises CommandError if it is being deleted, NotFound."""
    found = await session.client.get(operators.KIND, name)
    if is_terminating(found):
        raise CommandError(FAILED, f"{name} is being deleted: olm install installs it again when it is gone")
    return found


async def check_approval(session: Session, found: Object, options: Mapping[str, Any]) -> None:
    """Raises CommandError if the upgrade to the version that waits would be refused; warns if that is not known. `options` are
    those of olmctl.cli.options.image_options()."""
    name = found["metadata"]["name"]
    if not installed(found):
        return
    try:
        refusals = await _refusals(session, found, options)
    except (ApiError, OlmError, CommandError) as error:
        warn(f"whether the upgrade would be refused is not known: {clean(str(error))}")
        return
    if refusals:
        text = f"the upgrade of {name} would be refused: {clean('; '.join(refusals))}"
        raise CommandError(REFUSED, f"{text}; olm diff {name} shows everything, --force approves it all the same")


async def _refusals(session: Session, found: Object, options: Mapping[str, Any]) -> list[str]:
    """Raises ApiError, OlmError, CommandError."""
    deployment = await bundle_deployment_of(session, found)
    wanted = await wanted_bundle(session, found, deployment, None)
    spec, cluster = wanted_spec(found, wanted.image), await Cluster.of(session)
    new = await rendered(wanted.image, spec, found["metadata"]["name"], cluster, options)
    planned = await planned_definitions(session, definitions_of(new.ready.manifests), spec.crd_upgrade_safety, {})
    verdict = planned.verdict
    if verdict.permitted_loss:
        warn(clean(verdict.permitted_loss))
    return list(filter(None, [*new.ready.faults, new.ready.too_old, verdict.refusal, verdict.failure]))


async def approve_version(session: Session, found: Object, version: str) -> None:
    """Set the annotation, unless the Operator has changed since it was read. Raises Conflict."""
    metadata = {
        "resourceVersion": found["metadata"]["resourceVersion"],
        "annotations": {APPROVED_VERSION_ANNOTATION: version},
    }
    await session.client.patch(operators.KIND, found["metadata"]["name"], {"metadata": metadata})
