"""Leases of upstream's controllers: which of them count as held, and for how long."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.foreign_leader import UPSTREAM_LEASES, ForeignLeader
from olmkit.api.meta import Object
from olmkit.runtime.client import Client
from olmkit.runtime.foreign_leaders import ForeignLeaders
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.lease_holder import LEASE

MANAGER, CATALOGD = UPSTREAM_LEASES


def lease(holder: str | None = "pod-1", renewed: str = "10:00", seconds: int = 137, name: str = MANAGER) -> Object:
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": seconds, "leaseTransitions": 1}
    return {"metadata": {"name": name, "namespace": "olmv1-system"}, "spec": spec}


class Observed:
    """The leaders, at a time that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls = 0
        self.leaders = ForeignLeaders(self._informer, clock=lambda: self.now)
        self.leaders.subscribe(self._called)

    def _informer(self, kind: Any, **options: Any) -> Informer:
        assert kind == LEASE
        return Informer(Client(), kind, **options)

    def _called(self) -> None:
        self.calls += 1

    def see(self, obj: Object, at: float) -> None:
        self.now = at
        self.leaders.observe(Change(None, obj))


Steps = list[tuple[float, Object]]


@pytest.mark.parametrize(
    ("steps", "at", "left"),
    [
        pytest.param([], 0, None, id="no lease: none leads"),
        pytest.param([(0, lease())], 0, 137, id="a lease that is seen for the first time counts as renewed"),
        pytest.param([(0, lease())], 136, 1, id="it counts until it has been silent for its duration"),
        pytest.param([(0, lease())], 137, None, id="then none leads"),
        pytest.param(
            [(0, lease()), (100, lease(renewed="10:01"))], 137, 100, id="a renewal counts from when it is seen"
        ),
        pytest.param([(0, lease()), (100, lease())], 137, None, id="the same state again is no renewal"),
        pytest.param(
            [(0, lease()), (200, lease(renewed="10:03"))], 200, 137, id="a leader that comes back leads again"
        ),
        pytest.param([(0, lease(holder=""))], 0, None, id="a released lease has no holder"),
        pytest.param([(0, lease(holder=None))], 0, None, id="nor has one that was never held"),
        pytest.param([(0, lease()), (5, lease(holder=""))], 5, None, id="its release counts at once"),
        pytest.param(
            [(0, lease(seconds=20)), (0, lease(name=CATALOGD))], 30, 107, id="either of the two controllers leads"
        ),
    ],
)
def test_a_lease_counts_until_it_has_been_silent_for_its_duration(steps: Steps, at: float, left: float | None) -> None:
    observed = Observed()
    for moment, obj in steps:
        observed.see(obj, moment)
    observed.now = at
    leader = observed.leaders.state()
    assert (leader and leader.expires_in) == (None if left is None else timedelta(seconds=left))


def test_the_leader_is_named() -> None:
    observed = Observed()
    observed.see(lease(), 0)
    expected = ForeignLeader("olmv1-system", MANAGER, "pod-1", timedelta(seconds=137))
    assert observed.leaders.state() == expected


def test_the_end_of_the_last_leader_is_announced() -> None:
    observed = Observed()
    observed.see(lease(), 0)
    observed.see(lease(name=CATALOGD), 0)
    observed.see(lease(holder=""), 1)
    assert observed.calls == 0, "another one still leads"
    observed.leaders.observe(Change(lease(name=CATALOGD), None))
    assert (observed.calls, observed.leaders.state()) == (1, None)
    observed.see(lease(holder=""), 2)
    assert observed.calls == 1, "once"
