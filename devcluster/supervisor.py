"""The parent of all processes of one cluster: starts them, restarts those that end, and stops them all.

Started by devcluster.cluster as `python -m devcluster.supervisor REQUEST`, in its own session. It takes commands from one owner
on standard input, one per line, answers on standard output, one per line, and ends at the end of that input or with the owner's
process. If it is killed, the kernel kills its children and the owner removes the directory.
"""

import asyncio
import json
import os
import platform
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from devcluster import allocation, control_plane, registry, routes, state
from devcluster.api_client import ApiClient
from devcluster.component_process import ComponentProcess
from devcluster.errors import DevclusterError
from devcluster.nodes import sandbox, simulated
from devcluster.nodes.network import NodeNetwork
from devcluster.nodes.real_node import RealNode, cgroup_of
from devcluster.services import answers

_START_SECONDS = 120.0
_POLL_SECONDS = 0.03


@dataclass(frozen=True)
class Request:
    """The request to start a cluster. With a kubeconfig that cluster is used, and at most a registry is started.

    With `node_programs`, of nodes.real_node, the cluster has one real node. The API server writes the file `audit_log`, if there
    is one.
    """

    directory: str
    programs: str
    nodes: int
    owner: int
    kubeconfig: str | None = None
    registry: str | None = None
    node_programs: Mapping[str, str] | None = None
    audit_log: str | None = None


class Supervisor:
    """The components of one cluster, and the order in which they start and stop."""

    def __init__(self, request: Request) -> None:
        """Starts nothing."""
        self._request = request
        self._directory = Path(request.directory)
        self._processes: dict[str, ComponentProcess] = {}
        self._api: ApiClient | None = None
        self._allocation_holder: socket.socket | None = None
        self._state: state.State | None = None

    async def start(self) -> state.State:
        """Start everything and return when the cluster is ready."""
        allocated, self._allocation_holder = allocation.allocate()
        (self._directory / "logs").mkdir()
        if self._request.kubeconfig is None:
            await self._start_control_plane(allocated)
        else:
            self._prepare(
                control_plane.Layout(self._directory, Path(self._request.programs), allocated),
                self._request.kubeconfig,
                "",
                (),
            )
            await self._launch(self._registry_component())
        if self._request.registry is None:
            await self._until("The registry", self._registry_answers)
        for name, process in self._processes.items():
            # Nothing could enter the namespaces of another first process.
            if name != sandbox.FIRST_PROCESS:
                process.restart_on_exit(self._save)
        self._save(ready=True)
        assert self._state is not None
        return self._state

    async def _start_control_plane(self, allocated: allocation.Allocation) -> None:
        network = None if self._request.node_programs is None else NodeNetwork(allocated)
        audit_log = Path(self._request.audit_log) if self._request.audit_log else None
        layout = control_plane.Layout(self._directory, Path(self._request.programs), allocated, network, audit_log)
        token = await asyncio.to_thread(layout.prepare)
        ranges = () if network else (allocated.pod_cidr, allocated.service_cidr)
        self._prepare(layout, str(layout.kubeconfig("admin")), layout.server, ranges)
        warning = await asyncio.to_thread(routes.add, ranges)
        if warning is not None:
            send(event="warning", message=warning)
        node = await self._create_node(layout)
        self._api = ApiClient(layout.server, layout.authority, token)
        await self._launch([control_plane.etcd(layout), control_plane.api_server(layout), *self._registry_component()])
        await self._until("The API server", self._api_server_answers)
        await self._launch([control_plane.controller_manager(layout), control_plane.scheduler(layout)])
        if node is None:
            await self._launch([simulated.kwok(layout)])
        else:
            await self._start_node(node)
        await self._until("A node", self._nodes_are_ready)

    async def _create_node(self, layout: control_plane.Layout) -> RealNode | None:
        """Create the namespaces of a real node; the API server and the registry listen on an interface to them."""
        if layout.network is None:
            return None
        assert self._request.node_programs is not None
        node = RealNode(layout, layout.network, self._request.node_programs, cgroup_of(self._directory.name))
        await self._launch([node.first_process])
        parent = self._processes[node.first_process.name].pid
        assert parent is not None
        await asyncio.to_thread(node.connect, parent)
        return node

    async def _start_node(self, node: RealNode) -> None:
        api = self._api
        assert api is not None
        await self._until("The registry", self._registry_answers)
        await asyncio.to_thread(node.push_images)
        runtime, *others = node.components()
        await self._launch([runtime])
        await self._until("containerd", node.containerd_answers)
        await self._launch(others)
        await self._until("The API server", lambda: node.install_dns(api))
        await self._until("The cluster's DNS", lambda: node.dns_is_ready(api))

    def _prepare(self, layout: control_plane.Layout, kubeconfig: str, server: str, ranges: tuple[str, ...]) -> None:
        address = self._request.registry or layout.registry
        registries_conf = self._directory / "registries.conf"
        registries_conf.write_text(registry.registries_conf(address))
        (self._directory / "registry.yaml").write_text(registry.configuration(self._directory, address))
        self._state = state.State(
            name=self._directory.name,
            ready=False,
            server=server,
            kubeconfig=kubeconfig,
            registry=address,
            registries_conf=str(registries_conf),
            programs=self._request.programs,
            nodes=self._request.nodes if server else 0,
            ranges=ranges,
            owner=self._request.owner,
            supervisor=os.getpid(),
            started=time.time(),
            link=layout.network.link if layout.network else "",
            cgroup=cgroup_of(self._directory.name) if layout.network else "",
        )
        # Saved before anything outside the directory changes, so that the changes can always be undone.
        self._save()

    def _registry_component(self) -> Sequence[control_plane.Component]:
        return [registry.component(self._directory)] if self._request.registry is None else []

    async def _launch(self, components: Sequence[control_plane.Component]) -> None:
        for component in components:
            process = ComponentProcess(component, Path(self._request.programs), self._directory / "logs")
            self._processes[component.name] = process
            await process.start()
        self._save()

    def _save(self, *, ready: bool = False) -> None:
        assert self._state is not None
        pids = {name: process.pid for name, process in self._processes.items() if process.pid is not None}
        self._state = replace(self._state, components=pids, ready=ready or self._state.ready)
        state.save(self._directory, self._state)

    async def _until(self, what: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not await asyncio.to_thread(condition):
            for process in self._processes.values():
                process.raise_if_ended()
            if time.monotonic() > deadline:
                raise DevclusterError(
                    f"{what} did not become ready in {_START_SECONDS:.0f} seconds; see {self._directory / 'logs'}."
                )
            await asyncio.sleep(_POLL_SECONDS)

    def _registry_answers(self) -> bool:
        assert self._state is not None
        return answers(self._state.registry, "/v2/")

    def _api_server_answers(self) -> bool:
        return self._call_api("GET", "/readyz")[0] == 200

    def _nodes_are_ready(self) -> bool:
        """Report whether the nodes and the namespace `default` accept pods. Creates missing nodes."""
        status, listed = self._call_api("GET", "/api/v1/nodes")
        if status != 200:
            return False
        present = {item["metadata"]["name"]: item for item in listed["items"]}
        for number in range(1, self._request.nodes + 1) if self._request.node_programs is None else ():
            desired = simulated.node(number, architecture())
            if desired["metadata"]["name"] not in present:
                self._call_api("POST", "/api/v1/nodes", desired)
        ready = [item for item in present.values() if simulated.is_ready(item)]
        if len(ready) < self._request.nodes:
            return False
        return self._call_api("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200

    def _call_api(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        assert self._api is not None
        return self._api.request(method, path, body)

    async def execute(self, command: dict[str, Any]) -> None:
        """Execute one command: {"do": "halt", "component", "signal"} or {"do": "resume", "component"}."""
        process = self._processes.get(command["component"])
        if process is None:
            raise DevclusterError(
                f"This cluster has no {command['component']} of its own that could be stopped and started."
            )
        if command["do"] == "halt":
            await process.stop(command["signal"])
        else:
            await process.start()
            if process.name == "kube-apiserver":
                await self._until("The API server", self._api_server_answers)
            process.restart_on_exit(self._save)
        self._save()

    async def stop(self) -> None:
        """Kill all components and remove all data, files and routes."""
        await asyncio.gather(*(process.stop(signal.SIGKILL) for process in self._processes.values()))
        await asyncio.to_thread(state.remove, self._directory)
        if self._allocation_holder is not None:
            self._allocation_holder.close()


def architecture() -> str:
    """The architecture of the local machine, as Go spells it."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def send(**message: Any) -> None:
    """Send the owner one line. An owner that is gone is detected elsewhere."""
    try:
        print(json.dumps(message), flush=True)
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


async def supervise(request: Request) -> int:
    """Lock the directory, run the cluster until the owner or a signal ends it, remove everything. Returns the exit code."""
    ended = asyncio.Event()
    commands = await _watch_owner(request.owner, ended)
    try:
        descriptor = state.lock(Path(request.directory))
    except DevclusterError as error:
        send(event="failed", message=str(error))
        return 1
    supervisor = Supervisor(request)
    serving = asyncio.create_task(_serve(supervisor, commands))
    ending = asyncio.create_task(ended.wait())
    try:
        await asyncio.wait((serving, ending), return_when=asyncio.FIRST_COMPLETED)
        return serving.result() if serving.done() else 0
    finally:
        serving.cancel()
        ending.cancel()
        await asyncio.gather(serving, ending, return_exceptions=True)
        await supervisor.stop()
        os.close(descriptor)


async def _serve(supervisor: Supervisor, commands: asyncio.Queue[bytes]) -> int:
    """Start the cluster, then execute commands until cancelled. Returns an exit code only if the start failed."""
    try:
        started = await supervisor.start()
    except DevclusterError as error:
        send(event="failed", message=str(error))
        return 1
    send(event="ready", state=asdict(started))
    while True:
        try:
            await supervisor.execute(json.loads(await commands.get()))
        except DevclusterError as error:
            send(event="failed", message=str(error))
        else:
            send(event="done")


async def _watch_owner(owner: int, ended: asyncio.Event) -> asyncio.Queue[bytes]:
    """Return the queue of the owner's commands; set `ended` when a signal arrives or the owner is gone."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    commands: asyncio.Queue[bytes] = asyncio.Queue()
    await loop.connect_read_pipe(lambda: _OwnerPipe(commands, ended), sys.stdin)
    if hasattr(os, "pidfd_open"):
        # A forked child of a killed owner may keep the pipe open.
        try:
            loop.add_reader(os.pidfd_open(owner), ended.set)
        except ProcessLookupError:
            ended.set()
    return commands


class _OwnerPipe(asyncio.Protocol):
    """Splits the owner's input into lines, and sets `ended` at its end."""

    def __init__(self, commands: asyncio.Queue[bytes], ended: asyncio.Event) -> None:
        self._commands = commands
        self._ended = ended
        self._pending = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            self._commands.put_nowait(line)

    def connection_lost(self, _: Exception | None) -> None:
        self._ended.set()


if __name__ == "__main__":
    sys.exit(asyncio.run(supervise(Request(**json.loads(sys.argv[1])))))
