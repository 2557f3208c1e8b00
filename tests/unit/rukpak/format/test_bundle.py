"""Bundles as values and as JSON."""

import pickle

import pytest

from rukpak.format import BadBundle, PlainBundle, from_json, to_json
from tests.unit.rukpak.builders import bundle, crd, csv, obj


def test_what_was_written_is_read_again() -> None:
    registry = bundle(csv(annotations={"a": "ü"}), crd(), obj("v1", "Secret", "s"))
    plain = PlainBundle((obj("v1", "Secret", "s"), crd()))
    for value in (registry, plain):
        assert from_json(to_json(value)) == value


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"format": 0, "type": "plain+v0", "objects": []}', b"{"])
def test_what_is_no_bundle_of_this_format_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no bundle|unexpected end|expected"):
        from_json(data)


def test_properties_of_the_csv() -> None:
    found = bundle(
        csv(modes=("SingleNamespace", "OwnNamespace"), webhookdefinitions=[{"type": "a", "generateName": "b"}])
    )
    assert found.install_modes == ("OwnNamespace", "SingleNamespace")
    assert bundle(csv() | {"spec": {"installModes": [{"type": "x", "supported": True}]}}).install_modes == ("x",)
    assert [webhook["generateName"] for webhook in found.webhooks] == ["b"]
    assert found.owned_api_services == ()
    assert found.install_spec["deployments"][0]["name"] == "manager"


def test_errors_can_be_pickled() -> None:
    error = BadBundle.of("UnpackFailed", [f"fault {number}" for number in range(60)])
    again = pickle.loads(pickle.dumps(error))
    assert (again.reason, again.message, again.errors) == (error.reason, error.message, error.errors)
    assert error.message.endswith("fault 49; and 10 more")
