"""A live update of tilt/suite.Tiltfile on a process: the same commands, without a container."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster import images
from devcluster.cluster import Cluster
from devcluster.processes import REPOSITORY
from devcluster.suite import Suite
from olmkit.store.store import STAGING_DIRECTORY
from tests.cluster.devcluster.test_cluster import eventually
from tests.tiltfile import DIRECTORY, Tilt, evaluate

NAME = "tilt-update"


class UpdatedSuite(Suite):
    """catalogd as in a container of Tilt: under tilt/restart.sh, with the packages of a directory that can be written."""

    site_packages: Path

    def _run(self, name: str) -> None:
        # -P: not the packages of the working directory.
        python = [sys.executable, "-P", "-m", name, *self._flags(name, self.directory / "cache")]
        environment = {**os.environ, "PYTHONPATH": str(self.site_packages)}
        # A shell cannot trap a signal that its parent ignores, as below nohup.
        shell = ["--default-signal=HUP", "/bin/sh", str(DIRECTORY / "restart.sh")]
        self.launch(name, "/usr/bin/env", [*shell, *python], environment)

    def get(self, path: str) -> bytes:
        """The answer of catalogd's HTTP server."""
        url = f"https://{self.addresses['catalogd'].catalogs}{path}"
        with urllib.request.urlopen(url, context=self.tls_context(), timeout=10) as answer:
            body: bytes = answer.read()
        return body

    def content(self) -> dict[str, int]:
        """The inodes of the published files of the catalog in the cache."""
        directory = self.directory / "cache"
        return {
            str(path.relative_to(directory)): path.stat().st_ino
            for path in directory.rglob("*.json*")
            if STAGING_DIRECTORY not in path.parts and path.is_file()
        }


@pytest.fixture(scope="module")
def tilt(cluster_programs: Path) -> Tilt:
    return evaluate(cluster_programs / "kubectl")


@pytest.fixture
def suite(cluster: Cluster, tmp_path: Path, tilt: Tilt) -> Iterator[UpdatedSuite]:
    """catalogd, which serves the samples."""
    site_packages = tmp_path / "site-packages"
    for step in tilt.images["olm-suite-catalogd"].steps:
        if step["step"] == "sync":
            package = DIRECTORY / step["local"]
            shutil.copytree(
                package, site_packages / Path(step["remote"]).name, ignore=shutil.ignore_patterns("__pycache__")
            )
    running = UpdatedSuite(cluster, tmp_path / "suite", {"catalogd": ["--no-leader-elect"]})
    running.site_packages = site_packages
    running.install()
    images.main([cluster.registry, str(REPOSITORY / "config" / "samples"), f"catalogs/{NAME}:latest"])
    source = {"type": "image", "image": {"ref": f"{cluster.registry}/catalogs/{NAME}:latest"}}
    catalog = {
        "apiVersion": "catalogd.operatorframework.io/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": NAME},
        "spec": {"source": source},
    }
    with running:
        running.start("catalogd")
        cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump(catalog))
        cluster.kubectl("wait", "--for=condition=Ready", f"catalog/{NAME}", "--timeout=60s")
        yield running
        cluster.kubectl("delete", "catalog", NAME)


def unpack(suite: UpdatedSuite, path: str, text: str) -> None:
    """What Tilt does with a synced file: an archive on the standard input of tar, in the container."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        entry = tarfile.TarInfo(path)
        entry.size, entry.mtime = len(text.encode()), int(time.time())
        tar.addfile(entry, io.BytesIO(text.encode()))
    command = ["tar", "-C", str(suite.site_packages), "-xf", "-"]
    subprocess.run(command, input=archive.getvalue(), check=True)


def run_of(tilt: Tilt) -> str:
    """The command that follows a sync. It signals process 1, the entrypoint of the container."""
    (run,) = [step["cmd"] for step in tilt.images["olm-suite-catalogd"].steps if step["step"] == "run"]
    assert run.endswith(" 1")
    return str(run)


def title(suite: UpdatedSuite) -> Any:
    try:
        return json.loads(suite.get("/openapi.json"))["info"]["title"]
    except (OSError, subprocess.SubprocessError):
        return None


def test_a_changed_file_runs_within_seconds_and_the_cache_is_served_again(
    suite: UpdatedSuite, cluster: Cluster, tilt: Tilt, capsys: pytest.CaptureFixture[str]
) -> None:
    served, files = suite.get(f"/catalogs/{NAME}/api/v1/all"), suite.content()
    before = json.loads(cluster.kubectl("get", "catalog", NAME, "-o", "json"))["status"]
    entrypoint = suite.pid("catalogd")
    restart = run_of(tilt).removesuffix("1") + str(entrypoint)
    path = "catalogd/http/openapi.py"
    source = (REPOSITORY / path).read_text()

    started = time.monotonic()
    unpack(suite, path, source.replace('"title": "catalogd"', '"title": "changed"'))
    subprocess.run(["sh", "-c", restart], check=True)
    eventually(lambda: title(suite) == "changed")
    elapsed = time.monotonic() - started

    assert suite.get(f"/catalogs/{NAME}/api/v1/all") == served
    assert files
    assert suite.content().items() >= files.items()
    after = json.loads(cluster.kubectl("get", "catalog", NAME, "-o", "json"))["status"]
    assert (after["contentDigest"], after["lastUnpacked"]) == (before["contentDigest"], before["lastUnpacked"])
    assert (suite.pid("catalogd"), suite.is_running("catalogd")) == (entrypoint, True)

    unpack(suite, path, "this is no Python\n")
    subprocess.run(["sh", "-c", restart], check=True)
    eventually(lambda: "it starts again in 5 seconds, or when a file changes" in suite.log_tail("catalogd", 200))
    assert suite.is_running("catalogd")
    unpack(suite, path, source)
    subprocess.run(["sh", "-c", restart], check=True)
    eventually(lambda: title(suite) == "catalogd")
    with capsys.disabled():
        print(f"\na changed file runs after {elapsed:.1f} s")
