"""What config/ holds, as the API server takes it: the manifests, and what each account may and may not do."""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalogd.__main__ import add_flags as catalog_flags
from devcluster.cluster import Cluster
from devcluster.processes import REPOSITORY
from devcluster.suite import NAMESPACE, Suite
from devcluster.watching import Watch
from olmkit.manager import make_parser, parse_settings
from olmkit.serving.names import CATALOGS as SERVICE
from operator_controller.catalog_access import add_flags as operator_flags

CONFIG = REPOSITORY / "config"
BUNDLES = sorted((CONFIG / "samples" / "bundles").glob("*/*/manifests"))


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Cluster:
    """The cluster with CRDs and RBAC."""
    Suite(cluster).install()
    return cluster


def _may(cluster: Cluster, user: str, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:
    """Whether a user may; `resource` as "plural.group" or "plural.group/subresource"."""
    kind, _, subresource = resource.partition("/")
    plural, _, group = kind.partition(".")
    attributes = {
        "verb": verb,
        "group": group,
        "resource": plural,
        "subresource": subresource,
        "namespace": namespace,
        "name": name,
    }
    return _review(cluster, {"user": user, "resourceAttributes": attributes})


def _review(cluster: Cluster, spec: dict[str, Any]) -> bool:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = json.loads(cluster.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(review)))
    return bool(answer["status"]["allowed"])


FLAGS: Mapping[str, Callable[[ArgumentParser], None]] = {
    "catalogd": catalog_flags,
    "rukpak": lambda parser: None,
    "operator-controller": operator_flags,
}


@pytest.mark.parametrize("name", FLAGS)
def test_a_controller_knows_the_flags_that_its_deployment_gives_it(name: str) -> None:
    parser = make_parser(name)
    FLAGS[name](parser)
    container = manifest(name, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    parse_settings(parser, container["args"])
    assert container["command"] == [name]


def test_catalogd_is_reached_by_its_content_url() -> None:
    container = manifest("catalogd", "Deployment")["spec"]["template"]["spec"]["containers"][0]
    (address,) = [flag.partition("=")[2] for flag in container["args"] if flag.startswith("--external-address=")]
    service = manifest("catalogd", "Service")
    assert address == SERVICE.host(NAMESPACE) == f"{service['metadata']['name']}.{NAMESPACE}.svc"
    (port,) = service["spec"]["ports"]
    assert port["port"] == 443  # what https implies
    named = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert f"--catalogs-server-addr=:{named[port['targetPort']]}" in container["args"]


def manifest(name: str, kind: str) -> Any:
    """The object of that kind in the file of a controller."""
    documents = yaml.safe_load_all((CONFIG / "manager" / f"{name}.yaml").read_text())
    (found,) = [each for each in documents if each["kind"] == kind]
    return found


def test_everything_of_config_default_is_accepted(installed: Cluster) -> None:
    printed = installed.kubectl("apply", "--server-side", "--dry-run=server", "-k", str(CONFIG / "default"))
    for name in ("catalogd", "rukpak", "operator-controller"):
        assert f"deployment.apps/{name} serverside-applied (server dry run)" in printed
        assert f"serviceaccount/{name} serverside-applied (server dry run)" in printed


def test_the_pods_of_the_controllers_are_admitted_as_restricted(installed: Cluster) -> None:
    installed.kubectl("apply", "--server-side", "-k", str(CONFIG / "default"))
    try:
        installed.kubectl("wait", "--for=condition=Available", "deployment", "--all", "-n", NAMESPACE, "--timeout=60s")
    finally:
        installed.kubectl("delete", "-k", str(CONFIG / "manager"), "--wait=false")


def test_the_sample_objects_are_accepted(installed: Cluster) -> None:
    printed = installed.kubectl("apply", "--dry-run=server", "-f", str(CONFIG / "samples"))
    assert printed.count("operator.operators.operatorframework.io/") == 4
    assert "catalog.catalogd.operatorframework.io/samples" in printed


@pytest.mark.parametrize("folder", BUNDLES, ids=lambda folder: "-".join(folder.parts[-3:-1]))
def test_the_crds_of_the_sample_bundles_are_accepted(installed: Cluster, folder: Path) -> None:
    for path in folder.glob("*.example.com_*.yaml"):
        assert "created" in installed.kubectl("create", "--dry-run=server", "-f", str(path))


CATALOGS = "catalogs.catalogd.operatorframework.io"
PACKAGES = "packages.catalogd.operatorframework.io"
OPERATORS = "operators.operators.operatorframework.io"
BUNDLES_KIND = "bundles.core.rukpak.io"
DEPLOYMENTS = "bundledeployments.core.rukpak.io"
LEASES = "leases.coordination.k8s.io"
TOKEN_REVIEWS = "tokenreviews.authentication.k8s.io"


@pytest.mark.parametrize(
    ("account", "verb", "resource", "where", "expected"),
    [
        pytest.param("catalogd", "watch", CATALOGS, (), True, id="catalogd sees Catalogs"),
        pytest.param("catalogd", "update", CATALOGS, (), False, id="catalogd writes no Catalog"),
        pytest.param("catalogd", "patch", f"{CATALOGS}/status", (), True, id="catalogd writes their status"),
        pytest.param("catalogd", "delete", PACKAGES, (), True, id="catalogd deletes Packages"),
        pytest.param("catalogd", "get", "secrets", (NAMESPACE,), True, id="catalogd sees pull secrets"),
        pytest.param("catalogd", "get", "secrets", ("default",), False, id="catalogd sees no Secrets elsewhere"),
        pytest.param("catalogd", "update", "secrets", (NAMESPACE, SERVICE.secret), True, id="its own certificate"),
        pytest.param("catalogd", "update", "secrets", (NAMESPACE, "pull"), False, id="catalogd writes no other Secret"),
        pytest.param("catalogd", "delete", "secrets", (NAMESPACE, SERVICE.secret), False, id="it deletes no Secret"),
        pytest.param(
            "catalogd", "patch", "configmaps", (NAMESPACE, SERVICE.config_map), True, id="it publishes its CA"
        ),
        pytest.param("catalogd", "patch", "configmaps", (NAMESPACE, "other"), False, id="it writes no other ConfigMap"),
        pytest.param("catalogd", "create", TOKEN_REVIEWS, (), True, id="catalogd asks whose a token is"),
        pytest.param(
            "operator-controller", "get", "configmaps", (NAMESPACE, SERVICE.config_map), True, id="catalogd's CA"
        ),
        pytest.param("operator-controller", "get", "secrets", (NAMESPACE,), False, id="it sees no Secrets"),
        pytest.param("catalogd", "get", OPERATORS, (), False, id="catalogd sees no Operators"),
        pytest.param("catalogd", "create", "events.events.k8s.io", ("default",), True, id="catalogd makes Events"),
        pytest.param("catalogd", "update", LEASES, (NAMESPACE, "catalogd"), True, id="catalogd holds its lease"),
        pytest.param("catalogd", "update", LEASES, (NAMESPACE, "rukpak"), False, id="catalogd takes no other lease"),
        pytest.param("operator-controller", "patch", DEPLOYMENTS, (), True, id="it writes BundleDeployments"),
        pytest.param("operator-controller", "create", BUNDLES_KIND, (), False, id="it makes no Bundles"),
        pytest.param("operator-controller", "patch", CATALOGS, (), False, id="it writes no Catalogs"),
        pytest.param(
            "operator-controller", "create", "clusterroles.rbac.authorization.k8s.io", (), False, id="it grants nothing"
        ),
        pytest.param("rukpak", "escalate", "clusterroles.rbac.authorization.k8s.io", (), True, id="rukpak may do all"),
    ],
)
def test_an_account_may_do_what_it_needs_and_no_more(
    installed: Cluster, account: str, verb: str, resource: str, where: tuple[str, ...], expected: bool
) -> None:
    assert _may(installed, f"system:serviceaccount:{NAMESPACE}:{account}", verb, resource, *where) is expected


@pytest.mark.parametrize(
    ("account", "path", "expected"),
    [
        pytest.param("operator-controller", "/catalogs/c/all.json", True, id="operator-controller reads catalogs"),
        pytest.param("operator-controller", "/replication/v1/records", False, id="it is no replica of catalogd"),
        pytest.param("catalogd", "/replication/v1/records", True, id="replicas of catalogd read from one another"),
        pytest.param("default", "/catalogs/c/all.json", False, id="others read nothing"),
    ],
)
def test_whom_catalogd_serves_when_it_asks_for_tokens(
    installed: Cluster, account: str, path: str, expected: bool
) -> None:
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    assert _review(installed, {"user": user, "nonResourceAttributes": {"path": path, "verb": "get"}}) is expected


@pytest.mark.parametrize(
    ("role", "verb", "expected"), [("view", "list", True), ("edit", "create", False), ("admin", "create", False)]
)
def test_whoever_may_view_sees_our_kinds_and_whoever_may_edit_writes_none(
    installed: Cluster, role: str, verb: str, expected: bool
) -> None:
    with Watch(installed, "/apis/rbac.authorization.k8s.io/v1/clusterroles") as roles:
        roles.until(
            "the role is aggregated", lambda objects: "core.rukpak.io" in str(objects.get(role, {}).get("rules"))
        )
    binding = f"config-test-{role}"
    installed.kubectl("create", "clusterrolebinding", binding, f"--clusterrole={role}", f"--user={binding}")
    try:
        found = {resource: _may(installed, binding, verb, resource) for resource in (OPERATORS, DEPLOYMENTS, CATALOGS)}
        assert set(found.values()) == {expected}, found
    finally:
        installed.kubectl("delete", "clusterrolebinding", binding)
