"""What `olm suite status` says about the cluster."""

from __future__ import annotations

from olmctl.suite.status import guards_labels
from olmkit.api.label_policy import POLICIES
from olmkit.api.meta import Kind
from olmkit.runtime.discovery import Discovery

BETA = Kind(POLICIES.group, "v1beta1", POLICIES.kind, POLICIES.plural)


def serving(*kinds: Kind) -> Discovery:
    """A cluster that serves these kinds."""
    return Discovery({}, {(each.group, each.version, each.kind): each for each in kinds}, frozenset())


def test_labels_are_guarded_where_the_policy_is_served_in_its_version() -> None:
    assert guards_labels(serving(POLICIES, BETA))
    assert not guards_labels(serving(BETA))
    assert not guards_labels(serving())
