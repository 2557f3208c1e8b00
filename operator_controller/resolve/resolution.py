"""A Decision and its words together: what one pass knows of the resolution of its Operator.

Made once per pass, in a thread, by reconciler.py's observe; read by judge.py. Costs as much as the packages have entries and
edges, so nothing that runs on the event loop calls it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from operator_controller.resolve.explain import Explanation, explain
from operator_controller.resolve.resolver import Chosen, Resolution, Snapshot, resolve


@dataclass(frozen=True)
class ExplainedResolution:
    """What was decided, and how it is said."""

    resolution: Resolution
    explanation: Explanation


def resolve_and_explain(snapshot: Snapshot) -> ExplainedResolution:
    """The answer to a Snapshot. Never raises."""
    decision = resolve(snapshot)
    if isinstance(decision.outcome, Chosen):
        # A cached property, which may be large: computed here, off the event loop.
        _ = decision.outcome.candidate.bundle.recorded_properties
    return ExplainedResolution(decision, explain(decision))
