"""rukpak under its own account installs with the permissions of a tenant, and sends files to those who may read them."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from typing import Any

import yaml

from devcluster.images import Registry
from devcluster.suite import NAMESPACE
from devcluster.watch import BUNDLE_DEPLOYMENTS, Object, is_true
from olmkit.api.provisioner_classes import PLAIN
from olmkit.tls.service import CA_KEY, RUKPAK_SERVICE
from tests.cluster.devcluster.test_cluster import eventually
from tests.conditions import triple
from tests.e2e.stage import Stage

ACCOUNT = "installer"


def test_a_bundle_is_installed_with_the_permissions_of_an_account(stage: Stage) -> None:
    kubectl, namespace = stage.cluster.kubectl, f"{stage.name}-team"
    kubectl("create", "namespace", namespace)
    try:
        kubectl("create", "serviceaccount", ACCOUNT, f"--namespace={namespace}")
        own = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", "namespace": namespace}}
        digest = Registry(stage.cluster.registry).push(
            f"bundles/{stage.name}", "v1", {"manifests/own.yaml": yaml.safe_dump(own).encode()}, {}
        )
        kubectl("apply", "-f", "-", input=json.dumps(_deployment(stage, namespace, digest)))
        refused = _until(stage, "the missing permissions are named", lambda o: triple(o, "Stalled")[1] == "Blocked")
        assert "configmaps" in json.dumps(refused["status"]["missingPermissions"])
        kubectl(
            *("create", "rolebinding", "admin", "--clusterrole=admin", f"--namespace={namespace}"),
            f"--serviceaccount={namespace}:{ACCOUNT}",
        )
        found = _until(stage, "it is installed", lambda o: is_true(o, "Installed"))
        kubectl("get", "configmap", "own", f"--namespace={namespace}")
        assert _status_of_files(stage, found["status"]["activeBundle"], "") == 401
        token = kubectl("create", "token", ACCOUNT, f"--namespace={namespace}").strip()
        assert _status_of_files(stage, found["status"]["activeBundle"], token) == 403
        binding = ("clusterrolebinding", stage.name)
        kubectl("create", *binding, "--clusterrole=olm-suite-bundle-reader", f"--serviceaccount={namespace}:{ACCOUNT}")
        try:
            eventually(lambda: _status_of_files(stage, found["status"]["activeBundle"], token) == 200)
        finally:
            kubectl("delete", *binding)
    finally:
        kubectl("delete", "bundledeployments.core.rukpak.io", stage.name, "--ignore-not-found", "--timeout=60s")
        kubectl("delete", "namespace", namespace, "--wait=false")


def _deployment(stage: Stage, namespace: str, digest: str) -> Object:
    source = {"type": "image", "image": {"ref": f"{stage.cluster.registry}/bundles/{stage.name}@{digest}"}}
    return {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "BundleDeployment",
        "metadata": {"name": stage.name},
        "spec": {
            "provisionerClassName": PLAIN,
            "installNamespace": namespace,
            "serviceAccount": {"name": ACCOUNT},
            "template": {"spec": {"provisionerClassName": PLAIN, "source": source}},
        },
    }


def _until(stage: Stage, what: str, holds: Any) -> Object:
    """Wait until this holds for the BundleDeployment of the test."""

    def found(objects: Any) -> Object | None:
        raw: Object | None = objects.get(stage.name)
        return raw if raw is not None and raw.get("status", {}).get("conditions") and holds(raw) else None

    return stage.until(BUNDLE_DEPLOYMENTS, what, found)


def _status_of_files(stage: Stage, bundle: str, token: str) -> int:
    """The status code of a request for the files of a Bundle."""
    published = stage.cluster.kubectl("get", "configmap", RUKPAK_SERVICE.config_map, f"-n={NAMESPACE}", "-o", "json")
    context = ssl.create_default_context(cadata=json.loads(published)["data"][CA_KEY])
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = f"https://{stage.suite.addresses['rukpak'].webhooks}/bundles/{bundle}.tgz"
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), context=context, timeout=30
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
