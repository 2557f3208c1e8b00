"""The error about several objects."""

from __future__ import annotations

from datetime import timedelta

import pytest

from olmkit.api.bundledeployment_status import PermittingField
from olmkit.api.bundledeployments import Reason
from olmkit.errors import Waiting
from rukpak.bundledeployment.apply.apply_errors import combine
from rukpak.bundledeployment.world import ApplyRejected
from rukpak.format.objects import ObjectKey


@pytest.mark.parametrize(
    ("fields", "permitted"),
    [
        pytest.param([{"adoptionPolicy"}, {"adoptionPolicy"}], {"adoptionPolicy"}, id="all of them by a field"),
        pytest.param([{"adoptionPolicy"}, set()], set(), id="one of them not"),
    ],
)
def test_several_objects_are_permitted_by(fields: list[set[PermittingField]], permitted: set[str]) -> None:
    failed: dict[ObjectKey, Exception] = {
        ObjectKey("", "Secret", "a", str(number)): ApplyRejected(
            Reason.BLOCKED, "exists", timedelta(minutes=1), permitted_by=frozenset(each)
        )
        for number, each in enumerate(fields)
    }
    error = combine(failed, frozenset())
    assert isinstance(error, ApplyRejected)
    assert error.permitted_by == permitted


def test_the_error_of_several_objects_is_about_all_that_are_rejected() -> None:
    def rejected(name: str) -> ApplyRejected:
        return ApplyRejected(Reason.BLOCKED, f"{name} is rejected", timedelta(minutes=1), [name])

    keys = [ObjectKey("", "Secret", "a", name) for name in ("a", "b", "c", "d", "e")]
    waiting = Waiting(Reason.RETRYING, "waiting until it is gone", timedelta(minutes=1), ["e"])
    failed = {key: rejected(key.name) if key.name != "e" else waiting for key in keys}
    error = combine(failed, frozenset())
    assert isinstance(error, ApplyRejected)
    assert str(error).endswith("and 1 more")
    assert error.subject == ("a", "b", "c", "d")
