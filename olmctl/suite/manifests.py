"""The objects of the suite on a cluster: its CRDs and the objects of config/default, for one image and one pair of namespaces.

Reads manifests.yaml, console.yaml and v1.yaml, which `make generate` writes from config/default, config/console and config/v1;
never connects to a cluster.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from olmctl.object_text import as_yaml
from olmctl.questions.operator_state import part
from olmkit.api.crd import CRD_DEFINITIONS, V1_DEFINITIONS, custom_resource_definition
from olmkit.api.meta import Object
from olmkit.api.package_manifests import API_SERVICE
from olmkit.errors import OlmError
from olmkit.runtime.flags import Settings

FILE_NAME = "manifests.yaml"
CONSOLE_FILE_NAME = "console.yaml"
V1_FILE_NAME = "v1.yaml"
CONSOLE_NAME = "olm-console"
"""The name of the web console's objects."""
PART_OF_LABEL = "app.kubernetes.io/part-of"
PART_OF = "olm-suite"
VERSION_LABEL = "app.kubernetes.io/version"
NAME_LABEL = "app.kubernetes.io/name"
SYSTEM_NAMESPACE = Settings.system_namespace
KEYS_NAMESPACE = Settings.keys_namespace
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
"""The label of each Namespace with its name, by which a webhook selects the namespace of the suite."""


@dataclass(frozen=True)
class Manifests:
    """Everything that an installation applies, in the order in which it is applied. `console` are the objects of the web console,
    which belong to `objects` if it is installed; `v1_crds` and `v1` are the same of the kinds of OLM v1."""

    crds: tuple[Object, ...]
    objects: tuple[Object, ...]
    console: tuple[Object, ...] = ()
    v1_crds: tuple[Object, ...] = ()
    v1: tuple[Object, ...] = ()
    taken_over: frozenset[tuple[str, str]] = frozenset()
    """Kind and name of objects that others manage, and that this installation takes over."""
    unwanted: tuple[Object, ...] = ()
    """Objects of the suite on the cluster that this installation deletes."""

    @property
    def all(self) -> tuple[Object, ...]:
        """The CRDs and the other objects."""
        return self.crds + self.objects

    @property
    def deployments(self) -> tuple[Object, ...]:
        """The controllers."""
        return tuple(each for each in self.objects if each["kind"] == "Deployment")

    @property
    def awaited(self) -> tuple[Object, ...]:
        """The controllers, and the API that one of them serves for the API server."""
        return (*self.deployments, *(each for each in self.objects if each["kind"] == API_SERVICE.kind))

    @property
    def namespaces(self) -> tuple[Object, ...]:
        """The namespaces of the controllers and of their keys."""
        return tuple(each for each in self.objects if each["kind"] == "Namespace")

    @property
    def version(self) -> str:
        """The version of the suite, such as v0.1.0."""
        return str(self.deployments[0]["metadata"]["labels"][VERSION_LABEL])

    @property
    def image(self) -> str:
        """The image of the controllers."""
        return image_of(self.deployments[0])


def load_manifests(
    image: str = "",
    system_namespace: str = SYSTEM_NAMESPACE,
    keys_namespace: str = KEYS_NAMESPACE,
    pull_secrets: Sequence[str] = (),
) -> Manifests:
    """The manifests of this version, with `image` for all controllers if it is not empty, with these Secrets to pull it, and in
    these namespaces.

    Raises OlmError if they are one namespace: who may create Secrets there could create tokens of all its ServiceAccounts.
    """
    if system_namespace == keys_namespace:
        text = f"--system-namespace is {keys_namespace}, the namespace of the keys: choose another one"
        raise OlmError("SameNamespace", text)
    names = FILE_NAME, CONSOLE_FILE_NAME, V1_FILE_NAME
    objects, console, v1 = read = [[copy.deepcopy(each) for each in _bundled(name)] for name in names]
    for each in read:
        if image:
            set_image(each, image)
        set_pull_secrets(each, pull_secrets)
        relocate(each, system_namespace, keys_namespace)
    crds, v1_crds = (
        tuple(map(custom_resource_definition, definitions)) for definitions in (CRD_DEFINITIONS, V1_DEFINITIONS)
    )
    return Manifests(crds, tuple(objects), tuple(console), v1_crds, tuple(v1))


@cache
def _bundled(name: str) -> tuple[Object, ...]:
    text = files("olmctl.suite").joinpath(name).read_text(encoding="utf-8")
    return tuple(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def documents(objects: Iterable[Object]) -> str:
    """The objects as YAML documents."""
    return "---\n".join(map(as_yaml, objects))


def containers(objects: Iterable[Object]) -> Iterator[dict[str, Any]]:
    """The containers of all Deployments."""
    for each in objects:
        if each["kind"] == "Deployment":
            yield from each["spec"]["template"]["spec"]["containers"]


def set_image(objects: Iterable[Object], image: str) -> None:
    """Change the image of all controllers."""
    for container in containers(objects):
        container["image"] = image


def set_pull_secrets(objects: Iterable[Object], names: Sequence[str]) -> None:
    """Have the nodes use these Secrets to pull the image of all controllers."""
    for each in objects:
        if names and each["kind"] == "Deployment":
            each["spec"]["template"]["spec"]["imagePullSecrets"] = [{"name": name} for name in names]


def pull_secrets_of(controllers: Iterable[Object]) -> tuple[str, ...]:
    """The names of the Secrets with which the image of the controllers is pulled."""
    listed = (part(each, "spec", "template", "spec", "imagePullSecrets") or () for each in controllers)
    return tuple(dict.fromkeys(each["name"] for secrets in listed for each in secrets))


def image_of(deployment: Object) -> str:
    """The image of a controller: of the container with its name, because others may have been added; "" without one."""
    found = containers([deployment])
    return next((str(each["image"]) for each in found if each["name"] == deployment["metadata"]["name"]), "")


def relocate(objects: Iterable[Object], system_namespace: str, keys_namespace: str) -> None:
    """Change the namespaces of the objects; the controllers get the flags that name them."""
    renamed = {SYSTEM_NAMESPACE: system_namespace, KEYS_NAMESPACE: keys_namespace}
    if all(before == after for before, after in renamed.items()):
        return
    objects = list(objects)
    for each in objects:
        metadata = each["metadata"]
        if each["kind"] == "Namespace":
            metadata["name"] = renamed.get(metadata["name"], metadata["name"])
        webhooks = each.get("webhooks") or ()
        services = (webhook["clientConfig"]["service"] for webhook in webhooks)
        selectors = (webhook.get("namespaceSelector", {}).get("matchLabels", {}) for webhook in webhooks)
        aggregated = [each["spec"]["service"]] if each["kind"] == API_SERVICE.kind else []
        for place in (metadata, *(each.get("subjects") or ()), *services, *selectors, *aggregated):
            for field in ("namespace", NAMESPACE_LABEL):
                if field in place:
                    place[field] = renamed.get(place[field], place[field])
    for container in containers(objects):
        suffix = f".{SYSTEM_NAMESPACE}.svc"
        container["args"] = [
            f"{arg.removesuffix(suffix)}.{system_namespace}.svc" if arg.endswith(suffix) else arg
            for arg in container["args"]
        ]
        if system_namespace != SYSTEM_NAMESPACE:
            container["args"].append(f"--system-namespace={system_namespace}")
        if keys_namespace != KEYS_NAMESPACE:
            container["args"].append(f"--keys-namespace={keys_namespace}")
