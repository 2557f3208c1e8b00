"""The three controllers as containers of the image on a local cluster: a Catalog is read and an Operator installed."""

from __future__ import annotations

import hashlib
import shutil
import time
import urllib.request
from pathlib import Path

from devcluster.cluster import Cluster
from devcluster.images import Catalog, Content, Registry
from devcluster.processes import REPOSITORY, children
from devcluster.suite import COMPONENTS, Suite
from devcluster.watch import CATALOGS, OPERATORS, Watch, is_true
from release import image
from release.container import CACHE, bundle, command
from release.suite import suite_version
from tests.image.conftest import Unpacked

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
        files = []
        for flag in ("--kubeconfig", "--registries-conf"):
            position = flags.index(flag) + 1
            # The user of the image may read a copy.
            copy = self.directory / f"{name}{flag.strip('-')}"
            shutil.copyfile(flags[position], copy)
            copy.chmod(0o644)
            flags[position] = f"/etc/olm-suite/{copy.name}"
            files.append((copy, Path(flags[position])))
        configuration = bundle(
            self._unpacked.tree, self._unpacked.content.configuration["config"], [name, *flags], files
        )
        self._runs += 1
        words = command(self._runc, self.directory / f"container-{self._runs}", configuration)
        self.launch(name, words[0], words[1:], {})


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
        suite.stop()
        assert {name: suite.exit_code(name) for name in COMPONENTS} == dict.fromkeys(COMPONENTS, 0)
