"""`olm list` against a real API server."""

from __future__ import annotations

import json

import pytest
import yaml

from olmkit.api import clusterextensions
from tests.cluster.olmctl.conftest import NO_CONTROLLER, NO_RUKPAK, NO_SUITE, OPERATORS, Desk, condition

INSTALLED = {
    "installed": {"name": "a.v1", "version": "1.0.0", "catalog": "samples", "channel": "stable"},
    "wantedVersion": "1.1.0",
    "conditions": [condition("Ready", "False", "Upgrading", "installing a.v1.1.0")],
}


def rows(printed: str, desk: Desk) -> list[list[str]]:
    return [line.split() for line in printed.splitlines() if line.startswith(("NAME", desk.prefix))]


def test_a_table_as_kubectl_prints_it(desk: Desk) -> None:
    desk.operator("b")
    desk.operator("a", INSTALLED)
    status, out, err = desk.olm("list", NO_SUITE)
    header, first, second = rows(out, desk)
    unobserved = f"warning: no controller has reported on {desk.prefix}-b yet (olm suite status)\n"
    assert (status, err) == (0, NO_CONTROLLER + unobserved)
    assert header == ["NAME", "PACKAGE", "VERSION", "WANTED", "AVAILABLE", "CHANNEL", "CATALOG", "STATUS", "AGE"]
    assert first[:-1] == [f"{desk.prefix}-a", "a", "1.0.0", "1.1.0", "<none>", "stable", "samples", "Upgrading"]
    assert second[1:-1] == ["b", *["<none>"] * 5, "Pending"]


@pytest.mark.parametrize(
    ("reason", "shown"), [("DeletionBlocked", "DeletionBlocked"), ("Succeeded", "Removing")], ids=["blocked", "begun"]
)
def test_the_state_of_what_is_being_deleted(reason: str, shown: str, desk: Desk) -> None:
    name = desk.operator("a", {"conditions": [condition("Ready", "False", reason)]})
    finalizer = '{"metadata": {"finalizers": %s}}'
    desk.cluster.kubectl("patch", OPERATORS, name, "--type=merge", "-p", finalizer % '["example.com/held"]')
    try:
        desk.cluster.kubectl("delete", OPERATORS, name, "--wait=false")
        assert shown in rows(desk.olm("list")[1], desk)[1]
        assert f"State:       {shown}\n" in desk.olm("why", name)[1]
    finally:
        desk.cluster.kubectl("patch", OPERATORS, name, "--type=merge", "-p", finalizer % "null")


def test_wide_without_headers(desk: Desk) -> None:
    desk.operator("a", INSTALLED)
    ((*_, word, name),) = rows(desk.olm("list", "-o", "wide", "--no-headers")[1], desk)
    assert (word, name) == ("installing", "a.v1.1.0")


def test_json_yaml_and_names(desk: Desk) -> None:
    name = desk.operator("a", INSTALLED)
    listed = [json.loads(desk.olm("list", "-o", "json")[1]), yaml.safe_load(desk.olm("list", "-o", "yaml")[1])]
    for each in listed:
        assert name in [item["metadata"]["name"] for item in each["items"]]
    assert f"operator.operators.operatorframework.io/{name}\n" in desk.olm("list", "-o", "name")[1]


def test_what_is_installed_without_an_operator_is_named(desk: Desk) -> None:
    desk.left_installation("owned", "a", owner=desk.operator("owned"))
    left, restored = desk.left_installation("left", "a"), desk.left_installation("restored", "b", manager="velero")
    has = "BundleDeployment {0} keeps package {1} 1.0.0 installed without an Operator"
    text = f"{has}: `olm install {{1}} --name {{0}}{{2}}` takes it over"
    notes = [line for line in desk.olm("list")[2].splitlines() if line.startswith("note: ")]
    assert notes == [f"note: {text.format(left, 'a', '')}", f"note: {text.format(restored, 'b', ' --adopt')}"]
    assert "note: " not in desk.olm("list", "-o", "json")[2]


def test_bundle_deployments_without_an_operator_have_a_table_of_their_own(desk: Desk) -> None:
    owned = desk.operator("owned", INSTALLED)
    desk.left_installation("owned", "a", owner=owned)
    run = desk.left_installation("run", "b", manager="olm")
    out, err = desk.olm("list", "-o", "wide", NO_SUITE)[1:]
    assert NO_RUKPAK in err
    table = out[out.index("BUNDLEDEPLOYMENT") :].splitlines()
    assert table[0].split() == [
        "BUNDLEDEPLOYMENT",
        "PACKAGE",
        "VERSION",
        "WANTED",
        "SOURCE",
        "STATUS",
        "AGE",
        "MESSAGE",
    ]
    ((name, package, version, wanted, source, state, _, message),) = [
        line.split() for line in table if line.startswith(desk.prefix)
    ]
    assert (name, package, version, wanted, state, message) == (run, "b", "1.0.0", "<none>", "Ready", "<none>")
    assert source.startswith("example.com/a@sha256:")
    assert f"note: BundleDeployment {run}" not in err
    assert run not in desk.olm("list", "-o", "name")[1]


def test_clusterextensions_lead_to_their_operators_or_have_a_table_of_their_own(desk: Desk) -> None:
    owner, waiting = desk.extension("x" * 50), desk.extension("new")
    name = desk.operator_of(owner, INSTALLED)

    owned, table = desk.olm("list", "-o", "wide")[1].split("CLUSTEREXTENSION  ")
    assert f"   ClusterExtension {owner}   " in next(line for line in owned.splitlines() if line.startswith(name))
    assert [line.split()[:3] for line in table.splitlines() if line.startswith(desk.prefix)] == [
        [waiting, "a", "Pending"]
    ]
    explained = desk.olm("why", owner)[1]
    assert f"Operator:    {name}\nBelongs to:  ClusterExtension {owner}\n" in explained
    assert f"Extension:   {waiting} (a ClusterExtension without an Operator)\n" in desk.olm("why", waiting)[1]
    assert f"Operator/{name}" in desk.olm("tree", owner)[1]
    assert desk.olm("exclude", owner, "9.0.0")[0] == 0
    resource = f"{clusterextensions.KIND.plural}.{clusterextensions.KIND.group}"
    for arguments, command in (
        (("upgrade", owner, "--version", "2.0.0"), f"change that (kubectl edit {resource} {owner})"),
        (("install", "a", "--name", name), f"change that (kubectl edit {resource} {owner})"),
        (("uninstall", owner, "--yes"), f"delete that (kubectl delete {resource} {owner})"),
    ):
        status, out, err = desk.olm(*arguments)
        assert (status, out) == (5, "")
        assert f"Operator {name} belongs to ClusterExtension {owner}, which " in err
        assert command in err
    assert desk.olm("uninstall", owner, "--dry-run")[0] == 0
    assert f"ClusterExtension {waiting} has no Operator yet" in desk.olm("exclude", waiting, "9.0.0")[2]
