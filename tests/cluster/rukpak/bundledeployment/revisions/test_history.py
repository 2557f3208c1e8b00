"""The revisions in the status of a BundleDeployment."""

from __future__ import annotations

from collections.abc import Callable

from olmkit.api import bundledeployments
from olmkit.runtime.client import Client
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    READY,
    Harness,
    Object,
    config_map,
    deployment,
    namespace,
    plain,
    says,
)


def outcomes(raw: Object | None) -> list[str]:
    """Each revision with its outcome, the newest first."""
    history = (raw or {}).get("status", {}).get("history") or ()
    return [f"{one['revision']} {one['outcome']}" for one in history]


def has(*expected: str) -> Callable[[Object | None], bool]:
    """The history is this one."""
    return lambda raw: outcomes(raw) == list(expected)


async def test_each_change_of_what_is_asked_for_is_a_revision_with_its_outcome(at: Harness, running: Client) -> None:
    log = config_map("log", at.name, v="1")
    await at.install(at.push(plain(namespace(at.name), log, deployment("engine", at.name))))
    raw = await at.until(READY)
    assert outcomes(raw) == ["1 Succeeded"]
    assert raw["status"]["revision"] == 1

    ill = deployment("engine", at.name)
    ill["spec"]["template"]["spec"]["containers"][0]["name"] = "Not A Name"
    await at.install(at.push(plain(namespace(at.name), {**log, "data": {"v": "2"}}, ill), "v2"))
    raw = await at.until(says("Stalled", "True", "Blocked"))
    assert outcomes(raw) == ["2 Failed", "1 Succeeded"]
    assert raw["status"]["revision"] == 1
    failed = raw["status"]["history"][0]
    assert "Deployment.apps" in failed["reason"]
    assert failed["spec"] == raw["spec"]["template"]["spec"]
    assert failed["startedAt"] <= failed["finishedAt"]
    assert "installedAt" not in failed

    well = deployment("engine", at.name)
    await at.install(at.push(plain(namespace(at.name), {**log, "data": {"v": "3"}}, well), "v3"))
    raw = await at.until(READY)
    assert outcomes(raw) == ["3 Succeeded", "2 Failed", "1 Succeeded"]
    assert raw["status"]["revision"] == 3

    home = {"spec": {"installNamespace": f"{at.name}-home"}}
    await at.client.patch(bundledeployments.KIND, at.name, home)
    raw = await at.until(READY)
    assert outcomes(raw)[0] == "4 Succeeded"
    assert raw["status"]["revision"] == 4
    assert raw["status"]["history"][0]["install"] == f'{{"installNamespace":"{at.name}-home"}}'
    assert raw["status"]["history"][0]["bundle"] == raw["status"]["history"][1]["bundle"]


async def test_a_repair_is_no_revision(at: Harness, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, v="1"))))
    before = await at.until(READY)
    await at.client.delete(CONFIG_MAPS, "log", at.name)
    await at.when(CONFIG_MAPS, "log", at.name, lambda raw: raw is not None)
    raw = await at.until(READY)
    assert raw["status"]["history"] == before["status"]["history"]


async def test_five_revisions_are_kept(at: Harness, running: Client) -> None:
    for number in range(1, 8):
        await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, v=str(number))), f"v{number}"))
        raw = await at.until(READY)
    assert outcomes(raw) == [f"{number} Succeeded" for number in (7, 6, 5, 4, 3)]
