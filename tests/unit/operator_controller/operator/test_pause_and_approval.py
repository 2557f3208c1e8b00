"""What may be written while something waits for approval or the Operator is paused, and how it is reported."""

from __future__ import annotations

import pytest

from olmkit.api.conditions import PendingEvent
from olmkit.api.meta import Object
from olmkit.errors import OlmError
from operator_controller.operator.decide import decide
from operator_controller.operator.report import report
from operator_controller.operator.world import Done, World
from tests.unit.operator_controller.operator.report_rows import BEST
from tests.unit.operator_controller.operator.report_rows_held import (
    HELD,
    HOLD,
    PAUSED,
    WAITS,
    held_by_condition,
    manual,
    paused,
    runs,
)
from tests.unit.operator_controller.operator.worlds import bundle_annotations, deployment, image, offer, operator, world

DRIFTED = deployment("1.0.0", active="alpha-1.0.0", annotations=bundle_annotations("1.0.0", channel="beta"))
DIFF_NAMED = "olm diff alpha 1.1.0 shows everything that it changes and what would be refused"
DIFF = "olm diff alpha shows everything that it changes and what would be refused"
ADDS, SAME = f"it adds Thing (g.example.com/v1); {DIFF}", f"it adds and removes no API; {DIFF}"
DRIFTED_AND_HELD = deployment(
    "1.0.0", active="alpha-1.0.0", annotations=bundle_annotations("1.0.0", channel="beta"), hold=HOLD
)
MOVED = (offer("1.0.0", "1.1.0", catalog="vendor"),)


@pytest.mark.parametrize(
    ("observed", "plan"),
    [
        pytest.param(world(manual()), "Keep", id="a first installation that is not approved"),
        pytest.param(world(manual(finalizers=[])), "Keep", id="the finalizer of one that is not approved"),
        pytest.param(world(manual("1.1.0")), "ApplyBundleDeployment", id="a first installation that is approved"),
        pytest.param(world(manual(" 1.1.0 ")), "ApplyBundleDeployment", id="an approval with blanks"),
        pytest.param(world(manual("v1.1.0")), "Keep", id="an approval in other words"),
        pytest.param(world(manual("1.0.0")), "ApplyBundleDeployment", id="a version that is approved and not the best"),
        pytest.param(runs("1.0.0", manual()), "Keep", id="an upgrade that is not approved"),
        pytest.param(runs("1.0.0", manual("1.1.0")), "ApplyBundleDeployment", id="an upgrade that is approved"),
        pytest.param(
            runs("1.0.0", manual("1.1.0"), offers=(offer("1.0.0", "1.1.0", "1.2.0"),)),
            "ApplyBundleDeployment",
            id="the next step is approved",
        ),
        pytest.param(
            runs("1.0.0", manual("1.2.0"), offers=(offer("1.0.0", "1.1.0", "1.2.0"),)),
            "Keep",
            id="the end of the path is approved, and the next step is not",
        ),
        pytest.param(
            runs("1.1.0", manual("1.0.0", upgradeConstraintPolicy="Ignore")), "Keep", id="an older version was approved"
        ),
        pytest.param(
            runs("1.1.0", manual("1.0.0", upgradeConstraintPolicy="Ignore", version="1.0.0")),
            "ApplyBundleDeployment",
            id="an older version is requested and approved",
        ),
        pytest.param(
            runs("1.0.0", manual(version="1.0.0"), bundle_deployment=DRIFTED),
            "ApplyBundleDeployment",
            id="the record of what is installed needs no approval",
        ),
        pytest.param(
            runs("1.0.0", manual(), offers=MOVED), "ApplyBundleDeployment", id="the successor of its catalog needs none"
        ),
        pytest.param(world(operator({"approval": "Automatic"})), "ApplyBundleDeployment", id="approval is automatic"),
        pytest.param(held_by_condition("1.0.0"), "Keep", id="an upgrade that the OperatorCondition holds"),
        pytest.param(held_by_condition("1.1.0"), "Keep", id="nothing better, and an OperatorCondition"),
        pytest.param(
            held_by_condition("1.0.0", manual("1.1.0")), "Keep", id="an approved one that the OperatorCondition holds"
        ),
        pytest.param(
            held_by_condition("1.0.0", operator({"version": "1.0.0"}), bundle_deployment=DRIFTED_AND_HELD),
            "ApplyBundleDeployment",
            id="the record of what is installed is not held",
        ),
        pytest.param(
            world(operator({}), bundle_deployment=deployment("1.0.0", hold=HOLD)),
            "ApplyBundleDeployment",
            id="a first installation is not held",
        ),
        pytest.param(world(paused()), "Keep", id="a paused first installation"),
        pytest.param(world(paused(approval="Manual")), "Keep", id="a paused one that waits for approval too"),
        pytest.param(runs("1.0.0", paused()), "Keep", id="a paused upgrade"),
        pytest.param(runs("1.0.0", paused(version="1.0.0"), bundle_deployment=DRIFTED), "Keep", id="a paused record"),
        pytest.param(runs("1.0.0", paused(), offers=MOVED), "Keep", id="a paused successor of its catalog"),
        pytest.param(
            world(operator({"paused": True}, deleting=True), bundle_deployment=deployment("1.0.0")),
            "DeleteBundleDeployment",
            id="a paused Operator is deleted",
        ),
    ],
)
def test_what_is_written(observed: World, plan: str) -> None:
    assert type(decide(observed).plan).__name__ == plan


def _report(observed: World) -> tuple[Object, tuple[PendingEvent, ...]]:
    plan, evaluation = decide(observed).plan, decide(observed).evaluation
    found = report(observed, evaluation, plan if isinstance(plan, OlmError) else Done(plan))
    assert found is not None
    return found.status.dump(), found.events


def _available(reason: str, message: str) -> Object:
    return {
        "version": "1.1.0",
        "bundle": "p.v1.1.0",
        "image": image("1.1.0"),
        "catalog": "community",
        "channel": "stable",
        "reason": reason,
        "message": message,
    }


@pytest.mark.parametrize(
    ("observed", "available", "wanted"),
    [
        pytest.param(
            world(manual()),
            _available("ApprovalRequired", f"{WAITS}; {ADDS}; {BEST}"),
            "1.1.0",
            id="a first installation",
        ),
        pytest.param(
            runs("1.0.0", manual()),
            _available("ApprovalRequired", f"{WAITS}; {SAME}; {BEST}"),
            "1.0.0",
            id="an upgrade",
        ),
        pytest.param(
            runs("1.0.0", paused(approval="Manual")),
            _available("Paused", f"{PAUSED}; {SAME}; {BEST}"),
            "1.0.0",
            id="a pause",
        ),
        pytest.param(
            held_by_condition("1.0.0"),
            _available("OperatorConditionNotUpgradeable", f"{HELD}; {SAME}; {BEST}"),
            "1.0.0",
            id="an OperatorCondition that permits no upgrade",
        ),
        pytest.param(
            held_by_condition("1.0.0", manual()),
            _available("ApprovalRequired", f"{WAITS}; {SAME}; {BEST}"),
            "1.0.0",
            id="the approval comes first",
        ),
        pytest.param(runs("1.1.0", manual()), None, "1.1.0", id="nothing better"),
        pytest.param(runs("1.1.0", paused()), None, "1.1.0", id="nothing better, and a pause"),
        pytest.param(runs("1.0.0", manual("1.1.0")), None, "1.1.0", id="an approved upgrade"),
        pytest.param(
            runs("1.0.0", operator({"version": "1.0.0"})),
            _available("VersionExcluded", f'1.1.0 is available too, but spec.version is "1.0.0"; {DIFF_NAMED}'),
            "1.0.0",
            id="a pinned version",
        ),
        pytest.param(
            runs("1.0.0", operator({"excludedVersions": ["1.1.0"]})),
            _available("VersionExcluded", f"1.1.0 is available too, but spec.excludedVersions has it; {DIFF_NAMED}"),
            "1.0.0",
            id="an excluded version",
        ),
    ],
)
def test_the_bundle_that_waits(observed: World, available: Object | None, wanted: str) -> None:
    status, _ = _report(observed)
    assert status.get("available") == available
    assert status["wantedVersion"] == wanted


def test_an_event_names_each_bundle_that_waits_once() -> None:
    """Ready=True has an Event of its own when it becomes so; for another bundle that waits later there is one more."""
    first, events = _report(world(manual()))
    assert events == (PendingEvent("Normal", "ApprovalRequired", f"{WAITS}; {ADDS}; {BEST}", "Ready"),)
    assert _report(world({**manual(), "status": first}))[1] == ()
    waiting, events = _report(runs("1.0.0", {**manual(), "status": first}))
    assert events == ()
    later = {**manual(), "status": waiting}
    assert _report(runs("1.0.0", later))[1] == ()
    ((event),) = _report(runs("1.0.0", later, offers=(offer("1.0.0", "1.2.0"),)))[1]
    assert (event.type, event.reason) == ("Normal", "UpgradeAvailable")
    assert event.message.startswith("1.2.0 waits for approval")
