"""The words for what is being installed, in the message of Ready."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.bundle_annotations import BUNDLE_NAME_ANNOTATION, VERSION_ANNOTATION
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.errors import Blocked
from rukpak.bundledeployment.plan import ApplyBundle, Done
from rukpak.bundledeployment.world import World
from tests.unit.rukpak.bundledeployment.worlds import raw, report_of, revision, upgrading


def between(installed: str, wanted: str, name: str = "", wanted_name: str = "") -> World:
    """A World in which one version is installed and another one is asked for."""
    seen = upgrading()
    record: dict[str, Any] = {"bundle": seen.active_bundle, "version": installed, "spec": revision(1)["spec"]}
    record |= {"name": name} if name else {}
    names = {BUNDLE_NAME_ANNOTATION: wanted_name} if wanted_name else {}
    status = {**seen.raw["status"], "installed": record}
    template = {"annotations": {VERSION_ANNOTATION: wanted, **names}}
    obj = raw("registry.example.com/ship:v2", status=status, template=template, generation=2)
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj))


@pytest.mark.parametrize(
    ("installed", "wanted", "verb"),
    [
        pytest.param("1.0.0", "1.1.0", "upgrad", id="a higher version"),
        pytest.param("1.1.0", "1.0.0", "downgrad", id="a lower version"),
        pytest.param("1.1.0", "", "upgrad", id="a version that is not known"),
        pytest.param("one", "1.0.0", "upgrad", id="a version that cannot be read"),
    ],
)
def test_a_lower_version_is_no_upgrade(installed: str, wanted: str, verb: str) -> None:
    seen = between(installed, wanted)
    reports = (
        report_of(seen, outcome) for outcome in (Done(ApplyBundle({}, is_new=True)), Blocked("Blocked", "denied"))
    )
    ready = [{each.type: each.message for each in one.status.conditions}["Ready"] for one in reports]
    assert [text.partition(" ship-")[0] for text in ready] == [f"{verb}ing to", f"cannot {verb}e to"]


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        pytest.param("ship.v1", "cannot change ship.v1: denied", id="the same bundle"),
        pytest.param("ship.v0", "cannot upgrade to ship.v1: denied", id="another one"),
        pytest.param("", "cannot upgrade to ship.v1: denied", id="it is not known"),
    ],
)
def test_the_same_bundle_with_other_settings_is_no_upgrade(name: str, verb: str) -> None:
    report = report_of(between("1.0.0", "1.0.0", name, "ship.v1"), Blocked("Blocked", "denied"))
    ready = next(each.message for each in report.status.conditions if each.type == "Ready")
    assert ready.startswith(verb)
