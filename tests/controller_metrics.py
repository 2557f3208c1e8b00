"""What the metrics of a controller say about its work."""

from __future__ import annotations

import re

_UNFINISHED = re.compile(r"^(?:controller_runtime_active_workers|workqueue_depth)\{.*\} (\S+)$", re.MULTILINE)


def is_idle(metrics: str) -> bool:
    """Whether no worker is active and no key waits; delayed keys do not count."""
    return not any(map(float, _UNFINISHED.findall(metrics)))
