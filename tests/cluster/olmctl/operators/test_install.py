"""`olm install` against a real API server, without controllers."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmctl.main import main
from olmctl.questions.install import operator_name
from tests.cluster import proxy
from tests.cluster.olmctl.conftest import OPERATORS, TIME, Desk, condition


def installed(desk: Desk, name: str) -> Any:
    return desk.get(OPERATORS, name)["spec"]


def test_it_creates_changes_and_keeps_the_operator(desk: Desk) -> None:
    name = desk.package("a", "stable", "beta")
    resource = f"operator.operators.operatorframework.io/{name}"
    try:
        assert desk.olm("install", name) == (0, f"{resource} created\n", "")
        assert installed(desk, name) == {"packageName": name}
        assert desk.olm("install", name, "--channel", "beta", "--version", "1.0.0")[1] == f"{resource} configured\n"
        assert installed(desk, name) == {"packageName": name, "channel": "beta", "version": "1.0.0"}
        assert desk.olm("install", name, "--channel", "beta", "--version", "1.0.0")[1] == f"{resource} unchanged\n"
        both = ("--channel", "stable", "--channel", "beta")
        assert desk.olm("install", name, *both)[1] == f"{resource} configured\n"
        assert installed(desk, name) == {"packageName": name, "channels": ["stable", "beta"]}
        assert desk.olm("install", name, "-o", "name")[1] == f"{resource}\n"
        assert yaml.safe_load(desk.olm("install", name, "-o", "yaml")[1])["spec"] == {"packageName": name}
    finally:
        desk.cluster.kubectl("delete", OPERATORS, name, "--ignore-not-found")


def test_an_operator_that_is_being_deleted_is_installed_again_when_it_is_gone(desk: Desk) -> None:
    name = desk.package("a", "stable")
    desk.catalog(name)
    merge, finalizers = ("--type=merge", "-p"), '{"metadata": {"finalizers": %s}}'
    try:
        assert desk.olm("install", name)[0] == 0
        before = desk.get(OPERATORS, name)["metadata"]["uid"]
        desk.cluster.kubectl("patch", OPERATORS, name, *merge, finalizers % '["example.com/hold"]')
        desk.cluster.kubectl("delete", OPERATORS, name, "--wait=false")
        going = f"{name} is being deleted"
        asked = f"{going}: run the command again when it is gone (--wait waits for that, and installs it then)\n"
        assert desk.olm("install", name) == (1, "", asked)
        assert desk.olm("install", name, "--force") == (1, "", asked)
        for command in (["upgrade", "--channel", "stable"], ["upgrade"], ["approve"]):
            assert desk.olm(command[0], name, *command[1:]) == (
                1,
                "",
                f"{going}: olm install installs it again when it is gone\n",
            )
        status, out, err = desk.olm("install", name, "--wait", "--timeout", "1s")
        assert (status, out) == (4, ""), err
        assert "not deleted within 1 seconds" in err
        with ThreadPoolExecutor() as pool:
            gone = pool.submit(desk.cluster.kubectl, "patch", OPERATORS, name, *merge, finalizers % "null")
            _, out, _ = desk.olm("install", name, "--wait", "--timeout", "10s")  # no controller installs it
            gone.result()
        assert out.endswith(f"operator.operators.operatorframework.io/{name} created\n")
        assert desk.get(OPERATORS, name)["metadata"]["uid"] != before
    finally:
        desk.cluster.kubectl("patch", OPERATORS, name, *merge, finalizers % "null")
        desk.cluster.kubectl("delete", OPERATORS, name, "--ignore-not-found")


def test_a_dry_run_and_an_export_change_nothing(desk: Desk) -> None:
    name = desk.package("a", "stable")
    assert desk.olm("install", name, "--dry-run", "server")[1].endswith(f"/{name} created (server dry run)\n")
    status, out, _ = desk.olm("install", name, "--channel", "stable", "--export")
    assert (status, yaml.safe_load(out)["spec"]) == (0, {"packageName": name, "channel": "stable"})
    assert desk.olm("why", name)[0] == 3


def test_each_field_has_an_option(desk: Desk) -> None:
    options = (
        "--version",
        "1.x",
        "--channel",
        "beta",
        "--catalog",
        "c",
        "--upgrade-constraint-policy",
        "Ignore",
        "--approval",
        "Manual",
        "--namespace",
        "default",
        "--namespace-policy",
        "MustExist",
        "--install-mode-policy",
        "Strict",
        "--object-label",
        "team=red",
        "--adoption-policy",
        "IfUnowned",
        "--rollback",
        "OnFailure",
    )
    name = f"{desk.prefix}-unknown"
    status, out, _ = desk.olm("install", name, "--force", "--dry-run", "server", *options, "-o", "json")
    assert (status, json.loads(out)["spec"]) == (
        0,
        {
            "packageName": name,
            "version": "1.x",
            "channel": "beta",
            "catalogSelector": {"matchLabels": {"olm.operatorframework.io/metadata.name": "c"}},
            "upgradeConstraintPolicy": "Ignore",
            "approval": "Manual",
            "install": {
                "namespace": "default",
                "namespacePolicy": "MustExist",
                "installModePolicy": "Strict",
                "objectLabels": {"team": "red"},
                "adoptionPolicy": "IfUnowned",
                "rollback": "OnFailure",
            },
        },
    )


def test_a_package_that_no_catalog_has_is_refused(desk: Desk) -> None:
    name = desk.package("abcdefgh", "stable")
    desk.catalog(name)
    asked = f"{name}x"
    text = f'package \'{asked}\' not found: catalog "c" does not have it; did you mean "{name}"?'
    assert desk.olm("install", asked) == (3, "", f"{text}; --force installs it when a catalog has it\n")
    for command in ("show", "graph"):
        assert desk.olm(command, asked) == (3, "", f"{text}\n")


def test_a_package_that_spec_packages_leaves_out_is_refused(desk: Desk) -> None:
    name = f"{desk.prefix}-left-out"
    desk.catalog(name, "other", packages=["other"])
    text = f"package '{name}' not found: catalog \"c\" has it, but its spec.packages does not name it: add it there"
    assert desk.olm("show", name) == (3, "", f"{text}\n")


def test_without_a_catalog_the_commands_say_so(desk: Desk) -> None:
    assert desk.olm("search") == (0, "", "No packages found: there is no Catalog yet: create one.\n")
    assert desk.olm("search", "x") == (3, "", "no package matches x: there is no Catalog yet: create one\n")
    text = "package 'x' not found: there is no Catalog yet: create one that has package \"x\"\n"
    assert desk.olm("show", "x") == (3, "", text)


def test_a_search_with_a_typing_error_names_similar_packages(desk: Desk) -> None:
    name = desk.package("cloud-native-postgresql", "stable")
    status, out, err = desk.olm("search", "postgress")
    assert (status, out) == (3, "")
    assert err.splitlines()[-1] == f"no package matches postgress: did you mean {name}?"


def test_force_installs_a_package_that_no_catalog_has(desk: Desk) -> None:
    name = f"{desk.prefix}-unknown"
    try:
        assert desk.olm("install", name, "--force")[0] == 0
    finally:
        desk.cluster.kubectl("delete", OPERATORS, name, "--ignore-not-found")


def test_a_channel_that_the_package_lacks_is_refused(desk: Desk) -> None:
    name = desk.package("a", "stable", "beta")
    status, _, err = desk.olm("install", name, "--channel", "x")
    assert (status, err) == (3, f"package {name} has no channel x: it has beta, stable\n")
    status, _, err = desk.olm("install", name, "--channel", "x", "--channel", "y")
    assert (status, err) == (3, f"package {name} has no channel x or y: it has beta, stable\n")


def test_a_version_that_no_catalog_offers_is_refused(desk: Desk) -> None:
    name = desk.package("a", "stable", versions="1.10.0,1.9.2,1.9.0,0.1.0")
    desk.package("a", "stable", catalog="d", versions="1.9.1")
    text = f"package {name} has no version 1.9.9: it has 0.1.0, 1.9.0, 1.9.1, 1.9.2, 1.10.0\n"
    assert desk.olm("install", name, "--version", "1.9.9") == (3, "", text)
    text = f"package {name} has no version 1.9.0: it has 1.9.1\n"
    assert desk.olm("install", name, "--version", "1.9.0", "--catalog", "d") == (3, "", text)
    assert desk.olm("why", name)[0] == 3


def test_the_versions_nearest_to_the_one_that_is_asked_for_are_named(desk: Desk) -> None:
    listed = [f"0.{number}.0" for number in range(17, 0, -1)]
    name = desk.package("a", "stable", versions=",".join(listed))
    text = f"package {name} has no version 99.0.0: it has 17 versions from 0.1.0 to 0.17.0, nearest 0.16.0, 0.17.0\n"
    assert desk.olm("install", name, "--version", "99.0.0") == (3, "", text)
    has = "it has 17 versions from 0.1.0 to 0.17.0, newest 0.15.0, 0.16.0, 0.17.0"
    text = f'package {name} has no version in range ">=99": {has}\n'
    assert desk.olm("install", name, "--version", ">=99") == (3, "", text)


@pytest.mark.parametrize(
    ("versions", "options"),
    [
        pytest.param("1.0.0", ["--version", "=1.0.0"], id="it is offered"),
        pytest.param("1.0.0+2", ["--version", "1.0.0"], id="a release of it is offered"),
        pytest.param("1.0.0", ["--version", "1.x"], id="it is in the range"),
        pytest.param("1.0.0 and 5 more", ["--version", "2.x"], id="not all versions of the range can be read"),
        pytest.param("1.0.0 and 5 more", ["--version", "2.0.0"], id="not all versions can be read"),
        pytest.param("", ["--version", "2.0.0"], id="no version can be read"),
        pytest.param("1.0.0", ["--version", "2.0.0", "--force"], id="it is forced"),
    ],
)
def test_a_version_that_may_be_offered_is_requested(versions: str, options: list[str], desk: Desk) -> None:
    name = desk.package("a", "stable", versions=versions)
    assert desk.olm("install", name, "--dry-run", "server", *options)[0] == 0


def test_the_installed_version_can_be_requested_though_no_catalog_offers_it(desk: Desk) -> None:
    name = desk.package("a", "stable", versions="2.0.0")
    body = {"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Operator", "metadata": {"name": name}}
    desk.apply({**body, "spec": {"packageName": name}}, READY)
    assert desk.olm("install", name, "--version", "1.0.0")[0] == 0
    assert desk.olm("install", name, "--version", "1.0.1")[0] == 3


def test_a_dependency_that_is_requested_is_kept(desk: Desk) -> None:
    name = desk.operator("a", is_dependency=True)
    out = desk.olm("install", "a", "--name", name, "--force")[1]
    text = "configured: it was installed as a dependency, and is kept from now on, also if nothing requires it\n"
    assert out.endswith(f"/{name} {text}")
    other = desk.operator("b", is_dependency=True)
    out = desk.olm("upgrade", other, "--version", "1.x", "--force")[1]
    assert "configured: version 1.x; it was installed as a dependency, and is kept" in out


def test_an_operator_of_another_package_is_refused(desk: Desk) -> None:
    name = desk.package("a", "stable")
    other = desk.operator("b")
    status, _, err = desk.olm("install", name, "--name", other)
    assert (status, err) == (5, f"an Operator {other} exists for package b: choose another name with --name\n")


def test_a_package_that_another_operator_manages_is_refused(desk: Desk) -> None:
    package = desk.package("a", "stable")
    other = desk.operator("mine", packageName=package)
    text = f"package {package} is already managed by Operator {other}: change that one (olm upgrade {other})"
    for more in ((), ("--name", f"{package}-2")):
        assert desk.olm("install", package, *more) == (5, "", f"{text}\n")
    assert desk.olm("install", package, "--name", other)[0] == 0
    assert desk.olm("install", package, "--force", "--dry-run", "server")[0] == 0


def adoption(desk: Desk, name: str) -> Any:
    annotations = desk.get("bundledeployments.core.rukpak.io", name)["metadata"].get("annotations") or {}
    return annotations.get("operators.operatorframework.io/adopt")


def test_what_an_operator_has_left_is_taken_over_by_the_next_one_of_its_name(desk: Desk) -> None:
    package = desk.package("a", "stable", versions="1.0.0")
    protected = {"operators.operatorframework.io/deletion-protection": "true"}
    name = desk.left_installation("left", package, annotations=protected)
    command = f"`olm install {package} --name {name}` takes it over"
    text = f"BundleDeployment {name} keeps package {package} 1.0.0 installed without an Operator: {command}"
    assert desk.olm("install", package) == (5, "", f"{text}; --force installs it under another name\n")
    assert desk.olm("install", package, "--force", "--dry-run", "server")[0] == 0
    try:
        status, out, err = desk.olm("install", package, "--name", name)
        assert (status, out.endswith(f"/{name} created\n"), adoption(desk, name)) == (0, True, None)
        kept = f"kubectl annotate {OPERATORS} {name} operators.operatorframework.io/deletion-protection=true"
        assert err.splitlines() == [
            f"note: BundleDeployment {name}, which keeps what it has installed, is taken over",
            f"note: BundleDeployment {name} is protected from deletion, which ends when the Operator takes it over: `{kept}` "
            "protects it again",
        ]
    finally:
        desk.cluster.kubectl("delete", OPERATORS, name, "--ignore-not-found")


def test_a_bundle_deployment_that_others_have_made_is_taken_over_on_request(desk: Desk) -> None:
    package = desk.package("a", "stable", versions="1.0.0")
    name = desk.left_installation("a", package, manager="velero")
    text = f"BundleDeployment {name} exists, and no Operator owns it: --adopt has this one take it over, or choose another name"
    assert desk.olm("install", package) == (5, "", f"{text} with --name\n")
    assert desk.olm("install", package, "--adopt", "--dry-run", "server")[0] == 0
    assert adoption(desk, name) is None
    stalled = {
        "conditions": [condition("Stalled", "True", "Blocked", text), condition("Ready", "False", "Blocked", text)]
    }
    try:
        assert desk.olm("install", package, "--force")[0] == 0
        desk.set_status(OPERATORS, name, stalled)
        assert desk.olm("install", package)[0] == 1
        status, out, err = desk.olm("install", package, "--adopt", "--wait", "--timeout", "2s")
        assert (status, out.endswith(f"/{name} unchanged\n"), adoption(desk, name)) == (4, True, "true")
        assert "waiting for operator-controller" in err, "what is reported is older than the request"
        assert desk.olm("install", package, "--adopt")[0] == 0
    finally:
        desk.cluster.kubectl("delete", OPERATORS, name, "--ignore-not-found")


async def test_a_takeover_that_is_reported_before_the_operator_is_applied_ends_the_wait(
    desk: Desk, tmp_path: Path
) -> None:
    package = desk.package("a", "stable", versions="1.0.0")
    name = desk.left_installation("a", package, manager="velero")
    reported: list[str] = []

    def report(chunk: bytes) -> bytes:
        """Report the Operator as Ready when the API server has answered the request for the takeover."""
        if b"operatorframework.io/adopt" in chunk and not reported:
            reported.append(name)
            desk.set_status(OPERATORS, name, READY)
        return chunk

    try:
        assert (await asyncio.to_thread(desk.olm, "install", package, "--force"))[0] == 0
        desk.set_status(OPERATORS, name, {"conditions": [condition("Ready", "False", "Blocked")]})
        command = ["install", package, "--adopt", "--wait", "--timeout", "10s"]
        async with proxy.run(desk.cluster.kubeconfig, tmp_path) as before:
            before.touch(report)
            status = await asyncio.to_thread(main, [*command, "--kubeconfig", str(before.kubeconfig)])
        assert (status, reported) == (0, [name])
        desk.own(name, name)
        assert (await asyncio.to_thread(desk.olm, *command))[0] == 0, "there is nothing left to request"
    finally:
        desk.cluster.kubectl("delete", OPERATORS, name, "--ignore-not-found")


def test_what_is_not_for_the_operator_is_not_taken_over(desk: Desk) -> None:
    package = desk.package("a", "stable", versions="1.0.0")
    text = f"there is no BundleDeployment {package} to take over\n"
    assert desk.olm("install", package, "--adopt") == (3, "", text)
    other = desk.left_installation("other", "b")
    owned = desk.left_installation("owned", package, owner=desk.operator("theirs", packageName="c"))
    for name, text in ((other, "is of package b"), (owned, f"belongs to Operator {desk.prefix}-theirs")):
        for options in ([], ["--adopt"]):
            expected = f"BundleDeployment {name} exists and {text}: choose another name with --name\n"
            assert desk.olm("install", package, "--name", name, *options) == (5, "", expected)
        assert adoption(desk, name) is None
    with pytest.raises(SystemExit, match="2"):
        desk.olm("install", package, "--adopt", "--export")


def test_fields_that_others_manage_are_taken_over_only_by_force(desk: Desk) -> None:
    name = desk.package("a", "stable", "beta")
    body = {"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Operator", "metadata": {"name": name}}
    desk.apply({**body, "spec": {"packageName": name, "channel": "stable"}})
    status, _, err = desk.olm("install", name, "--channel", "beta")
    assert (status, "kubectl-client-side-apply" in err, "--force" in err) == (5, True, True)
    assert desk.olm("install", name, "--channel", "beta", "--force")[0] == 0
    assert installed(desk, name)["channel"] == "beta"


READY: Any = {
    "installed": {"name": "a", "version": "1.0.0", "catalog": "c", "channel": "stable"},
    "conditions": [condition("Ready", "True", "Succeeded", "fine")],
}
BLOCKED = {
    "conditions": [condition("Ready", "False", "NotResolved", "no"), condition("Stalled", "True", "Blocked", "no")]
}
BUSY = {
    "conditions": [
        condition("Ready", "False", "Installing", "unpacking"),
        {**condition("Reconciling", "True", "Installing"), "lastTransitionTime": TIME},
    ]
}


AVAILABLE = {"version": "1.1.0", "bundle": "a", "image": "i", "catalog": "c", "channel": "stable", "message": "m"}
HELD = {**READY, "available": {**AVAILABLE, "reason": "ApprovalRequired"}}
FIRST = {**HELD, "installed": None, "conditions": [condition("Ready", "False", "ApprovalRequired", "it waits")]}
UNRESOLVED = {
    "conditions": [
        condition("Ready", "False", "NotResolved", "no"),
        condition("Resolved", "False", "ResolutionFailed", "no"),
        condition("Reconciling", "True", "WaitingForOperators", "no"),
    ]
}
PAUSED = {**READY, "available": {**AVAILABLE, "reason": "Paused"}}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(READY, (0, "installed: 1.0.0 from catalog c, channel stable\n", ""), id="it is installed"),
        pytest.param(BLOCKED, (1, "", ": no\n"), id="it cannot be installed"),
        pytest.param(HELD, (5, "", "version 1.1.0 waits for approval (olm approve {})\n"), id="it waits for approval"),
        pytest.param(PAUSED, (5, "", "the Operator is paused (spec.paused)\n"), id="it is paused"),
        pytest.param(BUSY, (4, "", "unpacking (olm why {})\n"), id="it takes too long"),
    ],
)
def test_waiting_ends_with_the_outcome(state: Any, expected: tuple[int, str, str], desk: Desk) -> None:
    name = desk.operator("a", state)
    seconds = "5s" if state is BUSY else "60s"
    status, out, err = desk.olm("install", "a", "--name", name, "--force", "--wait", "--timeout", seconds)
    _, out_end, err_end = expected
    assert (status, out.endswith(out_end), err.endswith(err_end.format(name))) == (expected[0], True, True)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(READY, (0, ""), id="it is installed"),
        pytest.param(HELD, (0, ""), id="it is installed, and an upgrade waits for approval"),
        pytest.param(BUSY, (0, ""), id="it is being installed"),
        pytest.param(BLOCKED, (1, "{}: no\n"), id="it cannot be installed"),
        pytest.param(UNRESOLVED, (1, "{}: refused: no\n"), id="it is refused until others change"),
        pytest.param(
            FIRST, (5, "{0}: version 1.1.0 waits for approval (olm approve {0})\n"), id="it waits for approval"
        ),
    ],
)
def test_a_request_that_stands_already_ends_with_what_is_known_of_it(
    state: Any, expected: tuple[int, str], desk: Desk
) -> None:
    name = desk.operator("a", state)
    status, out, err = desk.olm("install", "a", "--name", name, "--force")
    assert (status, err) == (expected[0], expected[1].format(name))
    assert out.endswith(f"/{name} unchanged\n")


@pytest.mark.parametrize("value", ["x", "-1s", "0", "5m3", "1h1h"])
def test_a_timeout_that_is_no_duration(value: str, desk: Desk) -> None:
    with pytest.raises(SystemExit) as ended:
        desk.olm("install", "a", "--timeout", value)
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("given", "name"), [("a", "a"), ("a" * 48, "a" * 45), (f"{'a' * 44}-bc", "a" * 44)], ids=["short", "long", "a dash"]
)
def test_the_name_of_the_operator(given: str, name: str) -> None:
    assert operator_name(given) == name


def test_a_catalog_that_does_not_have_the_package_is_refused(desk: Desk) -> None:
    name = desk.package("a", "stable")
    desk.catalog(name)
    desk.catalog("quay", name="other")
    text = f"package '{name}' not found: catalog \"other\" does not have it; the package is in c"
    force = "; --force installs it when a catalog has it"
    assert desk.olm("install", name, "--catalog", "other") == (3, "", f"{text}{force}\n")
    for command in ("show", "graph"):
        assert desk.olm(command, name, "--catalog", "other") == (3, "", f"{text}\n")
    text = "there is no Catalog nosuch: the cluster has c and other; the package is in c\n"
    assert desk.olm("show", name, "--catalog", "nosuch") == (3, "", text)
    assert desk.olm("why", name)[0] == 3


def test_an_export_as_json(desk: Desk) -> None:
    status, out, _ = desk.olm("install", "a", "--export", "-o", "json")
    assert (status, json.loads(out)["spec"]) == (0, {"packageName": "a"})


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(("--version", "abc"), "'abc' is no version and no range: a version is", id="no version"),
        pytest.param(("--version", "1." * 33), f"'{'1.' * 33}' is longer than the 64 characters", id="a long version"),
        pytest.param(("--channel", "*", "--channel", "a"), "'*' means every channel", id="every channel and another"),
        pytest.param(("--channel", "Sta ble"), "'Sta ble' is no name of a channel: lower-case", id="no channel"),
    ],
)
@pytest.mark.parametrize("is_export", [True, False])
def test_what_the_api_server_would_refuse_is_wrong_usage(
    is_export: bool, arguments: tuple[str, ...], text: str, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (("install", "a", *["--export"] * is_export), ("upgrade", "a")):
        with pytest.raises(SystemExit, match="2"):
            desk.olm(*command, *arguments)
        assert text in capsys.readouterr().err


def test_a_name_that_is_no_text_is_wrong_usage(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        desk.olm("install", "a", "--export", "--catalog", "\udcff")
    assert "is no name of an object" in capsys.readouterr().err


def test_objects_are_printed_without_managed_fields_as_by_kubectl(desk: Desk) -> None:
    name = desk.operator("a")
    (found,) = [
        each for each in json.loads(desk.olm("list", "-o", "json")[1])["items"] if each["metadata"]["name"] == name
    ]
    made = json.loads(desk.olm("install", "a", "--name", name, "--force", "--dry-run", "server", "-o", "json")[1])
    assert ("managedFields" in found["metadata"], "managedFields" in made["metadata"]) == (False, False)


def test_a_package_is_shown_with_its_heads_while_its_catalog_cannot_be_read(desk: Desk) -> None:
    name = desk.package("a", "stable")
    status, out, err = desk.olm("show", name)
    assert (status, "warning: provider, keywords and deprecations are not shown" in err) == (0, True)
    assert out.splitlines()[-1].split() == ["stable", f"{name}.v1.0.0", "<none>", "1"]
