"""Carries out the Plan of one ClusterExtension: at most one write to the API server.

Decides nothing: the Plan contains the action.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from olmkit.api import clusterextensions, operators
from olmkit.api.clusterextensions import ADOPT_FOR_ANNOTATION, Reason
from olmkit.api.meta import (
    apply_precondition,
    controller_reference,
    unchanged_precondition,
    with_owner,
    without_owner,
)
from olmkit.api.operators import INSTALLED_FOR_LABEL
from olmkit.api.ownership import OPERATOR_CONTROLLER
from olmkit.errors import Blocked, Forbidden, Invalid, NotFound, Waiting
from olmkit.runtime.client import Client
from olmkit.runtime.owned_objects import OwnedObjects
from operator_controller.clusterextension.decide import DELETION_DELAY
from operator_controller.clusterextension.events import Informers
from operator_controller.clusterextension.world import (
    AdoptOperator,
    ChangeOperator,
    CreateOperator,
    DeleteOperator,
    Done,
    Keep,
    Plan,
    ReleaseOperator,
    SetFinalizers,
    StandAside,
    World,
)

_CONFIGURATION_FIELDS = ("spec.install.config", "spec.install.watchNamespaces", "spec.install.serviceAccount")
"""The fields that follow from spec.config of the ClusterExtension, and from its annotation."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ExtensionActions:
    """Makes all writes of this controller except status writes, and records them in the informers."""

    client: Client
    informers: Informers

    async def act(self, world: World, plan: Plan) -> Done:
        """Carry out the Plan. Raises ApiError, Blocked if the API server does not accept the Operator as it is, and Waiting if it
        is not deleted."""
        match plan:
            case Keep():
                return Done(plan)
            case StandAside(after):
                return Done(plan, after)
            case SetFinalizers(finalizers):
                extensions = OwnedObjects(self.client, self.informers.extensions)
                await extensions.set_finalizers(world.extension.metadata, finalizers)
            case CreateOperator(operator):
                await self._create(operator)
            case ChangeOperator():
                await self._change(plan)
            case _:
                await self._act_on_ownership(world, plan)
        return Done(plan)

    async def _act_on_ownership(self, world: World, plan: AdoptOperator | ReleaseOperator | DeleteOperator) -> None:
        owned = OwnedObjects(self.client, self.informers.operators)
        metadata, identity = plan.operator["metadata"], unchanged_precondition(plan.operator)
        name, extension = metadata["name"], world.extension.metadata
        match plan:
            case AdoptOperator():
                owner = controller_reference(clusterextensions.KIND, extension.name, extension.uid)
                change = {"annotations": {ADOPT_FOR_ANNOTATION: None}, "labels": {INSTALLED_FOR_LABEL: None}}
                await owned.set_owners(name, identity, with_owner(plan.operator, owner), change)
                log.info("took over Operator %s, which nobody owned", name)
            case ReleaseOperator():
                await owned.set_owners(name, identity, without_owner(plan.operator, extension.uid))
                log.info("left Operator %s (the ClusterExtension is deleted without its dependents)", name)
            case DeleteOperator():
                await self._delete(world, owned, identity)

    async def _create(self, operator: Mapping[str, Any]) -> None:
        name = operator["metadata"]["name"]
        body = {**operator, "metadata": {**operator["metadata"], **apply_precondition(None)}}
        with _refusals():
            self.informers.operators.record_write(await self.client.apply(operators.KIND, body, OPERATOR_CONTROLLER))
        log.info("created Operator %s", name)

    async def _change(self, plan: ChangeOperator) -> None:
        metadata = plan.change.get("metadata") or {}
        identity = {"uid": plan.uid, "resourceVersion": plan.resource_version}
        body = {**plan.change, "metadata": {**metadata, **identity}}
        with suppress(NotFound), _refusals():
            self.informers.operators.record_write(await self.client.patch(operators.KIND, plan.name, body))
            log.info("changed Operator %s", plan.name)

    async def _delete(self, world: World, owned: OwnedObjects, identity: Mapping[str, str]) -> None:
        operator = clusterextensions.operator_name(world.extension.metadata.name)
        try:
            if await owned.delete(operator, identity["uid"], identity["resourceVersion"]):
                log.info("deleted Operator %s (the ClusterExtension is being deleted)", operator)
        except Forbidden as error:  # the webhook that guards what is protected
            raise Waiting(Reason.BLOCKED, error.message, DELETION_DELAY, [operator]) from error


@contextmanager
def _refusals() -> Iterator[None]:
    """Raise Blocked if the API server does not accept the Operator as it is."""
    try:
        yield
    except Invalid as error:
        if (refusal := refusal_of(error)) is None:
            raise
        raise refusal from error


def refusal_of(error: Invalid) -> Blocked | None:
    """The refusal of a spec that the API of OLM v1 accepts and that of Operators does not, such as an effect of a toleration that
    is none. None if no field is wrong: a policy denies the Operator, which may end, so it is written again."""
    if not error.is_about_fields:
        return None
    fields = [cause.field for cause in error.causes]
    is_configured = any(field.startswith(_CONFIGURATION_FIELDS) for field in fields)
    reason = Reason.INVALID_CONFIGURATION if is_configured else Reason.BLOCKED
    return Blocked(reason, f"the Operator is not accepted: {error.message}", fields)
