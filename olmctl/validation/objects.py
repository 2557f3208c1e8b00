"""The objects of a bundle that are neither its CSV nor CustomResourceDefinitions: their kinds, and their metadata. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from olmctl.validation.finding import BUNDLE_NOT_VALID, VALIDATION_FAILED, Finding
from olmctl.validation.load import REGISTRY, aggregated
from olmctl.validation.loaded_bundle import Document, LoadedBundle
from olmctl.validation.object_metadata import metadata_errors
from olmctl.validation.reporting import Reporter, Rule

OBJECTS = "objects"
SUPPORTED_KINDS = frozenset({
    "ClusterRole", "ClusterRoleBinding", "ConfigMap", "ConsoleCLIDownload", "ConsoleLink", "ConsolePlugin",
    "ConsoleQuickStart", "ConsoleYAMLSample", "NetworkPolicy", "PodDisruptionBudget", "PriorityClass", "PrometheusRule",
    "Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "ServiceMonitor", "VerticalPodAutoscaler",
})  # fmt: skip
"""The kinds of other objects in a registry+v1 bundle, in any group."""

_KIND = Rule(
    "object-kind",
    BUNDLE_NOT_VALID,
    "A bundle cannot install objects of this kind: let the operator create the object, or put it into a bundle of its own.",
)
_METADATA = Rule("object-metadata", VALIDATION_FAILED, "Correct the fields of the object's metadata.")


def check(bundle: LoadedBundle) -> Iterator[Finding]:
    """The faults of all objects."""
    for document in bundle.objects:
        if bundle.media_type == REGISTRY and document.kind not in SUPPORTED_KINDS:
            text = f"unsupported media type {bundle.media_type} for bundle object"
            yield Reporter(OBJECTS, document).found(_KIND, text, ("kind",), value=document.gvk)
        else:
            yield from _metadata_faults(document)


def _metadata_faults(document: Document) -> Iterator[Finding]:
    errors = list(metadata_errors(document.metadata, lambda name: []))
    if errors:
        text = f"error validating object: {aggregated(map(str, errors))}"
        yield Reporter(OBJECTS, document).found(_METADATA, text, errors[0].path, value=document.name)
