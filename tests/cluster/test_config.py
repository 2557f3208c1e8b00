"""The manifests of config/ on the real API server, and what each ServiceAccount may and may not do."""

import json
import re
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalogd.__main__ import add_flags as catalog_flags
from catalogd.http.compression import COMPRESSION_LIMITS as ENCODING
from catalogd.http.package_manifests import API_VERSION
from catalogd.ingest.load_task import LOAD_LIMITS as LOADING
from console.setup import make_parser as console_parser
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.processes import REPOSITORY
from devcluster.suite import NAMESPACE, Suite
from devcluster.watch import Watch
from olmkit.api.crd import CRD_DEFINITIONS, V1_DEFINITIONS
from olmkit.jobs.job import Limits
from olmkit.jobs.memory_budget import CONTROLLER_MEMORY_BYTES, MemoryBudget
from olmkit.runtime.flags import Settings, make_parser, parse_settings, quantity
from olmkit.tls.service import CATALOG_SERVICE as SERVICE
from olmkit.tls.service import OPERATOR_SERVICE as DEBUG
from olmkit.tls.service import RUKPAK_SERVICE as WEBHOOKS
from operator_controller.__main__ import add_flags as operator_flags
from operator_controller.debug.server import RESOLUTIONS_PATH
from release.kustomization import objects_of
from rukpak.__main__ import add_flags as rukpak_flags
from rukpak.admission.bundles import WEBHOOK
from rukpak.admission.probe import CONFIGURATION
from rukpak.admission.setup import (
    BUNDLE_DEPLOYMENT_PATH,
    BUNDLE_PATH,
    CONFIG_MAP_PATH,
    DEFINITION_PATH,
    NAMESPACE_PATH,
    OPERATOR_PATH,
    SERVICE_ACCOUNT_PATH,
)
from tests.cluster.devcluster.test_cluster import eventually
from tests.hardened_pods import faults, pod_count

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
    "rukpak": rukpak_flags,
    "operator-controller": operator_flags,
}


@pytest.mark.parametrize("name", FLAGS)
def test_the_flags_of_each_deployment_are_valid(name: str) -> None:
    parser = make_parser(name)
    FLAGS[name](parser)
    container = manifest(name, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    parse_settings(parser, container["args"])
    assert container["command"] == [name]


@pytest.mark.parametrize(
    ("name", "jobs"),
    [("catalogd", (LOADING, ENCODING)), ("rukpak", (Limits(),)), ("operator-controller", ())],
    ids=["catalogd", "rukpak", "operator-controller"],
)
def test_the_limits_of_each_container_suffice_for_its_jobs(name: str, jobs: tuple[Limits, ...]) -> None:
    pod = manifest(name, "Deployment")["spec"]["template"]["spec"]
    resources = pod["containers"][0]["resources"]
    memory = MemoryBudget(quantity(resources["limits"]["memory"]) - CONTROLLER_MEMORY_BYTES)
    for each in jobs:
        memory.require(each.fetch_memory_bytes, each.parser_memory_bytes)
    disk = resources["limits"]["ephemeral-storage"]
    sizes = [volume["emptyDir"].get("sizeLimit", disk) for volume in pod["volumes"] if volume["name"] == "cache"]
    assert sizes == [disk], "writes fail before the pod is evicted for its cache"
    for what in ("memory", "ephemeral-storage"):
        assert quantity(resources["requests"][what]) < quantity(resources["limits"][what])


def test_the_content_url_reaches_catalogd() -> None:
    container = manifest("catalogd", "Deployment")["spec"]["template"]["spec"]["containers"][0]
    (address,) = [flag.partition("=")[2] for flag in container["args"] if flag.startswith("--external-address=")]
    service = manifest("catalogd", "Service")
    assert address == SERVICE.host(NAMESPACE) == f"{service['metadata']['name']}.{NAMESPACE}.svc"
    (port,) = service["spec"]["ports"]
    assert port["port"] == 443  # the default of https
    named = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert f"--catalogs-server-addr=:{named[port['targetPort']]}" in container["args"]


def test_the_service_that_clients_of_olm_v1_know_is_that_of_catalogd() -> None:
    container = manifest("catalogd", "Deployment")["spec"]["template"]["spec"]["containers"][0]
    (service,) = [each for each in objects_of(CONFIG / "v1") if each["kind"] == "Service"]
    assert service["spec"]["selector"] == manifest("catalogd", "Service")["spec"]["selector"]
    (port,) = service["spec"]["ports"]
    assert (port["port"], [port["targetPort"]]) == (
        443,
        [each["containerPort"] for each in container["ports"] if each["name"] == "catalogs"],
    )


def test_the_service_of_operator_controller_is_its_debug_port() -> None:
    container = manifest("operator-controller", "Deployment")["spec"]["template"]["spec"]["containers"][0]
    service = manifest("operator-controller", "Service")
    assert service["metadata"]["name"] == DEBUG.name
    (port,) = service["spec"]["ports"]
    named = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert f"--debug-bind-address=:{named[port['targetPort']]}" in container["args"]


def test_the_webhooks_reach_rukpak() -> None:
    container = manifest("rukpak", "Deployment")["spec"]["template"]["spec"]["containers"][0]
    service = manifest("rukpak", "Service")
    assert service["metadata"]["name"] == WEBHOOKS.name
    (port,) = service["spec"]["ports"]
    named = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert f"--webhook-bind-address=:{named[port['targetPort']]}" in container["args"]
    configuration = yaml.safe_load((CONFIG / "webhook" / "rukpak.yaml").read_text())
    assert configuration["metadata"]["name"] == CONFIGURATION
    asked = {each["name"]: each["clientConfig"]["service"] for each in configuration["webhooks"]}
    place = {"name": WEBHOOKS.name, "namespace": NAMESPACE, "port": port["port"]}
    paths = {
        WEBHOOK: BUNDLE_PATH,
        "vbundledeployments.core.rukpak.io": BUNDLE_DEPLOYMENT_PATH,
        "vconfigmaps.core.rukpak.io": CONFIG_MAP_PATH,
        "vdefinitions.core.rukpak.io": DEFINITION_PATH,
        "vnamespaces.core.rukpak.io": NAMESPACE_PATH,
        "voperators.operators.operatorframework.io": OPERATOR_PATH,
        "vserviceaccounts.core.rukpak.io": SERVICE_ACCOUNT_PATH,
        "vserviceaccounts.operators.operatorframework.io": SERVICE_ACCOUNT_PATH,
        "vserviceaccounts.olm.operatorframework.io": SERVICE_ACCOUNT_PATH,
    }
    assert asked == {name: {**place, "path": path} for name, path in paths.items()}


def test_the_role_that_reads_resolutions_names_their_paths(installed: Cluster) -> None:
    role = json.loads(installed.kubectl("get", "clusterrole", "olm-suite-resolution-reader", "-o", "json"))
    (rule,) = role["rules"]
    assert rule == {"nonResourceURLs": [RESOLUTIONS_PATH, f"{RESOLUTIONS_PATH}/*"], "verbs": ["get"]}


def test_the_role_that_reads_catalogs_reads_them_as_package_manifests_too(installed: Cluster) -> None:
    role = json.loads(installed.kubectl("get", "clusterrole", "olm-suite-catalog-reader", "-o", "json"))
    (rule,) = role["rules"]
    assert f"/apis/{API_VERSION}/*" in rule["nonResourceURLs"]


def test_the_default_namespaces_of_the_controllers_exist(installed: Cluster) -> None:
    for name in (Settings.system_namespace, Settings.keys_namespace):
        found = json.loads(installed.kubectl("get", "namespace", name, "-o", "json"))
        assert found["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


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
        assert f"networkpolicy.networking.k8s.io/{name} serverside-applied (server dry run)" in printed


@pytest.mark.parametrize(
    ("name", "open_to_all", "open_to_scrapers"),
    [
        pytest.param("catalogd", ["catalogs"], ["metrics"], id="catalogd is open to all pods"),
        pytest.param("rukpak", ["webhooks"], ["metrics"], id="the API server may be anywhere"),
        pytest.param("operator-controller", ["debug"], ["metrics"], id="the debug port requires a token"),
    ],
)
def test_the_network_policy_of_each_controller(name: str, open_to_all: list[str], open_to_scrapers: list[str]) -> None:
    """The port of probes is not listed: connections of the kubelet are always allowed."""
    documents = yaml.safe_load_all((CONFIG / "network" / "policies.yaml").read_text())
    (policy,) = [each["spec"] for each in documents if each["metadata"]["name"] == name]
    template = manifest(name, "Deployment")["spec"]["template"]
    assert policy["podSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    scrapers = [{"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}]
    found = {port["port"]: rule.get("from") for rule in policy["ingress"] for port in rule["ports"]}
    assert found == {**dict.fromkeys(open_to_all), **dict.fromkeys(open_to_scrapers, scrapers)}
    assert set(found) <= {port["name"] for port in template["spec"]["containers"][0]["ports"]}


def test_the_pods_of_the_controllers_are_admitted_as_restricted(installed: Cluster) -> None:
    installed.kubectl("apply", "--server-side", "-k", str(CONFIG / "default"))
    try:
        installed.kubectl("wait", "--for=condition=Available", "deployment", "--all", "-n", NAMESPACE, "--timeout=60s")
    finally:
        for directory in ("webhook", "manager"):
            installed.kubectl("delete", "-k", str(CONFIG / directory), "--wait=false")


def test_the_pods_of_the_overlay_with_less_permissions_are_restricted(installed: Cluster) -> None:
    rendered = [
        each for each in yaml.safe_load_all(installed.kubectl("kustomize", str(CONFIG / "least-privilege"))) if each
    ]
    assert (faults(rendered), pod_count(rendered)) == ([], 3)


def test_the_sample_objects_are_accepted(installed: Cluster) -> None:
    printed = installed.kubectl("apply", "--dry-run=server", "-f", str(CONFIG / "samples"))
    names = ("hello-operator", "message-board", "notebook-operator", "party-operator", "snapscheduler")
    assert printed.count("operator.operators.operatorframework.io/") == len(names)
    for name in names:
        assert f"operator.operators.operatorframework.io/{name} created" in printed
    assert "catalog.catalogd.operatorframework.io/samples" in printed


POLICY = "clusterextension-serviceaccount-deprecated"
IGNORED_ACCOUNT = (
    f"Warning: Validation failed for ValidatingAdmissionPolicy '{POLICY}' with binding '{POLICY}': spec.serviceAccount is"
    " deprecated, ignored, and will be removed in a future release. The operator-controller's cluster-admin service account is"
    " used for all cluster interactions."
)


def warnings(cluster: Cluster, **spec: Any) -> list[str]:
    """The warnings of the API server about a new ClusterExtension."""
    source = {"sourceType": "Catalog", "catalog": {"packageName": "p"}}
    kind = {"apiVersion": f"{V1_GROUP}/v1", "kind": "ClusterExtension", "metadata": {"name": "x"}}
    body = json.dumps({**kind, "spec": {"namespace": "n", "source": source, **spec}})
    try:
        cluster.kubectl("create", "--dry-run=server", "--warnings-as-errors", "-f", "-", input=body)
    except DevclusterError as error:
        return re.findall(r"Warning: .*", str(error))
    return []


def test_who_names_a_service_account_in_a_cluster_extension_is_warned(installed: Cluster) -> None:
    eventually(lambda: bool(warnings(installed, serviceAccount={"name": "a"})))  # the API server has read the policy
    assert warnings(installed, serviceAccount={"name": "a"}) == [IGNORED_ACCOUNT]
    assert warnings(installed) == []


CONSOLE_SAMPLES = CONFIG / "samples" / "console"
CONSOLE_HOST, CONSOLE_SERVICE = "console.example.com", f"olm-console.{NAMESPACE}.svc"


@pytest.mark.parametrize(
    ("directory", "entry", "flag"),
    [
        ("ingress", ("olm-console", "https"), f"--host={CONSOLE_HOST}"),
        ("oidc", ("olm-console-login", "http"), "--auth=header"),
    ],
)
def test_the_samples_of_the_console_are_accepted_and_fit_together(
    installed: Cluster, directory: str, entry: tuple[str, str], flag: str
) -> None:
    """Kinds of cert-manager are not served here."""
    text = installed.kubectl("kustomize", str(CONSOLE_SAMPLES / directory))
    objects = [each for each in yaml.safe_load_all(text) if each]
    served = [each for each in objects if not each["apiVersion"].startswith("cert-manager.io/")]
    printed = installed.kubectl(
        *("apply", "--server-side", "--dry-run=server", "-f", "-"), input="---\n".join(map(yaml.safe_dump, served))
    )
    assert printed.count("serverside-applied (server dry run)\n") == len(served)
    assert faults(objects) == []
    assert {each["metadata"]["namespace"] for each in objects} == {NAMESPACE}
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in objects}
    (rule,) = by_name["Ingress", "olm-console"]["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert (rule["host"], backend["name"], backend["port"]["name"]) == (CONSOLE_HOST, *entry)
    assert entry[1] in [port["name"] for port in by_name["Service", entry[0]]["spec"]["ports"]]
    certificate = by_name["Certificate", "olm-console"]["spec"]
    assert (certificate["dnsNames"], certificate["secretName"]) == ([CONSOLE_SERVICE], "olm-console-tls")
    pod = by_name["Deployment", "olm-console"]["spec"]["template"]["spec"]
    arguments = pod["containers"][0]["args"]
    assert {f"--host={CONSOLE_HOST}", flag, "--tls-cert-dir=/etc/olm-console/tls"} <= set(arguments)
    console_parser().parse_args(arguments)
    assert {"name": "tls", "secret": {"secretName": "olm-console-tls"}} in pod["volumes"]
    if directory == "oidc":
        proxy = by_name["Deployment", entry[0]]["spec"]["template"]["spec"]
        assert f"--upstream=https://{CONSOLE_SERVICE}" in proxy["containers"][0]["args"]


def test_the_sample_of_a_gateway_leads_to_the_console() -> None:
    """The Gateway API is not served here."""
    gateway, route, policy = yaml.safe_load_all((CONSOLE_SAMPLES / "gateway.yaml").read_text())
    (service,) = [each for each in objects_of(CONFIG / "console") if each["kind"] == "Service"]
    assert gateway["spec"]["listeners"][0]["hostname"] == route["spec"]["hostnames"][0] == CONSOLE_HOST
    (backend,) = route["spec"]["rules"][0]["backendRefs"]
    assert backend == {"name": service["metadata"]["name"], "port": service["spec"]["ports"][0]["port"]}
    assert policy["spec"]["targetRefs"][0]["name"] == service["metadata"]["name"]
    assert policy["spec"]["validation"]["hostname"] == CONSOLE_SERVICE


@pytest.mark.parametrize("directory", BUNDLES, ids=lambda directory: "-".join(directory.parts[-3:-1]))
def test_the_crds_of_the_sample_bundles_are_accepted(installed: Cluster, directory: Path) -> None:
    for path in directory.glob("*.example.com_*.yaml"):
        assert "created" in installed.kubectl("create", "--dry-run=server", "-f", str(path))


CATALOGS = "catalogs.catalogd.operatorframework.io"
PACKAGES = "packages.catalogd.operatorframework.io"
OPERATORS = "operators.operators.operatorframework.io"
BUNDLES_KIND = "bundles.core.rukpak.io"
DEPLOYMENTS = "bundledeployments.core.rukpak.io"
CRDS = "customresourcedefinitions.apiextensions.k8s.io"
LEASES = "leases.coordination.k8s.io"
SLICES = "endpointslices.discovery.k8s.io"
TOKEN_REVIEWS = "tokenreviews.authentication.k8s.io"
ACCESS_REVIEWS = "subjectaccessreviews.authorization.k8s.io"
KEYS = Settings.keys_namespace
V1_GROUP = "olm.operatorframework.io"


@pytest.mark.parametrize(
    ("account", "verb", "resource", "where", "expected"),
    [
        pytest.param("catalogd", "watch", CATALOGS, (), True, id="catalogd reads Catalogs"),
        pytest.param("catalogd", "update", CATALOGS, (), False, id="catalogd writes no Catalog"),
        pytest.param("catalogd", "patch", f"{CATALOGS}/status", (), True, id="catalogd writes their status"),
        pytest.param("catalogd", "update", f"{CATALOGS}/status", (), False, id="catalogd replaces no status"),
        pytest.param("catalogd", "patch", PACKAGES, (), True, id="catalogd writes Packages"),
        pytest.param("catalogd", "update", PACKAGES, (), False, id="catalogd replaces no Packages"),
        pytest.param("catalogd", "delete", PACKAGES, (), True, id="catalogd deletes Packages"),
        pytest.param("catalogd", "get", "secrets", (NAMESPACE,), True, id="catalogd reads pull secrets"),
        pytest.param("catalogd", "get", "secrets", ("default",), False, id="catalogd reads no Secrets elsewhere"),
        pytest.param("catalogd", "get", "secrets", (KEYS, SERVICE.secret), True, id="catalogd reads its certificate"),
        pytest.param(
            "catalogd", "update", "secrets", (KEYS, SERVICE.secret), True, id="catalogd renews its certificate"
        ),
        pytest.param("catalogd", "create", "secrets", (KEYS,), True, id="catalogd makes its certificate"),
        pytest.param(
            "catalogd",
            "delete",
            "secrets",
            (KEYS, SERVICE.secret),
            True,
            id="it deletes its certificate if it is immutable",
        ),
        pytest.param("catalogd", "delete", "secrets", (KEYS, "other"), False, id="it deletes no other key"),
        pytest.param("catalogd", "delete", "secrets", (NAMESPACE, "pull"), False, id="nor a pull secret"),
        pytest.param("catalogd", "list", "secrets", (KEYS,), False, id="keys are read by name"),
        pytest.param("catalogd", "get", "secrets", (KEYS, "other"), False, id="catalogd reads no other key"),
        pytest.param("catalogd", "update", "secrets", (NAMESPACE, "pull"), False, id="catalogd writes no pull secret"),
        pytest.param(
            "catalogd", "create", "secrets", (NAMESPACE,), False, id="catalogd makes itself no token of another account"
        ),
        pytest.param(
            "catalogd", "patch", "configmaps", (NAMESPACE, SERVICE.config_map), True, id="it publishes its CA"
        ),
        pytest.param("catalogd", "patch", "configmaps", (NAMESPACE, "other"), False, id="it writes no other ConfigMap"),
        pytest.param(
            "catalogd",
            "delete",
            "configmaps",
            (NAMESPACE, SERVICE.config_map),
            True,
            id="it deletes one that is immutable",
        ),
        pytest.param("catalogd", "delete", "configmaps", (NAMESPACE, "other"), False, id="and no other ConfigMap"),
        pytest.param("catalogd", "create", TOKEN_REVIEWS, (), True, id="catalogd asks whose a token is"),
        pytest.param("catalogd", "create", ACCESS_REVIEWS, (), True, id="catalogd asks what a token may read"),
        pytest.param(
            "operator-controller", "get", "configmaps", (NAMESPACE, SERVICE.config_map), True, id="catalogd's CA"
        ),
        pytest.param("operator-controller", "get", "secrets", (NAMESPACE,), False, id="it reads no Secrets"),
        pytest.param("operator-controller", "get", "secrets", (KEYS, SERVICE.secret), False, id="nor the suite's keys"),
        pytest.param("operator-controller", "create", TOKEN_REVIEWS, (), True, id="it asks whose a token is"),
        pytest.param("operator-controller", "create", ACCESS_REVIEWS, (), True, id="and what a token may read"),
        pytest.param(
            "operator-controller", "get", "secrets", (KEYS, DEBUG.secret), True, id="it reads its certificate"
        ),
        pytest.param("operator-controller", "update", "secrets", (KEYS, DEBUG.secret), True, id="it renews it"),
        pytest.param("operator-controller", "create", "secrets", (KEYS,), True, id="it makes it"),
        pytest.param("operator-controller", "delete", "secrets", (KEYS, DEBUG.secret), True, id="it makes it anew"),
        pytest.param(
            "operator-controller", "delete", "secrets", (KEYS, SERVICE.secret), False, id="it deletes no key of others"
        ),
        pytest.param(
            "operator-controller", "delete", "configmaps", (NAMESPACE, DEBUG.config_map), True, id="it replaces its CA"
        ),
        pytest.param(
            "operator-controller",
            "delete",
            "configmaps",
            (NAMESPACE, SERVICE.config_map),
            False,
            id="nor a CA of others",
        ),
        pytest.param("operator-controller", "list", "secrets", (KEYS,), False, id="it reads its key by name"),
        pytest.param("operator-controller", "create", "secrets", (NAMESPACE,), False, id="it makes itself no token"),
        pytest.param(
            "operator-controller", "patch", "configmaps", (NAMESPACE, DEBUG.config_map), True, id="it publishes its CA"
        ),
        pytest.param(
            "operator-controller", "patch", "configmaps", (NAMESPACE, SERVICE.config_map), False, id="and no other CA"
        ),
        pytest.param("catalogd", "get", "secrets", (KEYS, DEBUG.secret), False, id="catalogd reads no key of others"),
        pytest.param("catalogd", "get", OPERATORS, (), False, id="catalogd reads no Operators"),
        pytest.param("catalogd", "create", "events", ("default",), True, id="catalogd makes Events"),
        pytest.param(
            "catalogd", "get", SLICES, ("default", "kubernetes"), True, id="catalogd reads where the API server is"
        ),
        pytest.param("catalogd", "get", SLICES, ("default", "other"), False, id="it reads no other endpoints"),
        pytest.param("catalogd", "patch", "events", ("default",), True, id="catalogd counts Events that happen again"),
        pytest.param("operator-controller", "get", "events", ("default",), True, id="it reads Events to count them"),
        pytest.param("operator-controller", "create", "events", (NAMESPACE,), False, id="it makes none elsewhere"),
        pytest.param("catalogd", "update", LEASES, (NAMESPACE, "catalogd"), True, id="catalogd holds its lease"),
        pytest.param("catalogd", "update", LEASES, (NAMESPACE, "rukpak"), False, id="catalogd takes no other lease"),
        pytest.param("operator-controller", "patch", DEPLOYMENTS, (), True, id="it writes BundleDeployments"),
        pytest.param("operator-controller", "update", DEPLOYMENTS, (), False, id="it replaces no BundleDeployments"),
        pytest.param("operator-controller", "update", OPERATORS, (), False, id="and no Operators"),
        pytest.param("operator-controller", "delete", OPERATORS, (), True, id="it deletes dependencies"),
        pytest.param("operator-controller", "watch", CRDS, (), True, id="it reads which kinds there are"),
        pytest.param("operator-controller", "list", "pods", (), False, id="it lists no objects of others"),
        pytest.param("operator-controller", "list", "pods", ("default",), False, id="in no namespace either"),
        pytest.param("operator-controller", "create", CRDS, (), False, id="it makes no kinds"),
        pytest.param("operator-controller", "create", BUNDLES_KIND, (), False, id="it makes no Bundles"),
        pytest.param("operator-controller", "patch", CATALOGS, (), False, id="it writes no Catalogs"),
        pytest.param(
            "operator-controller", "create", "clusterroles.rbac.authorization.k8s.io", (), False, id="it grants nothing"
        ),
        pytest.param("rukpak", "escalate", "clusterroles.rbac.authorization.k8s.io", (), True, id="rukpak may do all"),
        pytest.param(
            "catalogd", "patch", f"clustercatalogs.{V1_GROUP}", (), True, id="catalogd serves ClusterCatalogs"
        ),
        pytest.param("catalogd", "list", f"clusterextensions.{V1_GROUP}", (), False, id="and no ClusterExtensions"),
        pytest.param("catalogd", "watch", LEASES, ("olm", "catalogd-operator-lock"), True, id="it looks for OLM v1"),
        pytest.param("catalogd", "list", LEASES, ("olm", "another"), False, id="and reads no other Lease"),
        pytest.param("catalogd", "patch", "secrets", (NAMESPACE, "catalogd-service-ca"), True, id="a CA for OLM v1"),
        pytest.param("catalogd", "patch", "secrets", (NAMESPACE, "another"), False, id="it writes no other Secret"),
        pytest.param(
            "operator-controller", "patch", f"clusterextensions.{V1_GROUP}/status", (), True, id="it reports on them"
        ),
        pytest.param("operator-controller", "delete", f"clusterextensions.{V1_GROUP}", (), False, id="it deletes none"),
    ],
)
def test_permissions_of_each_account(
    installed: Cluster, account: str, verb: str, resource: str, where: tuple[str, ...], expected: bool
) -> None:
    assert _may(installed, f"system:serviceaccount:{NAMESPACE}:{account}", verb, resource, *where) is expected


@pytest.mark.parametrize(
    ("account", "resource"),
    [
        ("catalogd", f"{CATALOGS}/finalizers"),
        ("operator-controller", f"{OPERATORS}/finalizers"),
        ("rukpak", f"{DEPLOYMENTS}/finalizers"),
        ("catalogd", "clustercatalogs.olm.operatorframework.io/finalizers"),
        ("operator-controller", "clusterextensions.olm.operatorframework.io/finalizers"),
    ],
)
def test_who_owns_an_object_may_block_its_deletion(installed: Cluster, account: str, resource: str) -> None:
    """The admission plugin OwnerReferencesPermissionEnforcement asks for it, which some clusters have."""
    assert _may(installed, f"system:serviceaccount:{NAMESPACE}:{account}", "update", resource)


@pytest.mark.parametrize(
    ("account", "path", "expected"),
    [
        pytest.param("operator-controller", "/catalogs/c/all.json", True, id="operator-controller reads catalogs"),
        pytest.param("operator-controller", "/replication/v1/records", False, id="it is no replica of catalogd"),
        pytest.param("catalogd", "/replication/v1/records", True, id="replicas of catalogd read from one another"),
        pytest.param("default", "/catalogs/c/all.json", False, id="other accounts read nothing"),
        pytest.param("default", "/debug/resolutions", False, id="nor how Operators were resolved"),
    ],
)
def test_permissions_for_the_paths_of_the_controllers(
    installed: Cluster, account: str, path: str, expected: bool
) -> None:
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    assert _review(installed, {"user": user, "nonResourceAttributes": {"path": path, "verb": "get"}}) is expected


@pytest.mark.parametrize(
    ("role", "verb", "expected"), [("view", "list", True), ("edit", "create", False), ("admin", "create", False)]
)
def test_the_view_and_edit_roles_read_the_kinds_of_the_suite(
    installed: Cluster, role: str, verb: str, expected: bool
) -> None:
    with Watch(installed, "/apis/rbac.authorization.k8s.io/v1/clusterroles") as roles:
        roles.until(
            "the roles are aggregated",
            lambda objects: all(
                each in str(objects.get(role, {}).get("rules")) for each in ("core.rukpak.io", V1_GROUP)
            ),
        )
    binding = f"config-test-{role}"
    installed.kubectl("create", "clusterrolebinding", binding, f"--clusterrole={role}", f"--user={binding}")
    try:
        eventually(lambda: _may(installed, binding, "get", "configmaps"))  # the authorizer knows of the binding
        ours = [f"{each.kind.plural}.{each.kind.group}" for each in CRD_DEFINITIONS + V1_DEFINITIONS]
        eventually(lambda: {_may(installed, binding, verb, resource) for resource in ours} == {expected})
    finally:
        installed.kubectl("delete", "clusterrolebinding", binding)
