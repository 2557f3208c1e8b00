"""The commands that `olm why` names for an Operator that does not get what it asks for."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.questions.next_steps import next_steps
from olmkit.api.operators import MIGRATION_LABEL, V1_MIGRATION_LABEL

Object = dict[str, Any]
HOLD = "OperatorConditionNotUpgradeable"
FORCE = "the upgrade begins when the operator permits it; `olm upgrade a --force` overrides"
BACK = "`olm upgrade a --rollback OnFailure` returns to 1.0.0, also after later upgrades that fail"
EXCLUDE = "`olm exclude a 1.1.0` stays with 1.0.0 until a catalog has another version"
FOLLOWS = "`olm upgrade a --version ''` follows the channel"


def operator(
    ready: str, *others: str, runs: str = "1.0.0", wanted: str = "1.1.0", available: str = "", **spec: Any
) -> Object:
    """An Operator whose conditions are given as `Type Status Reason`, Ready without its type."""
    found = [dict(zip(("type", "status", "reason"), each.split(), strict=True)) for each in (f"Ready {ready}", *others)]
    status: Object = {"observedGeneration": 2, "conditions": found, "wantedVersion": wanted}
    if runs:
        status["installed"] = {"name": f"a.v{runs}", "version": runs}
    if available:
        status["available"] = {"version": wanted, "reason": available}
    return {"metadata": {"name": "a", "generation": 2}, "spec": {"packageName": "a", **spec}, "status": status}


def deployment(*history: str, spec: Object | None = None, **status: Any) -> Object:
    """A BundleDeployment with these revisions, each `version outcome`, the newest first."""
    parts = [each.split() for each in history]
    revisions = [{"name": f"a.v{version}", "version": version, "outcome": outcome} for version, outcome in parts]
    return {"spec": spec or {}, "status": {"history": revisions, **status}}


MIGRATED = {"name": "a", "generation": 2, "labels": {MIGRATION_LABEL: "lamp"}}
FROM_V1 = {"name": "a", "generation": 2, "labels": {V1_MIGRATION_LABEL: "lamp"}}
STALLED, REFUSED = "Stalled True Blocked", "Resolved False ResolutionFailed"
UPGRADING, UNHEALTHY = "False Upgrading", "False Unhealthy"
FAILED = deployment("1.1.0 Failed", "1.0.0 Succeeded")
HELD = deployment(upgradeHold={"operatorCondition": "n/a.v1", "message": "we have no backup"})


@pytest.mark.parametrize(
    ("found", "deployed", "expected"),
    [
        pytest.param(operator("True Succeeded"), None, "", id="nothing, while it is Ready"),
        pytest.param(operator(UPGRADING, "Reconciling True Installing"), None, "", id="nothing, during an upgrade"),
        pytest.param(
            operator(UPGRADING, "Reconciling True Installing"),
            deployment("1.1.0 InProgress", "1.0.0 Succeeded", spec={"rollback": "OnFailure", "progressDeadline": "1m"}),
            "rukpak returns to a.v1.0.0 by itself unless it is healthy within 1m",
            id="an upgrade that is rolled back unless it becomes healthy",
        ),
        pytest.param(
            {**operator(UPGRADING, "Reconciling True Installing"), "metadata": MIGRATED},
            None,
            "`olm migrate v0 lamp --undo` gives it back to OLM v0",
            id="it was taken over from OLM v0, and is not Ready",
        ),
        pytest.param(
            {**operator(UPGRADING, "Reconciling True Installing"), "metadata": FROM_V1},
            None,
            "`olm migrate v1 --undo` gives everything back to OLM v1",
            id="it was taken over from OLM v1, and is not Ready",
        ),
        pytest.param(
            {**operator("True Succeeded"), "metadata": MIGRATED}, None, "", id="it was taken over, and is Ready"
        ),
        pytest.param(
            operator(UPGRADING, "Reconciling True Installing"),
            deployment("1.1.0 InProgress", "1.0.0 Succeeded"),
            "",
            id="nothing, during an upgrade that is not rolled back",
        ),
        pytest.param(
            operator("False Installing", "Reconciling True Installing", runs=""),
            deployment("1.0.0 InProgress", spec={"rollback": "OnFailure"}),
            "",
            id="nothing, during a first installation, which cannot be rolled back",
        ),
        pytest.param(operator("False Installing", STALLED, runs=""), None, "", id="nothing, for a first installation"),
        pytest.param(
            operator(f"True {HOLD}", available=HOLD),
            HELD,
            f"{FORCE} OperatorCondition n/a.v1 in its spec.overrides",
            id="an OperatorCondition holds a version",
        ),
        pytest.param(
            operator(f"False {HOLD}", f"Reconciling True {HOLD}"),
            None,
            f"{FORCE} the OperatorCondition in its spec.overrides",
            id="an OperatorCondition that is not known holds an upgrade that was requested",
        ),
        pytest.param(
            operator("False Blocked", STALLED, runs=""),
            deployment(permittedBy=["adoptionPolicy"]),
            "`olm upgrade a --adoption-policy IfUnowned` permits what is refused",
            id="an option permits the first installation",
        ),
        pytest.param(
            operator(UPGRADING, STALLED),
            deployment("1.0.0 Succeeded", permittedBy=["adoptionPolicy"]),
            f"`olm upgrade a --adoption-policy IfUnowned` permits what is refused; {EXCLUDE}",
            id="an option permits an upgrade that has not begun",
        ),
        pytest.param(operator(UPGRADING, STALLED), FAILED, f"{EXCLUDE}; {BACK}", id="an upgrade has begun and failed"),
        pytest.param(operator(UPGRADING, STALLED), None, EXCLUDE, id="an upgrade of which no more is known"),
        pytest.param(
            operator(UPGRADING, STALLED, version="1.1.0"),
            deployment("1.0.0 Succeeded"),
            "`olm upgrade a --version 1.0.0` stays with 1.0.0",
            id="a version that is pinned is refused",
        ),
        pytest.param(
            operator(UPGRADING, STALLED, version="1.1.0"),
            FAILED,
            f"`olm upgrade a --version 1.0.0` stays with 1.0.0; {BACK}",
            id="a version that is pinned has failed",
        ),
        pytest.param(
            operator(UPGRADING, STALLED, version="1.x", install={"rollback": "OnFailure"}),
            FAILED,
            EXCLUDE,
            id="a version of a range is not installed, and cannot be rolled back",
        ),
        pytest.param(
            operator("False RolledBack", "Stalled True RolledBack", install={"rollback": "OnFailure"}),
            deployment("1.1.0 RolledBack", "1.0.0 Succeeded"),
            f"{EXCLUDE}; `olm upgrade a --rollback Never` tries 1.1.0 again without a rollback",
            id="an upgrade was rolled back",
        ),
        pytest.param(
            operator(UNHEALTHY, "Stalled True Unhealthy", runs="1.1.0"),
            FAILED,
            f"a newer version is installed as soon as a catalog has an upgrade to it; {BACK}",
            id="a version that was installed is not healthy",
        ),
        pytest.param(
            operator(UNHEALTHY, "Stalled True Unhealthy", runs="1.1.0", version="1.1.0"),
            FAILED,
            BACK,
            id="a version that was pinned and installed is not healthy",
        ),
        pytest.param(
            operator(UNHEALTHY, "Stalled True Unhealthy", runs="1.1.0", install={"rollback": "OnFailure"}),
            FAILED,
            "a newer version is installed as soon as a catalog has an upgrade to it",
            id="a version that was installed is not healthy, and cannot be rolled back",
        ),
        pytest.param(
            operator(UNHEALTHY, "Stalled True Unhealthy", runs="1.1.0"),
            deployment("1.1.0 Succeeded", "1.0.0 Succeeded"),
            "",
            id="nothing, if a version was healthy and is not any more",
        ),
        pytest.param(
            operator(UNHEALTHY, "Stalled True Unhealthy", runs="1.1.0"),
            deployment("1.1.0 Failed", "1.1.0 Succeeded"),
            "",
            id="nothing, if other settings of the same version fail",
        ),
        pytest.param(
            operator("False NotResolved", STALLED, REFUSED, version="2.0.0"), FAILED, FOLLOWS, id="a pin is refused"
        ),
        pytest.param(
            operator("False NotResolved", STALLED, REFUSED, version="1.1.0", excludedVersions=["1.1.0"]),
            FAILED,
            f"`olm exclude a 1.1.0 --undo` permits it; {FOLLOWS}",
            id="a pin is excluded",
        ),
        pytest.param(
            operator("False NotResolved", STALLED, REFUSED, excludedVersions=["1.0.0"]),
            FAILED,
            "`olm exclude a 1.0.0 --undo` permits it",
            id="what runs is excluded, and nothing else can be reached",
        ),
        pytest.param(
            operator("False NotResolved", STALLED, REFUSED, channel="nope"),
            None,
            "`olm upgrade a --channel ''` follows the default channel of the package",
            id="a channel is refused",
        ),
        pytest.param(
            operator("False NotResolved", STALLED, REFUSED, channels=["nope", "none"]),
            None,
            "`olm upgrade a --channel ''` follows the default channel of the package",
            id="channels are refused",
        ),
        pytest.param(
            operator("False NotResolved", "Reconciling True WaitingForCatalog", REFUSED, version="2.0.0"),
            None,
            "",
            id="nothing, while the catalog is read",
        ),
    ],
)
def test_the_next_steps(found: Object, deployed: Object | None, expected: str) -> None:
    assert next_steps(found, deployed) == expected


def test_an_old_status_leads_to_no_step() -> None:
    found = operator("False NotResolved", STALLED, REFUSED, version="2.0.0")
    for change in ({"generation": 3}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}):
        assert next_steps({**found, "metadata": {**found["metadata"], **change}}, None) == ""


@pytest.mark.parametrize(
    ("reason", "runs", "expected"),
    [
        pytest.param("PackageNotFound", "", "", id="no catalog has the package"),
        pytest.param("PackageNotFound", "1.0.0", FOLLOWS, id="none has it any more"),
        pytest.param("AmbiguousCatalogs", "", "", id="several catalogs of one priority have it"),
        pytest.param("CatalogUnavailable", "", "", id="a catalog is not read"),
        pytest.param("CatalogUnavailable", "1.0.0", FOLLOWS, id="a catalog is not read any more"),
        pytest.param("CatalogNotSelected", "1.0.0", "", id="no catalog is selected"),
        pytest.param("PackageClaimed", "", "", id="another Operator has the package"),
        pytest.param("VersionNotFound", "", FOLLOWS, id="the version does not exist"),
        pytest.param("NoUpgradeEdge", "1.0.0", FOLLOWS, id="no upgrade leads to it"),
    ],
)
def test_another_version_is_offered_where_it_may_help(reason: str, runs: str, expected: str) -> None:
    found = operator("False NotResolved", STALLED, REFUSED, runs=runs, version="2.0.0")
    found["status"]["failure"] = {"reason": reason, "message": "no"}
    assert next_steps(found, FAILED) == expected
