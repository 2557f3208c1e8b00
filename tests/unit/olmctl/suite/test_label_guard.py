"""Whether the labels of rukpak are guarded, by the policies and bindings on the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.suite.label_guard import guard_of, serves_policies
from olmkit.api.label_policy import POLICIES, POLICY
from olmkit.api.meta import Kind
from olmkit.runtime.discovery import Discovery
from rukpak.admission.label_policy import policy_objects

BETA = Kind(POLICIES.group, "v1beta1", POLICIES.kind, POLICIES.plural)
GUARD, DENY, WARN = (body for _, body in policy_objects("rukpak", "u", "olm-suite-rukpak"))


def serving(*kinds: Kind) -> Discovery:
    """A cluster that serves these kinds."""
    return Discovery({}, {(each.group, each.version, each.kind): each for each in kinds}, frozenset())


def test_a_cluster_serves_the_policy_in_the_version_that_rukpak_applies() -> None:
    assert serves_policies(serving(POLICIES, BETA))
    assert not serves_policies(serving(BETA))
    assert not serves_policies(serving())


def going(obj: Any) -> Any:
    """The object while it is being deleted."""
    return {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


def of_others(obj: Any) -> Any:
    """A policy or binding of another program."""
    return {**obj, "metadata": {"name": "theirs"}, "spec": {**obj["spec"], "policyName": "theirs"}}


@pytest.mark.parametrize(
    ("policies", "bindings", "names", "is_guarded"),
    [
        pytest.param(
            [GUARD], [DENY, WARN], [POLICY, f"{POLICY}-deny", f"{POLICY}-warn"], True, id="rukpak has applied it"
        ),
        pytest.param(
            [GUARD, of_others(GUARD)],
            [of_others(DENY), DENY],
            [POLICY, f"{POLICY}-deny"],
            True,
            id="others have policies too",
        ),
        pytest.param([GUARD], [WARN], [POLICY, f"{POLICY}-warn"], False, id="nothing denies"),
        pytest.param([], [DENY], [f"{POLICY}-deny"], False, id="the policy is missing"),
        pytest.param([going(GUARD)], [DENY], [POLICY, f"{POLICY}-deny"], False, id="the policy is being deleted"),
        pytest.param([], [], [], False, id="there is neither"),
    ],
)
def test_labels_are_guarded_by_a_policy_and_a_binding_that_denies(
    policies: list[Any], bindings: list[Any], names: list[str], is_guarded: bool
) -> None:
    guard = guard_of(policies, bindings)
    assert [each.name for each in guard.states] == names
    assert (guard.problem == "") == is_guarded
