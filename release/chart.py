"""The Helm chart, generated from the objects of config/: the same objects, with values in the places that users change.

Rendered with its default values into the namespace olm-suite-system, the chart gives the CRDs and the objects of config/default.
It lacks that namespace, which `helm install --create-namespace` creates. With the value leastPrivilege they are those of
config/least-privilege.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from olmctl.object_text import as_yaml
from olmctl.suite.manifests import (
    CONSOLE_NAME,
    KEYS_NAMESPACE,
    NAME_LABEL,
    SYSTEM_NAMESPACE,
    Manifests,
    containers,
    relocate,
)
from olmctl.suite.web_console import SESSION_KEY_SECRET
from olmkit.api import operator_condition_names
from olmkit.api.crd import operator_condition_definition
from olmkit.api.label_policy import BINDINGS, POLICIES
from olmkit.api.meta import Object
from olmkit.api.package_manifests import package_manifest_objects
from release import templates
from release.chart_values import ALERTS_KIND, chart_values, component_key, monitoring_key, values_schema, values_text
from release.least_privilege import LeastPrivilege, least_privilege
from release.suite import SUITE
from release.templates import Placeholders, insert_before

MONITORING_GROUP = "monitoring.coreos.com/"
BUDGET_KIND = "PodDisruptionBudget"
LEAST_PRIVILEGE = ".Values.leastPrivilege"
CONSOLE = ".Values.console.enabled"
PACKAGE_MANIFESTS = ".Values.packageManifests.enabled"
V1 = ".Values.v1.enabled"
POLICIES_SERVED = 'semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version'
"""Not `.Capabilities.APIVersions`: `helm template` knows no kinds there."""
KEEP = {"helm.sh/resource-policy": "keep"}
"""The annotation of objects that `helm uninstall` leaves on the cluster."""
MINIMUM_KUBERNETES = ">=1.28.0-0"
_HELPERS = """\
{{- define "olm-suite.image" -}}
{{ .Values.image.repository }}{{ with .Values.image.tag }}:{{ . }}{{ end }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}
"""
_CHECKS = """\
{{- if eq .Values.keysNamespace .Release.Namespace }}
{{- fail (printf "keysNamespace is %s, the namespace of the release: keys need one of their own" .Release.Namespace) }}
{{- end }}
{{- if and .Values.packageManifests.enabled (has "--authenticate-requests" .Values.catalogd.extraArgs) }}
{{- fail "packageManifests.enabled: catalogd runs with --authenticate-requests, and the API server sends it no token" }}
{{- end }}
"""
"""Checks that the schema of the values cannot express. They render nothing."""
_NOTES = """\
olm-suite {{ .Chart.AppVersion }} is installed in the namespace {{ .Release.Namespace }}.

  kubectl --namespace {{ .Release.Namespace }} wait --for=condition=Available deployment --all --timeout=3m

The pods meet the Pod Security Standard "restricted". To enforce it:

  kubectl label namespace {{ .Release.Namespace }} pod-security.kubernetes.io/enforce=restricted

`helm uninstall` keeps the CRDs, and with them all Catalogs and Operators. What Operators have installed keeps running.
"""


_SESSION_KEY = f"""\
{{{{- if and {CONSOLE} (not .Values.console.sessionKeySecret) }}}}
{{{{- $known := lookup "v1" "Secret" .Release.Namespace "{SESSION_KEY_SECRET}" | default dict }}}}
apiVersion: v1
kind: Secret
metadata:
  name: {SESSION_KEY_SECRET}
  namespace: {{{{ .Release.Namespace }}}}
data:
  key: {{{{ dig "data" "key" (randAlphaNum 64 | sha256sum | b64enc) $known }}}}
{{{{- end }}}}
"""
"""The key of the console's cookies: random, and the same after an upgrade."""


def chart_files(manifests: Manifests, monitoring: Sequence[Object]) -> dict[str, str]:
    """The files of the chart by their path in it. `monitoring` are the objects of config/prometheus."""
    kinds = sorted({each["kind"] for each in monitoring if each["apiVersion"].startswith(MONITORING_GROUP)})
    values = chart_values(manifests, kinds)
    files = {
        "Chart.yaml": as_yaml(_metadata(manifests)),
        "values.yaml": values_text(values),
        "values.schema.json": json.dumps(values_schema(values), indent=2) + "\n",
        "templates/_helpers.tpl": _HELPERS,
        "templates/checks.yaml": _CHECKS,
        "templates/NOTES.txt": _NOTES,
    }
    for crd in manifests.crds:
        files[f"templates/crds/{crd['spec']['names']['plural']}.yaml"] = _crd(crd, ".Values.crds.enabled")
    files[f"templates/crds/{operator_condition_names.PLURAL}.yaml"] = _crd(
        operator_condition_definition(), ".Values.operatorConditions.enabled"
    )
    for crd in manifests.v1_crds:
        files[f"templates/crds/{crd['spec']['names']['plural']}.yaml"] = _crd(crd, V1)
    files["templates/console-session-key.yaml"] = _SESSION_KEY
    objects = (*manifests.objects, *_disruption_budgets(manifests), *manifests.console)
    optional = [
        *((each, PACKAGE_MANIFESTS) for each in package_manifest_objects(SYSTEM_NAMESPACE)),
        *((each, _v1_condition(each)) for each in manifests.v1),
    ]
    files.update(_documents(objects, monitoring, least_privilege(), optional))
    return files


def _metadata(manifests: Manifests) -> Object:
    return {
        "apiVersion": "v2",
        "name": SUITE,
        "description": "An operator lifecycle suite for Kubernetes: catalogs, bundles and operators.",
        "type": "application",
        "version": manifests.version.removeprefix("v"),
        "appVersion": manifests.version,
        "kubeVersion": MINIMUM_KUBERNETES,
        "keywords": ["operators", "olm", "catalog", "bundle", "gitops"],
    }


def _crd(crd: Object, condition: str) -> str:
    kept = {**crd, "metadata": {**crd["metadata"], "annotations": {**crd["metadata"].get("annotations", {}), **KEEP}}}
    return templates.conditional(Placeholders().write(kept), condition)


def _documents(
    objects: Sequence[Object],
    monitoring: Sequence[Object],
    least: LeastPrivilege,
    optional: Sequence[tuple[Object, str]],
) -> dict[str, str]:
    """The templates of all objects but CRDs, in one file for each controller, and one for what concerns all. `optional` are
    objects with the expression under which the chart renders them."""
    written: dict[str, list[str]] = {}
    conditions = [
        *((each, _condition(each)) for each in (*objects, *monitoring)),
        *((each, LEAST_PRIVILEGE) for each in least.objects),
        *optional,
    ]
    for each, condition in conditions:
        if (each["kind"], each["metadata"]["name"]) == ("Namespace", SYSTEM_NAMESPACE):
            continue
        obj = copy.deepcopy(each)
        placeholders = Placeholders()
        _parametrize_privileges(obj, placeholders, least)
        if obj["kind"] == "Deployment":
            _parametrize_deployment(obj, placeholders)
        if obj["apiVersion"].startswith(MONITORING_GROUP):
            labels = obj["metadata"].setdefault("labels", {})
            labels[placeholders.block(templates.entries(f".Values.metrics.{monitoring_key(obj['kind'])}.labels"))] = (
                None
            )
        if obj["kind"] == ALERTS_KIND:
            _parametrize_runbooks(obj, placeholders)
        _parametrize_namespaces(obj, placeholders)
        text = templates.conditional(placeholders.write(obj), condition)
        written.setdefault(f"templates/{_file_name(each)}.yaml", []).append(text)
    return {path: "---\n".join(texts) for path, texts in written.items()}


def _disruption_budgets(manifests: Manifests) -> list[Object]:
    """A PodDisruptionBudget for each controller that has none, because it has one replica by default."""
    (known,) = (each for each in manifests.objects if each["kind"] == BUDGET_KIND)
    found = []
    for deployment in manifests.deployments:
        name = deployment["metadata"]["name"]
        if name != known["metadata"]["name"]:
            budget = copy.deepcopy(known)
            budget["metadata"]["name"] = name
            budget["metadata"]["labels"][NAME_LABEL] = name
            budget["spec"]["selector"]["matchLabels"][NAME_LABEL] = name
            found.append(budget)
    return found


def _v1_condition(obj: Object) -> str:
    """The expression under which the chart renders an object of the kinds of OLM v1: not every cluster serves policies."""
    return f"and {V1} ({POLICIES_SERVED})" if obj["kind"] in (POLICIES.kind, BINDINGS.kind) else V1


def _file_name(obj: Object) -> str:
    return str((obj["metadata"].get("labels") or {}).get(NAME_LABEL, SUITE))


def _condition(obj: Object) -> str:
    """The expression under which the chart renders an object; "": always."""
    condition = _own_condition(obj)
    if _file_name(obj) != CONSOLE_NAME:
        return condition
    return f"and {CONSOLE} ({condition})" if condition else CONSOLE


def _own_condition(obj: Object) -> str:
    """The same, of an object of the suite, or of the console where that is enabled."""
    kind, is_metrics = (
        obj["kind"],
        (obj["metadata"].get("labels") or {}).get("app.kubernetes.io/component") == "metrics",
    )
    if obj["apiVersion"].startswith(MONITORING_GROUP):
        return f".Values.metrics.{monitoring_key(kind)}.enabled"
    if kind == "Service" and is_metrics:
        return "or .Values.metrics.services.enabled .Values.metrics.serviceMonitor.enabled"
    if kind == BUDGET_KIND:  # with one replica it would keep nodes from being drained
        return f"gt (int .Values.{component_key(obj['metadata']['name'])}.replicas) 1"
    return ".Values.networkPolicies.enabled" if kind == "NetworkPolicy" else ""


def _parametrize_privileges(obj: Object, placeholders: Placeholders, least: LeastPrivilege) -> None:
    """Under the value leastPrivilege other rules of the ClusterRole of rukpak, and its flag."""
    kind_and_name = obj["kind"], obj["metadata"]["name"]
    if kind_and_name == ("ClusterRole", least.cluster_role):
        texts = (as_yaml({"rules": rules}) for rules in (least.rules, obj.pop("rules")))
        obj[placeholders.block(templates.either(LEAST_PRIVILEGE, *texts))] = None
    if kind_and_name == ("Deployment", least.deployment):
        (container,) = obj["spec"]["template"]["spec"]["containers"]
        container["args"].append(placeholders.block(templates.either(LEAST_PRIVILEGE, as_yaml([least.flag]))))


def _parametrize_namespaces(obj: Object, placeholders: Placeholders) -> None:
    """The release's namespace and the value keysNamespace in the place of the namespaces of config/."""
    system, keys = placeholders.text(".Release.Namespace"), placeholders.text(".Values.keysNamespace")
    relocate([obj], system, keys)
    for container in containers([obj]):
        flags = {f"--system-namespace={system}": (".Release.Namespace", SYSTEM_NAMESPACE)}
        flags[f"--keys-namespace={keys}"] = (".Values.keysNamespace", KEYS_NAMESPACE)
        container["args"] = [
            placeholders.block(
                templates.argument(
                    flag.partition("=")[0].removeprefix("--"), flags[flag][0], f'ne {flags[flag][0]} "{flags[flag][1]}"'
                )
            )
            if flag in flags
            else flag
            for flag in container["args"]
        ]


def _parametrize_runbooks(alerts: Object, placeholders: Placeholders) -> None:
    """An annotation with the address of its explanation for each alert, if the address of that page is known."""
    value = f".Values.metrics.{monitoring_key(ALERTS_KIND)}.runbookURL"
    rules = [rule for group in alerts["spec"]["groups"] for rule in group["rules"]]
    for rule in (rule for rule in rules if "alert" in rule):
        heading = "#" + rule["annotations"]["runbook"].partition("#")[2]
        rule["annotations"][placeholders.block(templates.optional_text("runbook_url", value, heading))] = None


def _parametrize_deployment(obj: Object, placeholders: Placeholders) -> None:
    values = f".Values.{component_key(obj['metadata']['name'])}"
    spec = obj["spec"]
    spec["replicas"] = placeholders.inline(f"{values}.replicas")
    metadata, pod = spec["template"]["metadata"], spec["template"]["spec"]
    metadata["labels"][placeholders.block(templates.entries(".Values.podLabels"))] = None
    metadata["annotations"][placeholders.block(templates.entries(".Values.podAnnotations"))] = None
    pod.pop("affinity", None)
    for key, value in (
        ("affinity", f"{values}.affinity"),
        ("nodeSelector", ".Values.nodeSelector"),
        ("tolerations", ".Values.tolerations"),
        ("imagePullSecrets", ".Values.imagePullSecrets"),
    ):
        insert_before(pod, "containers", placeholders.block(templates.optional(key, value)))
    insert_before(
        pod, "containers", placeholders.block(templates.optional_text("priorityClassName", ".Values.priorityClassName"))
    )
    for volume in (each for each in pod["volumes"] if "secret" in each):
        name = f'default "{volume["secret"]["secretName"]}" {values}.sessionKeySecret | quote'
        volume["secret"]["secretName"] = placeholders.inline(name)
    pod["volumes"].append(placeholders.block(templates.entries(f"{values}.extraVolumes")))
    (container,) = pod["containers"]
    container["image"] = placeholders.inline('include "olm-suite.image" . | quote')
    pull_policy = placeholders.block(templates.optional_text("imagePullPolicy", ".Values.image.pullPolicy"))
    insert_before(container, "command", pull_policy)
    container["args"].append(
        placeholders.block(templates.argument("log-level", ".Values.logLevel", 'ne .Values.logLevel "info"'))
    )
    container["args"].append(placeholders.block(templates.entries(f"{values}.extraArgs")))
    container["volumeMounts"].append(placeholders.block(templates.entries(f"{values}.extraVolumeMounts")))
    insert_before(container, "resources", placeholders.block(templates.mapping("resources", f"{values}.resources")))
    del container["resources"]
    if "env" in container:
        container["env"].append(placeholders.block(templates.entries(f"{values}.extraEnv")))
    else:
        container[placeholders.block(templates.optional("env", f"{values}.extraEnv"))] = None


def write_chart(directory: Path, manifests: Manifests, files: Mapping[str, str]) -> Path:
    """Write the chart as an archive, with the same bytes for the same files; returns its path."""
    path = directory / f"{SUITE}-{manifests.version.removeprefix('v')}.tgz"
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(mode="w", fileobj=packed) as archive,
    ):
        for name, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(f"{SUITE}/{name}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return path
