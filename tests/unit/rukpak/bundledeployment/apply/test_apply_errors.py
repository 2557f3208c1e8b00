"""The error about several objects."""

from __future__ import annotations

from datetime import timedelta

from olmkit.api.bundledeployments import Reason
from olmkit.errors import Waiting
from rukpak.bundledeployment.apply.apply_errors import combine
from rukpak.bundledeployment.world import ApplyRejected
from rukpak.format.objects import ObjectKey


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
