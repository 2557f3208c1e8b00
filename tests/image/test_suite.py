"""The suite as containers of the image on a local cluster: a Catalog is read, an Operator installed, the console shows both."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import shutil
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from devcluster.cluster import Cluster
from devcluster.images import Catalog, Content, Registry
from devcluster.processes import REPOSITORY, children
from devcluster.services import answers, free_address, port_of
from devcluster.suite import COMPONENTS, NAMESPACE, Suite
from devcluster.watch import CATALOGS, OPERATORS, Watch, is_true
from release import image
from release.container import CACHE, bundle, command
from release.suite import suite_version
from tests.deployed_console import browser_at, visit
from tests.image.conftest import Unpacked

CONSOLE = "olm-console"
SAMPLES = REPOSITORY / "config" / "samples"


class ContainerSuite(Suite):
    """The controllers as containers. Their caches are in memory, and their API accesses those of their ServiceAccounts."""

    def __init__(self, cluster: Cluster, unpacked: Unpacked, runc: Path) -> None:
        super().__init__(cluster)
        self._unpacked = unpacked
        self._runc = runc
        self._runs = 0

    def _run(self, name: str) -> None:
        flags = self._flags(name, CACHE)
        positions = [flags.index(flag) + 1 for flag in ("--kubeconfig", "--registries-conf")]
        files = [self._readable(name, Path(flags[position])) for position in positions]
        for position, (_, place) in zip(positions, files, strict=True):
            flags[position] = str(place)
        self._start_container(name, flags, files)

    def start_console(self) -> str:
        """Start the console, and return its address when it is ready."""
        address, probes = free_address(), free_address()
        kubeconfig = self._readable(CONSOLE, self._cluster.kubeconfig)
        (self.directory / "key").write_text(secrets.token_hex(32))
        (self.directory / "ca.crt").write_text(
            self._cluster.api.call("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/catalogd-ca")["data"]["ca.crt"]
        )
        key, authority = (self._readable(CONSOLE, self.directory / name) for name in ("key", "ca.crt"))
        flags = [
            *("--bind-address", address, "--health-probe-bind-address", probes),
            *("--kubeconfig", str(kubeconfig[1]), "--session-key-file", str(key[1])),
            *("--catalogs-url", f"https://{self.addresses['catalogd'].catalogs}"),
            *("--catalogs-ca-file", str(authority[1])),
        ]
        self._start_container(CONSOLE, flags, [kubeconfig, key, authority])
        self.until(CONSOLE, "ready", lambda: answers(probes, "/readyz"))
        return address

    def _readable(self, name: str, path: Path) -> tuple[Path, Path]:
        """A copy of a file, which the user of the image may read, and its place in the container of this name."""
        copy = self.directory / f"{name}-{path.name}"
        shutil.copyfile(path, copy)
        copy.chmod(0o644)
        return copy, Path("/etc/olm-suite") / copy.name

    def _start_container(self, name: str, flags: Sequence[str], files: Sequence[tuple[Path, Path]]) -> None:
        configuration = bundle(
            self._unpacked.tree, self._unpacked.content.configuration["config"], [name, *flags], files
        )
        self._runs += 1
        words = command(self._runc, self.directory / f"container-{self._runs}", configuration)
        self.launch(name, words[0], words[1:], {})


async def look_around(address: str, token: str) -> dict[str, str]:
    """The pages of the console at an address, for somebody with a token."""
    host, port = address.rpartition(":")[0], int(port_of(address))
    async with browser_at(host, port) as browser:
        refused = await browser.get("/catalog")
        assert (refused.status, refused.headers["Location"]) == (303, "/login?back=%2Fcatalog")
        await visit(browser, "/login")
        assert (await browser.log_in(token)).status == 303
        return await visit(browser)


def status(process: int) -> dict[str, str]:
    """The lines of /proc/<process>/status."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def controller(suite: Suite, name: str) -> int:
    """The process of a controller, which runc has started."""
    (found,) = children(suite.pid(name))
    return found


def pulled_digest(cluster: Cluster) -> str:
    """The digest that the registry has for the image with the tag `latest`."""
    accepted = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
    request = urllib.request.Request(f"http://{cluster.registry}/v2/olm-suite/manifests/latest", headers=accepted)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return f"sha256:{hashlib.sha256(answer.read()).hexdigest()}"


def test_the_suite_runs_from_the_image(cluster: Cluster, unpacked: Unpacked, runc: Path) -> None:
    with ContainerSuite(cluster, unpacked, runc) as suite, Watch(cluster, CATALOGS) as catalogs:
        suite.install()
        for name in COMPONENTS:
            started = time.monotonic()
            suite.start(name)
            print(f"{name}: ready {time.monotonic() - started:.2f} s after runc was started")
        for name in COMPONENTS:
            found = status(controller(suite, name))
            assert found["Uid"].split() == ["65532"] * 4
            assert (int(found["CapEff"], 16), found["NoNewPrivs"], found["Seccomp"]) == (0, "1", "2")
        assert image.push(unpacked.built, cluster.registry) == f"{cluster.registry}/olm-suite:v{suite_version()}"
        pushed = Catalog(Registry(cluster.registry), "catalogs/samples:latest", "registry.example.com")
        pushed.push(Content(SAMPLES / "catalog", SAMPLES / "bundles"))
        for sample in ("sample-catalog", "hello-operator"):
            cluster.kubectl("apply", "-f", str(SAMPLES / f"{sample}.yaml"))
        catalogs.until("the Catalog is Ready", lambda objects: is_true(objects.get("samples"), "Ready"))
        with Watch(cluster, OPERATORS) as operators:
            operators.until("the Operator is Ready", lambda objects: is_true(objects.get("hello-operator"), "Ready"))
        for name in COMPONENTS:
            # The sandbox of jobs logs what it cannot restrict.
            assert "jobs may" not in suite.log(name).read_text()
        assert pulled_digest(cluster) == unpacked.built.digest
        check_console(cluster, suite)
        suite.stop()
        assert {name: suite.exit_code(name) for name in (*COMPONENTS, CONSOLE)} == dict.fromkeys(
            (*COMPONENTS, CONSOLE), 0
        )


def check_console(cluster: Cluster, suite: ContainerSuite) -> None:
    """The console serves its pages from the image, reads the catalog from catalogd, and keeps the token to itself."""
    started = time.monotonic()
    address = suite.start_console()
    print(f"{CONSOLE}: ready {time.monotonic() - started:.2f} s after runc was started")
    found = status(controller(suite, CONSOLE))
    assert (found["Uid"].split(), int(found["CapEff"], 16), found["NoNewPrivs"]) == (["65532"] * 4, 0, "1")
    cluster.kubectl("create", "serviceaccount", "visitor", f"--namespace={NAMESPACE}")
    cluster.kubectl(
        "create", "clusterrolebinding", "visitor", "--clusterrole=view", f"--serviceaccount={NAMESPACE}:visitor"
    )
    token = cluster.kubectl("create", "token", "visitor", f"--namespace={NAMESPACE}").strip()
    texts = asyncio.run(look_around(address, token))
    assert "hello-operator" in texts["/catalog"]
    assert "hello-operator" in texts["/operators"]
    assert not re.search("Traceback|" + re.escape(token[-20:]), suite.log(CONSOLE).read_text())
