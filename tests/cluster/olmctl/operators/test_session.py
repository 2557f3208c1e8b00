"""Commands on a cluster that lacks something, or for users who may do little, against a real API server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from http import HTTPStatus
from pathlib import Path

import click
import pytest

from devcluster.cluster import Cluster
from olmctl.cli.options import connection_options
from olmctl.commands import reports_errors, run
from olmctl.operators.session import on_cluster
from olmctl.questions.session import Session
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from tests.cluster.olmctl.conftest import NO_SUITE, Desk
from tests.cluster.olmkit.conftest import until_allowed


@click.command("probe")
@connection_options
@reports_errors
@on_cluster
async def probe(session: Session) -> int:
    """List a kind that no cluster serves."""
    await session.client.list(Kind("operators.example.com", "v1", "Operator", "operators"))
    return 0


def test_a_cluster_without_the_kinds_of_the_suite(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(probe, "olm", ["--kubeconfig", str(cluster.kubeconfig)]) == 1
    assert capsys.readouterr().err == "the cluster does not serve the kinds of olm-suite: install it first\n"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("search",), id="search"),
        pytest.param(("list",), id="list"),
        pytest.param(("show", "a"), id="show"),
        pytest.param(("install", "a"), id="install"),
        pytest.param(("why", "a"), id="why"),
        pytest.param(("graph", "a"), id="graph"),
        pytest.param(("tree", "a"), id="tree"),
        pytest.param(("upgrade", "a"), id="upgrade"),
        pytest.param(("approve", "a"), id="approve"),
        pytest.param(("uninstall", "a", "--yes"), id="uninstall"),
    ],
)
def test_who_may_do_nothing_is_refused(arguments: tuple[str, ...], desk: Desk) -> None:
    status, out, err = desk.olm(*arguments, "--as", "nobody-in-particular")
    assert (status, out, err.count("\n")) == (5, "", 1)
    assert 'User "nobody-in-particular" cannot' in err


def test_kubectl_runs_and_completes_it_as_a_plugin(desk: Desk, tmp_path: Path) -> None:
    for program, function in (("kubectl-olm", "main"), ("kubectl_complete-olm", "kubectl_completion_main")):
        script = f"#!{sys.executable}\nimport sys\nfrom olmctl.main import {function}\nsys.exit({function}())\n"
        (tmp_path / program).write_text(script)
        (tmp_path / program).chmod(0o755)
    programs = [desk.cluster.state.programs, str(tmp_path), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(programs), "KUBECONFIG": str(desk.cluster.kubeconfig)}

    def kubectl(*arguments: str) -> str:
        command = ["kubectl", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    name = desk.operator("a")
    assert name in [line.split()[0] for line in kubectl("olm", "list", "--no-headers").splitlines()]
    assert name in [line.split("\t")[0] for line in kubectl("__complete", "olm", "why", name[:-1]).splitlines()]


def test_who_may_only_view_changes_nothing(desk: Desk) -> None:
    name = desk.operator("a", {"installed": {"name": "a.v1", "version": "1.0.0", "catalog": "c", "channel": "stable"}})
    kubectl = desk.cluster.kubectl
    kubectl("apply", "-f", "config/rbac/viewer.yaml")
    account = f"default:{desk.prefix}"
    viewer = f"system:serviceaccount:{account}"
    kubectl("create", "clusterrolebinding", desk.prefix, "--clusterrole=olm-suite-viewer", f"--user={viewer}")
    try:
        asyncio.run(_may_view(desk, account))
        assert name in desk.olm("list", "--as", viewer)[1]
        for command in ("why", "tree"):
            assert desk.olm(command, name, "--as", viewer)[0] == 0
        for arguments in (("upgrade", name, "--version", "1.0.0"), ("uninstall", name, "--yes")):
            status, out, err = desk.olm(*arguments, "--as", viewer)
            assert (status, out, f'User "{viewer}" cannot' in err) == (5, "", True)
    finally:
        kubectl("delete", "clusterrolebinding", desk.prefix)
        kubectl("delete", "clusterrole", "olm-suite-viewer")


def test_who_may_read_bundle_deployments_alone_is_shown_them(desk: Desk) -> None:
    left = desk.left_installation("left", "p", manager="olm")
    account, path = f"default:{desk.prefix}", "/apis/rbac.authorization.k8s.io/v1"
    metadata, user = {"name": desk.prefix}, f"system:serviceaccount:{account}"
    rules = [{"apiGroups": ["core.rukpak.io"], "resources": ["bundledeployments"], "verbs": ["get", "list"]}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": desk.prefix}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
    api = desk.cluster.api
    api.call("POST", f"{path}/clusterroles", {"metadata": metadata, "rules": rules})
    binding = {"metadata": metadata, "roleRef": role, "subjects": [subject]}
    api.call("POST", f"{path}/clusterrolebindings", binding)
    try:
        asyncio.run(_may_view(desk, account, "core.rukpak.io", "bundledeployments"))
        status, out, err = desk.olm("list", "--as", user)
        assert (status, left in out, f'User "{user}" cannot list resource "operators"' in err) == (5, True, True)
        assert desk.olm("list", "-o", "name", "--as", user)[:2] == (5, "")
        status, out, err = desk.olm("why", left, "--as", user)  # who may not read the Lease of rukpak
        assert (status, f"Deployment:  {left}" in out, err) == (0, True, "")
    finally:
        for kind in ("clusterrolebindings", "clusterroles"):
            api.call("DELETE", f"{path}/{kind}/{desk.prefix}")


def test_a_command_finds_the_namespace_of_the_suite(desk: Desk) -> None:
    name = desk.operator("a", {"installed": {"name": "a.v1", "version": "1.0.0", "catalog": "c", "channel": "stable"}})
    account, path = f"default:{desk.prefix}", "/apis/rbac.authorization.k8s.io/v1"
    user = f"system:serviceaccount:{account}"
    rules = [
        {"apiGroups": ["operators.operatorframework.io"], "resources": ["operators"], "verbs": ["get", "list"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
    ]
    subjects = [{"kind": "ServiceAccount", "name": "operator-controller", "namespace": f"{desk.prefix}-suite"}]
    viewers = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": desk.prefix}
    api, bindings = desk.cluster.api, {"olm-suite-operator-controller": subjects, desk.prefix: viewers}
    found, suite = api.request("GET", f"{path}/clusterrolebindings/olm-suite-operator-controller")
    if found == HTTPStatus.OK:  # of the suite that other tests have installed
        api.call("DELETE", f"{path}/clusterrolebindings/olm-suite-operator-controller")
    api.call("POST", f"{path}/clusterroles", {"metadata": {"name": desk.prefix}, "rules": rules})
    for each, bound in bindings.items():
        api.call(
            "POST", f"{path}/clusterrolebindings", {"metadata": {"name": each}, "roleRef": role, "subjects": bound}
        )
    try:
        asyncio.run(_may_view(desk, account))
        assert f"no Lease in namespace {desk.prefix}-suite: " in desk.olm("why", name)[2]
        assert "no Lease in namespace no-suite: " in desk.olm("why", name, NO_SUITE)[2], "the one that is named"
        hint = "olm-suite-system (if the suite has another one, name it with --system-namespace): "
        assert f"no Lease in namespace {hint}" in desk.olm("why", name, "--as", user)[2], "the user may not know"
    finally:
        for each in bindings:
            api.call("DELETE", f"{path}/clusterrolebindings/{each}")
        api.call("DELETE", f"{path}/clusterroles/{desk.prefix}")
        if found == HTTPStatus.OK:
            kept = {key: suite["metadata"][key] for key in ("name", "labels") if key in suite["metadata"]}
            api.call("POST", f"{path}/clusterrolebindings", {**suite, "metadata": kept})


async def _may_view(
    desk: Desk, account: str, group: str = "operators.operatorframework.io", resource: str = "operators"
) -> None:
    attributes = {"verb": "list", "group": group, "resource": resource}
    async with await Client.connect(str(desk.cluster.kubeconfig)) as client:
        await until_allowed(client, account, resourceAttributes=attributes)
