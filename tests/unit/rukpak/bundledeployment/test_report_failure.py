"""What status.failure of a BundleDeployment has: one of a closed set of reasons, made from typed errors and never from a text."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from olmkit.api.bundledeployment_status import InstallFailure
from olmkit.api.bundledeployments import Reason
from olmkit.api.conditions import format_timestamp
from olmkit.api.deployed_objects import ObjectReference
from olmkit.api.failures import FailureReason
from olmkit.api.meta import Kind
from olmkit.api.reported_failure import MAX_FAILURE_MESSAGE_BYTES
from olmkit.errors import Blocked, Unavailable, Waiting
from rukpak.bundledeployment.account_rules import NONE_NAMED
from rukpak.bundledeployment.apply.apply_errors import combine
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.health.health_result import Health, failed
from rukpak.bundledeployment.plan import Activate, Done, Keep, RollBack
from rukpak.bundledeployment.rendered_bundle import MissingContent
from rukpak.bundledeployment.world import ApplyRejected, BriefWait, ConflictingObject, FailedStep, Refused, World
from rukpak.format import BadBundle
from rukpak.render.install_modes import check_targets, default_targets
from tests.unit.rukpak.builders import bundle, csv
from tests.unit.rukpak.bundledeployment.rollback_worlds import (
    FAILED,
    GOOD,
    IN_PROGRESS,
    brought_back,
    half_way,
    running,
)
from tests.unit.rukpak.bundledeployment.test_report_failed import LONG_AGO, ROLLOUT, reported
from tests.unit.rukpak.bundledeployment.worlds import (
    DEFINITION,
    SECRET,
    WORKLOAD,
    ago,
    deleting,
    installed,
    rendered,
    report_of,
    unpacked,
    unwell,
    upgrading,
    world,
)

MINUTE = timedelta(minutes=1)
EXISTS = ApplyRejected(
    Reason.BLOCKED,
    "it exists",
    MINUTE,
    conflicting_objects=frozenset({ConflictingObject(Kind("", "v1", "Secret", "secrets", True), "ship-system", "log")}),
    failure=FailureReason.OBJECT_EXISTS,
)
DENIED = ApplyRejected(Reason.BLOCKED, "a policy denies it", MINUTE, refused=frozenset({WORKLOAD}))
OWN = Health("False", "makes no progress", is_late=True)


def failure(seen: World, outcome: Done | Exception) -> InstallFailure | None:
    return report_of(seen, outcome).status.failure


def begun_before(seen: World) -> World:
    """The revision of the target began an hour ago."""
    history = [
        one.model_copy(update={"started_at": format_timestamp(ago(hours=1))})
        for one in seen.deployment.status.history or ()
    ]
    status = seen.deployment.status.model_copy(update={"history": history})
    return replace(seen, deployment=seen.deployment.model_copy(update={"status": status}))


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Blocked(Reason.UNPACK_FAILED, "no such image"), "UnpackFailed"),
        (Waiting(Reason.UNPACK_FAILED, "the registry does not answer", MINUTE), "UnpackFailed"),
        (FailedStep(FailureReason.UNPACK_FAILED, Reason.BUNDLE_LOAD_FAILED, "no helm", MINUTE), "UnpackFailed"),
        (Blocked(Reason.BUNDLE_LOAD_FAILED, "no CSV"), "InvalidBundle"),
        (Refused(FailureReason.INVALID_CONFIGURATION, Reason.BLOCKED, "no such class"), "InvalidConfiguration"),
        (Waiting(Reason.WAITING_FOR_KIND, "no ServiceMonitor", MINUTE), "KindMissing"),
        (Waiting(Reason.WAITING_FOR_NAMESPACE, "no Namespace", MINUTE), "NamespaceMissing"),
        (Waiting(Reason.WAITING_FOR_SERVICE_ACCOUNT, "no ServiceAccount", MINUTE), "ServiceAccountMissing"),
        (Waiting(Reason.WAITING_FOR_WEBHOOK, "no answer", MINUTE), "ApplyFailed"),
        (Waiting(Reason.OBJECT_LOOKUP_FAILURE, "no answer", MINUTE), "ApplyFailed"),
        (Refused(FailureReason.CRD_UPGRADE_UNSAFE, Reason.BLOCKED, "enum-added"), "CRDUpgradeUnsafe"),
        (EXISTS, "ObjectExists"),
        (DENIED, "ApplyFailed"),
        (Unavailable(503, "", "later"), "ApplyFailed"),
        (KeyError("bug"), "ApplyFailed"),
        (Blocked(Reason.BLOCKED, "no reason"), "ApplyFailed"),
        (Waiting(Reason.UNPACK_PENDING, "being unpacked", MINUTE), ""),
        (Waiting(Reason.RETRYING, "waiting until it is gone", MINUTE), ""),
        (Waiting(Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE, "not now", MINUTE), ""),
        (BriefWait(Reason.OBJECT_LOOKUP_FAILURE, "listing", MINUTE), ""),
        (Done(Keep()), ""),
        (Done(Activate()), ""),
    ],
    ids=str,
)
def test_an_outcome_has_its_reason(outcome: Done | Exception, reason: str) -> None:
    found = failure(unpacked(), outcome)
    assert (found.reason if found is not None else "") == reason
    assert failure(deleting(), outcome) is None, "while it is being deleted"


def test_it_says_why_and_names_the_objects() -> None:
    secret = ObjectReference(group="", kind="Secret", namespace="ship-system", name="log")
    assert failure(unpacked(), EXISTS) == InstallFailure(
        reason=FailureReason.OBJECT_EXISTS, message="it exists", objects=[secret]
    )
    both = combine({WORKLOAD: DENIED, SECRET: EXISTS}, frozenset())
    found = failure(unpacked(), both)
    assert found is not None
    assert (found.reason, found.message) == ("ObjectExists", "it exists; a policy denies it")
    assert [one.name for one in found.objects or ()] == ["log", "engine"]


def test_a_long_message_is_truncated_to_one_line() -> None:
    found = failure(unpacked(), Blocked(Reason.BUNDLE_LOAD_FAILED, "wrong: ä\n" * 500))
    assert found is not None
    assert len(found.message.encode()) <= MAX_FAILURE_MESSAGE_BYTES
    assert "\n" not in found.message


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        pytest.param(
            replace(world(), account_refusal=NONE_NAMED), "ServiceAccountRequired", id="an account is required"
        ),
        pytest.param(
            unpacked(content=rendered(required_namespaces=frozenset({"port"}))), "NamespaceMissing", id="MustExist"
        ),
        pytest.param(unpacked(content=rendered(missing_kinds=("Cup",))), "KindMissing", id="a kind is missing"),
        pytest.param(unpacked(content=rendered(faults=("no role",))), "InvalidBundle", id="it can never be installed"),
        pytest.param(
            unpacked(content=BadBundle("BundleLoadFailed", "no CSV")), "InvalidBundle", id="it cannot be read"
        ),
        pytest.param(
            unpacked(content=Waiting("DiskFailed", "no disk", MINUTE)), "UnpackFailed", id="it cannot be read now"
        ),
        pytest.param(
            unpacked(content=BadBundle("InvalidConfiguration", "watch less")), "InvalidConfiguration", id="as spec says"
        ),
        pytest.param(
            replace(upgrading(), crd_problems={DEFINITION.name: Unavailable(503, "", "later")}),
            "ApplyFailed",
            id="definitions cannot be read",
        ),
        pytest.param(replace(unpacked(), content=MissingContent()), "", id="the content is not there yet"),
    ],
)
def test_what_is_decided_has_a_reason(seen: World, reason: str) -> None:
    plan = decide(seen).plan
    assert isinstance(plan, Exception)
    found = failure(seen, plan)
    assert (found.reason if found is not None else "") == reason


@pytest.mark.parametrize(
    ("modes", "targets", "given"),
    [
        pytest.param(
            ("OwnNamespace", "SingleNamespace"), None, ["OwnNamespace", "SingleNamespace"], id="none are named"
        ),
        pytest.param(("AllNamespaces",), ["here"], ["AllNamespaces"], id="a namespace is named"),
        pytest.param(("SingleNamespace", "Other"), None, ["SingleNamespace"], id="one that nobody knows is left out"),
    ],
)
def test_the_install_modes_are_given_if_the_namespaces_to_watch_do_not_fit(
    modes: tuple[str, ...], targets: list[str] | None, given: list[str]
) -> None:
    of_bundle = bundle(csv(modes=modes))
    given_or_default = (
        partial(check_targets, targets=targets or ()) if targets else partial(default_targets, is_strict=True)
    )
    with pytest.raises(BadBundle) as caught:
        given_or_default(of_bundle, "here")
    seen = unpacked(content=caught.value)
    error = decide(seen).plan
    assert isinstance(error, Exception)
    found = failure(seen, error)
    assert found is not None
    assert (found.reason, found.install_modes) == ("InvalidConfiguration", given)


LATE = reported(unwell(ROLLOUT), **LONG_AGO)
LATER = replace(LATE, deployment=LATE.deployment.model_copy(update={"status": report_of(LATE, Done(Keep())).status}))


@pytest.mark.parametrize(
    ("seen", "outcome", "reason"),
    [
        pytest.param(installed(), Done(Keep()), "", id="healthy"),
        pytest.param(unwell(ROLLOUT), Done(Keep()), "", id="rolling out"),
        pytest.param(unwell(failed("crashes")), Done(Keep()), "Unhealthy", id="it has failed"),
        pytest.param(LATE, Done(Keep()), "DeadlineExceeded", id="it is late"),
        pytest.param(LATER, Done(Keep()), "DeadlineExceeded", id="it was late, and still is not healthy"),
        pytest.param(
            unwell(failed("crashes"), LATER), Done(Keep()), "DeadlineExceeded", id="it was late, and has failed"
        ),
        pytest.param(unwell(OWN), Done(Keep()), "DeadlineExceeded", id="it has exceeded a deadline of its own"),
        pytest.param(
            unwell(OWN, running(IN_PROGRESS, GOOD, progressDeadline="1h", rollback="Never")),
            Done(Keep()),
            "Unhealthy",
            id="its own deadline is not that of spec",
        ),
        pytest.param(LATE, DENIED, "ApplyFailed", id="a repair that fails comes first"),
        pytest.param(upgrading(), Done(Keep()), "", id="another bundle is being installed"),
        pytest.param(unwell(failed("crashes"), upgrading()), Done(Keep()), "", id="what is replaced is not healthy"),
        pytest.param(
            begun_before(half_way(IN_PROGRESS, GOOD, rollback="Never")),
            Waiting(Reason.RETRYING, "its webhook does not answer", MINUTE),
            "DeadlineExceeded",
            id="it is not installed in time",
        ),
        pytest.param(
            half_way({**IN_PROGRESS, "startedAt": "2026-01-01T11:59:00Z"}, GOOD, rollback="Never"),
            Waiting(Reason.RETRYING, "its webhook does not answer", MINUTE),
            "",
            id="it may still be installed in time",
        ),
        pytest.param(half_way(FAILED, GOOD), Done(RollBack()), "RolledBack", id="it is being rolled back"),
        pytest.param(brought_back("RolledBack"), Done(Keep()), "RolledBack", id="it was rolled back"),
        pytest.param(brought_back("RolledBack"), DENIED, "RolledBack", id="what was brought back cannot be repaired"),
    ],
)
def test_health_and_revisions(seen: World, outcome: Done | Exception, reason: str) -> None:
    found = failure(seen, outcome)
    assert (found.reason if found is not None else "") == reason
