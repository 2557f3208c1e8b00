"""Reads the status of an Operator, for the commands that show it or wait for it. Pure.

Reads the API server's JSON, because the CRDs of the cluster may be older or newer than this program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from olmkit.api.meta import Object
from olmkit.api.operator_status import RequiredPackage
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION, ConditionType, Reason, has_protection
from olmkit.errors import OlmError

NOT_SEEN = "waiting for operator-controller"
"""The progress of a request that no controller has reported on."""
_NAMED_BY_FAILURE = {"catalogs": "catalogs", "installModes": "install modes"}
"""List of status.failure -> the word for what it names."""


@dataclass(frozen=True)
class Progress:
    """The progress of the work on an Operator; `message` is one sentence. What has failed or is held needs a person."""

    message: str
    has_succeeded: bool = False
    has_failed: bool = False
    is_held: bool = False
    """True if a bundle waits for approval or for the end of a pause."""

    @property
    def needs_a_person(self) -> bool:
        """True if nothing more happens without a person."""
        return self.has_failed or self.is_held


def part(obj: Any, *path: str) -> Any:
    """The value at a path of an object; None if a part of it is missing."""
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def text_at(obj: Any, *path: str) -> str:
    """The text at a path of an object; "" if there is none."""
    value = part(obj, *path)
    return value if isinstance(value, str) else ""


def conditions(obj: Object) -> list[Object]:
    """The conditions of an object."""
    return [each for each in part(obj, "status", "conditions") or () if isinstance(each, dict)]


def available_text(obj: Object) -> str:
    """The version of an Operator that waits, with the reason why; "" if none waits. The reason may name the version itself."""
    version, reason = available_version(obj), text_at(obj, "status", "available", "message")
    return reason if reason.startswith(f"{version} ") else ": ".join(each for each in (version, reason) if each)


def failure_text(obj: Object) -> str:
    """The reason of the failure of an Operator or BundleDeployment, with the names that it is about; "" if nothing has failed."""
    failure = part(obj, "status", "failure")
    found = [(word, part(failure, key)) for key, word in _NAMED_BY_FAILURE.items()]
    named = [f"{word} {', '.join(map(str, names))}" for word, names in found if isinstance(names, list)]
    return text_at(failure, "reason") + (f" ({'; '.join(named)})" if named else "")


def condition(obj: Object, kind: str) -> Object | None:
    """The condition of that type; None if there is none."""
    return next((each for each in conditions(obj) if each.get("type") == kind), None)


def is_true(obj: Object, kind: str) -> bool:
    """Report whether the condition is True."""
    return text_at(condition(obj, kind), "status") == "True"


def is_observed(obj: Object) -> bool:
    """Report whether the status is of the current generation."""
    return bool(part(obj, "status", "observedGeneration") == part(obj, "metadata", "generation"))


def is_protected(obj: Object) -> bool:
    """Report whether the API server refuses the deletion of the object as long as custom resources would be deleted too."""
    return has_protection(part(obj, "metadata", "annotations"))


def is_terminating(obj: Object) -> bool:
    """Report whether the object is being deleted."""
    return bool(part(obj, "metadata", "deletionTimestamp"))


def state(obj: Object) -> str:
    """One word for lists: Ready, or the reason why it is not ready."""
    if is_terminating(obj):
        is_blocked = text_at(condition(obj, ConditionType.READY), "reason") == Reason.DELETION_BLOCKED
        return str(Reason.DELETION_BLOCKED if is_blocked else Reason.REMOVING)
    if not is_observed(obj):
        return "Pending"
    reason = text_at(condition(obj, ConditionType.READY), "reason")
    if reason == Reason.UPGRADING and is_true(obj, ConditionType.STALLED):
        return str(Reason.BLOCKED)  # a BundleDeployment is between two bundles, and goes on only when a person acts
    return "Ready" if reason == Reason.SUCCEEDED else reason or "Unknown"


def refusal(obj: Object) -> str:
    """`refused: <why>` or `stalled: <why>`; "" for an Operator that is neither, or of which that is not known yet."""
    resolved, stalled = (condition(obj, each) for each in (ConditionType.RESOLVED, ConditionType.STALLED))
    if not is_observed(obj):
        return ""
    if text_at(resolved, "status") == "False":
        return f"refused: {text_at(resolved, 'message')}"
    return f"stalled: {text_at(stalled, 'message')}" if text_at(stalled, "status") == "True" else ""


def lost_catalog(obj: Object) -> str:
    """Say that the Catalog of an Operator was deleted, and that none takes its place; "" if that is not the case."""
    ready = condition(obj, ConditionType.READY)
    is_lost = is_observed(obj) and text_at(ready, "reason") == Reason.CATALOG_DELETED
    return f"Operator {text_at(obj, 'metadata', 'name')}: {text_at(ready, 'message')}" if is_lost else ""


def available_version(obj: Object) -> str:
    """The version of an upgrade that waits; "" if there is none."""
    return text_at(obj, "status", "available", "version")


def awaits_approval(obj: Object) -> bool:
    """Report whether a version waits for the approval of a person."""
    return _waits_for_approval(obj) and available_version(obj) != _approved_version(obj)


def is_approved(obj: Object) -> bool:
    """Report whether the version that waits for approval has been approved since the status was written."""
    return _waits_for_approval(obj) and available_version(obj) == _approved_version(obj)


def _waits_for_approval(obj: Object) -> bool:
    return text_at(obj, "status", "available", "reason") == Reason.APPROVAL_REQUIRED and bool(available_version(obj))


def _approved_version(obj: Object) -> str:
    return text_at(obj, "metadata", "annotations", APPROVED_VERSION_ANNOTATION)


def dependencies(obj: Object) -> list[RequiredPackage]:
    """The packages that satisfy requirements of the chosen bundle. Raises OlmError if it is not as this API has it."""
    try:
        return [RequiredPackage.load(each) for each in part(obj, "status", "dependencies") or ()]
    except ValidationError as error:
        name = text_at(obj, "metadata", "name")
        message = f"status.dependencies of Operator {name} cannot be read: use the olm of the suite's version"
        raise OlmError("UnknownStatus", message) from error


def installed(obj: Object) -> str:
    """`1.2.3 from catalog x, channel y`; "" if nothing is installed."""
    version = text_at(obj, "status", "installed", "version")
    catalog, channel = (text_at(obj, "status", "installed", each) for each in ("catalog", "channel"))
    origin = [f"catalog {catalog}"] * bool(catalog) + [f"channel {channel}"] * bool(channel)
    return f"{version} from {', '.join(origin)}" if version and origin else version


def progress(obj: Object, wanted: str = "") -> Progress:
    """The progress of the installation or upgrade of an Operator: to the version `wanted`, if one is named. A later version that
    waits does not hold it once it is installed or approved."""
    if is_terminating(obj):
        return Progress("the Operator is being deleted", has_failed=True)
    if not is_observed(obj):
        return Progress(NOT_SEEN)
    ready = condition(obj, ConditionType.READY)
    message = text_at(ready, "message") or "no message"
    approved = _approved_version(obj)
    is_past = bool(wanted) and wanted in (approved, text_at(obj, "status", "installed", "version"))
    if awaits_approval(obj) and not is_past:
        name = text_at(obj, "metadata", "name")
        return Progress(f"version {available_version(obj)} waits for approval (olm approve {name})", is_held=True)
    if text_at(obj, "status", "available", "reason") == Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE and not is_past:
        name = text_at(obj, "metadata", "name")
        text = "the OperatorCondition of the installed version permits no upgrade"
        return Progress(f"version {available_version(obj)} waits: {text} (olm why {name})", is_held=True)
    if text_at(ready, "reason") == Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE and not is_true(obj, ConditionType.READY):
        return Progress(f"{message} (olm why {text_at(obj, 'metadata', 'name')})", is_held=True)
    if text_at(obj, "status", "available", "reason") == Reason.PAUSED:
        return Progress(f"version {available_version(obj)} waits: the Operator is paused (spec.paused)", is_held=True)
    if is_approved(obj):
        return Progress(NOT_SEEN)  # the message is older than the approval
    if is_true(obj, ConditionType.READY):
        is_plain = text_at(ready, "reason") == Reason.SUCCEEDED
        return Progress(installed(obj) + ("" if is_plain else f"; {message}"), has_succeeded=True)
    return Progress(message, has_failed=is_true(obj, ConditionType.STALLED))


def obstacle(obj: Object) -> Progress | None:
    """The obstacle to what the spec of the Operator requests, by its last report; None if there is none, or it is not known
    yet."""
    found = progress(obj)
    if found.needs_a_person:
        return found
    refused = refusal(obj)
    return Progress(refused, has_failed=True) if refused else None
