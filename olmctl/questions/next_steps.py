"""The next steps of a person for an Operator that does not get what it asks for: commands of `olm`, and what each of them does.

`olm why` names them. Reads the Operator and its BundleDeployment, never a message. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmctl.questions.exclusions import excluded_entry, undo_hint
from olmctl.questions.left_installations import pending_rollback, permitting_options
from olmctl.questions.offered_versions import pinned_version
from olmctl.questions.operator_state import condition, is_observed, is_terminating, is_true, part, text_at
from olmctl.questions.owners import owner_of
from olmctl.questions.requested_fields import followed_channels
from olmkit.api.bundledeployment_status import RevisionOutcome
from olmkit.api.clusterextensions import SERVICE_ACCOUNT_ANNOTATION
from olmkit.api.failures import FailureReason
from olmkit.api.install_policies import ON_FAILURE
from olmkit.api.meta import Object
from olmkit.api.operators import MIGRATION_LABEL, V1_MIGRATION_LABEL, ConditionType, Reason

_NOT_HELPED = (FailureReason.AMBIGUOUS_CATALOGS, FailureReason.CATALOG_NOT_SELECTED, FailureReason.PACKAGE_CLAIMED)
"""Refusals that no other version and no other channel changes. Their messages say what does."""
_NOT_HELPED_AT_FIRST = (FailureReason.PACKAGE_NOT_FOUND, FailureReason.CATALOG_UNAVAILABLE)
"""The same, while nothing is installed. What is installed may be requested again."""


def is_held_by_condition(operator: Object) -> bool:
    """Report whether the OperatorCondition of the installed bundle holds an upgrade."""
    reasons = text_at(operator, "status", "available", "reason"), _ready_reason(operator)
    return Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE in reasons


def next_steps(operator: Object, deployment: Object | None) -> str:
    """The steps; "" if nothing is to be done, or nothing is known to help. `deployment`: its BundleDeployment, if it is known."""
    if is_terminating(operator) or not is_observed(operator):
        return ""
    return "; ".join(_steps(operator, deployment))


def _steps(operator: Object, deployment: Object | None) -> Iterator[str]:
    if is_held_by_condition(operator):
        yield from _of_hold(operator, deployment)
    elif is_true(operator, ConditionType.READY):
        return
    if package := text_at(operator, "metadata", "labels", MIGRATION_LABEL):
        yield f"`olm migrate v0 {package} --undo` gives it back to OLM v0"
    if text_at(operator, "metadata", "labels", V1_MIGRATION_LABEL):
        yield "`olm migrate v1 --undo` gives everything back to OLM v1"
    if pending := pending_rollback(deployment):
        yield pending
    if options := permitting_options(deployment):
        yield f"`{_upgrade(operator)} {options}` permits what is refused"
        yield from _of_definitions(operator, deployment)
    is_refused = text_at(condition(operator, ConditionType.RESOLVED), "status") == "False"
    if is_refused and not is_true(operator, ConditionType.RECONCILING):
        yield from _of_refusal(operator)
        return
    yield from _of_account(operator)
    yield from _of_install_modes(operator)
    if is_true(operator, ConditionType.STALLED) and _running(operator):
        yield from _of_failed_upgrade(operator, deployment)


def _of_hold(operator: Object, deployment: Object | None) -> Iterator[str]:
    holding = text_at(deployment, "status", "upgradeHold", "operatorCondition")
    which = f"OperatorCondition {holding}" if holding else "the OperatorCondition"
    yield "the upgrade begins when the operator permits it"
    yield f"`{_upgrade(operator)} --force` overrides {which} in its spec.overrides"


def _of_refusal(operator: Object) -> Iterator[str]:
    """The way back from a request that no version satisfies."""
    version, owner = text_at(operator, "spec", "version"), owner_of(operator)
    reason = text_at(operator, "status", "failure", "reason")
    if reason in _NOT_HELPED or (reason in _NOT_HELPED_AT_FIRST and not _running(operator)):
        return
    if entry := excluded_entry(operator, version or _running(operator)):
        yield undo_hint(operator, entry)
    if owner:
        yield f"`{owner.command('edit')}` changes the version and the channels"
    elif version:
        yield f"`{_upgrade(operator)} --version ''` follows the channel"
    elif followed_channels(operator["spec"]):
        yield f"`{_upgrade(operator)} --channel ''` follows the default channel of the package"


def _of_definitions(operator: Object, deployment: Object | None) -> Iterator[str]:
    """The field of a ClusterExtension that permits all changes of CustomResourceDefinitions."""
    owner, fields = owner_of(operator), part(deployment or {}, "status", "permittedBy") or ()
    if owner and "crdUpgradeSafety.ignoredRules" in fields:
        field = "spec.install.preflight.crdUpgradeSafety.enforcement None"
        yield f"{field} of {owner} permits each change of CustomResourceDefinitions (`{owner.command('edit')}`)"


def _of_account(operator: Object) -> Iterator[str]:
    """The command that names the ServiceAccount of a ClusterExtension which rukpak requires."""
    owner = owner_of(operator)
    if owner and text_at(operator, "status", "failure", "reason") == FailureReason.SERVICE_ACCOUNT_REQUIRED:
        command = f"{owner.command('annotate')} {SERVICE_ACCOUNT_ANNOTATION}=NAMESPACE/NAME"
        yield f"`{command}` names the ServiceAccount that it is installed as"


def _of_install_modes(operator: Object) -> Iterator[str]:
    """The field of a ClusterExtension for the namespaces that its Operator would name in watchNamespaces."""
    failure, owner = part(operator, "status", "failure"), owner_of(operator)
    is_of_configuration = text_at(failure, "reason") == FailureReason.INVALID_CONFIGURATION
    modes = frozenset(part(failure, "installModes") or ())
    if not owner or not is_of_configuration:
        return
    if modes & {"OwnNamespace", "SingleNamespace"}:
        yield f"spec.config.inline.watchNamespace of {owner} sets watchNamespaces (`{owner.command('edit')}`)"
    if "AllNamespaces" in modes:
        yield f"without spec.config.inline.watchNamespace {owner} watches all namespaces (`{owner.command('edit')}`)"


def _of_failed_upgrade(operator: Object, deployment: Object | None) -> Iterator[str]:
    """The ways out of an upgrade that fails before or after the new version is installed, or that was rolled back."""
    runs, wanted = _running(operator), text_at(operator, "status", "wantedVersion")
    is_pinned = pinned_version(text_at(operator, "spec", "version")) is not None
    before = _version_before_failure(deployment)
    if wanted not in ("", runs):
        if is_pinned and (owner := owner_of(operator)):
            yield f"version {runs} in {owner} (`{owner.command('edit')}`) stays with {runs}"
        elif is_pinned:
            yield f"`{_upgrade(operator)} --version {runs}` stays with {runs}"
        else:
            excluded = f"olm exclude {text_at(operator, 'metadata', 'name')} {wanted}"
            yield f"`{excluded}` stays with {runs} until a catalog has another version"
    elif before and not is_pinned:
        yield "a newer version is installed as soon as a catalog has an upgrade to it"
    if _ready_reason(operator) == Reason.ROLLED_BACK:
        yield f"`{_upgrade(operator)} --rollback Never` tries {wanted} again without a rollback"
    elif before and part(operator, "spec", "install", "rollback") != ON_FAILURE:
        yield f"`{_upgrade(operator)} --rollback OnFailure` returns to {before}, also after later upgrades that fail"


def _version_before_failure(deployment: Object | None) -> str:
    """The last version that succeeded before an upgrade that failed; "" if none did, or if other settings of it failed."""
    history = part(deployment or {}, "status", "history") or ()
    newest = next(iter(history), None)
    if text_at(newest, "outcome") != RevisionOutcome.FAILED:
        return ""
    good = (text_at(each, "version") for each in history if text_at(each, "outcome") == RevisionOutcome.SUCCEEDED)
    found = next(good, "")
    return "" if found == text_at(newest, "version") else found


def _running(operator: Object) -> str:
    return text_at(operator, "status", "installed", "version")


def _ready_reason(operator: Object) -> str:
    return text_at(condition(operator, ConditionType.READY), "reason")


def _upgrade(operator: Object) -> str:
    return f"olm upgrade {text_at(operator, 'metadata', 'name')}"
