"""`olm show` against a real API server, without controllers: the revisions of what is installed."""

from __future__ import annotations

import json
from typing import Any

from tests.cluster.olmctl.conftest import TIME, Desk, Object

BUNDLE_DEPLOYMENTS = "bundledeployments.core.rukpak.io"
LEFT = (
    "BundleDeployment {name} keeps package {package} 1.0.0 installed without an Operator: `olm install {package} --name {name}` "
    "takes it over"
)


def revision(number: int, version: str, outcome: str, **more: Any) -> Object:
    """An entry of status.history."""
    image = "example.com/a@sha256:" + "0" * 64
    return {
        **{"revision": number, "bundle": f"a-{number}", "version": version, "outcome": outcome, "install": "{}"},
        **{"image": image, "startedAt": TIME},
        "spec": {
            "provisionerClassName": "core-rukpak-io-registry",
            "source": {"type": "image", "image": {"ref": image}},
        },
        **more,
    }


def test_the_revisions_of_what_is_installed_are_shown(desk: Desk) -> None:
    package = desk.package("a", "stable")
    name = desk.operator("a", packageName=package)
    assert "REVISION" not in desk.olm("show", package)[1]
    desk.bundle_deployment(name)
    assert "REVISION" not in desk.olm("show", package)[1]
    reason = "Deployment n/a: not healthy within 10m"
    history = [revision(2, "1.1.0", "RolledBack", reason=reason), revision(1, "1.0.0", "Succeeded")]
    desk.set_status(BUNDLE_DEPLOYMENTS, name, {"conditions": [], "revision": 1, "history": history})
    status, out, _ = desk.olm("show", package)
    lines = [line.split(maxsplit=5) for line in out.splitlines()[-3:]]
    assert status == 0
    assert lines[0] == ["OPERATOR", "REVISION", "VERSION", "OUTCOME", "AGE", "REASON"]
    assert (lines[1][:4], lines[1][5]) == ([name, "2", "1.1.0", "RolledBack"], reason)
    assert lines[2][:5] == [name, "1", "(installed)", "1.0.0", "Succeeded"]
    (shown,) = json.loads(desk.olm("show", package, "-o", "json")[1])["operators"]
    assert (shown["name"], shown["revision"]) == (name, 1)
    assert [each["outcome"] for each in shown["history"]] == ["RolledBack", "Succeeded"]


def test_the_revisions_of_another_owner_are_not_shown(desk: Desk) -> None:
    """A BundleDeployment of the Operator's name may be somebody else's."""
    package = desk.package("a", "stable")
    theirs, name = desk.operator("b"), f"{desk.prefix}-a"
    desk.operator("a", packageName=package)
    desk.bundle_deployment(theirs)
    desk.set_status(
        BUNDLE_DEPLOYMENTS, theirs, {"conditions": [], "revision": 1, "history": [revision(1, "1.0.0", "Succeeded")]}
    )
    assert json.loads(desk.olm("show", package, "-o", "json")[1])["operators"] == [{"name": name}]


def test_what_is_installed_without_an_operator_is_shown_with_the_command_that_takes_it_over(desk: Desk) -> None:
    package = desk.package("a", "stable", versions="1.0.0")
    name = desk.left_installation("left", package)
    text = LEFT.format(name=name, package=package)
    assert f"Installed:     1.0.0 from catalog c, channel stable ({text})\n" in desk.olm("show", package)[1]
    (shown,) = json.loads(desk.olm("show", package, "-o", "json")[1])["packages"]
    assert shown["installed"] == "1.0.0"
    status, out, err = desk.olm("search", package)
    assert (status, out.splitlines()[1].split()[:4]) == (0, [package, "c", "<none>", "1.0.0"])
    assert f"note: {text}\n" in err
    (found,) = json.loads(desk.olm("search", package, "-o", "json")[1])["packages"]
    assert found["installed"] == "1.0.0"
    assert f"note: {text}" not in desk.olm("search", "another", "-o", "name")[2]


def test_a_command_that_is_given_its_name_says_so(desk: Desk) -> None:
    package = desk.package("a", "stable", versions="1.0.0")
    name = desk.left_installation("left", package)
    text = LEFT.format(name=name, package=package)
    for arguments in (["upgrade"], ["approve"], ["uninstall", "--yes"], ["diff"]):
        command, *more = arguments
        assert desk.olm(command, name, *more) == (3, "", f"there is no Operator {name}, but {text}\n")
    status, out, err = desk.olm("tree", name)
    assert (status, err) == (0, f"note: {text}\n")
    assert out.splitlines()[1].split() == [f"BundleDeployment/{name}", "Ready"]
    assert json.loads(desk.olm("tree", name, "-o", "json")[1])["kind"] == "BundleDeployment"
