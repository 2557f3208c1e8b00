"""The rules about the ServiceAccount of a BundleDeployment, before anything is applied or deleted as it.

    none, while each has to have one                  nothing is applied or deleted
    an account of the suite's namespaces              the same: it would be rukpak itself, or what rukpak trusts
    no webhook guards who names it                    waits for the webhooks; a deletion does not
    it does not exist                                 waits for it. Kubernetes lets rukpak act as an account that was deleted and
                                                      has bindings; here it counts as one that may do nothing
    it lacks permissions that are known to be needed  nothing is applied, and all of them are named at once

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from olmkit.api.bundledeployments import ABANDON_ANNOTATION, Reason
from olmkit.api.clusterextensions import SERVICE_ACCOUNT_ANNOTATION
from olmkit.api.failures import FailureReason
from olmkit.api.impersonation import Account
from olmkit.api.permissions import MAX_MISSING_RULES
from olmkit.crd_safety.problem import InvalidObject
from olmkit.errors import Blocked, Waiting
from rukpak.bundledeployment.apply.install import needs_write
from rukpak.bundledeployment.delays import (
    MAX_RETRY_DELAY,
    SYNC_POLL_DELAY,
    WATCHED_RETRY_DELAY,
    WEBHOOK_RETRY_DELAY,
)
from rukpak.bundledeployment.plan import CheckPermissions
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import ApplyRejected, BriefWait, ExistingObjects, Refused, World
from rukpak.permissions.missing import sentence
from rukpak.permissions.needed import namespace_rights
from rukpak.permissions.rules import Right, compact, placed_in

LACKING_RETRY_DELAY = timedelta(seconds=2)
RECHECKED = (
    "it is checked again when a role or a binding changes, and at least every "
    f"{MAX_RETRY_DELAY // timedelta(seconds=1)} seconds"
)
_WHOSE = (
    "that of an Operator is in its spec.install.serviceAccount, and that of a ClusterExtension in its annotation "
    f"{SERVICE_ACCOUNT_ANNOTATION}"
)
NONE_NAMED = (
    "spec.serviceAccount is required, because rukpak runs with --require-service-account: name an account with the "
    f"permissions that the bundle needs; {_WHOSE}"
)


@dataclass(frozen=True)
class AccountPolicy:
    """The accounts that this rukpak acts as."""

    is_required: bool = False
    """True if nothing is installed without an account."""
    suite_namespaces: tuple[str, ...] = ()

    def refusal(self, account: Account | None) -> str:
        """Explain why nothing is done as this account; empty if it may be."""
        if account is None:
            return NONE_NAMED if self.is_required else ""
        if not account.namespace:
            return "spec.serviceAccount.namespace is required unless spec.installNamespace is set"
        if account.namespace in self.suite_namespaces:
            return f"{account} is in a namespace of olm-suite: name an account of another namespace"
        return ""


def require_account(world: World) -> None:
    """Raise Blocked if nothing may be done with the account that spec names, or names not."""
    if world.account_refusal:
        is_unnamed = world.account is None
        failure = FailureReason.SERVICE_ACCOUNT_REQUIRED if is_unnamed else FailureReason.INVALID_CONFIGURATION
        raise Refused(failure, Reason.BLOCKED, world.account_refusal, [str(world.account or "")])


def shown_to(world: World, checked: ExistingObjects | None) -> ExistingObjects | None:
    """The check of custom resources as the status may show it: with an account without the names of custom resources, which may
    be in any namespace."""
    if checked is None or world.account is None:
        return checked
    evidence = {
        form: replace(found, invalid=_nameless(found.invalid), lossy=_nameless(found.lossy))
        for form, found in checked.evidence.items()
    }
    return replace(checked, evidence=evidence)


def _nameless(objects: Iterable[InvalidObject]) -> tuple[InvalidObject, ...]:
    return tuple(InvalidObject("", "a custom resource", each.problem) for each in objects)


def await_account(world: World) -> None:
    """Raise Waiting until the account exists and webhooks guard who names it, BriefWait while the first is not known."""
    if world.account_unguarded:
        text = f"waiting for the webhooks that guard which account is named: {world.account_unguarded}"
        raise Waiting(Reason.WAITING_FOR_WEBHOOK, text, WEBHOOK_RETRY_DELAY)
    _await_existence(world)


def _await_existence(world: World) -> None:
    if world.account is None or world.account_exists:
        return
    if world.account_exists is None:
        raise BriefWait(Reason.RETRYING, f"reading {world.account}", SYNC_POLL_DELAY)
    text = f"{world.account} does not exist: create it with the permissions that the bundle needs, or name another one"
    raise Waiting(Reason.WAITING_FOR_SERVICE_ACCOUNT, text, WATCHED_RETRY_DELAY, [str(world.account)])


def check_permissions(world: World, content: RenderedBundle) -> CheckPermissions | None:
    """Ask for the permissions of the account before anything of the bundle is applied, and after a request as it was refused,
    such as one for a certificate; None if it has them, or if nothing is to be applied."""
    if world.account is None:
        return None
    joined = ",".join(sorted(name for name in content.namespace_names if world.only_joins(name)))
    identity = f"{world.account} {content.permissions.digest} {joined}"
    if identity in world.permitted or not (world.is_refused or needs_write(world, content)):
        return None
    return CheckPermissions(identity, content)


def namespace_permissions(world: World, content: RenderedBundle) -> Iterator[Right]:
    """The rights on the Namespaces of a bundle."""
    for item in content.namespaces:
        if item.is_in_bundle or item.name in world.namespaces:
            yield from namespace_rights(item.name, exists=world.only_joins(item.name))


def lacking_permissions(world: World, content: RenderedBundle, missing: Iterable[Right]) -> ApplyRejected:
    """The error about all rights that the account lacks. Those in a Namespace that does not exist yet have to be given in the
    whole cluster."""
    missing = placed_in(missing, absent=content.namespace_names - world.namespaces.keys())
    text = (
        f"{world.account} lacks permissions to install the bundle, so that nothing is applied: {sentence(missing)}; "
        f"status.missingPermissions has the rules, and `olm bundle permissions {world.name}` prints all that it needs; "
        f"{RECHECKED}"
    )
    subject = [str(world.account), *map(str, compact(missing)[:MAX_MISSING_RULES])]
    failure = FailureReason.PERMISSIONS_MISSING
    return ApplyRejected(Reason.BLOCKED, text, LACKING_RETRY_DELAY, subject, missing=missing, failure=failure)


def await_account_to_delete(world: World) -> None:
    """Raise Blocked or Waiting if nothing may be deleted with the account, unless it is all left behind."""
    if world.abandoned and (world.account_refusal or world.account_exists is False):
        return
    leave = f"; or kubectl annotate bundledeployment {world.name} {ABANDON_ANNOTATION}=true leaves everything behind"
    if world.account_refusal:
        text = f"nothing is deleted: {world.account_refusal}{leave}"
        raise Blocked(Reason.BLOCKED, text, [str(world.account or "")])
    if world.account is not None and world.account_exists is False:
        text = (
            f"{world.account} does not exist, so that nothing is deleted: create it again with permissions to delete what is "
            f"installed, or name another one in spec.serviceAccount; {_WHOSE}{leave}"
        )
        raise Waiting(Reason.REMOVING, text, WATCHED_RETRY_DELAY, [str(world.account)])
    _await_existence(world)


def leaves_everything(world: World) -> bool:
    """Report whether a deletion leaves all objects behind, because nothing may be deleted with the account."""
    return world.abandoned and bool(world.account_refusal or world.account_exists is False)
