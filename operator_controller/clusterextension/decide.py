"""The next step for one ClusterExtension: decide(World) -> Decision. Pure.

a controller of OLM v1 acts                    nothing is written, and nothing is reported
being deleted                                  its Operator is deleted before it, or released if dependents are to stay
spec is none that an Operator can have         the Operator stays as it is, and what is installed keeps running
an Operator of the name belongs to others      it stays as it is, unless somebody has asked to hand it over
a catalog that counts is unpacked first        an Operator is not created yet: the catalog could be a better choice, or a tie
else                                           the Operator is created, or changed where it differs
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from olmkit.api import operators
from olmkit.api.catalogs import NAME_LABEL
from olmkit.api.clustercatalogs import labels_for_catalog, selectable_labels
from olmkit.api.clusterextensions import (
    ADOPT_FOR_ANNOTATION,
    FINALIZER,
    KIND,
    SERVICE_ACCOUNT_ANNOTATION,
    UPSTREAM_FINALIZERS,
    Reason,
    operator_name,
)
from olmkit.api.impersonation import Account
from olmkit.api.label_selector import LabelSelector
from olmkit.api.operators import VERSION_HINT, VERSION_PATTERN
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.gocompat.text import quoted
from olmkit.runtime.reconciler import Decision
from operator_controller.clusterextension.configuration import Configuration, read_configuration
from operator_controller.clusterextension.operator_object import (
    account_of,
    change_of,
    operator_for,
    protection_change,
    version_range,
)
from operator_controller.clusterextension.resolution_sentence import catalog_unavailable
from operator_controller.clusterextension.world import (
    AdoptOperator,
    ChangeOperator,
    CreateOperator,
    DeleteOperator,
    Evaluation,
    Keep,
    ObservedOperator,
    Plan,
    ReleaseOperator,
    SetFinalizers,
    StandAside,
    World,
)

DELETION_DELAY = timedelta(minutes=1)
"""The time after which an Operator is checked again that is in the way and whose deletion has no event for this object."""
UNPACK_DELAY = timedelta(minutes=1)
"""The time after which a catalog that is being unpacked is checked again; its Catalog has an event before."""
SELECTOR_PREFIX = "desired catalog selector is invalid: "
CONFIGURATION_PREFIX = "invalid ClusterExtension configuration: invalid configuration: "


def decide(world: World) -> Decision[Plan, Evaluation]:
    """The next step, or the error that prevents one."""
    evaluation = _evaluate(world)
    return Decision(_next_step(world, evaluation), evaluation)


def _evaluate(world: World) -> Evaluation:
    extension = world.extension
    configuration = read_configuration(extension.spec.config.inline if extension.spec.config else None)
    return Evaluation(configuration, _impossible(world, configuration) or operator_for(extension, configuration))


def _next_step(world: World, evaluation: Evaluation) -> Plan | OlmError:
    if world.leader is not None:
        return StandAside(world.leader.expires_in)
    if world.extension.metadata.deleting:
        return _deletion(world)
    desired = evaluation.desired
    if isinstance(desired, Blocked):
        return desired
    if world.operator is not None and world.owned_operator is None:
        return _taken_over(world, world.operator, desired)
    finalizers = world.extension.metadata.finalizers
    if FINALIZER not in finalizers:
        return SetFinalizers((*finalizers, FINALIZER))
    if world.operator is None:
        return _unpacked_first(world, desired) or CreateOperator(desired)
    if world.operator.model.metadata.deleting:
        return _being_deleted(world.operator)
    change = change_of(world.operator.raw, desired)
    return _changed(world.operator, change) if change else Keep()


def _changed(operator: ObservedOperator, change: dict[str, object]) -> ChangeOperator:
    metadata = operator.model.metadata
    return ChangeOperator(metadata.name, metadata.uid, metadata.resource_version, change)


# --- deletion


def _deletion(world: World) -> Plan:
    finalizers, owned = world.extension.metadata.finalizers, world.owned_operator
    if FINALIZER not in finalizers:
        return Keep()
    if owned is not None:
        return _deletion_of_operator(world, owned)
    return SetFinalizers(tuple(each for each in finalizers if each not in (FINALIZER, *UPSTREAM_FINALIZERS)))


def _deletion_of_operator(world: World, owned: ObservedOperator) -> Plan:
    if world.is_orphaning:
        return ReleaseOperator(owned.raw)
    if change := _account_change(world, owned):
        return _changed(owned, change)
    if owned.model.metadata.deleting:
        return Keep()
    if change := protection_change(owned.raw, world.raw):
        return _changed(owned, {"metadata": change})
    return DeleteOperator(owned.raw)


def _account_change(world: World, owned: ObservedOperator) -> dict[str, object]:
    """The change after which an Operator is deleted as the account that the annotation names; empty if it is already, or if none
    is named. All else stays: its deletion policy may say that custom resources are kept."""
    account = None if _account_problem(world) else world.extension.account()
    if account is None or account == account_of(owned.raw):
        return {}
    return {"spec": {"install": {"serviceAccount": account._asdict()}}}


# --- what prevents an Operator


def _unpacked_first(world: World, desired: Mapping[str, Any]) -> Waiting | None:
    """The wait for a catalog that counts and serves nothing yet: OLM v1 chooses nothing before each of them is served. A catalog
    that has failed, and one that somebody adds later, stops nobody."""
    selector = LabelSelector.load(desired["spec"]["catalogSelector"])
    unpacking = {each.metadata.name: selectable_labels(each.metadata) for each in world.unpacking}
    for each in world.untranslated:
        unpacking[each.metadata.name] = {**labels_for_catalog(each.metadata), NAME_LABEL: each.metadata.name}
    names = sorted(name for name, labels in unpacking.items() if selector.matches(labels))
    if not names:
        return None
    text = catalog_unavailable(desired["spec"]["packageName"], names[0])
    return Waiting(Reason.RETRYING, text, UNPACK_DELAY, names)


def _version_problem(world: World) -> str:
    catalog = world.extension.spec.source.catalog
    if catalog is None or not catalog.version or re.fullmatch(VERSION_PATTERN, version_range(catalog.version)):
        return ""
    return f"desired version range {quoted(catalog.version)} is invalid: {VERSION_HINT}"


def _selector_problem(world: World) -> str:
    catalog = world.extension.spec.source.catalog
    return catalog.selector.problem() if catalog is not None and catalog.selector is not None else ""


def _account_problem(world: World) -> str:
    try:
        world.extension.account()
    except ValueError as error:
        return str(error)
    return ""


def _impossible(world: World, configuration: Configuration) -> Blocked | None:
    """The refusal of a spec that no Operator can have."""
    if problem := configuration.problem:
        return Blocked(Reason.INVALID_CONFIGURATION, f"{CONFIGURATION_PREFIX}{problem}", ["config"])
    if problem := _account_problem(world):
        return Blocked(Reason.INVALID_CONFIGURATION, problem, ["serviceAccount"])
    if problem := _version_problem(world):
        return Blocked(Reason.RETRYING, problem, ["version"])
    if problem := _selector_problem(world):
        return Blocked(Reason.RETRYING, f"{SELECTOR_PREFIX}{problem}", ["selector"])
    return None


def _taken_over(world: World, operator: ObservedOperator, desired: Mapping[str, Any]) -> Plan | OlmError:
    """The step for an Operator of the name that this ClusterExtension does not own."""
    name, owner = world.extension.metadata.name, operator.controller
    if operator.model.metadata.deleting or (owner is not None and (owner.kind, owner.name) == (KIND.kind, name)):
        return _being_deleted(operator)  # with an earlier ClusterExtension of the name
    is_requested = operator.model.metadata.annotations.get(ADOPT_FOR_ANNOTATION) == name
    if owner is not None or not (is_requested or operator.is_dependency):
        return _foreign(world, operator)
    catalog = world.extension.spec.source.catalog
    if catalog is None or operator.model.spec.package_name != catalog.package_name:
        return _foreign(world, operator)
    account = account_of(operator.raw)
    if account is not None and account != account_of(desired):
        return _of_another_account(operator, account)
    return AdoptOperator(operator.raw)


def _of_another_account(operator: ObservedOperator, account: Account) -> Blocked:
    """The refusal of an Operator whose account the ClusterExtension does not name: its author may not be permitted to use it."""
    name = operator.model.metadata.name
    text = (
        f"Operator {quoted(name)} is installed as {account}: to take it over, annotate this ClusterExtension with "
        f"{SERVICE_ACCOUNT_ANNOTATION}={account.namespace}/{account.name}"
    )
    return Blocked(Reason.BLOCKED, text, [name])


def _being_deleted(operator: ObservedOperator) -> Waiting:
    text = f"Operator {quoted(operator.model.metadata.name)} is being deleted, and is created again afterwards"
    return Waiting(Reason.RETRYING, text, DELETION_DELAY, [operator.model.metadata.name])


def _foreign(world: World, operator: ObservedOperator) -> Blocked:
    name = operator.model.metadata.name
    text = f"Operator {quoted(name)} exists and does not belong to this ClusterExtension: {_advice(world, operator)}"
    return Blocked(Reason.BLOCKED, text, [name])


def _advice(world: World, operator: ObservedOperator) -> str:
    extension, owner = world.extension, operator.controller
    if owner is not None:
        return f"{owner.kind} {quoted(owner.name)} owns it; delete one of them, or give one another name"
    package = operator.model.spec.package_name
    if extension.spec.source.catalog is not None and package != extension.spec.source.catalog.package_name:
        return f"it is for package {quoted(package)}; delete it, or give the ClusterExtension another name"
    kind = operators.KIND
    command = (
        f"kubectl annotate {kind.plural}.{kind.group} {operator_name(extension.metadata.name)} "
        f"{ADOPT_FOR_ANNOTATION}={extension.metadata.name}"
    )
    return f"delete it, or hand it over with what it has installed: {command}"
