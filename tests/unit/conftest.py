"""What the property tests share: no example has a time limit.

Hypothesis gives each 200 ms unless it sees that it runs in CI, and on a busy machine a process is at times held up for longer.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("no time limit", deadline=None, suppress_health_check=(HealthCheck.too_slow,))
settings.load_profile("no time limit")
