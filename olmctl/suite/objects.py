"""The objects of the suite on a cluster: of which kind they are, what state they are in, and why a Deployment is not available.

Reads the cluster only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

from olmctl.questions.installed_objects import NAMESPACE
from olmctl.questions.operator_state import condition, conditions, is_observed, is_terminating, is_true, part, text_at
from olmctl.questions.port_forward import POD
from olmctl.suite.manifests import NAME_LABEL, PART_OF, PART_OF_LABEL, VERSION_LABEL, image_of
from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS
from olmkit.api import customresourcedefinitions
from olmkit.api.label_policy import BINDINGS, POLICIES
from olmkit.api.meta import Kind, Object
from olmkit.api.package_manifests import API_SERVICE
from olmkit.errors import NotFound, OlmError
from olmkit.runtime.client import Client
from olmkit.sources.errors import BadReference
from olmkit.sources.oci.reference import parse
from olmkit.tls.certificate_rotator import SECRET

CRD = customresourcedefinitions.KIND
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
_RBAC = "rbac.authorization.k8s.io"
KINDS = (
    CRD,
    NAMESPACE,
    DEPLOYMENT,
    Kind("", "v1", "Service", "services", namespaced=True),
    Kind("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True),
    Kind(_RBAC, "v1", "ClusterRole", "clusterroles"),
    Kind(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings"),
    Kind(_RBAC, "v1", "Role", "roles", namespaced=True),
    Kind(_RBAC, "v1", "RoleBinding", "rolebindings", namespaced=True),
    Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", namespaced=True),
    WEBHOOK_CONFIGURATIONS,
    Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True),
    API_SERVICE,
    POLICIES,
    BINDINGS,
    SECRET,
)
_KIND_OF = {(kind.api_version, kind.kind): kind for kind in KINDS}
DIFFERS = "Differs"
"""The status of an object that is not as in the manifests, and has to be."""
DIGEST_CHARACTERS = 12
"""As many of a digest as `docker images` shows."""
MISSING = "Missing"
"""The status of an object that does not exist."""
MAX_CONCURRENT_REQUESTS = 8
_STARTING = ("ContainerCreating", "PodInitializing")
"""Reasons of a waiting container that are no problem."""


@dataclass(frozen=True)
class ObjectState:
    """An object of the manifests on the cluster. `found` is None if it does not exist."""

    expected: Object
    found: Object | None
    status: str
    is_good: bool
    message: str = ""
    leader: str = ""
    """The host that renews the Lease of a controller, which is a pod; olmctl.suite.running finds it."""
    differences: str = ""
    """The fields that are not as in the manifests; olmctl.suite.differences finds them."""

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(self.expected["metadata"]["name"])

    @property
    def version(self) -> str:
        """The version of the suite that it is of; "" if it is no controller, or does not exist."""
        if self.expected["kind"] != "Deployment":
            return ""
        return text_at(self.found or {}, "metadata", "labels", VERSION_LABEL)

    @property
    def shown_version(self) -> str:
        """The version, with the tag or the digest of the image if that is another one."""
        return self.version and version_text(self.version, self.image)

    @property
    def image(self) -> str:
        """The image of a controller; "" for other objects."""
        return image_of(self.found) if self.found and self.expected["kind"] == "Deployment" else ""

    @property
    def ready(self) -> str:
        """The available and the desired replicas of a controller, such as `1/2`; "" for other objects."""
        if self.found is None or self.expected["kind"] != "Deployment":
            return ""
        return f"{part(self.found, 'status', 'availableReplicas') or 0}/{part(self.found, 'spec', 'replicas')}"


def version_text(version: str, image: str) -> str:
    """A version with the tag, else the digest, of an image, unless they are the same: `v0.1.0 (image v0.1.1)`."""
    try:
        reference = parse(image)
    except BadReference:
        return f"{version} (image unknown)"
    if reference.tag == version:
        return version
    digest = (reference.digest or "").partition(":")
    return f"{version} (image {reference.tag or f'{digest[0]}:{digest[2][:DIGEST_CHARACTERS]}'})"


def kind_of(obj: Object) -> Kind:
    """The resource type of an object. Raises OlmError for one that manifests of the suite do not contain."""
    try:
        return _KIND_OF[(obj["apiVersion"], obj["kind"])]
    except KeyError:
        raise OlmError(
            "UnknownKind", f"{obj['apiVersion']} {obj['kind']} is no kind of the suite's manifests"
        ) from None


def name_of(obj: Object) -> str:
    """The object as kubectl names it, such as deployment.apps/catalogd."""
    return resource_name(kind_of(obj), obj)


def resource_name(kind: Kind, obj: Object) -> str:
    """As name_of, for an object of any kind."""
    return f"{kind.kind.lower()}{'.' if kind.group else ''}{kind.group}/{obj['metadata']['name']}"


async def find(client: Client, obj: Object) -> Object | None:
    """The object as it is on the cluster; None if it does not exist."""
    try:
        return await client.get(kind_of(obj), obj["metadata"]["name"], obj["metadata"].get("namespace"))
    except NotFound:
        return None


async def find_all(client: Client, objects: Iterable[Object]) -> list[Object | None]:
    """The objects as they are on the cluster, in the same order; None for each that does not exist."""
    limit = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)

    async def one(obj: Object) -> Object | None:
        async with limit:
            return await find(client, obj)

    return list(await asyncio.gather(*map(one, objects)))


def is_own(obj: Object) -> bool:
    """Report whether the object is of the suite, and not of another program that uses the same name."""
    return text_at(obj, "metadata", "labels", PART_OF_LABEL) == PART_OF


def place_of(obj: Object) -> tuple[str, str]:
    """Its name and its namespace, "" if it has none."""
    return obj["metadata"]["name"], obj["metadata"].get("namespace") or ""


def deletion_text(obj: Object) -> str:
    """Say what holds an object of the manifests; namespaces and CRDs say it in their conditions."""
    texts = [text_at(each, "message") for each in conditions(obj) if each.get("status") == "True"]
    finalizers = [*(part(obj, "metadata", "finalizers") or ()), *(part(obj, "spec", "finalizers") or ())]
    if not is_terminating(obj) or obj["kind"] not in ("Namespace", "CustomResourceDefinition"):
        texts = []
    held = [*texts, *([f"finalizers {', '.join(finalizers)}"] if finalizers else ())]
    return f"{name_of(obj)}: {'; '.join(text for text in held if text) or 'it is being deleted'}"


async def states(client: Client, objects: Iterable[Object]) -> list[ObjectState]:
    """The states of the objects of the manifests, in the same order."""
    expected = list(objects)
    found = await find_all(client, expected)
    return [await explained(client, state_of(one, other)) for one, other in zip(expected, found, strict=True)]


async def explained(client: Client, state: ObjectState) -> ObjectState:
    """The state, of a Deployment that is not available with the cause. Raises ApiError if its pods may not be listed."""
    if state.found is None or state.expected["kind"] != "Deployment" or state.is_good:
        return state
    cause = await cause_of(client, state.found)
    return replace(state, message=cause or state.message)


def state_of(expected: Object, found: Object | None) -> ObjectState:
    """The state of an object, without the cause for a Deployment that is not available."""
    if found is None:
        return ObjectState(expected, None, MISSING, is_good=False, message="it does not exist")
    if is_terminating(found):
        return ObjectState(expected, found, "Terminating", is_good=False, message="it is being deleted")
    if found["kind"] == "Deployment":
        if part(found, "spec", "replicas") == 0:
            return ObjectState(expected, found, "ScaledToZero", is_good=False, message="it is scaled to 0 replicas")
        is_good, text = _rollout(found)
        return ObjectState(expected, found, "Available" if is_good else "Progressing", is_good, text)
    if found["kind"] == "CustomResourceDefinition":
        is_good = is_true(found, "Established")
        text = text_at(condition(found, "NamesAccepted"), "message")
        return ObjectState(expected, found, "Established" if is_good else "NotEstablished", is_good, text)
    if found["kind"] == API_SERVICE.kind:
        is_good = is_true(found, "Available")
        text = (
            "" if is_good else text_at(condition(found, "Available"), "message") or "the API server has not reached it"
        )
        return ObjectState(expected, found, "Available" if is_good else "NotAvailable", is_good, text)
    return ObjectState(expected, found, "Installed", is_good=True)


def _rollout(deployment: Object) -> tuple[bool, str]:
    """Report whether all replicas are of the present template and available, and say how many are."""
    wanted = part(deployment, "spec", "replicas")
    wanted = 1 if wanted is None else wanted
    counts = {key: part(deployment, "status", key) or 0 for key in ("replicas", "updatedReplicas", "availableReplicas")}
    available = min(counts["updatedReplicas"], counts["availableReplicas"])
    is_good = is_observed(deployment) and all(count == wanted for count in counts.values())
    return is_good, f"{available} of {wanted} replicas available"


async def cause_of(client: Client, deployment: Object) -> str:
    """Explain why the pods of a Deployment do not run, in the words of the kubelet, the scheduler or the API server; "" if
    unknown."""
    name, namespace = deployment["metadata"]["name"], deployment["metadata"]["namespace"]
    failure = condition(deployment, "ReplicaFailure")
    if text_at(failure, "status") == "True":
        return text_at(failure, "message")
    pods, _ = await client.list(POD, namespace, f"{NAME_LABEL}={name}")
    problems = (_problem(pod) for pod in pods if not is_terminating(pod))
    return next((problem for problem in problems if problem), "")


def _problem(pod: Object) -> str:
    name = pod["metadata"]["name"]
    scheduled = condition(pod, "PodScheduled")
    if text_at(scheduled, "status") == "False":
        return f"pod {name}: {text_at(scheduled, 'message')}"
    for each in part(pod, "status", "containerStatuses") or ():
        waiting = part(each, "state", "waiting") or {}
        if waiting and waiting.get("reason") not in _STARTING:
            last = part(each, "lastState", "terminated") or {}
            texts = (waiting.get("reason"), last.get("message") or waiting.get("message"))
            return f"pod {name}: {': '.join(str(text).strip() for text in texts if text)}"
    return ""
