"""The conditions Progressing, Installed and Available of a ClusterExtension, from typed fields of its Operator.

A message of the Operator is copied behind the words of OLM v1, and never read.
Called by report.py. Pure.
"""

from __future__ import annotations

from olmkit.api import operators
from olmkit.api.clusterextensions import SERVICE_ACCOUNT_ANNOTATION, ClusterExtension, ConditionType, Reason
from olmkit.api.conditions import Cause, ConditionValue, DesiredCondition, cause_of
from olmkit.api.failures import FailureReason
from olmkit.api.operator_status import Failure, InstalledHealth, OperatorStatus
from olmkit.errors import ApiError, OlmError
from olmkit.gocompat.text import quoted
from operator_controller.clusterextension.configuration import Configuration, unsupported
from operator_controller.clusterextension.decide import CONFIGURATION_PREFIX
from operator_controller.clusterextension.resolution_sentence import RESOLUTION, resolution_sentence

_HEALTH = (FailureReason.DEADLINE_EXCEEDED, FailureReason.UNHEALTHY)
"""Failures of what is applied already."""
_HELD = (
    operators.Reason.APPROVAL_REQUIRED,
    operators.Reason.PAUSED,
    operators.Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE,
)
"""Reasons for which a bundle waits until somebody decides."""

_NO_ACCOUNT = (
    f"the annotation {SERVICE_ACCOUNT_ANNOTATION} is required, because rukpak runs with --require-service-account: name a "
    "ServiceAccount with the permissions that the bundle needs in it"
)

_CRD_FIELDS = (
    "crdUpgradeSafety.ignoredRules is in spec.install of the Operator, and with "
    "spec.install.preflight.crdUpgradeSafety.enforcement None this ClusterExtension is not checked for this"
)


def progressing_of_error(error: Exception) -> DesiredCondition:
    """Progressing after a pass that could not write the Operator. The reason of an error of `decide` is that of the condition."""
    if isinstance(error, OlmError):
        return _progressing(Reason(error.reason), str(error), cause_of(error))
    what = "the Operator cannot be written" if isinstance(error, ApiError) else type(error).__name__
    return _progressing(Reason.RETRYING, f"{what}: {error}", cause_of(error))


def progressing(
    extension: ClusterExtension, configuration: Configuration, status: OperatorStatus
) -> DesiredCondition | None:
    """Progressing while the Operator is as desired and reports on it; None while work is in progress."""
    failure, is_applied = status.failure, status.wanted is not None and status.wanted.applied
    if failure is not None and not (is_applied and failure.reason in _HEALTH and not _is_late(extension, failure)):
        return _failed(extension, configuration, status, failure)
    if is_applied:
        return _progressing(Reason.SUCCEEDED, "Desired state reached")
    if status.available is not None and status.available.reason in _HELD:
        return _progressing(Reason.BLOCKED, status.available.message, Cause(status.available.reason))
    return None


def _failed(
    extension: ClusterExtension, configuration: Configuration, status: OperatorStatus, failure: Failure
) -> DesiredCondition:
    cause = Cause(failure.reason, frozenset(failure.catalogs or ()))
    if failure.reason in RESOLUTION:
        return _progressing(Reason.RETRYING, resolution_sentence(extension, failure), cause)
    if _is_late(extension, failure):
        minutes = extension.spec.progress_deadline_minutes
        text = f"Revision has not rolled out for {minutes} minute(s). Last status: {failure.message}"
        return _progressing(Reason.PROGRESS_DEADLINE_EXCEEDED, text, cause)
    if failure.reason == FailureReason.SERVICE_ACCOUNT_REQUIRED:
        return _progressing(Reason.BLOCKED, _NO_ACCOUNT, cause)
    wanted = status.wanted
    prefix = (
        f"error for resolved bundle {quoted(wanted.name)} with version {quoted(wanted.version)}: " if wanted else ""
    )
    if failure.reason == FailureReason.CRD_UPGRADE_UNSAFE:
        return _progressing(Reason.RETRYING, f"{prefix}{failure.message}; {_CRD_FIELDS}", cause)
    if failure.reason != FailureReason.INVALID_CONFIGURATION:
        return _progressing(Reason.RETRYING, f"{prefix}{failure.message}", cause)
    if sentence := unsupported(failure.install_modes or ()):
        return _progressing(Reason.RETRYING, f"{prefix}{sentence}", cause)
    refusal = configuration.refusal(extension.spec.namespace, failure.install_modes or ())
    text = (
        f"{CONFIGURATION_PREFIX}{refusal}" if refusal else f"invalid ClusterExtension configuration: {failure.message}"
    )
    return _progressing(Reason.INVALID_CONFIGURATION, f"{prefix}{text}", cause)


def _is_late(extension: ClusterExtension, failure: Failure) -> bool:
    is_limited = extension.spec.progress_deadline_minutes is not None
    return is_limited and failure.reason == FailureReason.DEADLINE_EXCEEDED


def _progressing(reason: Reason, message: str, cause: Cause | None = None) -> DesiredCondition:
    """OLM v1 says True of what is retried, too."""
    status: ConditionValue = "True" if reason in (Reason.SUCCEEDED, Reason.RETRYING) else "False"
    return DesiredCondition(ConditionType.PROGRESSING, status, reason, message, cause)


def deletion_held(message: str, cause: Cause) -> DesiredCondition:
    """Progressing while the deletion of the Operator is refused, or waits for others."""
    return _progressing(Reason.BLOCKED, message, cause)


def removing(waits_for: str, *subject: str) -> DesiredCondition:
    """Progressing while the ClusterExtension is being deleted, and nobody has to act yet. `subject` are the names in the way."""
    return _progressing(Reason.RETRYING, waits_for, Cause(operators.Reason.REMOVING, frozenset(subject)))


def installed(status: OperatorStatus | None, *, has_failed: bool) -> DesiredCondition:
    """Installed. Without a status there is no Operator of this ClusterExtension."""
    if status is not None and status.installed is not None:
        text = f"Installed bundle {status.installed_bundle_resource or status.installed.name} successfully"
        return DesiredCondition(ConditionType.INSTALLED, "True", Reason.SUCCEEDED, text)
    is_rolling_out = status is not None and status.wanted is not None and not has_failed
    reason = Reason.ABSENT if is_rolling_out else Reason.FAILED
    return DesiredCondition(ConditionType.INSTALLED, "False", reason, "No bundle installed")


def available(health: InstalledHealth | None) -> DesiredCondition:
    """Available, once something is installed, whatever spec asks for. Health checks of GitOps tools read it, which OLM v1 has in
    its experimental set."""
    if health is None:
        return DesiredCondition(ConditionType.AVAILABLE, "Unknown", Reason.RECONCILING, "")
    if health.status == "True":
        text = "Objects are available and pass all probes."
        return DesiredCondition(ConditionType.AVAILABLE, "True", Reason.PROBES_SUCCEEDED, text)
    reason = Reason.PROBE_FAILURE if health.status == "False" else Reason.RECONCILING
    return DesiredCondition(ConditionType.AVAILABLE, health.status, reason, health.message)
