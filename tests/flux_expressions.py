"""Evaluates config/flux/health-check-exprs.yaml as Flux does (RFC 0009): observedGeneration, inProgress, failed, current."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.kstatus import KStatus

Object = dict[str, Any]

FILE = Path(__file__).parent.parent / "config/flux/health-check-exprs.yaml"
_ORDER = {"inProgress": KStatus.IN_PROGRESS, "failed": KStatus.FAILED, "current": KStatus.CURRENT}


def compute(obj: Object) -> KStatus:
    """The status that Flux concludes. Raises StopIteration if no entry is for the kind."""
    import cel  # which imports a terminal interface: collecting the tests does not need it

    status = obj.get("status") or {}
    if "observedGeneration" in status and status["observedGeneration"] != obj["metadata"]["generation"]:
        return KStatus.IN_PROGRESS
    entry = next(
        each
        for each in yaml.safe_load(FILE.read_text())
        if each["apiVersion"] == obj["apiVersion"] and each.get("kind", obj["kind"]) == obj["kind"]
    )
    for name, result in (
        _ORDER.items() if status else ()
    ):  # without one, the expressions cannot be evaluated: Flux waits
        if name in entry and cel.evaluate(entry[name], obj):
            return result
    return KStatus.IN_PROGRESS
