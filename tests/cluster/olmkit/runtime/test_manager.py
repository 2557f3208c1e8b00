"""One controller process from outside: probes, metrics, logs, signals, flags."""

from __future__ import annotations

import asyncio
import ctypes
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.controller import Controller
from olmkit.runtime.lease_holder import LEASE
from olmkit.runtime.manager import SHUTDOWN_TIMEOUT_SECONDS, Manager, Settings
from tests.cluster.olmkit.conftest import CONFIG_MAP, config_map, until
from tests.cluster.olmkit.example import names
from tests.cluster.olmkit.processes import Process, example

LIBC = ctypes.CDLL(None)
METRICS = [
    "controller_runtime_reconcile_total",
    "controller_runtime_reconcile_time_seconds_bucket",
    "controller_runtime_max_concurrent_reconciles",
    "controller_runtime_active_workers",
    "workqueue_depth",
    "workqueue_adds_total",
    "workqueue_queue_duration_seconds_bucket",
    "workqueue_work_duration_seconds_bucket",
    "workqueue_unfinished_work_seconds",
    "workqueue_longest_running_processor_seconds",
    "rest_client_requests_total",
    "rest_client_request_duration_seconds_bucket",
    "leader_election_master_status",
    "process_resident_memory_bytes",
    "process_cpu_seconds_total",
]
DECLARED = [
    "controller_runtime_reconcile_errors_total",
    "controller_runtime_terminal_reconcile_errors_total",
    "controller_runtime_reconcile_panics_total",
    "controller_runtime_reconcile_timeouts_total",
    "workqueue_retries_total",
    "leader_election_slowpath_total",
]
"""Metrics without a value until the first occurrence."""


@pytest.fixture
async def process(cluster: Cluster, namespace: str, tmp_path: Path) -> AsyncIterator[Process]:
    """An example process that is ready once a file exists."""
    async with example(cluster.kubeconfig, namespace, "only", "--ready-file", str(tmp_path / "ready")) as started:
        yield started


async def answer(client: Client, namespace: str) -> None:
    """Send two requests for one key, one after the other: the first pass has ended when the second is answered."""
    await client.create(CONFIG_MAP, config_map(namespace, "question", asked="1"))
    async with asyncio.timeout(30):
        async for event in client.watch(CONFIG_MAP, "0", namespace, "test=runtime"):
            answered = event["object"].get("data", {}).get("answered")
            if answered == "1":
                await client.patch(CONFIG_MAP, "question", {"data": {"asked": "2"}}, namespace)
            if answered == "2":
                return


async def test_healthz_is_ok_and_readyz_names_the_check_that_fails(
    process: Process, client: Client, namespace: str, tmp_path: Path
) -> None:
    await answer(
        client, namespace
    )  # a pass starts when the informer has synced; acquiring the lease does not wait for that
    assert await process.get("probes", "/healthz") == (200, "ok")
    status, text = await process.get("probes", "/readyz")
    assert status == 500
    assert "[+]informer configmaps ok" in text
    assert "[-]ready file failed" in text
    (tmp_path / "ready").touch()
    status, text = await process.get("probes", "/readyz")
    assert status == 200
    assert "[+]ready file ok" in text


PEER = """
import sys
for name in ("environ", "maps", "mem"):
    try:
        with open(f"/proc/{sys.argv[1]}/{name}", "rb"):
            print(name, "opened")
    except OSError as error:
        print(name, type(error).__name__)
"""


def drop_privileges() -> None:
    """As in a pod: even root has no capabilities after its next exec, so that it has no access to other processes."""
    bounding_set_drop, last = 24, int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in range(last + 1):
        LIBC.prctl(bounding_set_drop, capability, 0, 0, 0)  # fails without privileges, which has the same effect


async def peer_sees(pid: int) -> str:
    """What another process of the same user can read of this process."""
    command = (sys.executable, "-c", PEER, str(pid))
    peer = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, preexec_fn=drop_privileges)
    return (await peer.communicate())[0].decode()


async def test_other_processes_of_its_user_cannot_read_its_memory(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    flags = ("--ready-file", str(tmp_path / "ready"))
    async with example(cluster.kubeconfig, namespace, "only", *flags, prepare=drop_privileges) as process:
        await process.logged("lease acquired")
        assert (
            await peer_sees(process.child.pid) == "environ PermissionError\nmaps PermissionError\nmem PermissionError\n"
        )


async def test_a_missing_kind_makes_it_unready_but_does_not_end_it(
    cluster: Cluster, client: Client, namespace: str
) -> None:
    async with example(cluster.kubeconfig, namespace, "waiting", "--kind=absents.runtime.example.com") as waiting:
        await waiting.logged("watch fails, trying again", group="runtime.example.com")
        status, text = await waiting.get("probes", "/readyz")
        assert status == 500
        assert "[-]informer absents failed" in text
        assert (await waiting.get("probes", "/healthz"))[0] == 200
        waiting.send(signal.SIGTERM)
        assert await waiting.ended() == 0


async def test_metrics_have_the_names_of_controller_runtime(process: Process, client: Client, namespace: str) -> None:
    await answer(client, namespace)
    status, text = await process.get("metrics", "/metrics")
    assert status == 200
    names = {line.partition("{")[0].partition(" ")[0] for line in text.splitlines() if not line.startswith("#")}
    assert [name for name in METRICS if name not in names] == []
    declared = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
    assert [name for name in DECLARED if name not in declared] == []
    assert 'controller_runtime_reconcile_total{controller="example",result="success"}' in text
    assert 'workqueue_depth{name="example"} ' in text
    assert [line for line in text.splitlines() if line.startswith('rest_client_requests_total{code="200"')]


async def test_every_log_line_is_json_with_the_usual_keys(process: Process, client: Client, namespace: str) -> None:
    await answer(client, namespace)
    process.send(signal.SIGTERM)
    assert await process.ended() == 0
    await process.logged("stopped")
    assert all({"ts", "level", "logger", "msg"} <= set(line) for line in process.lines)
    assert [line for line in process.lines if line["level"] != "info"] == []
    assert [line for line in process.lines if line.get("controller")] == [], "a successful pass logs nothing"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_shuts_it_down(process: Process, client: Client, namespace: str, number: signal.Signals) -> None:
    await process.logged("lease acquired")
    process.send(number)
    assert await process.ended() == 0
    lease = await client.get(LEASE, "example", namespace)
    assert lease["spec"]["holderIdentity"] == ""


async def test_a_pass_that_does_not_end_is_cancelled_after_the_drain_timeout(
    process: Process, client: Client, namespace: str
) -> None:
    await process.logged("lease acquired")
    await client.create(CONFIG_MAP, config_map(namespace, "slow", asked="1", seconds="600"))
    await answer(client, namespace)
    process.send(signal.SIGTERM)
    assert await process.ended(within=60) == 0
    assert "answered" not in (await client.get(CONFIG_MAP, "slow", namespace))["data"]


async def test_a_pass_that_cannot_be_cancelled_ends_with_the_shutdown_timeout(
    process: Process, client: Client, namespace: str
) -> None:
    await process.logged("lease acquired")
    await client.create(CONFIG_MAP, config_map(namespace, "stubborn", asked="1", stubborn="yes"))
    await answer(client, namespace)
    process.send(signal.SIGTERM)
    assert await process.ended(within=SHUTDOWN_TIMEOUT_SECONDS + 60) == 1
    assert await process.logged("shutdown takes too long: exiting")


async def test_without_leader_election_it_works_at_once_and_creates_no_lease(
    cluster: Cluster, client: Client, namespace: str
) -> None:
    async with example(cluster.kubeconfig, namespace, "alone", "--no-leader-elect") as alone:
        await answer(client, namespace)
        with pytest.raises(NotFound):
            await client.get(LEASE, "example", namespace)
        alone.send(signal.SIGTERM)
        assert await alone.ended() == 0


async def test_it_waits_for_the_api_server_at_startup(cluster: Cluster, client: Client, namespace: str) -> None:
    if not cluster.is_managed:
        pytest.skip("stops the API server, which belongs to the user")
    await asyncio.to_thread(cluster.stop_component, "kube-apiserver")
    try:
        async with example(cluster.kubeconfig, namespace, "early") as early:
            await early.logged("watch fails, trying again")
            assert (await early.get("probes", "/healthz"))[0] == 200
            assert (await early.get("probes", "/readyz"))[0] == 500
            await asyncio.to_thread(cluster.start_component, "kube-apiserver")
            await early.logged("watch works again")
            await answer(client, namespace)
            assert (await early.get("probes", "/readyz"))[0] == 200
    finally:
        await asyncio.to_thread(cluster.start_component, "kube-apiserver")


async def test_a_port_in_use_is_logged_and_ends_it(cluster: Cluster, namespace: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        async with example(cluster.kubeconfig, namespace, "second", f"--metrics-bind-address={address}") as second:
            assert await second.ended() == 1
            await second.logged(f"cannot listen on {address} for metrics: Address already in use")


async def test_a_missing_kubeconfig_is_logged_and_ends_it(namespace: str, tmp_path: Path) -> None:
    async with example(tmp_path / "none", namespace, "lost") as lost:
        assert await lost.ended() == 1
        await until(lambda: bool(lost.lines), "the reason is logged")
        assert "there is no kubeconfig at" in lost.lines[-1]["msg"]


async def test_informers_can_be_added_and_removed_while_it_runs(client: Client, namespace: str, tmp_path: Path) -> None:
    settings = Settings(tmp_path, metrics_bind_address="0", health_probe_bind_address="0", leader_elect=False)
    manager = Manager("dynamic", settings, client)
    passes: list[str] = []

    async def reconcile(key: str) -> None:
        passes.append(key)

    controller = Controller("dynamic", reconcile)
    manager.add_controller(controller)
    task = asyncio.create_task(manager.run())
    await client.create(CONFIG_MAP, config_map(namespace, "a"))
    options = {"namespace": namespace, "label_selector": "test=runtime"}
    await until(lambda: manager.is_leading, "it works")
    informer = manager.informer(CONFIG_MAP, **options)
    assert manager.informer(CONFIG_MAP, **options) is informer, "shared"
    controller.watch(informer, names)
    await until(lambda: passes == ["a"], "its objects are processed")
    await manager.remove_informer(informer)
    assert manager.informer(CONFIG_MAP, **options) is not informer
    await client.create(CONFIG_MAP, config_map(namespace, "b"))
    again = manager.informer(CONFIG_MAP, **options)
    await until(lambda: again.get("b", namespace) is not None, "the new informer receives the change")
    assert passes == ["a"], "the removed informer enqueues nothing"
    manager.stop()
    await asyncio.wait_for(task, 60)


async def test_close_runs_in_reverse_order_with_a_timeout(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olmkit.runtime.manager.CLOSE_TIMEOUT_SECONDS", 0.1)
    manager = Manager("closing", Settings(tmp_path), client)
    closed: list[str] = []

    async def first() -> None:
        closed.append("first")

    async def hangs() -> None:
        closed.append("hangs")
        await asyncio.Event().wait()

    manager.on_close(first)
    manager.on_close(hangs)
    await manager.close()
    assert closed == ["hangs", "first"]
