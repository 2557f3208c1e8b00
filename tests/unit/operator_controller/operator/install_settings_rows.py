"""More rows of the table of test_report.py: the bundle stays, and spec.install is changed."""

from __future__ import annotations

from operator_controller.operator.world import World
from tests.unit.operator_controller.operator.report_rows import INSTALLED, RESOLVED, RUNS_NEW, Conditions, both
from tests.unit.operator_controller.operator.worlds import deployment, world

ABSENT = "Namespace port does not exist: create it"
INSTALL_SETTINGS_ROWS: list[tuple[str, World, Conditions]] = [
    (
        "the namespace has to exist, and does not",
        world(
            runs="1.1.0",
            bundle_deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Ready", "False", "WaitingForNamespace", ABSENT),
                    ("Reconciling", "True", "WaitingForNamespace", ABSENT),
                ],
                active="alpha-1.1.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both("Reconciling", "Unhealthy", ABSENT, "WaitingForNamespace"),
        },
    ),
    (
        "the bundle stays, and is being installed in another way",
        world(
            runs="1.1.0",
            bundle_deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Ready", "False", "Upgrading", "changing p.v1.1.0"),
                    ("Reconciling", "True", "Upgrading", "changing p.v1.1.0"),
                ],
                active="alpha-1.1.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both("Reconciling", "Upgrading", "changing p.v1.1.0", "Installing"),
        },
    ),
    (
        "the bundle stays, and cannot be installed as spec.install says",
        world(
            runs="1.1.0",
            bundle_deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Ready", "False", "Upgrading", "cannot change p.v1.1.0: invalid option(s)"),
                    ("Stalled", "True", "Blocked", "cannot change p.v1.1.0: invalid option(s)"),
                ],
                active="alpha-1.1.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both("Stalled", "Blocked", "cannot change p.v1.1.0: invalid option(s)", "Blocked"),
        },
    ),
]
