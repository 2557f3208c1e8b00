"""What the property tests share: how many examples there are, and that none has a time limit.

Hypothesis gives each 200 ms unless it sees that it runs in CI, and on a busy machine a process is at times held up for longer.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.examples import example_count

settings.register_profile(
    "pure tests", max_examples=example_count(), deadline=None, suppress_health_check=(HealthCheck.too_slow,)
)
settings.load_profile("pure tests")
