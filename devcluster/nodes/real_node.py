"""The real node of a cluster: its namespaces, its programs, its images and its DNS, in the order in which they start.

The owner of a cluster calls `find_programs`, the supervisor everything else.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path

from devcluster import debian
from devcluster.api_client import ApiClient
from devcluster.build import NODE_NAMES
from devcluster.cache import cache_directory
from devcluster.control_plane import Component, Layout
from devcluster.errors import DevclusterError
from devcluster.nodes import cluster_dns, real, sandbox
from devcluster.nodes.network import NodeNetwork
from devcluster.optional_programs import optional_program
from devcluster.processes import children

_PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "ip": "iproute2",
    "host-local": "containernetworking-plugins",
}


def cgroup_of(name: str) -> str:
    """The cgroup of the pods of the cluster with this name."""
    return f"olm-devcluster-{name}"


def find_programs(report: Callable[[str], None]) -> dict[str, str]:
    """Find, install from Debian or build what only a real node needs: its name -> its path. Raises DevclusterError."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise DevclusterError(
            "A real node runs containers, which needs Linux and root; without them use simulated nodes."
        )
    sandbox.check()
    for directory in (cache_directory(), Path(__file__)):
        if hidden := next(
            (each for each in sandbox.HIDDEN_DIRECTORIES if directory.resolve().is_relative_to(each)), None
        ):
            raise DevclusterError(
                f"A real node has a {hidden} of its own, so it cannot use {directory}; set OLM_CACHE."
            )
    found = {}
    for program, package in _PACKAGES.items():
        path = debian.find_or_install(
            program, report, package=package, directories=(real.PLUGINS, "/usr/sbin", "/sbin")
        )
        found[program] = str(path)
    return found | {name: str(optional_program(name, report)) for name in ("pause", "coredns", *NODE_NAMES)}


def import_image(parent: int, archive: Path) -> None:
    """Import an OCI archive; `parent` is the process that RealNode.first_process runs as. Raises DevclusterError."""
    (process,) = children(parent)
    done = subprocess.run(
        ["ctr", f"--address={_socket(process)}", "--namespace=k8s.io", "images", "import", archive],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise DevclusterError(f"The image {archive} could not be imported: {done.stderr.strip()}")


def _socket(process: int) -> str:
    """The socket of containerd, as this machine sees it."""
    return f"/proc/{process}/root{real.SOCKET}"


class RealNode:
    """The node of one cluster."""

    def __init__(self, layout: Layout, network: NodeNetwork, programs: Mapping[str, str], cgroup: str) -> None:
        """`programs` is what `find_programs` returned. Starts nothing."""
        self._layout = layout
        self._network = network
        self._directory = layout.directory / "node"
        self._pause = Path(programs["pause"])
        self._coredns = Path(programs["coredns"])
        self._tools = {name: Path(programs[name]) for name in ("containerd", *NODE_NAMES)}
        self._cgroup = cgroup
        self._process = 0

    @property
    def first_process(self) -> Component:
        """The component to start first."""
        return sandbox.first_process(self._pause)

    def connect(self, parent: int) -> None:
        """Wait for the namespaces that the process of `first_process` creates, and connect them with this machine."""
        self._process = sandbox.wait_for(parent, self._pause)
        sandbox.prepare(self._process, self._network, self._directory, self._cgroup)

    def push_images(self) -> None:
        """Push the images of the node itself to the cluster's registry, which must answer."""
        from devcluster.images import Registry  # its imports take a second, which each supervisor would wait for

        registry = Registry(self._layout.registry)
        for image, program in ((real.SANDBOX_IMAGE, self._pause), (cluster_dns.IMAGE, self._coredns)):
            repository, _, tag = image.partition("/")[2].partition(":")
            registry.push_program(repository, tag, program)

    def components(self) -> list[Component]:
        """The programs of the node. The first one, containerd, must answer before the others start."""
        return real.components(self._layout, self._network, self._directory, self._process, self._tools, self._cgroup)

    def containerd_answers(self) -> bool:
        """Report whether containerd accepts connections."""
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(_socket(self._process))
            except OSError:
                return False
        return True

    def install_dns(self, api: ApiClient) -> bool:
        """Create the objects of the DNS that are missing; return whether all exist."""
        created = (HTTPStatus.CREATED, HTTPStatus.CONFLICT)
        return all(
            api.request("POST", cluster_dns.path(each), each)[0] in created
            for each in cluster_dns.objects(self._network)
        )

    def dns_is_ready(self, api: ApiClient) -> bool:
        """Report whether the DNS answers."""
        status, found = api.request("GET", cluster_dns.deployment_path())
        return status == HTTPStatus.OK and bool(found["status"].get("readyReplicas"))
