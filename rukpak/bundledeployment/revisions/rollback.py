"""Rollback: what runs is the last good revision again, because what spec asks for was rejected or not healthy in time.

    spec.rollback  the revision   an earlier one succeeded   it can be brought back   then
    Never          failed                                                             it stays as it is
    OnFailure      failed         no                                                  it stays, and Ready says so
    OnFailure      failed         yes                        no                       it stays, and Ready says why
    OnFailure      failed         yes                        yes                      RollBack: the target is the earlier one

A rollback never touches CustomResourceDefinitions: those of the revision that failed stay as they are, also if only it has
them. So an earlier revision can be brought back if they still serve all versions that its own ones served, whichever version
is stored, and if a webhook for conversions that they name is there too.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from olmkit.api.bundledeployment_status import Revision, RevisionOutcome
from olmkit.api.bundledeployments import ConditionType, Reason
from olmkit.api.conditions import Cause, DesiredCondition
from olmkit.api.install_policies import ON_FAILURE
from olmkit.gocompat.text import list_names
from rukpak.bundledeployment.plan import Done, RollBack
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import CRD, World

_PROGRESS = (ConditionType.READY, ConditionType.RECONCILING, ConditionType.STALLED)


def obstacle(world: World) -> str:
    """Explain why the target cannot be rolled back, if it fails; empty if it can, or if nothing asks for it."""
    if world.deployment.spec.rollback != ON_FAILURE or world.target.is_rolled_back:
        return ""
    good, content = world.fallback, world.fallback_content
    if good is None:
        return "there is no earlier revision that succeeded"
    if not isinstance(content, RenderedBundle):
        return f"the content of {_name(good)} is unavailable"
    problems = (*content.faults, *content.missing_kinds, *filter(None, [content.too_old]))
    if problems:
        return f"{_name(good)} cannot be installed any more: {list_names(problems, '; ')}"
    if converted := _converted_elsewhere(world, content):
        return f"{_name(good)} has no webhook that converts custom resources of {list_names(converted)}"
    missing = [
        text for item in content.objects() if (text := _missing_versions(world, item.key.name, item.versions.served))
    ]
    return f"versions that {_name(good)} has are not served any more: {list_names(missing)}" if missing else ""


def rollback_plan(world: World, found: str) -> RollBack | None:
    """The Plan to roll back, if the target has failed. `found` is obstacle()."""
    revision = world.target.revision
    has_failed = revision is not None and revision.outcome == RevisionOutcome.FAILED
    return RollBack() if has_failed and world.fallback is not None and not found else None


def with_rollback(
    world: World, outcome: Done | Exception, obstacle: str, conditions: Sequence[DesiredCondition]
) -> list[DesiredCondition]:
    """The conditions of a pass, with what they have to say about a rollback."""
    by_type = {condition.type: condition for condition in conditions}
    ready, failed = by_type[ConditionType.READY], world.target.revision
    if isinstance(outcome, Done) and isinstance(outcome.plan, RollBack) and failed and world.fallback:
        return _in_progress(by_type, _sentence("rolling", world.fallback, failed))
    if world.target.is_rolled_back and failed is not None:
        newest = next(iter(world.deployment.status.history or ()))
        if ConditionType.RECONCILING in by_type:
            return _in_progress(by_type, f"{_sentence('rolling', failed, newest)}; {ready.message}")
        error = ready if ConditionType.STALLED in by_type else None
        return _rolled_back(by_type, failed, _sentence("rolled", failed, newest), error)
    if failed is None or failed.outcome != RevisionOutcome.FAILED or not obstacle or ready.status == "True":
        return list(conditions)
    note = f"it is not rolled back: {obstacle}"
    return [
        replace(condition, message=f"{condition.message}; {note}") if condition.type in _PROGRESS else condition
        for condition in conditions
    ]


def before_rollback(
    world: World, revisions: Sequence[Revision], obstacle: str, conditions: Sequence[DesiredCondition]
) -> list[DesiredCondition]:
    """The conditions of the pass in which the target fails, with these revisions after it: the next pass rolls back if there is
    no `obstacle`, so that nobody has to do anything."""
    by_type = {condition.type: condition for condition in conditions}
    number = world.target.revision.revision if world.target.revision is not None else None
    failed = next((one for one in revisions if one.revision == number), None)
    has_failed = failed is not None and failed.outcome == RevisionOutcome.FAILED and ConditionType.STALLED in by_type
    if obstacle or failed is None or not has_failed or world.fallback is None:
        return list(conditions)
    return _in_progress(by_type, _sentence("rolling", world.fallback, failed))


def _in_progress(by_type: dict[str, DesiredCondition], text: str) -> list[DesiredCondition]:
    kept = [condition for name, condition in by_type.items() if name not in _PROGRESS]
    return [
        *kept,
        DesiredCondition(ConditionType.READY, "False", Reason.ROLLING_BACK, text),
        DesiredCondition(ConditionType.RECONCILING, "True", Reason.ROLLING_BACK, text),
    ]


def _rolled_back(
    by_type: dict[str, DesiredCondition], good: Revision, text: str, error: DesiredCondition | None
) -> list[DesiredCondition]:
    """`error`: what cannot be repaired of the revision that runs again."""
    kept = [condition for name, condition in by_type.items() if name not in _PROGRESS]
    subject = {_name(good)}
    if error is not None:
        text = f"{text}; {error.message}"
        subject |= {error.cause.reason, *error.cause.subject} if error.cause is not None else set()
    cause = Cause(Reason.ROLLED_BACK, frozenset(subject))
    return [
        *kept,
        DesiredCondition(ConditionType.READY, "False", Reason.ROLLED_BACK, text, cause),
        DesiredCondition(ConditionType.STALLED, "True", Reason.ROLLED_BACK, text, cause),
    ]


def _sentence(verb: str, good: Revision, failed: Revision) -> str:
    return f"{verb} back to {_name(good)}; {_name(failed)} failed: {failed.reason}"


def _name(revision: Revision) -> str:
    """A revision for users: a change of options has the same bundle."""
    return f"{revision.name or revision.bundle} (revision {revision.revision})"


def _converted_elsewhere(world: World, good: RenderedBundle) -> list[str]:
    """CustomResourceDefinitions of the revision whose custom resources are converted now, and not where its own pods do it."""
    live = {item.key.name: (item, world.crds.get(item.key.name)) for item in good.objects() if item.key[:2] == CRD}
    return sorted(
        name
        for name, (item, crd) in live.items()
        if crd is not None
        and crd.conversion.is_webhook
        and crd.converted_versions
        and crd.conversion != item.versions.conversion
    )


def _missing_versions(world: World, name: str, served: Sequence[str]) -> str:
    crd = world.crds.get(name)
    if not served or crd is None:
        return ""
    missing = [version for version in served if version not in crd.served_versions]
    return f"{', '.join(missing)} of {name}" if missing else ""
