"""More rows of the table of test_report.py: an upgrade that rukpak rolls back."""

from __future__ import annotations

from operator_controller.operator.world import ObservedBundleDeployment, World
from tests.unit.operator_controller.operator.report_rows import INSTALLED, RESOLVED, RUNS_OLD, Conditions, both
from tests.unit.operator_controller.operator.worlds import deployment, world


def rolled_back(kind: str, reason: str) -> ObservedBundleDeployment:
    """The BundleDeployment asks for 1.1.0, and 1.0.0 is active."""
    message = "back to alpha-1.0.0: alpha-1.1.0 failed"
    conditions = [INSTALLED, ("Ready", "False", reason, message), (kind, "True", reason, message)]
    return deployment("1.1.0", conditions, active="alpha-1.0.0")


ROLLBACK_ROWS: list[tuple[str, World, Conditions]] = [
    (
        "an upgrade failed, and is being rolled back",
        world(runs="1.0.0", bundle_deployment=rolled_back("Reconciling", "RollingBack")),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Reconciling", "RollingBack", "back to alpha-1.0.0: alpha-1.1.0 failed", "RollingBack"),
        },
    ),
    (
        "an upgrade failed, and was rolled back",
        world(runs="1.0.0", bundle_deployment=rolled_back("Stalled", "RolledBack")),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Stalled", "RolledBack", "back to alpha-1.0.0: alpha-1.1.0 failed", "Blocked"),
        },
    ),
]
