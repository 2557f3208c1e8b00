"""Which outcomes of a BundleDeployment are Events of their own: those with another cause, whatever their messages say."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from olmkit.api.bundledeployments import Reason
from olmkit.errors import Blocked, Waiting
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.health.pod_problems import Explanation
from rukpak.bundledeployment.plan import Done, Keep
from rukpak.bundledeployment.world import ApplyRejected, World
from tests.unit.rukpak.bundledeployment.worlds import WORKLOAD, events_after, inventoried, member, unpacked, unwell

MINUTE = timedelta(minutes=1)
FIRST = inventoried(unpacked())


def refused(text: str, *subject: str) -> ApplyRejected:
    return ApplyRejected(Reason.BLOCKED, text, MINUTE, subject)


def lacks(kind: str) -> Waiting:
    return Waiting(Reason.WAITING_FOR_KIND, f"needs kinds that this cluster does not have: {kind}", MINUTE, [kind])


OTHER = WORKLOAD._replace(name="mast")
FAILED = unwell(Health("False", "0 of 3 run after 10m0s"))
BOTH_FAILED = replace(FAILED, labeled={**FAILED.labeled, OTHER: member(OTHER, health=Health("False", "0 of 1 run"))})


def with_pod(reason: str, sentence: str) -> World:
    return replace(FAILED, pod_problems={WORKLOAD: Explanation(sentence, reason)})


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(
            (FIRST, refused("Secret a is another's", "Secret a")),
            (FIRST, refused("Role b is another's", "Role b")),
            [("Warning", "InstallFailed")],
            id="another object is in the way",
        ),
        pytest.param(
            (FIRST, refused("Secret a is another's", "Secret a")),
            (FIRST, refused("Role b is another's; Secret a is another's", "Secret a", "Role b")),
            [("Warning", "InstallFailed")],
            id="another object is in the way too",
        ),
        pytest.param(
            (FIRST, refused("Role b is another's; Secret a is another's", "Secret a", "Role b")),
            (FIRST, refused("Secret a is another's", "Secret a")),
            [],
            id="one of two is no longer in the way",
        ),
        pytest.param(
            (FIRST, refused("Secret a is another's", "Secret a")),
            (FIRST, refused("Secret a belongs to somebody, as of 10:04:12 on port 4312", "Secret a")),
            [],
            id="the same object in other words",
        ),
        pytest.param(
            (FIRST, refused("Secret a is another's", "Secret a")),
            (FIRST, Blocked(Reason.BLOCKED, "Secret a is another's", ["Secret a"])),
            [],
            id="the same object, and nothing is retried any more",
        ),
        pytest.param(
            (FIRST, lacks("Cup")), (FIRST, lacks("Jug")), [("Normal", "WaitingForKind")], id="another kind is missing"
        ),
        pytest.param(
            (FAILED, Done(Keep())),
            (unwell(Health("False", "1 of 3 run after 11m0s")), Done(Keep())),
            [],
            id="the numbers of an object that fails change",
        ),
        pytest.param(
            (FAILED, Done(Keep())), (BOTH_FAILED, Done(Keep())), [("Warning", "Unhealthy")], id="a second object fails"
        ),
        pytest.param(
            (with_pod("ImagePullBackOff", "pod s-1 cannot pull"), Done(Keep())),
            (with_pod("ImagePullBackOff", "pod s-2 cannot pull since 10:04"), Done(Keep())),
            [],
            id="another pod of it has the same problem",
        ),
        pytest.param(
            (with_pod("ImagePullBackOff", "pod s-1 cannot pull"), Done(Keep())),
            (with_pod("CrashLoopBackOff", "pod s-1 crashes"), Done(Keep())),
            [("Warning", "Unhealthy")],
            id="its pods have another problem",
        ),
        pytest.param((BOTH_FAILED, Done(Keep())), (FAILED, Done(Keep())), [], id="one of two still fails"),
        pytest.param(
            (FAILED, Done(Keep())),
            (FAILED, refused("Secret a is another's", "Secret a")),
            [("Warning", "Blocked")],
            id="what fails cannot be repaired either",
        ),
    ],
)
def test_a_second_outcome_with_the_same_reason(
    first: tuple[World, Done | Exception], second: tuple[World, Done | Exception], expected: list[tuple[str, str]]
) -> None:
    begun = events_after([first])
    assert events_after([first, second])[len(begun) :] == expected
    assert events_after([first, second, second])[len(begun) :] == expected, "a pass that changes nothing has no Event"
