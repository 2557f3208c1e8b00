"""The short form of docs/authors.md on a real node: a project becomes a bundle, which is installed from its directory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.images import Content
from devcluster.operators.manifests import NEW
from devcluster.pod_suite import PodSuite
from devcluster.processes import REPOSITORY
from devcluster.watch import Watch
from olmctl.main import main
from tests.node.operators.test_greeter import PATH, SECONDS, status

PROJECT = REPOSITORY / "config" / "samples" / "projects" / "greeter"
INIT = {
    "--display-name": "Greeter",
    "--description": "Writes greetings into ConfigMaps.",
    "--provider": "Acme Corp",
    "--provider-url": "https://acme.example.com",
    "--keywords": "greeting",
    "--maintainers": "Ada Acme:ada@acme.example.com",
}


def image_of(content: Content) -> str:
    """The image of the operator, as its bundle names it."""
    csv = content.bundles / "greeter" / NEW / "manifests" / "greeter.clusterserviceversion.yaml"
    return next(
        line.split()[-1] for line in csv.read_text().splitlines() if line.strip().startswith(("image:", "- image:"))
    )


def test_a_project_is_installed_from_its_directory_and_removed(
    cluster: Cluster,
    suite: PodSuite,
    content: Content,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(PROJECT, tmp_path / "greeter")
    monkeypatch.chdir(tmp_path / "greeter")
    name, _, digest = image_of(content).partition("@")
    settings = {"resources": ["manager.yaml"], "images": [{"name": "controller", "newName": name, "digest": digest}]}
    Path("config/manager/kustomization.yaml").write_text(json.dumps(settings))
    assert main(["bundle", "init", *(part for pair in INIT.items() for part in pair)]) == 0
    built = cluster.kubectl("kustomize", "config/manifests")
    generate = [sys.executable, "-m", "olmctl", "bundle", "generate", "--version", NEW, "--channels", "stable"]
    subprocess.run(generate, input=built, text=True, check=True)
    assert main(["bundle", "validate", "bundle"]) == 0
    to_cluster = f"--kubeconfig={cluster.kubeconfig}"
    try:
        assert main(["bundle", "run", "bundle", "--namespace", "greeter-system", to_cluster]) == 0, capsys.readouterr()
        assert "kubectl apply" in capsys.readouterr().out, "it ends with a custom resource to try"
        with Watch(cluster, PATH) as greetings:
            cluster.kubectl("apply", "-n", "default", "-f", "config/samples/greeter_v1alpha1_greeting.yaml")
            written = "Hello, world!"
            greetings.until(
                "the operator greets",
                lambda objects: status(objects, "default/world").get("greeting") == written,
                SECONDS,
            )
        cluster.kubectl("delete", "-n", "default", "greeting", "world")
    finally:
        assert main(["bundle", "cleanup", "greeter", "--yes", to_cluster]) == 0, capsys.readouterr()
    assert cluster.kubectl("get", "bundledeployments", "-o", "name") == ""
