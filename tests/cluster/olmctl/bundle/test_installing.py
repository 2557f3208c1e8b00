"""The end of the wait of `olm bundle run` and `olm bundle upgrade` when waiting does not help: an OperatorCondition permits no
upgrade, which --force overrides, or the API server refuses the pods."""

from __future__ import annotations

import asyncio
import shutil

import pytest
import yaml

from olmctl.bundle.installing import Request
from olmctl.bundle.source import of_directory
from olmctl.questions.own_fields import FIELD_MANAGER
from olmctl.questions.session import Session
from olmkit.api import bundledeployments
from olmkit.api.bundle_annotations import RECORDED_ANNOTATIONS
from olmkit.api.operator_conditions import KIND
from olmkit.errors import NotFound
from tests.cluster.olmctl.bundle.conftest import Workshop
from tests.cluster.rukpak.bundledeployment.test_operator_condition import Definition, definition, say, upgradeable
from tests.cluster.rukpak.harness import Harness, config_map, deployment, namespace, says
from tests.unit.rukpak.builders import csv, files
from tests.unit.rukpak.builders import deployment as csv_deployment

__all__ = ["definition"]

WRITERS = 3
"""Of one condition: most patches of a fourth one that names a resourceVersion fail."""


def save(workshop: Workshop, version: str) -> None:
    """Write a registry+v1 bundle of one Deployment without pods, which is an upgrade of all others."""
    shutil.rmtree(workshop.directory)
    workload = csv_deployment("captain", containers=[{"name": "main", "image": "registry.example.com/x:v1"}])
    workload["spec"]["replicas"] = 0
    annotations = {"operatorframework.io/suggested-namespace": workshop.name, "olm.skipRange": "<9.0.0"}
    found = csv(
        f"{workshop.name}.{version}", annotations=annotations, install={"deployments": [workload]}, version=version
    )
    for path, data in files(found, package=workshop.name).items():
        file = workshop.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


async def storm(at: Harness, name: str) -> None:
    """Write the OperatorCondition again and again, until it permits the upgrade."""
    number = 0
    while True:
        number += 1
        try:
            found = await at.client.patch(KIND, name, {"metadata": {"annotations": {"n": f"{number}"}}}, at.name)
        except NotFound:  # it is gone after the upgrade
            return
        if {"type": "Upgradeable", "status": "True"}.items() <= found["spec"]["overrides"][0].items():
            return


async def test_an_operator_condition_ends_an_upgrade_at_once(workshop: Workshop, definition: Definition) -> None:
    at, name, first = workshop.place.at, workshop.name, f"{workshop.name}.1.0.0"
    await definition.appear()
    save(workshop, "1.0.0")
    status, _, err = await workshop.olm("run", str(workshop.directory), "--timeout", "60s")
    assert status == 0, err
    await say(at.client, at, "1.0.0", "overrides", {**upgradeable("False", "we have no backup"), "reason": "Freeze"})
    save(workshop, "1.1.0")
    status, _, err = await workshop.olm("upgrade", str(workshop.directory), "--timeout", "60s")
    assert status == 5, err
    text = f"OperatorCondition {name}/{first}: The operator is not upgradeable: we have no backup"
    assert text in err
    assert "--force writes this override" in err
    assert f"{first} continues to run" in err
    async with asyncio.TaskGroup() as writers:
        for _ in range(WRITERS):
            writers.create_task(storm(at, first))
        status, out, err = await workshop.olm("upgrade", str(workshop.directory), "--force", "--timeout", "60s")
        assert status == 0, err
    assert out.splitlines()[0] == f"operatorconditions.operators.coreos.com/{name}/{first} overridden: Upgradeable"
    await at.remove()


async def test_pods_that_the_api_server_refuses_end_the_wait(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, at = workshop.name, workshop.place.at
    monkeypatch.setattr("olmctl.bundle.installing.REFUSED_PODS_SECONDS", 1)
    engine = deployment("engine", name)
    engine["spec"]["template"]["spec"]["priorityClassName"] = f"{name}-absent"
    (workshop.directory / "manifests" / "all.yaml").write_text(yaml.safe_dump_all([namespace(name), engine]))
    status, _, err = await workshop.olm("run", str(workshop.directory), "--timeout", "60s")
    assert status == 1, err
    assert f"no PriorityClass with name {name}-absent was found" in err
    assert "refuses its pods, which waiting does not change; the installation continues (olm why" in err
    reference = {"group": "apps", "kind": "Deployment", "namespace": name, "name": "engine"}
    found = at.deployments.get(name)
    assert found is not None
    assert found["status"]["refusedPods"] == [reference]
    await at.remove()


async def test_a_bundle_that_was_rolled_back_ends_an_upgrade_to_it_at_once(workshop: Workshop) -> None:
    """Nothing waits for a Bundle that rukpak does not create, and another option has it tried again."""
    name, directory = workshop.name, str(workshop.directory)
    objects = workshop.directory / "manifests" / "all.yaml"
    objects.write_text(yaml.safe_dump_all([namespace(name), config_map("log", name)]))
    status, _, err = await workshop.olm("run", directory, "--rollback", "OnFailure", "--timeout", "60s")
    assert status == 0, err
    deployments = workshop.place.at.deployments
    before = (deployments.get(name) or {})["status"]["installed"]["bundle"]
    ill = deployment("engine", name)
    ill["spec"]["template"]["spec"]["containers"][0]["name"] = "Not A Name"
    objects.write_text(yaml.safe_dump_all([namespace(name), config_map("log", name), ill]))
    status, _, err = await workshop.olm("upgrade", directory, "--timeout", "60s")
    assert (status, "Not A Name" in err) == (1, True), err
    await workshop.place.at.until(says("Stalled", "True", "RolledBack"), name)

    status, _, err = await workshop.olm("upgrade", directory, "--timeout", "60s")
    assert (status, "not within" in err) == (1, False), err
    assert f"{name}: rolled back to {before} (revision 1); " in err
    assert "Not A Name" in err
    assert f"olm bundle upgrade {directory} --name {name} --rollback Never tries the failed bundle again" in err
    shown = (await asyncio.to_thread(workshop.desk.olm, "why", name))[1]
    assert f"with its files in DIRECTORY (olm bundle content {before} -o DIRECTORY)" in shown
    status, _, err = await workshop.olm("upgrade", directory, "--rollback", "Never", "--timeout", "60s")
    assert (status, "rolled back" in err, "Not A Name" in err) == (1, False, True), err

    files = workshop.directory.parent / "before"
    status, _, err = await workshop.olm("content", before, "-o", str(files))
    assert status == 0, err
    status, _, err = await workshop.olm("upgrade", str(files), "--name", name, "--timeout", "60s")
    assert status == 0, err
    assert (deployments.get(name) or {})["status"]["installed"]["bundle"] == before, "the files are the same"
    await workshop.place.at.remove()


async def test_a_rollback_that_follows_is_waited_for(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither refused pods nor the advice to return come before rukpak returns by itself."""
    name, directory = workshop.name, str(workshop.directory)
    monkeypatch.setattr("olmctl.bundle.installing.REFUSED_PODS_SECONDS", 1)
    objects = workshop.directory / "manifests" / "all.yaml"
    objects.write_text(yaml.safe_dump_all([namespace(name), config_map("log", name)]))
    status, _, err = await workshop.olm("run", directory, "--rollback", "OnFailure", "--timeout", "60s")
    assert status == 0, err
    engine = deployment("engine", name)
    engine["spec"]["template"]["spec"]["priorityClassName"] = f"{name}-absent"
    objects.write_text(yaml.safe_dump_all([namespace(name), config_map("log", name), engine]))
    status, _, err = await workshop.olm("upgrade", directory, "--timeout", "1s")
    assert status == 4, err
    await workshop.place.at.until(lambda found: bool(((found or {}).get("status") or {}).get("refusedPods")), name)
    status, _, err = await workshop.olm("upgrade", directory, "--timeout", "3s")
    assert status == 4, err
    assert (
        "by itself unless it is healthy within the deadline of its kinds, 10m for most (--progress-deadline sets" in err
    )
    status, _, err = await workshop.olm("upgrade", directory, "--progress-deadline", "4s", "--timeout", "60s")
    assert (status, "rolled back to " in err, "refuses its pods" in err) == (1, True, False), err
    await workshop.place.at.remove()


async def test_a_move_counts_the_namespace_that_it_leads_to(workshop: Workshop) -> None:
    save(workshop, "1.0.0")
    status, out, err = await workshop.olm("run", str(workshop.directory), "--timeout", "60s")
    assert status == 0, err
    status, out, err = await workshop.olm(
        "run", str(workshop.directory), "-n", f"{workshop.name}-b", "--timeout", "60s"
    )
    assert status == 0, err
    assert f"is in namespace {workshop.name}-b" in out
    assert out.splitlines()[-1].endswith(": 1 Deployment, 1 Namespace")
    await workshop.place.at.remove()


async def test_an_installation_of_another_package_that_took_the_name_meanwhile_is_kept(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, name = workshop.place.at, workshop.name
    save(workshop, "1.0.0")
    source = of_directory(workshop.directory)
    template = source.template()
    template["metadata"]["annotations"][RECORDED_ANNOTATIONS["package"]] = "other"
    spec = {"provisionerClassName": "core-rukpak-io-plain", "template": template}
    other = {"apiVersion": bundledeployments.KIND.api_version, "kind": "BundleDeployment", "metadata": {"name": name}}

    async def take_the_name(session: Session, _: Request) -> None:
        await session.client.apply(bundledeployments.KIND, {**other, "spec": spec}, FIELD_MANAGER)

    monkeypatch.setattr("olmctl.bundle.installing._check_package", take_the_name)
    status, _, err = await workshop.olm("run", str(workshop.directory), "--timeout", "60s")
    assert (status, f"BundleDeployment {name} is of package other" in err) == (5, True), err
    found = await at.client.get(bundledeployments.KIND, name)
    assert found["metadata"]["generation"] == 1
    await at.remove()
