"""The files of a release: manifests, checksums, and the Helm chart as the real helm renders and installs it."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from devcluster.cluster import Cluster
from olmctl.suite.manifests import KEYS_NAMESPACE, SYSTEM_NAMESPACE, Manifests, relocate
from olmctl.suite.objects import name_of
from olmctl.suite.web_console import SESSION_KEY_SECRET
from release.__main__ import write_release
from release.chart import KEEP, chart_files, write_chart
from release.chart_values import chart_values, component_key
from release.checksums import FILE_NAME
from release.kustomization import objects_of
from release.manifests import CONSOLE_FILE, CRDS_FILE, INSTALL_FILE, V1_FILE
from release.suite import CONFIG
from tests.cluster.olmctl.suite.conftest import Olm, is_installed
from tests.release.conftest import Helm, Key, Object, by_name, chart_in

CONTROLLERS = ("catalogd", "rukpak", "operator-controller")
CONSOLE = "olm-console"
CONTROLLER_KEYS = tuple(map(component_key, (*CONTROLLERS, CONSOLE)))
DIGEST = "sha256:" + "ab" * 32


def test_the_checksums_are_those_of_the_files(directory: Path) -> None:
    lines = (line.split("  ") for line in (directory / FILE_NAME).read_text().splitlines())
    listed = {name: digest for digest, name in lines}
    files = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
    del files[FILE_NAME]
    assert listed == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    assert {INSTALL_FILE, CRDS_FILE, CONSOLE_FILE, V1_FILE} < listed.keys()


def test_the_manifests_are_the_objects_and_the_crds_apart(directory: Path, manifests: Manifests) -> None:
    assert tuple(yaml.safe_load_all((directory / INSTALL_FILE).read_text())) == manifests.objects
    assert tuple(yaml.safe_load_all((directory / CRDS_FILE).read_text())) == manifests.crds
    assert tuple(yaml.safe_load_all((directory / CONSOLE_FILE).read_text())) == manifests.console
    assert tuple(yaml.safe_load_all((directory / V1_FILE).read_text())) == manifests.v1_crds + manifests.v1


def test_the_chart_is_the_same_for_the_same_sources(helm: Helm, manifests: Manifests, tmp_path: Path) -> None:
    again = write_chart(tmp_path, manifests, chart_files(manifests, objects_of(CONFIG / "prometheus")))
    assert again.read_bytes() == helm.chart.read_bytes()


def test_helm_finds_no_fault(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm.run("lint", "--strict", str(helm.chart))


def test_the_default_values_give_the_objects_of_config(helm: Helm, manifests: Manifests) -> None:
    expected = by_name(manifests.all)
    del expected[("Namespace", "", SYSTEM_NAMESPACE)]
    rendered = helm.render()
    for key, each in rendered.items():
        if key[0] == "CustomResourceDefinition":
            assert each["metadata"].pop("annotations") == KEEP
    assert rendered == expected


@pytest.mark.parametrize("namespace", [SYSTEM_NAMESPACE, "elsewhere"])
def test_the_optional_parts_are_the_objects_of_config(helm: Helm, manifests: Manifests, namespace: str) -> None:
    """The console has a Secret in addition, whose key is another one each time."""
    added = [*manifests.console, *objects_of(CONFIG / "packagemanifests")]
    relocate(added := copy.deepcopy(added), namespace, KEYS_NAMESPACE)
    without = helm.render(namespace=namespace)
    rendered = helm.render("console.enabled=true", "packageManifests.enabled=true", namespace=namespace)
    assert without.items() <= rendered.items()
    secret = rendered.pop(("Secret", namespace, SESSION_KEY_SECRET))
    assert re.fullmatch("[0-9a-f]{64}", base64.b64decode(secret["data"]["key"]).decode())
    assert {key: each for key, each in rendered.items() if key not in without} == by_name(added)


@pytest.mark.parametrize(
    "image",
    [
        "localhost:5000/x/suite:v1",
        f"localhost:5000/x/suite@{DIGEST}",
        f"example.com/suite:v1@{DIGEST}",
        f"suite@{DIGEST}",
    ],
)
def test_the_image_of_the_chart_is_that_of_the_manifests(helm: Helm, tmp_path: Path, image: str) -> None:
    write_release(tmp_path, image)
    rendered = Helm(helm.program, chart_in(tmp_path)).render()
    assert {container(rendered, each)["image"] for each in CONTROLLERS} == {image}


def container(rendered: dict[Key, Object], name: str, namespace: str = SYSTEM_NAMESPACE) -> Object:
    """The container of a controller."""
    spec = rendered[("Deployment", namespace, name)]["spec"]["template"]["spec"]
    return dict(spec["containers"][0])


def pods(rendered: dict[Key, Object]) -> Iterator[Object]:
    """The specs of the pods of all controllers."""
    return (rendered[("Deployment", SYSTEM_NAMESPACE, name)]["spec"]["template"]["spec"] for name in CONTROLLERS)


def pod_metadata(rendered: dict[Key, Object]) -> Iterator[Object]:
    """The metadata of the pods of all controllers."""
    return (rendered[("Deployment", SYSTEM_NAMESPACE, name)]["spec"]["template"]["metadata"] for name in CONTROLLERS)


def has_kind(kind: str) -> Callable[[dict[Key, Object]], bool]:
    return lambda rendered: any(key[0] == kind for key in rendered)


def alerts(rendered: dict[Key, Object]) -> dict[str, dict[str, str]]:
    """The annotations of each alert by name."""
    groups = next(each["spec"]["groups"] for key, each in rendered.items() if key[0] == "PrometheusRule")
    return {rule["alert"]: rule["annotations"] for group in groups for rule in group["rules"] if "alert" in rule}


ALERTS = alerts(by_name(objects_of(CONFIG / "prometheus")))
CHANGES: list[tuple[str, Callable[[dict[Key, Object]], object], object]] = [
    (
        'image={"repository":"example.com/a","tag":"b","digest":""}',
        lambda r: {container(r, each)["image"] for each in CONTROLLERS},
        {"example.com/a:b"},
    ),
    (
        f'image={{"repository":"example.com/a","tag":"","digest":"{DIGEST}"}}',
        lambda r: {container(r, each)["image"] for each in CONTROLLERS},
        {f"example.com/a@{DIGEST}"},
    ),
    (
        'image.pullPolicy="Always"',
        lambda r: {container(r, each)["imagePullPolicy"] for each in CONTROLLERS},
        {"Always"},
    ),
    ('imagePullSecrets=[{"name":"s"}]', lambda r: [p["imagePullSecrets"] for p in pods(r)], [[{"name": "s"}]] * 3),
    ("catalogd.replicas=5", lambda r: r[("Deployment", SYSTEM_NAMESPACE, "catalogd")]["spec"]["replicas"], 5),
    (
        'rukpak.resources={"limits":{"memory":"4Gi","ephemeral-storage":"10Gi"},"requests":{"cpu":"1"}}',
        lambda r: container(r, "rukpak")["resources"]["limits"]["memory"],
        "4Gi",
    ),
    (
        "leastPrivilege=true",
        lambda r: (r[("ClusterRole", "", "olm-suite-rukpak")]["rules"][0]["verbs"], container(r, "rukpak")["args"][-1]),
        (["get", "list", "watch"], "--require-service-account"),
    ),
    ('logLevel="debug"', lambda r: ["--log-level=debug" in container(r, e)["args"] for e in CONTROLLERS], [True] * 3),
    (
        'operatorController.extraArgs=["--debug-bind-address=0"]',
        lambda r: container(r, "operator-controller")["args"][-1],
        "--debug-bind-address=0",
    ),
    (
        'catalogd.extraEnv=[{"name":"HTTPS_PROXY","value":"http://p"}]',
        lambda r: container(r, "catalogd")["env"][-1],
        {"name": "HTTPS_PROXY", "value": "http://p"},
    ),
    (
        'rukpak={"extraVolumes":[{"name":"x","emptyDir":{}}],"extraVolumeMounts":[{"name":"x","mountPath":"/x"}]}',
        lambda r: (list(pods(r))[1]["volumes"][-1], container(r, "rukpak")["volumeMounts"][-1]),
        ({"name": "x", "emptyDir": {}}, {"name": "x", "mountPath": "/x"}),
    ),
    ('nodeSelector={"a":"b"}', lambda r: [pod["nodeSelector"] for pod in pods(r)], [{"a": "b"}] * 3),
    (
        'tolerations=[{"operator":"Exists"}]',
        lambda r: [p["tolerations"] for p in pods(r)],
        [[{"operator": "Exists"}]] * 3,
    ),
    (
        'catalogd.affinity={"nodeAffinity":{}}',
        lambda r: next(pods(r))["affinity"]["nodeAffinity"],
        {},
    ),
    ('podLabels={"a":"b"}', lambda r: [each["labels"]["a"] for each in pod_metadata(r)], ["b"] * 3),
    ('podAnnotations={"a":"b"}', lambda r: [each["annotations"]["a"] for each in pod_metadata(r)], ["b"] * 3),
    ('priorityClassName="high"', lambda r: [pod["priorityClassName"] for pod in pods(r)], ["high"] * 3),
    ("networkPolicies.enabled=false", has_kind("NetworkPolicy"), False),
    ("crds.enabled=false", has_kind("CustomResourceDefinition"), False),
    (
        "operatorConditions.enabled=true",
        lambda r: any(key[2] == "operatorconditions.operators.coreos.com" for key in r),
        True,
    ),
    ("packageManifests.enabled=true", has_kind("APIService"), True),
    (
        'console={"enabled":true,"replicas":1,"extraArgs":["--host=console.example.com"],"sessionKeySecret":"mine"}',
        lambda r: (
            container(r, CONSOLE)["args"][-1],
            r[("Deployment", SYSTEM_NAMESPACE, CONSOLE)]["spec"]["template"]["spec"]["volumes"][0]["secret"],
            [
                key[0]
                for key in r
                if key[2] in (CONSOLE, SESSION_KEY_SECRET) and key[0] in ("Secret", "PodDisruptionBudget")
            ],
        ),
        ("--host=console.example.com", {"secretName": "mine"}, []),
    ),
    ("metrics.serviceMonitor.enabled=true", has_kind("ServiceMonitor"), True),
    ("metrics.prometheusRule.enabled=true", has_kind("PrometheusRule"), True),
    *(
        (
            f'metrics.{kind[0].lower()}{kind[1:]}={{"enabled":true,"labels":{{"release":"p"}}}}',
            lambda r, kind=kind: [each["metadata"]["labels"]["release"] for key, each in r.items() if key[0] == kind],
            ["p"],
        )
        for kind in ("ServiceMonitor", "PrometheusRule")
    ),
    (
        'metrics.prometheusRule={"enabled":true,"runbookURL":"https://docs.example.com/operations.html"}',
        lambda r: {name: annotations["runbook_url"] for name, annotations in alerts(r).items()},
        {name: f"https://docs.example.com/operations.html#{name.lower()}" for name in ALERTS},
    ),
    (
        "metrics.services.enabled=true",
        lambda r: sum(key[0] == "Service" and key[2].endswith("-metrics") for key in r),
        3,
    ),
    (
        'keysNamespace="their-keys"',
        lambda r: (
            "--keys-namespace=their-keys" in container(r, "catalogd")["args"] and ("Namespace", "", "their-keys") in r
        ),
        True,
    ),
]


@pytest.mark.parametrize(
    ("value", "shown", "expected"), CHANGES, ids=[value.partition("=")[0] for value, *_ in CHANGES]
)
def test_each_value_changes_what_it_says(
    helm: Helm, value: str, shown: Callable[[dict[Key, Object]], object], expected: object
) -> None:
    assert shown(helm.render(value)) == expected


def test_every_value_is_in_the_table(manifests: Manifests) -> None:
    shown = {path for value, *_ in CHANGES for path in paths(*value.split("=", 1))}
    values = chart_values(manifests, ["PrometheusRule", "ServiceMonitor"])
    assert {general(each.path) for each in values} == {general(path) for path in shown}


def paths(path: str, text: str) -> Iterator[str]:
    """The values that a change sets."""
    value = json.loads(text)
    if isinstance(value, dict) and path in (
        *CONTROLLER_KEYS,
        "image",
        "metrics.serviceMonitor",
        "metrics.prometheusRule",
    ):
        yield from (f"{path}.{key}" for key in value)
    else:
        yield path


def general(path: str) -> str:
    """The path of a value, the same for all controllers."""
    first, _, rest = path.partition(".")
    return f"<controller>.{rest}" if first in CONTROLLER_KEYS else path


def test_all_metrics_are_the_objects_of_config(helm: Helm) -> None:
    kinds = ("services", "serviceMonitor", "prometheusRule")
    rendered = helm.render("console.enabled=true", *(f"metrics.{kind}.enabled=true" for kind in kinds))
    expected = by_name(objects_of(CONFIG / "prometheus"))
    assert {key: rendered[key] for key in expected} == expected


@pytest.mark.parametrize(("namespace", "keys"), [("elsewhere", "their-keys"), ("123", "null"), ("1e3", "0")])
def test_the_namespaces_are_those_of_the_release_and_the_value(helm: Helm, namespace: str, keys: str) -> None:
    rendered = helm.render(f'keysNamespace="{keys}"', namespace=namespace)
    assert SYSTEM_NAMESPACE not in str(rendered)
    assert KEYS_NAMESPACE not in str(rendered)
    assert ("Namespace", "", keys) in rendered
    flags = container(rendered, "rukpak", namespace)["args"]
    assert [f"--system-namespace={namespace}", f"--keys-namespace={keys}"] == [
        each for each in flags if "namespace=" in each
    ]
    subjects = {
        subject["namespace"]
        for each in rendered.values()
        for subject in each.get("subjects", ())
        if subject["kind"] == "ServiceAccount"
    }
    assert subjects == {namespace}
    assert {key[1] for key in rendered} == {"", "default", namespace, keys}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("replicaCount=2", "'replicaCount' not allowed"),
        ('catalogd.replicas="two"', "'/catalogd/replicas': got string, want integer"),
        ("catalogd=null", "missing property 'catalogd'"),
        ('image.tag="a b"', "'/image/tag': 'a b' does not match"),
        ('image.digest="sha256:c"', "'/image/digest': 'sha256:c' does not match"),
        ('image.repository="localhost:5000/x:v1"', "'/image/repository': 'localhost:5000/x:v1' does not match"),
        ('image.pullPolicy="Sometimes"', "'/image/pullPolicy': value must be one of"),
        ('imagePullSecrets=["login"]', "'/imagePullSecrets/0': got string, want object"),
        ('catalogd.extraEnv=[{"HTTPS_PROXY":"http://p"}]', "'/catalogd/extraEnv/0': missing property 'name'"),
        ('podLabels={"version":1}', "'/podLabels/version': got number, want string"),
        ('podLabels={"app.kubernetes.io/name":"x"}', "'/podLabels/app.kubernetes.io~1name': false schema"),
        ('nodeSelector={"gpu":true}', "'/nodeSelector/gpu': got boolean, want string"),
        (
            'metrics.prometheusRule.runbookURL="docs/operations.md"',
            "'/metrics/prometheusRule/runbookURL': 'docs/operations.md' does not match",
        ),
        ('keysNamespace=""', "'/keysNamespace': '' does not match"),
        ("keysNamespace=null", "missing property 'keysNamespace'"),
        ('keysNamespace="x\\n  labels: {a: b}"', "'/keysNamespace': "),
        ('podAnnotations={"kubectl.kubernetes.io/default-container":"x"}', "'/podAnnotations/kubectl.kubernetes.io~1"),
        (
            'packageManifests.enabled=true,catalogd.extraArgs=["--authenticate-requests"]',
            "catalogd runs with --authenticate-requests, and the API server sends it no token",
        ),
        (f'keysNamespace="{SYSTEM_NAMESPACE}"', f"keysNamespace is {SYSTEM_NAMESPACE}, the namespace of the release"),
    ],
)
def test_values_that_cannot_be_are_refused(helm: Helm, value: str, message: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        helm.render(value)
    assert message in caught.value.stderr


def test_the_default_affinity_can_be_removed(helm: Helm) -> None:
    assert "affinity" not in next(pods(helm.render("catalogd.affinity=null")))


def with_another_column(directory: Path, chart: Path) -> Path:
    """The chart, unpacked, with another column of Catalogs: a version of the suite that changes a CRD."""
    with tarfile.open(chart) as archive:
        archive.extractall(directory, filter="data")
    crd = directory / "olm-suite/templates/crds/catalogs.yaml"
    before = "    additionalPrinterColumns:\n"
    column = "    - {name: Column-of-another-version, type: string, jsonPath: .spec.displayName}\n"
    text = crd.read_text()
    assert text.count(before) == 1
    crd.write_text(text.replace(before, before + column))
    return directory / "olm-suite"


def images(cluster: Cluster) -> set[str]:
    """The images of all controllers."""
    found = json.loads(cluster.kubectl("get", "deployments", "-n", SYSTEM_NAMESPACE, "-o", "json"))["items"]
    return {each["spec"]["template"]["spec"]["containers"][0]["image"] for each in found}


def test_helm_forgets_a_release_that_olm_takes_over(helm: Helm, bare_cluster: Cluster, olm: Olm) -> None:
    where = (f"--kubeconfig={bare_cluster.kubeconfig}", f"--namespace={SYSTEM_NAMESPACE}")
    helm.run("install", "suite", str(helm.chart), *where, "--create-namespace", "--wait", "--timeout=90s")
    assert is_installed(olm)
    status, _, err = olm("suite", "install", "--force")
    assert (status, "Helm has the suite recorded as the release suite: " in err) == (0, True), err
    command = re.search(r"`kubectl ([^`]+)` makes Helm forget it", err)
    assert command is not None, err
    bare_cluster.kubectl(*command[1].split())
    assert helm.run("list", "--all", "--short", *where) == ""
    status, _, err = olm("suite", "install", "--force")
    assert (status, "Helm" in err) == (0, False), err
    status, _, err = olm("suite", "uninstall", "--remove", "--yes", "--timeout=2m")
    assert status == 0, err


def test_the_chart_is_installed_upgraded_and_uninstalled_without_loss_of_data(
    helm: Helm, manifests: Manifests, bare_cluster: Cluster, tmp_path: Path
) -> None:
    where = (f"--kubeconfig={bare_cluster.kubeconfig}", f"--namespace={SYSTEM_NAMESPACE}")
    helm.run("install", "suite", str(helm.chart), *where, "--create-namespace", "--wait", "--timeout=90s")
    found = json.loads(bare_cluster.kubectl("get", "deployments", "-n", SYSTEM_NAMESPACE, "-o", "json"))["items"]
    assert {each["metadata"]["name"] for each in found} == set(CONTROLLERS)
    assert all(each["status"]["availableReplicas"] == each["spec"]["replicas"] for each in found)
    catalog = {"apiVersion": "catalogd.operatorframework.io/v1alpha1", "kind": "Catalog", "metadata": {"name": "kept"}}
    catalog["spec"] = {"source": {"type": "image", "image": {"ref": "registry.example.com/catalog:latest"}}}
    bare_cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(catalog))
    changed = with_another_column(tmp_path, helm.chart)
    image = f"--set=image.repository=example.com/other,image.tag=v2,image.digest={DIGEST}"
    helm.run("upgrade", "suite", str(changed), *where, "--wait", "--timeout=90s", image)
    assert "COLUMN-OF-ANOTHER-VERSION" in bare_cluster.kubectl("get", "catalogs", "kept")
    assert images(bare_cluster) == {f"example.com/other:v2@{DIGEST}"}
    helm.run("rollback", "suite", "1", *where, "--wait", "--timeout=90s")
    assert "COLUMN-OF-ANOTHER-VERSION" not in bare_cluster.kubectl("get", "catalogs", "kept")
    assert images(bare_cluster) == {manifests.image}
    with pytest.raises(subprocess.CalledProcessError) as caught:
        helm.run("install", "second", str(helm.chart), where[0], "--namespace=elsewhere", "--create-namespace")
    assert "cannot be imported into the current release" in caught.value.stderr
    helm.run("uninstall", "suite", *where, "--wait")
    assert bare_cluster.kubectl("get", "catalogs", "-o", "name").split() == [
        "catalog.catalogd.operatorframework.io/kept"
    ]
    helm.run("install", "another", str(helm.chart), *where, "--take-ownership")
    helm.run("uninstall", "another", *where, "--wait")
    crds = bare_cluster.kubectl("get", "crds", "-o", "name").split()
    assert {name_of(each) for each in manifests.crds} <= set(crds)
    assert not json.loads(bare_cluster.kubectl("get", "deployments", "-n", SYSTEM_NAMESPACE, "-o", "json"))["items"]
    bare_cluster.kubectl("delete", "crds", "--selector=app.kubernetes.io/part-of=olm-suite")
    bare_cluster.kubectl("delete", "namespace", SYSTEM_NAMESPACE)
