"""Which changes enqueue which Bundles."""

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
    ("change", "keys"),
    [
        pytest.param(Change(None, bundle()), True, id="it came"),
        pytest.param(Change(bundle(), None), True, id="it went"),
        pytest.param(Change(bundle(), bundle(2)), True, id="another spec"),
        pytest.param(Change(bundle(), bundle(uid="v")), True, id="another Bundle of its name"),
        pytest.param(Change(bundle(), bundle(phase="Unpacked")), False, id="its own status is ignored"),
        pytest.param(Change(bundle(), bundle(conditions=0)), True, id="its status was cleared"),
    ],
)
def test_changes_of_a_bundle(change: Change, keys: bool) -> None:
    assert list(keys_of_bundle(change)) == (["a"] if keys else [])


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        pytest.param(Change(None, deployment()), ["a"], id="a new object with a record"),
        pytest.param(Change({**deployment(), "status": {}}, deployment()), ["a"], id="a new record"),
        pytest.param(Change(deployment(), deployment(image="x")), ["a"], id="another record"),
        pytest.param(Change(deployment(), deployment()), [], id="any other change"),
        pytest.param(Change(deployment(), None), [], id="it went"),
    ],
)
def test_changes_of_a_bundle_deployment(change: Change, keys: list[str]) -> None:
    assert list(keys_of_deployment(change)) == keys
