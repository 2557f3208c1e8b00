"""More rows of test_report.py: requests that the Resolver has not answered."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from olmkit.errors import OlmError
from operator_controller.operator.world import World
from operator_controller.resolve.answers.answer import AnswerState
from tests.unit.operator_controller.operator.report_rows import INSTALLED, NOT_ATTEMPTED, READY, Conditions, both
from tests.unit.operator_controller.operator.worlds import NOW, deployment, image, operator, world

NESTED: dict[str, Any] = {}
for _ in range(1_000):
    NESTED = {"a": NESTED}
UNANSWERED_ROWS: list[tuple[str, World, Conditions]] = [
    (
        "a request that is being resolved for longer than usual",
        world(resolution=AnswerState(since=NOW - timedelta(seconds=4))),
        {
            "Resolved": ("Unknown", "ResolutionUnknown", "resolution is in progress"),
            "Installed": (
                "Unknown",
                "InstallationStatusUnknown",
                "installation has not been attempted as resolution is in progress",
            ),
            **both("Reconciling", "NotResolved", "resolution is in progress", "Resolving"),
        },
    ),
    (
        "a config that nests too deep",
        world(operator({"install": {"config": {"affinity": {"podAffinity": NESTED}}}})),
        {
            "Resolved": ("Unknown", "ResolutionUnknown", "validation has not been attempted as spec is invalid"),
            "Installed": (
                "Unknown",
                "InstallationStatusUnknown",
                "installation has not been attempted as spec is invalid",
            ),
            **both("Stalled", "NotResolved", "spec.install.config nests deeper than 200 levels", "Blocked"),
        },
    ),
    (
        "a request that could not be resolved",
        world(resolution=AnswerState(error=OlmError("TookTooLong", "it took too long"), since=NOW)),
        {
            "Resolved": ("False", "ResolutionFailed", "resolution failed and is retried: it took too long"),
            "Installed": NOT_ATTEMPTED,
            **both("Reconciling", "NotResolved", "resolution failed and is retried: it took too long", "Retrying"),
        },
    ),
    (
        "a new request that could not be resolved, of an installed package",
        world(
            operator({"version": "1.1.0"}),
            resolution=AnswerState(error=OlmError("TookTooLong", "it took too long"), since=NOW),
            runs="1.0.0",
            bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"),
        ),
        {
            "Resolved": ("False", "ResolutionFailed", "resolution failed and is retried: it took too long"),
            "Installed": ("True", "Success", f'installed from "{image("1.0.0")}"'),
            **both("Reconciling", "NotResolved", "resolution failed and is retried: it took too long", "Retrying"),
        },
    ),
]
