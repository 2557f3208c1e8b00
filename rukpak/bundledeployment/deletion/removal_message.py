"""The message of Ready while a BundleDeployment is being deleted: the error, or what is removed, released or waited for. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.bundledeployments import FINALIZER
from olmkit.errors import OlmError
from olmkit.gocompat.text import list_names
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.deletion.retention import Retention, finalized_namespace_retention
from rukpak.bundledeployment.plan import (
    Announce,
    CheckRemovalPermissions,
    DeleteObjects,
    Done,
    Keep,
    LeaveNamespaces,
    ListForeignObjects,
    Plan,
    Prune,
    ReadUsage,
    Release,
)
from rukpak.bundledeployment.ready_message import Outcome
from rukpak.bundledeployment.world import World


def removal_message(world: World, outcome: Outcome) -> str:
    """The error, or the step that was taken."""
    if isinstance(outcome, OlmError):
        return outcome.message
    if isinstance(outcome, Done):
        return "; ".join(filter(None, _steps(world, outcome.plan))) or "removing the BundleDeployment"
    return f"cannot remove: {type(outcome).__name__}: {outcome}"


def _steps(world: World, plan: Plan | Release) -> Iterable[str]:
    match plan:
        case CheckRemovalPermissions():
            yield f"reading which permissions {world.account} has"
        case DeleteObjects(name=name):
            yield f"removing {name}"
        case ReadUsage(namespaces=namespaces) | ListForeignObjects(namespaces=namespaces):
            yield _about("reading what is in", namespaces)
        case Announce():
            deleted = (each for _, each in sorted(world.namespaces.items()) if each.is_member)
            yield _about("removing", [each for each in deleted if _is_deleted(each)])
        case LeaveNamespaces(leave=leave, delete=delete):
            yield _about("leaving", leave)
            yield _about("removing", delete)
        case Prune(release=release, namespaces=removals):
            yield f"releasing {list_names(str(each.key) for each in release)}" if release else ""
            for verb, retention in _VERBS.items():
                yield _about(verb, [each.namespace for each in removals if each.retention is retention])
        case Keep():
            others = sorted({*world.deployment.metadata.finalizers} - {FINALIZER})
            yield f"waiting until others remove their finalizers: {list_names(others)}" if others else ""


_VERBS = {"releasing": Retention.RELEASE, "leaving": Retention.LEAVE, "removing": Retention.DELETE}


def _is_deleted(namespace: NamespaceInfo) -> bool:
    return finalized_namespace_retention(namespace) is Retention.DELETE


def _about(verb: str, namespaces: Iterable[NamespaceInfo]) -> str:
    names = [f"Namespace {each.name}" for each in namespaces]
    return f"{verb} {list_names(names)}" if names else ""
