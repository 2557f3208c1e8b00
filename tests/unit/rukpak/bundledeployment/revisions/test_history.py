"""The last five revisions, with what became of each."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.bundledeployments import BundleDeployment
from olmkit.errors import Blocked, Waiting
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.plan import Activate, Apply, BeginRevision, Done, Keep, PhaseStep
from rukpak.bundledeployment.ready_message import Outcome
from rukpak.bundledeployment.rendered_bundle import MissingContent
from rukpak.bundledeployment.revisions.history import time_to_deadline
from rukpak.bundledeployment.world import ApplyRejected, World
from tests.unit.rukpak.bundledeployment.worlds import (
    NOW,
    SECRET,
    WORKLOAD,
    applied,
    bundle,
    installed,
    member,
    plan_of,
    raw,
    rendered,
    report_of,
    revision,
    unpacked,
    upgrading,
    world,
)

V1, V2 = "registry.example.com/ship:v1", "registry.example.com/ship:v2"
MINUTE = timedelta(minutes=1)
REJECTED = ApplyRejected("Blocked", "Secret is immutable", MINUTE)


def with_history(seen: World, *history: Any, **status: Any) -> World:
    obj = {**seen.raw, "status": {**seen.raw["status"], "history": list(history), **status}}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj))


def shown(seen: World, outcome: Outcome) -> tuple[list[str], int | None]:
    """The history after a pass, the newest first, and the revision that is installed."""
    status = report_of(seen, outcome).status
    return [f"{one.revision} {one.outcome}" for one in status.history or ()], status.revision


def begun(*history: Any) -> World:
    """Version 2 is asked for, and version 1 installed; with this history."""
    return with_history(upgrading(), *(history or (revision(1, V1),)))


def finished(*history: Any) -> World:
    """All objects of version 2 are applied."""
    seen = with_history(upgrading(), *(history or (revision(2, V2, "InProgress"), revision(1, V1))))
    return applied(seen)


def unwell(seen: World, health: Health) -> World:
    return replace(seen, labeled={**seen.labeled, WORKLOAD: member(WORKLOAD, health=health)})


def running(seen: World) -> World:
    """What is asked for is installed."""
    return with_history(seen, *seen.raw["status"]["history"], activeBundle=seen.target_bundle, revision=2)


FAILED, PROGRESSING = Health("False", "crashes"), Health("Unknown", "starts", timedelta(minutes=10))
NEW = unpacked(world())


@pytest.mark.parametrize(
    ("seen", "outcome", "expected"),
    [
        pytest.param(NEW, Waiting("Retrying", "x", MINUTE), ([], None), id="nothing was written"),
        pytest.param(
            NEW,
            Done(Apply(rendered(), (PhaseStep(1, ()),), dry_run_first=True), applied=frozenset({SECRET})),
            (["1 InProgress"], None),
            id="a first installation",
        ),
        pytest.param(NEW, REJECTED, (["1 Failed"], None), id="a first installation that is rejected"),
        pytest.param(
            unwell(applied(NEW), PROGRESSING),
            Done(Activate()),
            (["1 InProgress"], 1),
            id="a first installation that is applied",
        ),
        pytest.param(applied(NEW), Done(Activate()), (["1 Succeeded"], 1), id="it is applied, and healthy at once"),
        pytest.param(with_history(installed()), Done(Keep()), (["1 Succeeded"], 1), id="installed without a history"),
        pytest.param(
            with_history(unwell(installed(), FAILED)), Done(Keep()), (["1 Failed"], 1), id="installed, and not healthy"
        ),
        pytest.param(begun(), Waiting("Retrying", "x", MINUTE), (["1 Succeeded"], 1), id="an upgrade has to wait"),
        pytest.param(begun(), Blocked("Blocked", "x"), (["1 Succeeded"], 1), id="an upgrade that cannot begin"),
        pytest.param(begun(), Done(BeginRevision()), (["2 InProgress", "1 Succeeded"], 1), id="an upgrade begins"),
        pytest.param(
            begun(revision(2, V1, "InProgress", install='{"installNamespace":"x"}'), revision(1, V1)),
            Done(BeginRevision()),
            (["3 InProgress", "2 Superseded", "1 Succeeded"], 1),
            id="another upgrade begins meanwhile",
        ),
        pytest.param(
            begun(revision(2, V1, "Failed", reason="x", install='{"installNamespace":"x"}'), revision(1, V1)),
            Done(BeginRevision()),
            (["3 InProgress", "2 Failed", "1 Succeeded"], 1),
            id="another upgrade begins after one that failed",
        ),
        pytest.param(upgrading(), REJECTED, (["2 Failed", "1 Succeeded"], 1), id="an upgrade that is rejected"),
        pytest.param(
            unwell(finished(), PROGRESSING),
            Done(Activate()),
            (["2 InProgress", "1 Succeeded"], 2),
            id="an upgrade is applied",
        ),
        pytest.param(
            running(finished()), Done(Keep()), (["2 Succeeded", "1 Succeeded"], 2), id="an upgrade has succeeded"
        ),
        pytest.param(
            running(unwell(finished(), PROGRESSING)),
            Done(Keep()),
            (["2 InProgress", "1 Succeeded"], 2),
            id="its rollout is in progress",
        ),
        pytest.param(
            running(unwell(finished(), FAILED)), Done(Keep()), (["2 Failed", "1 Succeeded"], 2), id="its rollout failed"
        ),
        pytest.param(
            running(finished(revision(2, V2, "Failed", reason="x"), revision(1, V1))),
            Done(Keep()),
            (["2 Succeeded", "1 Succeeded"], 2),
            id="it becomes healthy later",
        ),
        pytest.param(
            running(unwell(finished(revision(2, V2), revision(1, V1)), FAILED)),
            Done(Keep()),
            (["2 Succeeded", "1 Succeeded"], 2),
            id="it fails long after it has succeeded",
        ),
        pytest.param(
            replace(upgrading(), now=NOW - timedelta(hours=1, minutes=51)),
            Waiting("Retrying", "x", MINUTE),
            (["2 InProgress", "1 Succeeded"], 1),
            id="it waits for nine minutes",
        ),
        pytest.param(
            replace(upgrading(), now=NOW - timedelta(hours=1, minutes=49)),
            Waiting("Retrying", "x", MINUTE),
            (["2 Failed", "1 Succeeded"], 1),
            id="it waits for eleven minutes",
        ),
    ],
)
def test_the_history_after_a_pass(seen: World, outcome: Outcome, expected: tuple[list[str], int | None]) -> None:
    assert shown(seen, outcome) == expected


def test_an_upgrade_begins_before_its_first_write_and_a_repair_begins_nothing() -> None:
    assert plan_of(begun()) == BeginRevision()
    assert isinstance(plan_of(upgrading()), Apply)
    drifted = replace(installed(), labeled={key: one for key, one in installed().labeled.items() if key != SECRET})
    assert isinstance(plan_of(drifted), Apply)
    unknown = replace(begun(), content=MissingContent(), labeled=drifted.labeled)
    assert isinstance(plan_of(unknown), Apply)  # what runs is repaired while the other one cannot be installed


def test_options_are_an_upgrade_of_the_same_bundle() -> None:
    """It is installed with the new options when all objects are applied, and not before."""
    obj = raw(status=installed().raw["status"], generation=2)
    obj["spec"]["installNamespace"] = "bow"
    seen = unpacked(world(obj), rendered(digest="v2"))
    seen = replace(
        seen, inventory=installed().inventory, labeled=installed().labeled, active_content=installed().content
    )
    seen = replace(
        seen, namespaces=installed().namespaces, crds=installed().crds, last_applied=installed().last_applied
    )
    assert seen.active_bundle == seen.target_bundle
    assert not seen.is_target_active
    assert plan_of(seen) == BeginRevision()
    status = report_of(seen, Done(BeginRevision())).status
    assert [one.install for one in status.history or ()] == ['{"installNamespace":"bow"}', "{}"]
    assert status.revision == 1
    seen = with_history(applied(seen), *(one.dump() for one in status.history or ()))
    assert plan_of(seen) == Activate()
    status = report_of(seen, Done(Activate())).status
    assert status.revision == 2
    seen = with_history(seen, *(one.dump() for one in status.history or ()), revision=2)
    assert seen.is_target_active


def test_five_revisions_are_kept_and_the_last_good_one_among_them() -> None:
    older = [revision(number, f"registry.example.com/ship:w{number}", "Superseded") for number in (6, 5, 4, 3, 2)]
    assert shown(begun(*older[:4], revision(2, V1)), Done(BeginRevision()))[0] == [
        "7 InProgress",
        "6 Superseded",
        "5 Superseded",
        "4 Superseded",
        "2 Succeeded",
    ]


def test_older_revisions_leave_room_in_the_status_but_the_last_good_one_is_kept() -> None:
    large = {"install": '{"installNamespace":"' + "n" * 100_000 + '"}'}
    older = [revision(number, f"registry.example.com/ship:w{number}", "Superseded") | large for number in (6, 5, 4, 3)]
    seen = begun(*older, revision(2, V1) | large)
    assert shown(seen, Done(BeginRevision()))[0] == ["7 InProgress", "6 Superseded", "5 Superseded", "2 Succeeded"]


def test_a_revision_tells_what_it_installs_and_why_it_failed() -> None:
    annotated = replace(
        bundle(upgrading().target_bundle),
        image="registry.example.com/ship@sha256:1",
        annotations={
            "operators.operatorframework.io/bundle-name": "ship.v2",
            "operators.operatorframework.io/properties": "[]",
        },
    )
    seen = replace(begun(), bundles={**upgrading().bundles, annotated.name: annotated})
    new = next(iter(report_of(seen, Done(BeginRevision())).status.history or ()))
    assert (new.bundle, new.name, new.image, new.properties) == (annotated.name, "ship.v2", annotated.image, None)
    assert new.spec == seen.deployment.spec.template.spec
    assert (new.started_at, new.installed_at, new.finished_at) == ("2026-01-01T12:00:00Z", None, None)
    failed = next(iter(report_of(upgrading(), REJECTED).status.history or ()))
    assert failed.reason == "Secret is immutable"
    assert failed.finished_at == "2026-01-01T12:00:00Z"


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("2026-03-02T12:00:00Z", id="by a wrong clock"),
        pytest.param("0000-01-01T00:00:00Z", id="in a year that does not exist"),
        pytest.param("2026-01-01T10:00:00+99:99", id="at an offset that does not exist"),
        pytest.param("2026-01-01T10:00:00", id="without an offset"),
        pytest.param("a while ago", id="in words"),
    ],
)
def test_the_deadline_of_a_revision_that_began_at_no_known_time_begins_anew(written: str) -> None:
    seen = with_history(upgrading(), {**revision(2, V2, "InProgress"), "startedAt": written}, revision(1, V1))
    assert time_to_deadline(seen.deployment.status.history or (), None, seen.now) is None
    new = next(iter(report_of(seen, Waiting("Retrying", "no quota", MINUTE)).status.history or ()))
    assert (new.outcome, new.started_at) == ("InProgress", "2026-01-01T12:00:00Z")


def test_a_revision_after_the_highest_number_has_the_lowest_unused_one() -> None:
    highest = 2**63 - 1
    seen = begun(revision(highest, V1), revision(1, V1, "Superseded"))
    new = next(iter(report_of(seen, Done(BeginRevision())).status.history or ()))
    assert (new.bundle, new.revision) == (upgrading().target_bundle, 2)
