"""Custom tests as pods: their stages, what ends them, and that nothing is left. A task ends the pods, as a kubelet would."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio

from devcluster.cluster import Cluster
from devcluster.demo.sample_catalog import SAMPLES
from olmctl.main import main
from olmctl.scorecard import cluster as cluster_module
from olmctl.scorecard.cluster import CONFIG_MAPS, PodRunner, StorageCopy, new_run
from olmctl.scorecard.configuration import Stage, TestSpec
from olmctl.scorecard.pods import CONTAINER, GATHER, RUN_LABEL, bundle_volume, is_left, pod_of
from olmctl.scorecard.storage import PODS, Packer
from olmkit.api.meta import Kind, Object
from olmkit.errors import NotFound
from olmkit.runtime.client import Client

NUMBERS = count()
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
ACCOUNTS = Kind("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
FILES = {"manifests/a.yaml": b"a" * 700_000, "manifests/b.yaml": b"b" * 700_000, "metadata/annotations.yaml": b"c"}
BUNDLE = SAMPLES / "bundles" / "hello-operator" / "0.1.0"


class Room:
    """A namespace of the test, and what happens to pods in it."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client, self.namespace = client, namespace
        self.together: list[frozenset[str]] = []
        """The images of the pods that there were at the same time, whenever these changed."""

    async def pods(self) -> list[Object]:
        return (await self.client.list(PODS, self.namespace))[0]

    async def end_pods(self, *, when: int = 1) -> None:
        """End the pods that run, when there are so many of them."""
        while True:
            running = [each for each in await self.pods() if each["status"].get("phase") == "Running"]
            images = frozenset(each["spec"]["containers"][0]["image"] for each in running)
            if images and (not self.together or self.together[-1] != images):
                self.together.append(images)
            for pod in running if len(running) >= when else ():
                path = f"{PODS.path(self.namespace, pod['metadata']['name'])}/status"
                with suppress(NotFound):
                    await self.client.request(
                        "PATCH",
                        path,
                        body={"status": {"phase": "Succeeded"}},
                        content_type="application/merge-patch+json",
                    )
            await asyncio.sleep(0.1)

    async def report(self, states: dict[str, Object]) -> None:
        """Give the containers of the pods that run these states, as a kubelet would."""
        found = [
            {"name": name, "image": "i", "imageID": "i", "ready": False, "restartCount": 0, "state": state}
            for name, state in states.items()
        ]
        while True:
            for pod in await self.pods():
                if pod["status"].get("phase") == "Running" and pod["status"]["containerStatuses"][0]["image"] != "i":
                    path = f"{PODS.path(self.namespace, pod['metadata']['name'])}/status"
                    await self.client.request(
                        "PATCH",
                        path,
                        body={"status": {"containerStatuses": found}},
                        content_type="application/merge-patch+json",
                    )
            await asyncio.sleep(0.1)

    async def left(self) -> list[str]:
        """The objects of runs that are there, and are not being deleted."""
        found = [
            each
            for kind in (PODS, CONFIG_MAPS)
            for each in (await self.client.list(kind, self.namespace, RUN_LABEL))[0]
            if not each["metadata"].get("deletionTimestamp")
        ]
        return [each["metadata"]["name"] for each in found]


@pytest_asyncio.fixture
async def room(cluster: Cluster) -> AsyncIterator[Room]:
    client = await Client.connect(str(cluster.kubeconfig))
    name = f"scorecard-{os.getpid()}-{next(NUMBERS)}"
    async with client:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        async with asyncio.timeout(30):
            while not (await client.list(ACCOUNTS, name))[0]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        yield Room(client, name)
        await client.delete(NAMESPACES, name)


async def test_stages_follow_one_another_and_tests_of_a_parallel_one_run_together(room: Room) -> None:
    stages = (
        Stage((TestSpec("first:v1"), TestSpec("second:v1"))),
        Stage((TestSpec("third:v1"), TestSpec("fourth:v1")), is_parallel=True),
    )
    runner = PodRunner(room.client, new_run(room.namespace, "default", restricted=False), FILES, 30)
    async with runner:
        assert len([name for name in await room.left() if "bundle" in name]) == 2
        for number, stage in enumerate(stages, start=1):
            ending = asyncio.create_task(room.end_pods(when=number))
            outcomes = await runner.outcomes(stage, lambda spec: None)
            ending.cancel()
            assert [each.spec for each in outcomes] == list(stage.tests)
            # The nodes are simulated: there is no log.
            assert all("its log cannot be read" in each.results[0].errors[0] for each in outcomes)
    assert [set(images) for images in room.together if len(images) == 2] == [{"third:v1", "fourth:v1"}]
    assert room.together[:2] == [{"first:v1"}, {"second:v1"}]
    assert await room.left() == []


async def test_the_pods_of_an_interrupted_run_are_deleted(room: Room) -> None:
    runner = PodRunner(room.client, new_run(room.namespace, "default", restricted=True), FILES, 30)

    async def run() -> None:
        async with runner:
            await runner.outcomes(Stage((TestSpec("endless:v1"),)), lambda spec: None)

    task = asyncio.create_task(run())
    async with asyncio.timeout(20):
        while not await room.pods():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await room.left() == []


async def test_what_a_killed_run_has_left_is_deleted_when_it_can_be_no_more(room: Room) -> None:
    killed, other, kept = (
        new_run(room.namespace, "default", restricted=False, longest=longest) for longest in (1, 600, 0)
    )
    for run in (killed, other, kept):
        bundle = bundle_volume(run, {"manifests/a.yaml": b"a"})
        for each in bundle.config_maps:
            await room.client.create(CONFIG_MAPS, each)
        await room.client.create(PODS, pod_of(run, f"{run.name}-0", TestSpec("endless:v1"), bundle, 30))
    created = (await room.client.get(CONFIG_MAPS, f"{killed.name}-bundle-0", room.namespace))["metadata"]
    async with asyncio.timeout(30):
        while not is_left({"metadata": created}, (datetime.now(UTC) - timedelta(seconds=1)).isoformat()):  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    said: list[str] = []
    async with PodRunner(
        room.client, new_run(room.namespace, "default", restricted=False, longest=600), FILES, 30, progress=said.append
    ):
        names = await room.left()
    assert said == [f"removing the pods and ConfigMaps {killed.name}-*, whose run was killed"]
    assert not [name for name in names if name.startswith(killed.name)]
    assert sorted(await room.left()) == sorted(
        f"{run.name}-{end}" for run in (other, kept) for end in ("0", "bundle-0")
    )


async def test_the_logs_of_all_tests_have_a_limit(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "MAX_RUN_LOG_BYTES", 0)
    ending = asyncio.create_task(room.end_pods())
    async with PodRunner(room.client, new_run(room.namespace, "default", restricted=False), FILES, 30) as runner:
        (outcome,) = await runner.outcomes(Stage((TestSpec("first:v1"),)), lambda spec: None)
    ending.cancel()
    assert outcome.results[0].errors[0].startswith("its log is not read: the logs of this run have ")


async def test_the_command_says_what_a_test_waits_for(
    room: Room, cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: scorecard.operatorframework.io/v1alpha3\n"
        "kind: Configuration\n"
        "stages:\n"
        "- tests:\n"
        "  - {image: quay.io/operator-framework/scorecard-test:v1, entrypoint: [scorecard-test, basic-check-spec]}\n"
        "  - {image: quay.io/team/endless:v1, labels: {test: endless, suite: custom}}\n"
    )
    arguments = ["bundle", "scorecard", str(BUNDLE), "-c", str(config), "-n", room.namespace, "-w", "1s", "-o", "json"]
    where = ["--kubeconfig", str(cluster.kubeconfig), "-t", str(tmp_path / "out")]
    status = await asyncio.to_thread(main, [*arguments, *where])
    found = json.loads(capsys.readouterr().out)["items"]
    assert (status, found[0]["status"]["results"][0]["state"]) == (1, "pass")
    (result,) = found[1]["status"]["results"]
    assert (result["state"], result["errors"]) == ("fail", ["not within 1 seconds: its container still runs"])
    assert json.loads((tmp_path / "out" / "custom" / "endless" / "results.json").read_text())["items"] == [found[1]]
    assert await room.left() == []
    status = await asyncio.to_thread(main, [*arguments, *where, "-s", "nobody", "-l", "suite=custom"])
    (result,) = json.loads(capsys.readouterr().out)["items"][0]["status"]["results"]
    assert (status, result["state"], "nobody" in result["errors"][0]) == (1, "error", True)
    status = await asyncio.to_thread(main, [*arguments, *where, "-x", "-l", "suite=custom"])
    assert (status, "kept in namespace" in capsys.readouterr().err) == (1, True)
    assert len(await room.left()) == 2


STORING = """\
apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
storage: {spec: {mountPath: {path: /files}}}
stages:
- tests: [{image: "quay.io/team/endless:v1", labels: {test: endless, suite: custom}}]
"""


async def test_files_that_cannot_be_copied_are_an_error_of_their_test(
    room: Room, cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes are simulated: nothing can be executed in a pod."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(STORING)
    arguments = [
        "bundle",
        "scorecard",
        str(BUNDLE),
        "-c",
        "config.yaml",
        "-n",
        room.namespace,
        "-w",
        "1s",
        "-o",
        "json",
    ]
    where = ["--kubeconfig", str(cluster.kubeconfig), "--system-namespace", "no-suite"]
    assert await asyncio.to_thread(main, [*arguments, *where]) == 1
    assert (
        "name one with sh and tar with --storage-image (that of the suite cannot be used: " in capsys.readouterr().err
    )
    status = await asyncio.to_thread(main, [*arguments, *where, "--storage-image", "quay.io/team/tools:v1"])
    timed_out, not_copied = json.loads(capsys.readouterr().out)["items"][0]["status"]["results"]
    assert (status, timed_out["state"], not_copied["state"]) == (1, "fail", "error")
    assert not_copied["errors"][0].startswith("its files in /files are not copied: ")
    assert list((tmp_path / "test-output").iterdir()) == [], "nothing is left of what was tried"
    assert await room.left() == []


@pytest.mark.parametrize(
    ("waiting", "words"),
    [
        pytest.param(
            {"waiting": {"reason": "ImagePullBackOff", "message": "tools:v1: not found"}},
            "the container that packs them does not run: its container waits: ImagePullBackOff: tools:v1: not found",
            id="its image cannot be pulled",
        ),
        pytest.param(
            {"terminated": {"exitCode": 127, "reason": "Error"}},
            "the container that packs them does not run: its container ended with exit code 127 (Error)",
            id="its image has no shell",
        ),
        pytest.param(
            {"running": {}},
            "no command can be run in its pod: the API server answered ",
            id="it is on a simulated node",
        ),
    ],
)
async def test_why_files_are_not_copied(
    waiting: Object, words: str, room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "MIN_PULL_SECONDS", 0.1)
    ended = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    reporting = asyncio.create_task(room.report({CONTAINER: ended, GATHER: waiting}))
    storage = StorageCopy(Packer("tools:v1"), tmp_path, "/files")
    run = new_run(room.namespace, "default", restricted=False)
    async with PodRunner(room.client, run, FILES, 2, storage=storage) as runner:
        (outcome,) = await runner.outcomes(Stage((TestSpec("endless:v1"),)), lambda spec: None)
    reporting.cancel()
    assert outcome.results[-1].state == "error"
    assert outcome.results[-1].errors[0].startswith(f"its files in /files are not copied: {words}")
