"""`olm approve OPERATOR`: approve the version that waits."""

from __future__ import annotations

from olmctl.cluster.list import RESOURCE
from olmctl.cluster.operator_state import available_version, awaits_approval, text_at
from olmctl.cluster.session import Session, on_cluster
from olmctl.cluster.waiting import wait_for_operator
from olmctl.commands import FAILED, CommandError
from olmctl.terminal import clean
from olmkit.api import operators
from olmkit.api.meta import Object
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION


@on_cluster
async def approve(session: Session, operator: str, version: str | None, wait: bool, seconds: float) -> int:
    """Approve the version that waits for approval of OPERATOR, which has `approval: Manual`."""
    found = await session.client.get(operators.KIND, operator)
    pending = available_version(found)
    if version is not None and version != pending:
        raise CommandError(FAILED, f"version {version} does not wait for approval: {pending or 'no version'} does")
    if not pending:
        print(f"{RESOURCE}/{operator} has no version that waits for approval")
        return 0
    if not awaits_approval(found):
        message = text_at(found, "status", "available", "message")
        print(f"{RESOURCE}/{operator} needs no approval: version {clean(pending)} waits: {clean(message)}")
        return 0
    await approve_version(session, found, pending)
    print(f"{RESOURCE}/{operator} approved: version {clean(pending)}")
    return await wait_for_operator(session, operator, seconds, pending) if wait else 0


async def approve_version(session: Session, found: Object, version: str) -> None:
    """Set the annotation, unless the Operator has changed since it was read. Raises Conflict."""
    metadata = {
        "resourceVersion": found["metadata"]["resourceVersion"],
        "annotations": {APPROVED_VERSION_ANNOTATION: version},
    }
    await session.client.patch(operators.KIND, found["metadata"]["name"], {"metadata": metadata})
