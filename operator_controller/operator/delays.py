"""All delays of the reconciler of Operators. Pure."""

from __future__ import annotations

from datetime import timedelta

RESOLUTION_GRACE_PERIOD = timedelta(seconds=3)
"""The time for which a resolution in progress is not reported."""
REPORTED_GRACE_PERIOD = timedelta(minutes=1)
"""The same for an Operator whose status reports on its current spec: after a restart, all of these wait for their first
answer."""
RESYNC_DELAY = timedelta(minutes=10)
"""Time to the next pass, in case an event is missed."""
MISSING_BUNDLE_RETRY_DELAY = timedelta(seconds=5)
"""Time to the next pass while the event of a Bundle may be outstanding."""
MISSING_BUNDLE_GRACE_PERIOD = timedelta(seconds=30)
"""Time for which a missing active Bundle is not reported, because its event may be outstanding."""
