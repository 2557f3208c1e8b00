"""What wakes the controller of Bundles."""

from typing import Any

import pytest

from olmkit.runtime.informer_store import Change
from rukpak.bundle.events import keys_of_bundle, keys_of_deployment
from tests.unit.rukpak.bundle.worlds import deployment


def bundle(generation: int = 1, uid: str = "u", conditions: int = 1, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "uid": uid, "generation": generation},
        "status": {"conditions": [{}] * conditions, **status},
    }


@pytest.mark.parametrize(
    ("change", "woken"),
    [
        pytest.param(Change(None, bundle()), True, id="it came"),
        pytest.param(Change(bundle(), None), True, id="it went"),
        pytest.param(Change(bundle(), bundle(2)), True, id="it was asked for differently"),
        pytest.param(Change(bundle(), bundle(uid="v")), True, id="another one of its name"),
        pytest.param(Change(bundle(), bundle(phase="Unpacked")), False, id="its own status is no news"),
        pytest.param(Change(bundle(), bundle(conditions=0)), True, id="somebody cleared its status"),
    ],
)
def test_what_gives_a_bundle_a_turn(change: Change, woken: bool) -> None:
    assert list(keys_of_bundle(change)) == (["a"] if woken else [])


@pytest.mark.parametrize(
    ("change", "woken"),
    [
        pytest.param(Change(None, deployment()), ["a"], id="it came with a record"),
        pytest.param(Change({**deployment(), "status": {}}, deployment()), ["a"], id="it has a record now"),
        pytest.param(Change(deployment(), deployment(image="x")), ["a"], id="the record is another one"),
        pytest.param(Change(deployment(), deployment()), [], id="anything else"),
        pytest.param(Change(deployment(), None), [], id="it went"),
    ],
)
def test_a_record_gives_its_bundle_a_turn(change: Change, woken: list[str]) -> None:
    assert list(keys_of_deployment(change)) == woken
