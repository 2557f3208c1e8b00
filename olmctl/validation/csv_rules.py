"""The rules about a ClusterServiceVersion: names, examples, install modes, versions, required fields, annotations. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from olmctl.validation.examples import example_faults
from olmctl.validation.finding import FIELD_NOT_FOUND, VALIDATION_FAILED, WARNING, Finding
from olmctl.validation.kubernetes_names import dns1123_subdomain_errors, label_value_errors
from olmctl.validation.loaded_bundle import Document, LoadedBundle
from olmctl.validation.reporting import Path, Reporter, Rule, csv_rule
from olmkit.gocompat.go_unmarshal import is_zero
from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import BadVersion, parse_version
from rukpak.format.objects import mapping, mappings

CSV = "csv"
ALL_NAMESPACES = "AllNamespaces"
PROPERTIES_ANNOTATION = "olm.properties"
CASED_ANNOTATIONS: Final = {
    each.lower(): each
    for each in (
        "olm.operatorGroup",
        "olm.operatorNamespace",
        "olm.targetNamespaces",
        "olm.providedAPIs",
        "olm.skipRange",
    )
}
_SPEC, _STRATEGY = "v1alpha1.ClusterServiceVersionSpec", "v1alpha1.NamedInstallStrategy"
_MIN_KUBE_VERSION_TEXT = (
    "csv.Spec.minKubeVersion is not informed. It is recommended you provide this information. Otherwise, it would mean that "
    "your operator project can be distributed and installed in any cluster version available, which is not necessarily the "
    "case for all projects."
)

_NAME = csv_rule(
    "csv-name", "Use lower-case letters, digits, `-` and `.`, at most 63 characters, as in my-operator.v1.2.3."
)
_NO_MODES = csv_rule(
    "install-modes",
    "Add spec.installModes with the types OwnNamespace, SingleNamespace, MultiNamespace, AllNamespaces.",
)
_NO_SUPPORTED_MODE = csv_rule("install-modes-supported", "Set `supported: true` for at least one type.")
_CONVERSION_MODES = csv_rule(
    "conversion-install-modes",
    "Support AllNamespaces and no other type: a conversion webhook serves the whole cluster.",
)
_MIN_KUBE_MISSING = csv_rule(
    "min-kube-version-missing", "Set spec.minKubeVersion to the oldest version of Kubernetes that it runs on.", WARNING
)
_MIN_KUBE_VERSION = csv_rule("min-kube-version", "Write the version with three numbers, without a v: 1.28.0.")
_FIELD = Rule("csv-field-missing", FIELD_NOT_FOUND, "Set the field.")
_CASE = Rule("annotation-case", VALIDATION_FAILED, "Rename the annotation.")
_PROPERTIES = Rule(
    "olm-properties-annotation",
    "PropertiesAnnotationUsed",
    "Move the properties into metadata/properties.yaml.",
    WARNING,
)
_API_VERSION = csv_rule("csv-api-version", "Add `apiVersion: operators.coreos.com/v1alpha1`.")


def check(bundle: LoadedBundle) -> Iterator[Finding]:
    """The faults of the CSV of a bundle."""
    if bundle.csv is not None:
        yield from csv_faults(bundle.csv)


def csv_faults(csv: Document) -> Iterator[Finding]:
    """The faults of a ClusterServiceVersion that Go's type accepts, in upstream's order."""
    reporter = Reporter(CSV, csv)
    yield from _name_faults(reporter, "metadata.name", csv.name)
    replaces = csv.spec.get("replaces")
    if replaces:
        yield from _name_faults(reporter, "spec.replaces", replaces)
    yield from example_faults(CSV, csv)
    yield from _mode_faults(reporter, csv)
    yield from _min_kube_version_faults(reporter, csv)
    yield from _field_faults(reporter, csv)
    yield from _annotation_faults(reporter, csv)
    if not csv.gvk.version:
        yield reporter.csv_found(_API_VERSION, "'apiVersion' is missing")


def _name_faults(reporter: Reporter, field: str, name: str) -> Iterator[Finding]:
    errors = dns1123_subdomain_errors(name) + label_value_errors(name)
    if errors:
        yield reporter.csv_found(
            _NAME, f"{field} {quoted(name)} is invalid: {','.join(errors)}", tuple(field.split("."))
        )


def _mode_faults(reporter: Reporter, csv: Document) -> Iterator[Finding]:
    path = ("spec", "installModes")
    modes = csv.spec.get("installModes")
    if not modes:
        yield reporter.csv_found(_NO_MODES, "install modes not found", ("spec",))
        return
    supported = [(mode.get("type") or "", bool(mode.get("supported"))) for mode in map(mapping, modes)]
    if any(each != (kind == ALL_NAMESPACES) for kind, each in supported):
        for index, webhook in enumerate(mappings(csv.spec.get("webhookdefinitions"))):
            if webhook.get("conversionCRDs"):
                text = "only AllNamespaces InstallModeType is supported when conversionCRDs is present"
                yield reporter.csv_found(_CONVERSION_MODES, text, ("spec", "webhookdefinitions", index))
    if not any(each for _, each in supported):
        yield reporter.csv_found(_NO_SUPPORTED_MODE, "none of InstallModeTypes are supported", path)


def _min_kube_version_faults(reporter: Reporter, csv: Document) -> Iterator[Finding]:
    version = csv.spec.get("minKubeVersion") or ""
    if not version.strip():
        yield reporter.csv_found(_MIN_KUBE_MISSING, _MIN_KUBE_VERSION_TEXT, ("spec",))
        return
    try:
        parse_version(version)
    except BadVersion:
        text = f"csv.Spec.MinKubeVersion has an invalid value: {version}"
        yield reporter.csv_found(_MIN_KUBE_VERSION, text, ("spec", "minKubeVersion"))


def _field_faults(reporter: Reporter, csv: Document) -> Iterator[Finding]:
    """The fields that Go always writes and that are empty. Lists are not entered."""
    for name, kind, path in _missing_fields(csv):
        hint = f"Set {'.'.join(map(str, path))}."
        yield reporter.found(_FIELD, "required field missing", path, field=name, value=kind, hint=hint)


def _missing_fields(csv: Document) -> Iterator[tuple[str, str, Path]]:
    if is_zero("ObjectMeta", csv.metadata):
        yield "ObjectMeta", "struct", ("metadata",)
    if is_zero(_SPEC, csv.spec):
        yield "Spec", "struct", ("spec",)
        return
    yield from _missing_strategy(mapping(csv.spec.get("install")))
    if not csv.spec.get("displayName"):
        yield "Spec.DisplayName", "field", ("spec", "displayName")


def _missing_strategy(install: Any) -> Iterator[tuple[str, str, Path]]:
    name, path = "Spec.InstallStrategy", ("spec", "install")
    if is_zero(_STRATEGY, install):
        yield name, "struct", path
        return
    if not install.get("strategy"):
        yield f"{name}.StrategyName", "field", (*path, "strategy")
    details = mapping(install.get("spec"))
    if not is_zero("StrategyDetailsDeployment", details) and details.get("deployments") is None:
        yield f"{name}.StrategySpec.DeploymentSpecs", "field", (*path, "spec", "deployments")


def _annotation_faults(reporter: Reporter, csv: Document) -> Iterator[Finding]:
    for key in sorted(csv.annotations):
        wanted = CASED_ANNOTATIONS.get(key.lower(), key)
        path = ("metadata", "annotations", key)
        if key != wanted:
            text = f"provided annotation {key} uses wrong case and should be {wanted} instead"
            yield reporter.found(_CASE, text, path, value=csv.name, hint=f"Rename the annotation to {wanted}.")
        if key == PROPERTIES_ANNOTATION:
            text = f"found {key} annotation, please define these properties in metadata/properties.yaml instead"
            yield reporter.found(_PROPERTIES, text, path, value="")
