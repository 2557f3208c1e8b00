"""The status of a ClusterExtension, World by World."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.clusterextensions import FINALIZER, ClusterExtensionStatus
from olmkit.api.conditions import Cause, PendingEvent, StatusReport
from olmkit.api.meta import Object
from olmkit.errors import Conflict, Forbidden, Waiting
from operator_controller.clusterextension.decide import decide
from operator_controller.clusterextension.report import report
from operator_controller.clusterextension.world import Done, Keep, Outcome, World
from tests.unit.operator_controller.clusterextension.worlds import (
    extension_object,
    operator_object,
    other_operator,
    owner,
    world,
)

EARLIER, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
WANTED = {"name": "argo.v1.1.0", "version": "1.1.0", "image": "quay.io/argo:1.1.0", "applied": True}
ROLLING = {**WANTED, "applied": False}
INSTALLED: Object = {
    "installed": {"name": "argo.v1.0.0", "version": "1.0.0"},
    "installedBundleResource": "quay.io/argo:1.0.0",
}
READY = {"type": "Ready", "status": "True", "reason": "Succeeded", "message": "", "lastTransitionTime": EARLIER}
NOT_READY = {**READY, "status": "False", "reason": "Upgrading"}
WELL = {"health": {"status": "True", "reason": "Healthy", "message": "well"}}
ILL = {"health": {"status": "False", "reason": "Unhealthy", "message": "ill"}}
STARTING = {"health": {"status": "Unknown", "reason": "Progressing", "message": "starting"}}
RUNNING: Object = {**INSTALLED, "wanted": WANTED, "conditions": [READY], **WELL}
NO_ACCOUNT = (
    "the annotation operators.operatorframework.io/service-account is required, because rukpak runs with "
    "--require-service-account: name a ServiceAccount with the permissions that the bundle needs in it"
)
CRD_FIELDS = (
    "crdUpgradeSafety.ignoredRules is in spec.install of the Operator, and with "
    "spec.install.preflight.crdUpgradeSafety.enforcement None this ClusterExtension is not checked for this"
)
PREFIX = 'error for resolved bundle "argo.v1.1.0" with version "1.1.0": '
NOTHING = ("False", "Failed", "No bundle installed")
DEPRECATIONS = ("Deprecated", "PackageDeprecated", "ChannelDeprecated")
UNKNOWN_DEPRECATION = ("Unknown", "DeprecationStatusUnknown", "deprecation status unknown: catalog data unavailable")


def failure(reason: str, **fields: Any) -> Object:
    return {"failure": {"reason": reason, "message": "why", **fields}}


def reported(observed: World) -> StatusReport[ClusterExtensionStatus] | None:
    """The report after the step that is decided, which is carried out."""
    decision = decide(observed)
    outcome: Outcome = decision.plan if isinstance(decision.plan, Exception) else Done(decision.plan)
    return report(observed, decision.evaluation, outcome)


def conditions(found: StatusReport[ClusterExtensionStatus] | None) -> dict[str, tuple[str, str, str]]:
    assert found is not None
    return {each.type: (each.status, each.reason, each.message) for each in found.status.conditions}


def old(kind: str, status: str, reason: str, message: str = "", generation: int = 2) -> Object:
    facts = {"observedGeneration": generation, "lastTransitionTime": EARLIER}
    return {"type": kind, "status": status, "reason": reason, "message": message, **facts}


RETRYING_BEFORE = old("Progressing", "True", "Retrying", "before")

PROGRESSING: list[tuple[str, Object, Object, tuple[str, str, str] | None]] = [
    ("applied and healthy", {}, RUNNING, ("True", "Succeeded", "Desired state reached")),
    (
        "applied and unhealthy: health is Available",
        {},
        {**RUNNING, "conditions": [NOT_READY], **failure("Unhealthy")},
        ("True", "Succeeded", "Desired state reached"),
    ),
    (
        "too late, and there is no limit",
        {},
        {**RUNNING, **failure("DeadlineExceeded")},
        ("True", "Succeeded", "Desired state reached"),
    ),
    (
        "too late",
        {"progressDeadlineMinutes": 15},
        {**RUNNING, **failure("DeadlineExceeded")},
        (
            "False",
            "ProgressDeadlineExceeded",
            "Revision has not rolled out for 15 minute(s). Last status: why",
        ),
    ),
    (
        "unhealthy before everything was applied",
        {},
        {"wanted": ROLLING, **failure("Unhealthy")},
        ("True", "Retrying", f"{PREFIX}why"),
    ),
    (
        "too late before everything was applied, and there is no limit",
        {},
        {"wanted": ROLLING, **failure("DeadlineExceeded")},
        ("True", "Retrying", f"{PREFIX}why"),
    ),
    (
        "too late before everything was applied",
        {"progressDeadlineMinutes": 15},
        {"wanted": ROLLING, **failure("DeadlineExceeded")},
        (
            "False",
            "ProgressDeadlineExceeded",
            "Revision has not rolled out for 15 minute(s). Last status: why",
        ),
    ),
    (
        "its namespace was deleted below what runs",
        {},
        {**RUNNING, "conditions": [NOT_READY], **failure("NamespaceMissing")},
        ("True", "Retrying", f"{PREFIX}why"),
    ),
    (
        "its bundle supports several namespaces only, which no configuration asks for",
        {},
        {"wanted": ROLLING, **failure("InvalidConfiguration", installModes=["MultiNamespace"])},
        (
            "True",
            "Retrying",
            f"{PREFIX}unsupported bundle: bundle must support at least one of [AllNamespaces SingleNamespace OwnNamespace] "
            "install modes",
        ),
    ),
    (
        "not found: the sentence alone",
        {},
        failure("PackageNotFound"),
        ("True", "Retrying", 'no bundles found for package "argo"'),
    ),
    (
        "not found, while the bundle before is applied",
        {},
        {**RUNNING, **failure("NoUpgradeEdge", installedVersion="1.0.0")},
        (
            "True",
            "Retrying",
            'error upgrading from currently installed version "1.0.0": no bundles found for package "argo"',
        ),
    ),
    ("not installed", {}, {"wanted": ROLLING, **failure("ObjectExists")}, ("True", "Retrying", f"{PREFIX}why")),
    (
        "a change of CustomResourceDefinitions that is refused",
        {},
        {"wanted": ROLLING, **failure("CRDUpgradeUnsafe")},
        ("True", "Retrying", f"{PREFIX}why; {CRD_FIELDS}"),
    ),
    ("rolled back", {}, {"wanted": ROLLING, **failure("RolledBack")}, ("True", "Retrying", f"{PREFIX}why")),
    ("not written, before a bundle is known", {}, failure("ApplyFailed"), ("True", "Retrying", "why")),
    (
        "a bundle for one namespace, without one",
        {},
        {"wanted": ROLLING, **failure("InvalidConfiguration", installModes=["SingleNamespace"])},
        (
            "False",
            "InvalidConfiguration",
            f"{PREFIX}invalid ClusterExtension configuration: invalid configuration: "
            'required field "watchNamespace" is missing',
        ),
    ),
    (
        "a configuration that the bundle does not accept, for another reason",
        {},
        {"wanted": ROLLING, **failure("InvalidConfiguration")},
        ("False", "InvalidConfiguration", f"{PREFIX}invalid ClusterExtension configuration: why"),
    ),
    (
        "without the ServiceAccount that rukpak requires",
        {},
        {"wanted": ROLLING, **failure("ServiceAccountRequired")},
        ("False", "Blocked", NO_ACCOUNT),
    ),
    (
        "waiting for approval",
        {},
        {
            "wanted": ROLLING,
            "available": {
                **{"version": "1.1.0", "bundle": "argo.v1.1.0", "image": "i", "catalog": "c", "channel": "a"},
                **{"reason": "ApprovalRequired", "message": "waits for approval"},
            },
        },
        ("False", "Blocked", "waits for approval"),
    ),
    ("being applied: as before", {}, {"wanted": ROLLING}, ("True", "Retrying", "before")),
    ("being resolved: as before", {}, {}, ("True", "Retrying", "before")),
]


@pytest.mark.parametrize(("spec", "status", "expected"), [pytest.param(*row[1:], id=row[0]) for row in PROGRESSING])
def test_progressing_follows_from_the_fields_of_the_operator(
    spec: Object, status: Object, expected: tuple[str, str, str]
) -> None:
    raw = extension_object(status={"conditions": [RETRYING_BEFORE]}, **spec)
    assert conditions(reported(world(raw, operator_object(raw, **status))))["Progressing"] == expected


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        pytest.param("Blocked", {"wanted": ROLLING}, id="the Operator of others is gone"),
        pytest.param("Blocked", {**INSTALLED, "wanted": ROLLING}, id="an upgrade is approved"),
        pytest.param("InvalidConfiguration", {"wanted": ROLLING}, id="the configuration is another one"),
        pytest.param("ProgressDeadlineExceeded", {**INSTALLED, "wanted": ROLLING}, id="another version is tried"),
        pytest.param("Blocked", {}, id="a bundle is being chosen"),
    ],
)
def test_what_a_person_had_to_change_is_not_reported_after_that(reason: str, status: Object) -> None:
    raw = extension_object(status={"conditions": [old("Progressing", "False", reason, "it exists")]})
    assert "Progressing" not in conditions(reported(world(raw, operator_object(raw, **status))))


def test_progressing_is_absent_at_first() -> None:
    raw = extension_object()
    assert conditions(reported(world(raw, operator_object(raw, wanted=ROLLING)))) == {
        "Installed": ("False", "Absent", "No bundle installed")
    }


SUCCEEDED = ("True", "Succeeded", "Installed bundle quay.io/argo:1.0.0 successfully")
HEALTHY = ("True", "ProbesSucceeded", "Objects are available and pass all probes.")
BUNDLE = {"name": "argo.v1.0.0", "version": "1.0.0"}
PAUSED = {
    **{"version": "1.1.0", "bundle": "argo.v1.1.0", "image": "i", "catalog": "c", "channel": "a"},
    **{"reason": "Paused", "message": "it is paused"},
}

OTHERS: list[tuple[str, Object, tuple[str, str, str], tuple[str, str, str] | None, Object | None]] = [
    ("a bundle is being chosen", {}, NOTHING, None, None),
    ("nothing runs, and a person has to approve or resume", {"available": PAUSED}, NOTHING, None, None),
    (
        "nothing runs, and the first bundle is being applied",
        {"wanted": ROLLING},
        ("False", "Absent", NOTHING[2]),
        None,
        None,
    ),
    ("nothing runs, and something failed", failure("PackageNotFound"), NOTHING, None, None),
    ("a bundle runs", RUNNING, SUCCEEDED, HEALTHY, BUNDLE),
    (
        "a bundle runs while another one is tried",
        {**INSTALLED, "wanted": ROLLING, "conditions": [NOT_READY], **WELL},
        SUCCEEDED,
        HEALTHY,
        BUNDLE,
    ),
    (
        "a bundle is rolling out",
        {**RUNNING, "conditions": [NOT_READY], **STARTING},
        SUCCEEDED,
        ("Unknown", "Reconciling", "starting"),
        BUNDLE,
    ),
    (
        "nothing is known of its health yet",
        {**INSTALLED, "wanted": ROLLING, "conditions": [NOT_READY]},
        SUCCEEDED,
        ("Unknown", "Reconciling", ""),
        BUNDLE,
    ),
    (
        "a bundle runs, and is not healthy",
        {**RUNNING, "conditions": [NOT_READY], **failure("Unhealthy"), **ILL},
        SUCCEEDED,
        ("False", "ProbeFailure", "ill"),
        BUNDLE,
    ),
    *(
        (
            f"a bundle runs, {state}, while another one fails: {reason}",
            {**INSTALLED, "wanted": wanted, "conditions": [NOT_READY], **failure(reason), **health},
            SUCCEEDED,
            available,
            BUNDLE,
        )
        for reason, wanted in (
            ("VersionNotFound", None),
            ("ObjectExists", ROLLING),
            ("UnpackFailed", ROLLING),
            ("InvalidConfiguration", ROLLING),
        )
        for state, health, available in (
            ("healthy", WELL, HEALTHY),
            ("not healthy", ILL, ("False", "ProbeFailure", "ill")),
        )
    ),
    (
        "a bundle of a version that is none of semver runs",
        {**RUNNING, "installed": {"name": "argo.v1", "version": "v1-latest"}},
        SUCCEEDED,
        HEALTHY,
        None,
    ),
]


@pytest.mark.parametrize(
    ("status", "installed", "available", "bundle"), [pytest.param(*row[1:], id=row[0]) for row in OTHERS]
)
def test_what_runs_is_reported_whatever_is_tried(
    status: Object,
    installed: tuple[str, str, str],
    available: tuple[str, str, str] | None,
    bundle: Object | None,
) -> None:
    raw = extension_object()
    found = reported(world(raw, operator_object(raw, **status)))
    assert found is not None
    assert (conditions(found).get("Installed"), conditions(found).get("Available")) == (installed, available)
    assert found.status.dump().get("install") == ({"bundle": bundle} if bundle else None)


@pytest.mark.parametrize("status", [{}, {"wanted": ROLLING}])
def test_the_desired_state_is_reached_no_more_while_nothing_is_installed(status: Object) -> None:
    """The BundleDeployment of its Operator was deleted, and the bundle is chosen or installed again."""
    raw = extension_object(status={"conditions": [old("Progressing", "True", "Succeeded", "Desired state reached")]})
    assert "Progressing" not in conditions(reported(world(raw, operator_object(raw, **status))))


def test_what_was_installed_and_is_removed_is_installed_no_more() -> None:
    """The BundleDeployment of an Operator that is paused was deleted."""
    before = [old("Installed", "True", "Succeeded", "before"), old("Available", "True", "ProbesSucceeded", "before")]
    raw = extension_object(status={"conditions": before, "install": {"bundle": BUNDLE}})
    found = reported(world(raw, operator_object(raw, available=PAUSED)))
    assert found is not None
    expected = {"Progressing": ("False", "Blocked", "it is paused"), "Installed": NOTHING}
    assert (conditions(found), found.status.install) == (expected, None)


def test_conditions_have_the_generation_of_the_clusterextension_and_lines() -> None:
    raw = extension_object(status={"conditions": [old("Progressing", "True", "Succeeded")]})
    deprecated = {"known": True, "package": "use argo2", "bundle": "too\u200bold\nby far"}
    found = reported(world(raw, operator_object(raw, **{**RUNNING, "deprecations": deprecated})))
    assert found is not None
    assert {each.observed_generation for each in found.status.conditions} == {3}
    assert conditions(found)["Deprecated"] == ("True", "Deprecated", "use argo2\ntoo\\u200bold\nby far")
    times = {each.type: each.last_transition_time for each in found.status.conditions}
    assert (times["Progressing"], times["Installed"]) == (EARLIER, NOW)


def test_a_message_that_is_too_long_ends_as_in_olm_v1() -> None:
    raw = extension_object()
    deprecated = {"known": True, "package": "x" * 40_000}
    found = conditions(reported(world(raw, operator_object(raw, **RUNNING, deprecations=deprecated))))
    message = found["Deprecated"][2]
    assert (len(message), message[-26:]) == (32_768, "x\n\n... [message truncated]")


UNREPORTED: list[tuple[str, World]] = [
    ("the Operator is not there yet", world()),
    (
        "it differs, and is changed",
        world(extension_object(catalog={"version": "2.x"}), operator_object(extension_object())),
    ),
    (
        "it was changed, and does not report on that yet",
        world(operator=operator_object(extension_object(), observedGeneration=1, wanted=WANTED)),
    ),
    ("the finalizer is missing", world(extension_object(metadata={"finalizers": []}))),
    ("being deleted, with its Operator", world(extension_object(metadata={"deletionTimestamp": EARLIER}))),
]


@pytest.mark.parametrize("observed", [pytest.param(row[1], id=row[0]) for row in UNREPORTED])
def test_the_status_stays_as_it_is(observed: World) -> None:
    assert reported(observed) is None


def test_a_pass_that_lost_a_race_reports_nothing() -> None:
    observed = world()
    assert report(observed, decide(observed).evaluation, Conflict(409, "Conflict", "changed")) is None
    assert report(observed, None, Done(Keep())) is None


def test_an_operator_that_cannot_be_written_is_reported() -> None:
    observed = world()
    found = report(observed, decide(observed).evaluation, Forbidden(403, "Forbidden", "a policy says no"))
    assert conditions(found) == {
        "Progressing": ("True", "Retrying", "the Operator cannot be written: a policy says no"),
        "Installed": NOTHING,
        **dict.fromkeys(DEPRECATIONS, UNKNOWN_DEPRECATION),
        "BundleDeprecated": ("Unknown", "Absent", "no bundle installed yet"),
    }


def test_a_foreign_operator_is_no_installation() -> None:
    found = reported(world(operator={**other_operator(), "status": {**RUNNING, "observedGeneration": 1}}))
    assert found is not None
    assert found.status.install is None
    assert (conditions(found)["Progressing"][:2], conditions(found)["Installed"]) == (("False", "Blocked"), NOTHING)


def test_a_configuration_with_problems_is_reported_beside_what_runs() -> None:
    raw = extension_object(config={"configType": "Inline", "inline": {"replicas": 2}})
    found = reported(world(raw, operator_object(extension_object(), **RUNNING)))
    assert conditions(found) == {
        "Progressing": (
            "False",
            "InvalidConfiguration",
            'invalid ClusterExtension configuration: invalid configuration: unknown field "replicas"',
        ),
        "Installed": SUCCEEDED,
        "Available": HEALTHY,
        **dict.fromkeys((*DEPRECATIONS, "BundleDeprecated"), UNKNOWN_DEPRECATION),
    }


def test_a_package_that_another_one_has_is_reported_with_deprecations_that_are_not_known() -> None:
    found = conditions(reported(world(operator=operator_object(extension_object(), **failure("PackageClaimed")))))
    assert found["Progressing"] == ("True", "Retrying", "why")
    assert {each: found[each] for each in DEPRECATIONS} == dict.fromkeys(DEPRECATIONS, UNKNOWN_DEPRECATION)


# --- deletion


DELETING = extension_object(
    metadata={"deletionTimestamp": EARLIER, "finalizers": [FINALIZER]},
    status={
        "conditions": [old("Installed", "True", "Succeeded", "as before")],
        "install": {"bundle": {"name": "argo.v1.0.0", "version": "1.0.0"}},
    },
)


def test_a_deletion_that_others_hold_is_blocked() -> None:
    held = {**READY, "status": "False", "reason": "DeletionBlocked", "message": "required by beta"}
    going = operator_object(DELETING, metadata={"deletionTimestamp": EARLIER}, conditions=[held])
    found = reported(world(DELETING, going))
    assert found is not None
    assert conditions(found) == {
        "Progressing": ("False", "Blocked", "required by beta"),
        "Installed": ("True", "Succeeded", "as before"),
    }
    assert found.status.install is not None
    assert found.events == (PendingEvent("Warning", "DeletionBlocked", "required by beta", "Install"),)


REACHED = old("Progressing", "True", "Succeeded", "Desired state reached")
FAILED = old("Progressing", "True", "Retrying", "no bundles found")
REMOVING = {**READY, "status": "False", "reason": "Removing", "message": "removing custom resources: waiting for 1"}
DELETED = {"deletionTimestamp": EARLIER}
OPERATOR = 'Operator "argo" is being deleted'


@pytest.mark.parametrize(
    ("before", "known", "operator", "message", "is_new"),
    [
        pytest.param(REACHED, None, {"conditions": [READY]}, OPERATOR, True, id="its Operator is about to be deleted"),
        pytest.param(
            REACHED,
            None,
            {"metadata": DELETED, "conditions": [READY]},
            OPERATOR,
            True,
            id="the Operator does not report its deletion yet",
        ),
        pytest.param(
            FAILED,
            Cause("PackageNotFound"),
            {"metadata": DELETED, "conditions": [REMOVING], **failure("PackageNotFound")},
            f"{OPERATOR}: {REMOVING['message']}",
            True,
            id="the Operator reports what its deletion waits for, and a failure was reported before",
        ),
        pytest.param(
            FAILED,
            Cause("Removing"),
            {"metadata": DELETED, "conditions": [REMOVING]},
            f"{OPERATOR}: {REMOVING['message']}",
            False,
            id="it waits for something else",
        ),
    ],
)
def test_a_deletion_reports_what_it_waits_for(
    before: Object, known: Cause | None, operator: Object, message: str, *, is_new: bool
) -> None:
    raw = extension_object(
        metadata={"deletionTimestamp": EARLIER, "finalizers": [FINALIZER]}, status={"conditions": [before]}
    )
    found = reported(world(raw, operator_object(raw, **operator), reported=known))
    assert found is not None
    assert conditions(found) == {"Progressing": ("True", "Retrying", message)}
    assert found.events == ((PendingEvent("Normal", "Removing", message, "Install"),) if is_new else ())


def test_a_deletion_that_finalizers_of_others_hold_names_them() -> None:
    installed = old("Installed", "True", "Succeeded")
    raw = extension_object(
        metadata={"deletionTimestamp": EARLIER, "finalizers": ["b/two", "a/one"]},
        status={"conditions": [REACHED, installed], "install": {"bundle": BUNDLE}},
    )
    found = reported(world(raw))
    message = "everything is removed: the finalizers a/one, b/two hold the ClusterExtension"
    assert conditions(found) == {"Progressing": ("True", "Retrying", message), "Installed": NOTHING}
    assert found is not None
    assert (found.status.install, len(found.events)) == (None, 1)


@pytest.mark.parametrize("finalizers", [pytest.param([], id="nothing holds it"), pytest.param(["orphan"], id="orphan")])
def test_a_deletion_that_ends_by_itself_reports_nothing(finalizers: list[str]) -> None:
    assert reported(world(extension_object(metadata={"deletionTimestamp": EARLIER, "finalizers": finalizers}))) is None


def test_a_deletion_that_is_refused_is_blocked() -> None:
    observed = world(DELETING, operator_object(DELETING, **RUNNING))
    refused = Waiting("Blocked", "it is protected", timedelta(minutes=1))
    found = report(observed, decide(observed).evaluation, refused)
    assert conditions(found)["Progressing"] == ("False", "Blocked", "it is protected")


ORPHANING = extension_object(metadata={"deletionTimestamp": EARLIER, "finalizers": ["orphan", FINALIZER]})
LEFT = PendingEvent("Normal", "Released", "Operator argo stays, and belongs to no ClusterExtension", "Release")


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        pytest.param(world(ORPHANING, operator_object(ORPHANING)), None, id="its release is no outcome yet"),
        pytest.param(
            world(ORPHANING, other_operator()),
            StatusReport(world(ORPHANING).extension.status, events=(LEFT,)),
            id="released",
        ),
        pytest.param(world(ORPHANING), None, id="there was none"),
        pytest.param(
            world(ORPHANING, other_operator(ownerReferences=[owner("other", "u")])), None, id="the Operator of others"
        ),
        pytest.param(world(DELETING), None, id="a deletion with the Operator has no Event"),
    ],
)
def test_an_operator_that_stays_has_an_event(
    observed: World, expected: StatusReport[ClusterExtensionStatus] | None
) -> None:
    assert reported(observed) == expected


# --- Events


EXPLAINED = {**failure("AmbiguousCatalogs", catalogs=["a", "b"]), "resolution": "a and b offer it"}
AMBIGUOUS = PendingEvent("Warning", "AmbiguousCatalogs", "a and b offer it", "Install")
BEFORE = old("Progressing", "True", "Retrying", "before")

EVENTS: list[tuple[str, Object | None, Object, Cause | None, PendingEvent | None]] = [
    ("a first failure, in the words of the Operator", None, EXPLAINED, None, AMBIGUOUS),
    ("the same failure again", BEFORE, EXPLAINED, Cause("AmbiguousCatalogs", frozenset("ab")), None),
    ("a failure that this process did not see begin", BEFORE, EXPLAINED, None, None),
    ("another failure", BEFORE, EXPLAINED, Cause("PackageNotFound"), AMBIGUOUS),
    ("another catalog", BEFORE, EXPLAINED, Cause("AmbiguousCatalogs", frozenset("a")), AMBIGUOUS),
    ("a success", BEFORE, RUNNING, Cause("x"), PendingEvent("Normal", "Succeeded", "Desired state reached", "Install")),
    ("the same success again", old("Progressing", "True", "Succeeded"), RUNNING, None, None),
    ("progress", None, {"wanted": ROLLING}, None, None),
]


@pytest.mark.parametrize(("before", "status", "known", "event"), [pytest.param(*row[1:], id=row[0]) for row in EVENTS])
def test_an_outcome_has_one_event(
    before: Object | None, status: Object, known: Cause | None, event: PendingEvent | None
) -> None:
    raw = extension_object(status={"conditions": [before] if before else []})
    found = reported(world(raw, operator_object(raw, **status), reported=known))
    assert found is not None
    assert found.events == ((event,) if event else ())
