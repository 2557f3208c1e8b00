"""A Resolution with its messages: what one pass knows of the resolution of its Operator.

Computed once per pass, in a thread, by operator/reconciler.py's observe; read by operator/evaluate.py. The cost grows with the
entries and edges of the packages, so nothing that runs on the event loop may call it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from operator_controller.resolve.deprecations import Deprecations, find_deprecations
from operator_controller.resolve.explain import Explanation, explain
from operator_controller.resolve.resolution import Chosen, Resolution
from operator_controller.resolve.resolver import resolve
from operator_controller.resolve.snapshot import Snapshot


@dataclass(frozen=True)
class ExplainedResolution:
    """The result of resolution, and its messages."""

    resolution: Resolution
    explanation: Explanation
    deprecations: Deprecations | None = None
    """What is deprecated of what is followed; None if it is not known."""


def resolve_and_explain(snapshot: Snapshot) -> ExplainedResolution:
    """The result for a Snapshot. Never raises."""
    resolution = resolve(snapshot)
    if isinstance(resolution.outcome, Chosen):
        # A cached property, which may be large: computed here, off the event loop.
        _ = resolution.outcome.candidate.bundle.recorded_properties
    return ExplainedResolution(resolution, explain(resolution), find_deprecations(resolution))
