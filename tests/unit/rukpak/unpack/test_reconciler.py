"""What wakes the Bundle controller. The rest of it is tested on a real cluster."""

from typing import Any

import pytest

from olmkit.informer_store import Change
from rukpak.unpack.reconciler import keys


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
    assert list(keys(change)) == (["a"] if woken else [])
