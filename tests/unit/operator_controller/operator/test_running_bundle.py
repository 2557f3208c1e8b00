"""The running bundle, read from its Bundle and from its records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from olmkit.api.bundle_annotations import RECORDED_ANNOTATIONS
from olmkit.api.operators import Operator
from operator_controller.operator.running_bundle import read_recorded, read_running
from operator_controller.operator.world import ObservedBundleDeployment
from operator_controller.resolve.package.package_content import Bundle, Property
from tests.unit.operator_controller.operator.worlds import GVK, bundle, deployment, image, operator

PROPERTIES = "operators.operatorframework.io/properties"


def test_the_running_bundle_is_read_from_its_bundle() -> None:
    running, installed = read_running(bundle("1.1.0"))
    assert (running.name, running.package, running.catalog, running.channel) == ("p.v1.1.0", "p", "community", "stable")
    assert (running.image, str(running.version)) == (image("1.1.0"), "1.1.0")
    assert installed.dump() == {
        "name": "p.v1.1.0",
        "version": "1.1.0",
        "catalog": "community",
        "channel": "stable",
        "apis": [{"group": "g.example.com", "version": "v1", "kind": "Thing"}],
    }


def test_the_kinds_have_their_recorded_display_names() -> None:
    """They come from the record of the bundle alone, so they stay when it leaves all catalogs."""
    other = {"type": "olm.gvk", "value": {"group": "g.example.com", "kind": "Other", "version": "v1"}}
    properties = tuple(Property("olm.gvk", each["value"]) for each in (GVK, other))
    names = {"g.example.com/v1/Thing": "A\nthing \x1b[31m", "g.example.com/v1/Missing": "Not provided"}
    offered = Bundle("p.v1.1.0", image("1.1.0"), None, properties=properties, display_names=names)
    raw = bundle("1.1.0")
    raw["metadata"]["annotations"][PROPERTIES] = offered.recorded_properties
    assert read_running(raw)[1].dump()["apis"] == [
        {"group": "g.example.com", "version": "v1", "kind": "Other"},
        {"group": "g.example.com", "version": "v1", "kind": "Thing", "displayName": r"A thing \x1b[31m"},
    ]


def test_a_bundle_without_annotations() -> None:
    raw = bundle("1.1.0")
    raw["metadata"]["annotations"] = {}
    running, installed = read_running(raw)
    assert (running.name, running.version, running.catalog) == ("alpha-1.1.0", None, "")
    assert installed.dump() == {"name": "alpha-1.1.0", "version": "", "apis": []}


def recorded(**changes: Any) -> dict[str, Any]:
    """The record of version 1.1.0 on a BundleDeployment whose active Bundle is alpha-1.1.0."""
    raw = bundle("1.1.0")
    fields = {field: raw["metadata"]["annotations"][name] for field, name in RECORDED_ANNOTATIONS.items()}
    return {"bundle": "alpha-1.1.0", "spec": raw["spec"], **fields, **changes}


def with_record(record: Mapping[str, Any] | None) -> ObservedBundleDeployment:
    known = deployment("1.2.0", active="alpha-1.1.0")
    status = {**known.raw["status"], **({"installed": record} if record else {})}
    return ObservedBundleDeployment.load({**known.raw, "status": status})


def test_a_bundle_its_record_and_the_status_of_the_operator_are_read_as_the_same() -> None:
    running = read_running(bundle("1.1.0"))
    assert read_recorded(Operator.load(operator()), with_record(recorded())) == running
    reported = {"installedBundleResource": image("1.1.0"), "installed": running[1].dump()}
    reporting = Operator.load(operator(status=reported))
    assert read_recorded(reporting, with_record(None)) == running
    assert read_recorded(reporting, with_record(recorded(bundle="alpha-1.0.0", version="1.0.0"))) == running
    assert read_recorded(Operator.load(operator()), with_record(None)) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "3",
        "[3]",
        '[{"type":"olm.gvk","value":3}]',
        '[{"type":"olm.gvk","value":{"group":1}}]',
        '[{"type":"x"}]',
        pytest.param("[" * 100_000, id="too deep"),
        pytest.param(
            r'[{"type":"olm.gvk","value":{"group":"\ud800","version":"v1","kind":"K"}}]',
            id="a text that UTF-8 cannot hold",
        ),
    ],
)
def test_invalid_properties_are_no_apis(text: str) -> None:
    raw = bundle("1.1.0")
    raw["metadata"]["annotations"][PROPERTIES] = text
    assert read_running(raw)[1].apis == []
