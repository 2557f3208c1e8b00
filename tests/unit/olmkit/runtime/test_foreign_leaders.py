"""Leases of upstream's controllers: which of them count as held, and for how long."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.foreign_leader import UPSTREAM_LEASES, ForeignLeader
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Unavailable
from olmkit.runtime.client import Client
from olmkit.runtime.foreign_leaders import ForeignLeaders, upstream_review
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
        self.foreign: set[str] = set()
        """The namespaces in which OLM v1 is not."""
        self.reviews = 0
        self.error: ApiError | None = None
        self.leaders = ForeignLeaders(self._informer, self._is_upstream, clock=lambda: self.now)
        self.leaders.subscribe(self._called)

    def _informer(self, kind: Any, **options: Any) -> Informer:
        assert kind == LEASE
        return Informer(Client(), kind, **options)

    async def _is_upstream(self, namespace: str, lease: str) -> bool:
        self.reviews += 1
        if self.error is not None:
            raise self.error
        return namespace not in self.foreign

    def _called(self) -> None:
        self.calls += 1

    def state(self) -> ForeignLeader | None:
        return asyncio.run(self.leaders.state())

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
        pytest.param([(0, lease(seconds=2_147_483_647))], 0, 300, id="none counts for more than five minutes"),
    ],
)
def test_a_lease_counts_until_it_has_been_silent_for_its_duration(steps: Steps, at: float, left: float | None) -> None:
    observed = Observed()
    for moment, obj in steps:
        observed.see(obj, moment)
    observed.now = at
    leader = observed.state()
    assert (leader and leader.expires_in) == (None if left is None else timedelta(seconds=left))


def test_the_leader_is_named() -> None:
    observed = Observed()
    observed.see(lease(), 0)
    expected = ForeignLeader("olmv1-system", MANAGER, "pod-1", timedelta(seconds=137))
    assert observed.state() == expected


def test_the_end_of_the_last_leader_is_announced() -> None:
    observed = Observed()
    observed.see(lease(), 0)
    observed.see(lease(name=CATALOGD), 0)
    observed.see(lease(holder=""), 1)
    assert observed.calls == 0, "another one still leads"
    observed.leaders.observe(Change(lease(name=CATALOGD), None))
    assert (observed.calls, observed.state()) == (1, None)
    observed.see(lease(holder=""), 2)
    assert observed.calls == 1, "once"


@pytest.mark.parametrize(
    ("steps", "calls"),
    [
        pytest.param([(0, lease()), (1, lease(seconds=20))], 1, id="a shorter duration"),
        pytest.param([(0, lease()), (1, lease(renewed="10:01"))], 0, id="a renewal"),
        pytest.param([(0, lease()), (1, lease(name=CATALOGD, seconds=20))], 0, id="another one that expires earlier"),
        pytest.param([(0, lease()), (200, lease(holder=""))], 0, id="the release of one that has expired"),
    ],
)
def test_an_earlier_end_is_announced(steps: Steps, calls: int) -> None:
    observed = Observed()
    for moment, obj in steps:
        observed.see(obj, moment)
    assert observed.calls == calls


def test_a_lease_counts_only_where_olm_v1_is_which_is_asked_again_after_a_minute() -> None:
    observed = Observed()
    observed.foreign = {"olmv1-system"}
    observed.see(lease(), 0)
    assert (observed.state(), observed.calls) == (None, 1), "who has waited for it is woken"
    assert (observed.state(), observed.reviews) == (None, 1)
    observed.foreign.clear()
    observed.now = 59
    assert observed.state() is None
    observed.now = 60
    assert observed.state() is not None
    observed.foreign = {"olmv1-system"}
    observed.see(lease(holder="pod-2", renewed="10:01"), 61)
    assert (observed.state(), observed.reviews) == (None, 3), "another holder is asked about at once"


def test_a_lease_about_which_nobody_answers_counts_as_before() -> None:
    observed = Observed()
    observed.error = Unavailable(0, "NoAnswer", "no answer")
    observed.see(lease(), 0)
    assert observed.state() is not None
    observed.error, observed.foreign, observed.now = None, {"olmv1-system"}, 60
    assert observed.state() is None
    observed.error, observed.now = Unavailable(0, "NoAnswer", "no answer"), 120
    assert (observed.state(), observed.reviews) == (None, 3)


@pytest.mark.parametrize(
    ("namespace", "name", "expected"),
    [
        pytest.param("suite", MANAGER, True, id="that of a migration, in the namespace of the suite"),
        pytest.param("olmv1-system", MANAGER, True, id="where the account of its controller has the permission"),
        pytest.param("olmv1-system", CATALOGD, False, id="where the account of another controller has one"),
        pytest.param("team-a", MANAGER, False, id="where nobody has it"),
    ],
)
async def test_whose_lease_it_is(namespace: str, name: str, expected: bool) -> None:
    allowed = "system:serviceaccount:olmv1-system:operator-controller-controller-manager", "clusterextensions"

    class Reviewer(Client):
        """Answers reviews by one permission."""

        async def create(self, kind: Kind, obj: Object, namespace: str | None = None) -> Object:
            asked = obj["spec"]["user"], obj["spec"]["resourceAttributes"]["resource"]
            return {"status": {"allowed": asked == allowed}}

    assert await upstream_review(Reviewer(), "suite")(namespace, name) is expected
