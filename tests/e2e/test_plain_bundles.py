"""The guide's section 7.4, "Managing plain bundles in OLM 1.0": its commands in order, ours in opm's place, buildah in podman's.

Placeholders in angle brackets are filled in, and the local registry replaces quay.io: images are pushed to it. It also
serves the base image, as a mirror by registries.conf.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from devcluster import buildah
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.images import Registry
from devcluster.processes import python_environment
from tests.conditions import triple
from tests.e2e.stage import Stage

EXTENSION, VERSION, CHANNEL = "example-extension", "0.0.1", "preview"
CATALOG_DIRECTORY = "example-catalog"
BASE_REPOSITORY, BASE_TAG = "openshift4/ose-operator-registry", "v4.14"
NAMESPACE = "example-extension-system"

DOCKERFILE = "FROM scratch\nADD manifests /manifests\n"
MANIFESTS = {
    "namespace.yaml": f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {NAMESPACE}\n",
    "service_account.yaml": f"""
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {EXTENSION}
  namespace: {NAMESPACE}
""",
    "cluster_role.yaml": f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {EXTENSION}
rules:
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch]
""",
    "cluster_role_binding.yaml": f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {EXTENSION}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {EXTENSION}
subjects:
- kind: ServiceAccount
  name: {EXTENSION}
  namespace: {NAMESPACE}
""",
    "deployment.yaml": f"""
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {EXTENSION}
  namespace: {NAMESPACE}
spec:
  selector:
    matchLabels: {{app: {EXTENSION}}}
  template:
    metadata:
      labels: {{app: {EXTENSION}}}
    spec:
      serviceAccountName: {EXTENSION}
      containers:
      - name: manager
        image: registry.example.com/{EXTENSION}:v{VERSION}
""",
}


@dataclass(frozen=True)
class Workstation:
    """A directory of a project, and a shell in it whose opm and podman are ours and buildah."""

    directory: Path
    registry: str
    environment: dict[str, str]

    @property
    def bundle_image(self) -> str:
        """The reference of the bundle image."""
        return f"{self.registry}/example-org/example-extension-bundle:v{VERSION}"

    @property
    def catalog_image(self) -> str:
        """The reference of the catalog image."""
        return f"{self.registry}/example-org/example-catalog:latest"

    def run(self, command: str) -> str:
        """Run a command as written in the guide; returns its output. Fails the test if the command fails."""
        done = subprocess.run(
            ["bash", "-euc", command],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def workstation(cluster: Cluster, tmp_path: Path) -> Workstation:
    """The project with the manifests; an empty image replaces the base image of the guide."""
    try:
        program = buildah.find_or_install(print)
    except DevclusterError as error:
        pytest.fail(str(error), pytrace=False)
    tools, project = tmp_path / "bin", tmp_path / "project"
    (project / "manifests").mkdir(parents=True)
    for name, text in MANIFESTS.items():
        (project / "manifests" / name).write_text(text.lstrip())
    tools.mkdir()
    scripts = {
        "podman": buildah.shim(program, tmp_path / "buildah"),
        "opm": f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m olmctl catalog "$@"\n',
    }
    for name, text in scripts.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    Registry(cluster.registry).push(BASE_REPOSITORY, BASE_TAG, {}, {})
    environment = python_environment() | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "CONTAINERS_REGISTRIES_CONF": str(cluster.registries_conf),
    }
    return Workstation(project, cluster.registry, environment)


def test_the_commands_of_the_guide_make_an_installable_catalog(stage: Stage, workstation: Workstation) -> None:
    run = workstation.run

    # 7.4.2. Building a plain bundle image from an image source
    (workstation.directory / "plainbundle.Dockerfile").write_text(DOCKERFILE)
    run(f"podman build -f plainbundle.Dockerfile -t \\\n    {workstation.bundle_image} .")
    run(f"podman push {workstation.bundle_image}")

    # 7.4.3. Creating a file-based catalog
    run(f"mkdir {CATALOG_DIRECTORY}")
    base = f"registry.redhat.io/{BASE_REPOSITORY}:{BASE_TAG}"
    run(f"opm generate dockerfile {CATALOG_DIRECTORY} \\\n    -i {base}")
    dockerfile = (workstation.directory / f"{CATALOG_DIRECTORY}.Dockerfile").read_text().splitlines()
    assert dockerfile[0] == f"FROM {base}"
    assert not any(line.startswith("RUN") for line in dockerfile)
    run(f"opm init {EXTENSION} \\\n    --output json \\\n    > {CATALOG_DIRECTORY}/index.json")

    # 7.4.4. Adding a plain bundle to a file-based catalog
    index = workstation.directory / CATALOG_DIRECTORY / "index.json"
    package = json.loads(index.read_text())
    assert package == {"schema": "olm.package", "name": EXTENSION, "defaultChannel": ""}
    blobs = [{**package, "defaultChannel": CHANNEL}, bundle_blob(workstation.bundle_image), CHANNEL_BLOB]
    index.write_text("\n".join(json.dumps(blob, indent=4) for blob in blobs))
    run(f"opm validate {CATALOG_DIRECTORY}")

    # 7.4.5. Building and publishing a file-based catalog
    run(f"podman build -f {CATALOG_DIRECTORY}.Dockerfile -t \\\n    {workstation.catalog_image} .")
    run(f"podman push {workstation.catalog_image}")

    stage.ready_catalog(workstation.catalog_image)
    name = stage.operator(EXTENSION, channel=CHANNEL)
    found = stage.ready_operator(name, VERSION)
    image = workstation.bundle_image
    assert triple(found, "Resolved") == ("True", "Success", f'resolved to "{image}"')
    assert triple(found, "Installed") == ("True", "Success", f'installed from "{image}"')
    bundle = json.loads(stage.cluster.kubectl("get", "bundledeployment", name, "-o", "json"))
    assert bundle["spec"]["template"]["spec"]["provisionerClassName"] == "core-rukpak-io-plain"
    for made in (
        ("deployment", EXTENSION, "-n", NAMESPACE),
        ("serviceaccount", EXTENSION, "-n", NAMESPACE),
        ("clusterrole", EXTENSION),
        ("clusterrolebinding", EXTENSION),
    ):
        assert stage.exists(*made), made


def test_the_blob_of_the_guide_is_rendered_by_a_command(workstation: Workstation) -> None:
    run = workstation.run
    (workstation.directory / "plainbundle.Dockerfile").write_text(DOCKERFILE)
    run(f"podman build -f plainbundle.Dockerfile -t {workstation.bundle_image} .")
    run(f"podman push {workstation.bundle_image}")
    flags = f"--package {EXTENSION} --version {VERSION}"
    reach = '--allow-source-cidr 127.0.0.0/8 --registries-conf "$CONTAINERS_REGISTRIES_CONF"'
    from_image = run(f"opm render {workstation.bundle_image} {flags} {reach}")
    from_directory = run(f"opm render . {flags} --image {workstation.bundle_image}")
    assert from_image == from_directory
    assert json.loads(from_image) == bundle_blob(workstation.bundle_image)


def test_a_catalog_image_is_rendered_as_the_directory_it_was_built_from(workstation: Workstation) -> None:
    run = workstation.run
    run(f"mkdir {CATALOG_DIRECTORY}")
    run(f"opm generate dockerfile {CATALOG_DIRECTORY}")
    run(f"opm init {EXTENSION} -c {CHANNEL} > {CATALOG_DIRECTORY}/index.json")
    run(
        f"opm render . --package {EXTENSION} --version {VERSION} --image quay.io/a/b:c > {CATALOG_DIRECTORY}/bundle.json"
    )
    run(f"podman build -f {CATALOG_DIRECTORY}.Dockerfile -t {workstation.catalog_image} .")
    run(f"podman push {workstation.catalog_image}")
    reach = '--allow-source-cidr 127.0.0.0/8 --registries-conf "$CONTAINERS_REGISTRIES_CONF"'
    rendered = run(f"opm render {workstation.catalog_image} {reach}")
    assert rendered == run(f"opm render {CATALOG_DIRECTORY}")
    assert rendered.count('"schema"') == 2


CHANNEL_BLOB = {
    "schema": "olm.channel",
    "name": CHANNEL,
    "package": EXTENSION,
    "entries": [{"name": f"{EXTENSION}.v{VERSION}"}],
}


def bundle_blob(image: str) -> dict[str, object]:
    """The olm.bundle blob of 7.4.4."""
    return {
        "schema": "olm.bundle",
        "name": f"{EXTENSION}.v{VERSION}",
        "package": EXTENSION,
        "image": image,
        "properties": [
            {"type": "olm.package", "value": {"packageName": EXTENSION, "version": VERSION}},
            {"type": "olm.bundle.mediatype", "value": "plain+v0"},
        ],
    }
