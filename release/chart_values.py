"""The values of the Helm chart: their defaults, which are those of the manifests, their descriptions, and their schema.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from olmctl.object_text import as_yaml
from olmctl.suite.manifests import KEYS_NAMESPACE, Manifests
from olmkit.api.meta import Object
from olmkit.api.patterns import DIGEST, DNS_LABEL, IMAGE_HOST, IMAGE_REPOSITORY, IMAGE_TAG
from olmkit.sources.oci.reference import parse

_IMAGE_NAME = rf"({IMAGE_HOST}/)?{IMAGE_REPOSITORY}"
"""The pattern of an image without tag and digest."""
TEXT: Object = {"type": "string"}
SWITCH: Object = {"type": "boolean"}
MAPPING: Object = {"type": "object"}
TEXT_BY_KEY: Object = {**MAPPING, "additionalProperties": TEXT}
TEXTS: Object = {"type": "array", "items": TEXT}
OBJECTS: Object = {"type": "array", "items": MAPPING}
NAMED_OBJECTS: Object = {"type": "array", "items": {**MAPPING, "required": ["name"]}}
NAMESPACE: Object = {**TEXT, "pattern": f"^{DNS_LABEL}$", "maxLength": 63}
PAGE_ADDRESS: Object = {**TEXT, "pattern": r"^(https?://[^#\s]+)?$"}
ALERTS_KIND = "PrometheusRule"
LOG_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class Value:
    """A value of the chart. `path` is its place, such as `image.tag`."""

    path: str
    default: Any
    description: str
    schema: Object = field(default_factory=lambda: TEXT)


LEAST_PRIVILEGE = Value(
    "leastPrivilege",
    False,
    "Whether rukpak installs nothing with its own permissions, which are few then: each Operator and BundleDeployment has to "
    "name a ServiceAccount.",
    SWITCH,
)


def _text(pattern: str) -> Object:
    """The schema of a text that matches the pattern as a whole."""
    return {**TEXT, "pattern": f"^{pattern}$"}


def _without(keys: Sequence[str]) -> Object:
    """The schema of texts by key, of which the pods have these keys already: they would stand there twice."""
    return {**TEXT_BY_KEY, "properties": dict.fromkeys(keys, False)}


def _keys_of_pods(manifests: Manifests, name: str) -> list[str]:
    """The keys of the labels, or of the annotations, of all pods."""
    return sorted({key for each in manifests.deployments for key in each["spec"]["template"]["metadata"][name]})


def component_key(name: str) -> str:
    """The key of the values of a controller or of the console: catalogd, rukpak, operatorController, console."""
    first, *rest = name.removeprefix("olm-").split("-")
    return first + "".join(map(str.capitalize, rest))


def monitoring_key(kind: str) -> str:
    """The key of the values of a kind of the Prometheus operator: serviceMonitor."""
    return kind[0].lower() + kind[1:]


def chart_values(manifests: Manifests, monitoring_kinds: Sequence[str]) -> list[Value]:
    """All values, in the order of values.yaml. `monitoring_kinds` are those of the Prometheus operator that the chart has."""
    values = [
        *_image_values(manifests.image),
        Value(
            "imagePullSecrets", [], "Secrets with a login for the registry of the image: [{name: …}].", NAMED_OBJECTS
        ),
        Value(
            "keysNamespace", KEYS_NAMESPACE, "The namespace of the suite's keys, which the chart creates.", NAMESPACE
        ),
        *_definition_values(),
        LEAST_PRIVILEGE,
        Value("logLevel", "info", "The minimum level of log lines.", {"enum": list(LOG_LEVELS)}),
        Value("networkPolicies.enabled", True, "Whether there is a NetworkPolicy for each controller.", SWITCH),
        Value(
            "metrics.services.enabled", False, "Whether there is a Service for the metrics of each controller.", SWITCH
        ),
    ]
    for kind in monitoring_kinds:
        key = f"metrics.{monitoring_key(kind)}"
        text = f"Whether there is a {kind}, for clusters with the Prometheus operator"
        text += ", and the Services for metrics." if kind == "ServiceMonitor" else "."
        values.append(Value(f"{key}.enabled", False, text, SWITCH))
        values.append(
            Value(f"{key}.labels", {}, f"Further labels of the {kind}, by which Prometheus selects it.", TEXT_BY_KEY)
        )
        if kind == ALERTS_KIND:
            text = "The address at which you publish docs/operations.md, for the annotation runbook_url of each alert."
            values.append(Value(f"{key}.runbookURL", "", text, PAGE_ADDRESS))
    values += [
        Value("nodeSelector", {}, "Labels of the nodes on which the controllers may run.", TEXT_BY_KEY),
        Value("tolerations", [], "Taints of nodes on which the controllers may run nevertheless.", OBJECTS),
        Value("priorityClassName", "", "The PriorityClass of the pods."),
        Value("podLabels", {}, "Further labels of the pods.", _without(_keys_of_pods(manifests, "labels"))),
        Value(
            "podAnnotations", {}, "Further annotations of the pods.", _without(_keys_of_pods(manifests, "annotations"))
        ),
    ]
    for deployment in manifests.deployments:
        values += _component_values(deployment)
    return [*values, *_console_values(manifests)]


def _console_values(manifests: Manifests) -> list[Value]:
    (deployment,) = (each for each in manifests.console if each["kind"] == "Deployment")
    text = "The Secret with the key of its cookies (`key`, 64 hexadecimal digits). Empty: the chart creates one. `helm template` "
    return [
        Value("console.enabled", False, "Whether there is a web console. It has no permissions of its own.", SWITCH),
        Value("console.sessionKeySecret", "", text + "makes another one each time."),
        *_component_values(deployment),
    ]


def _definition_values() -> list[Value]:
    return [
        Value(
            "crds.enabled", True, "Whether the chart contains the CRDs. `helm uninstall` never deletes them.", SWITCH
        ),
        Value(
            "operatorConditions.enabled",
            False,
            "Whether the chart contains the CRD of OperatorConditions, with which operators hold their upgrades.",
            SWITCH,
        ),
        Value(
            "packageManifests.enabled",
            False,
            "Whether PackageManifests, for consoles of OLM v0, are an API of the cluster.",
            SWITCH,
        ),
        Value(
            "v1.enabled",
            False,
            "Whether ClusterCatalogs and ClusterExtensions, the kinds of OLM v1, are served. Only on clusters without OLM v1.",
            SWITCH,
        ),
    ]


def _image_values(image: str) -> list[Value]:
    found = parse(image)
    return [
        Value("image.repository", found.written, "The image of the three controllers.", _text(_IMAGE_NAME)),
        Value("image.tag", found.tag or "", "Its tag.", _text(f"({IMAGE_TAG})?")),
        Value(
            "image.digest",
            found.digest or "",
            "Its digest, such as sha256:…. If there is one, it decides which image is pulled: change it with the tag.",
            _text(f"({DIGEST})?"),
        ),
        Value(
            "image.pullPolicy",
            "",
            "Always, IfNotPresent or Never. Empty: the default of Kubernetes.",
            {"enum": ["", "Always", "IfNotPresent", "Never"]},
        ),
    ]


def _component_values(deployment: Object) -> list[Value]:
    name, spec = deployment["metadata"]["name"], deployment["spec"]
    pod = spec["template"]["spec"]
    key = component_key(name)
    replicas = {"type": "integer", "minimum": 0}
    return [
        Value(f"{key}.replicas", spec["replicas"], f"How many replicas of {name} run.", replicas),
        Value(f"{key}.resources", pod["containers"][0]["resources"], "Its requests and limits.", MAPPING),
        Value(f"{key}.affinity", pod.get("affinity", {}), "Its affinity.", MAPPING),
        Value(f"{key}.extraArgs", [], "Further flags, such as --registries-conf=/etc/registries.conf.", TEXTS),
        Value(
            f"{key}.extraEnv",
            [],
            "Further environment variables, such as {name: HTTPS_PROXY, value: …}.",
            NAMED_OBJECTS,
        ),
        Value(f"{key}.extraVolumes", [], "Further volumes of the pod.", NAMED_OBJECTS),
        Value(f"{key}.extraVolumeMounts", [], "Further volume mounts of the container.", NAMED_OBJECTS),
    ]


def values_text(values: Sequence[Value]) -> str:
    """values.yaml, with the description of each value as a comment above it."""
    lines: list[str] = []
    last: list[str] = []
    for value in values:
        *parents, key = value.path.split(".")
        for depth, parent in enumerate(parents):
            if last[: depth + 1] != parents[: depth + 1]:
                lines.append(f"{'  ' * depth}{parent}:")
                last = parents[: depth + 1]
        last = parents
        indent = "  " * len(parents)
        lines.append(f"{indent}# {value.description}")
        lines += [f"{indent}{line}" for line in as_yaml({key: value.default}).splitlines()]
    return "\n".join(lines) + "\n"


def values_schema(values: Sequence[Value]) -> Object:
    """values.schema.json, by which helm refuses unknown values and those of another type.

    A value that is null is removed by helm. Mappings may be: the defaults of an affinity cannot be replaced in another way.
    """
    root = _closed()
    for value in values:
        *parents, key = value.path.split(".")
        place = root
        for parent in parents:
            place = _add(place, parent, _closed())
        _add(place, key, {**value.schema, "description": value.description})
    root["properties"]["global"] = MAPPING  # helm adds it when the chart is a dependency of another one
    return {"$schema": "http://json-schema.org/draft-07/schema#", **root}


def _closed() -> Object:
    return {**MAPPING, "additionalProperties": False, "properties": {}, "required": []}


def _add(place: Object, key: str, schema: Object) -> Object:
    """The schema of a key of a closed mapping, which is added if it is not there."""
    if key not in place["properties"]:
        place["properties"][key] = schema
        if schema.get("additionalProperties") is False or schema.get("type") != "object":
            place["required"].append(key)
    found: Object = place["properties"][key]
    return found
