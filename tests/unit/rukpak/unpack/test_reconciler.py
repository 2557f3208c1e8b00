"""What wakes the Bundle controller, and which digest a Bundle wants. The rest of it is tested on a real cluster."""

from typing import Any

import pytest

from olmkit.informer_store import Change
from rukpak.unpack.reconciler import digest_of, keys


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


@pytest.mark.parametrize(
    ("raw", "digest"),
    [
        pytest.param({}, "", id="no status"),
        pytest.param({"status": {"resolvedSource": {"type": "image"}}}, "", id="no image"),
        pytest.param({"status": {"resolvedSource": {"image": {"ref": "r/a:v1"}}}}, "", id="a tag"),
        pytest.param({"status": {"resolvedSource": {"image": {"ref": "r/a@sha256:1"}}}}, "sha256:1", id="a digest"),
    ],
)
def test_the_digest_a_bundle_wants(raw: dict[str, Any], digest: str) -> None:
    assert digest_of(raw) == digest
