"""The rules about CustomResourceDefinitions: those of Kubernetes 1.33 when one is created, but for its schemas and all fields
with `status` in their paths, which upstream leaves out. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from olmctl.validation.crd_conversion import conversion_errors
from olmctl.validation.crd_form import Definition, Parts, Version, definition_of, has_default
from olmctl.validation.crd_parts import part_errors
from olmctl.validation.finding import Finding
from olmctl.validation.kubernetes_names import dns1035_label_errors, dns1123_subdomain_errors
from olmctl.validation.loaded_bundle import Document, LoadedBundle
from olmctl.validation.object_metadata import (
    FORBIDDEN,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    FieldError,
    metadata_errors,
)
from olmctl.validation.reporting import Reporter, Rule
from olmkit.gocompat.text import quoted

CRD = "crd"
APPROVAL = "api-approved.kubernetes.io"
_APPROVAL_PAGE = "see https://github.com/kubernetes/enhancements/pull/1111"
_LEFT_OUT: Final = ("openAPIV3Schema", "status")
"""Parts of the paths of fields whose errors upstream leaves out."""
_SCOPES = ("Cluster", "Namespaced")
_HINT = "Correct the field: the API server refuses the CustomResourceDefinition."
_PRESERVE_HINT = "Convert the definition to apiextensions.k8s.io/v1, or set spec.preserveUnknownFields to false."


def check(bundle: LoadedBundle) -> Iterator[Finding]:
    """The faults of all definitions, those of v1beta1 first."""
    for document in (*bundle.v1beta1_crds, *bundle.v1_crds):
        yield from definition_faults(document)


def definition_faults(document: Document) -> Iterator[Finding]:
    """The faults of one definition."""
    reporter = Reporter(CRD, document)
    for error in _errors(definition_of(document)):
        if any(part in error.field for part in _LEFT_OUT):
            continue
        hint = _PRESERVE_HINT if error.field == "spec.preserveUnknownFields" else _HINT
        rule = Rule(f"crd-{error.kind.removeprefix('FieldValue').lower()}", error.kind, hint)
        yield reporter.found(rule, str(error), error.path or _path(error.field), field=error.field, value=error.value)


def _path(field: str) -> tuple[str | int, ...]:
    """The path of a field as it is printed: `spec.versions[0].name`."""
    steps: list[str | int] = []
    for part in field.split("."):
        name, *indexes = part.replace("]", "").split("[")
        steps.append(name)
        steps += [int(each) if each.isdigit() else each for each in indexes]
    return tuple(steps)


def _errors(definition: Definition) -> Iterator[FieldError]:
    wanted = f"{definition.names['plural']}.{definition.group}"

    def name_errors(name: str) -> list[str]:
        errors = dns1123_subdomain_errors(name)
        return errors if name == wanted else [*errors, 'must be spec.names.plural+"."+spec.group']

    yield from metadata_errors(definition.metadata, name_errors)
    yield from _spec_errors(definition)
    yield from _approval_errors(definition)
    if definition.preserves_unknown_fields:
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield FieldError(INVALID, "spec.preserveUnknownFields", True, text)


def _spec_errors(definition: Definition) -> Iterator[FieldError]:
    yield from _group_errors(definition.group)
    if not definition.scope:
        yield FieldError(REQUIRED, "spec.scope")
    elif definition.scope not in _SCOPES:
        text = f"supported values: {', '.join(map(quoted, _SCOPES))}"
        yield FieldError(NOT_SUPPORTED, "spec.scope", definition.scope, text)
    if definition.preserves_unknown_fields and any(map(has_default, definition.schemas())):
        text = "must be false in order to use defaults in the schema"
        yield FieldError(INVALID, "spec.preserveUnknownFields", True, text)
    for index, version in enumerate(definition.versions):
        yield from _version_errors(version, f"spec.versions[{index}]")
    yield from _exclusive_errors(definition)
    yield from _version_list_errors(definition)
    yield from _name_errors(definition.names)
    yield from part_errors(definition.common, "spec", is_version=False)
    yield from conversion_errors(definition.conversion, definition.preserves_unknown_fields)


def _group_errors(group: str) -> Iterator[FieldError]:
    if not group:
        yield FieldError(REQUIRED, "spec.group")
    elif errors := dns1123_subdomain_errors(group):
        yield FieldError(INVALID, "spec.group", group, ",".join(errors))
    elif "." not in group:
        yield FieldError(INVALID, "spec.group", group, "should be a domain with at least one dot")


def _version_errors(version: Version, field: str) -> Iterator[FieldError]:
    if errors := dns1035_label_errors(version.name):
        yield FieldError(INVALID, f"{field}.name", version.name, ",".join(errors))
    for text in _warning_errors(version):
        yield FieldError(INVALID, f"{field}.deprecationWarning", version.deprecation_warning, text)
    yield from part_errors(version.parts, field, is_version=True)


def _warning_errors(version: Version) -> Iterator[str]:
    warning = version.deprecation_warning
    if warning is None:
        return
    if not version.deprecated:
        yield "can only be set for deprecated versions"
        return
    if len(warning.encode(errors="replace")) > 256:
        yield "must be <= 256 characters long"
    if not warning:
        yield "must not be an empty string"
    at = next((at for at, each in enumerate(warning) if not (each.isprintable() or each == " ")), None)
    if at is not None:
        offset = len(warning[:at].encode(errors="replace"))
        text = f"non-printable character found at index {offset}"
        yield f"must only contain printable UTF-8 characters; {text}"


def _exclusive_errors(definition: Definition) -> Iterator[FieldError]:
    """A part is either in the spec or in the versions, and there not equal in all of them."""
    texts = {
        "schema": ("validation", "schemas"),
        "subresources": ("subresources", "subresources"),
        "columns": ("additionalPrinterColumns", "additionalPrinterColumns"),
    }
    for name, (field, plural) in texts.items():
        if _part(definition.common, name) is not None and any(
            _part(each.parts, name) is not None for each in definition.versions
        ):
            text = f"top-level and per-version {plural} are mutually exclusive"
            yield FieldError(FORBIDDEN, f"spec.{field}", "", text)
    for name, (field, plural) in texts.items():
        values = [_part(each.parts, name) for each in definition.versions]
        if values and all(each is not None and each == values[0] for each in values):
            text = f"per-version {plural} may not all be set to identical values (top-level {field} should be used instead)"
            yield _versions_error(definition, text)


def _part(parts: Parts, name: str) -> Any:
    return getattr(parts, name)


def _versions_error(definition: Definition, text: str) -> FieldError:
    return FieldError(INVALID, "spec.versions", [each.name for each in definition.versions], text)


def _version_list_errors(definition: Definition) -> Iterator[FieldError]:
    names = [each.name for each in definition.versions]
    if len(set(names)) < len(names):
        yield _versions_error(definition, "must contain unique version names")
    if sum(each.is_storage for each in definition.versions) != 1:
        yield _versions_error(definition, "must have exactly one version marked as storage version")
    version = definition.version
    if version:
        if errors := dns1035_label_errors(version):
            yield FieldError(INVALID, "spec.version", version, ",".join(errors))
        if names and names[0] != version:
            yield FieldError(INVALID, "spec.version", version, "must match the first version in spec.versions")


def _name_errors(names: Mapping[str, Any]) -> Iterator[FieldError]:
    required = ("plural", "singular", "kind", "listKind")
    for key in required:
        if not names[key]:
            yield FieldError(REQUIRED, f"spec.names.{key}")
    for key in required:
        name = names[key]
        is_kind = key in ("kind", "listKind")
        errors = dns1035_label_errors(name.lower() if is_kind else name) if name else []
        if errors:
            start = "may have mixed case, but should otherwise match: " if is_kind else ""
            yield FieldError(INVALID, f"spec.names.{key}", name, start + ",".join(errors))
    yield from _listed_names("shortNames", names["shortNames"])
    if names["kind"] and names["kind"] == names["listKind"]:
        yield FieldError(INVALID, "spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    yield from _listed_names("categories", names["categories"])


def _listed_names(key: str, names: Sequence[str]) -> Iterator[FieldError]:
    for index, name in enumerate(names):
        if errors := dns1035_label_errors(name):
            yield FieldError(INVALID, f"spec.names.{key}[{index}]", name, ",".join(errors))


def _approval_errors(definition: Definition) -> Iterator[FieldError]:
    group = f".{definition.group}"
    if not group.endswith((".k8s.io", ".kubernetes.io")):
        return
    field, path = f"metadata.annotations[{APPROVAL}]", ("metadata", "annotations", APPROVAL)
    value = (definition.metadata.get("annotations") or {}).get(APPROVAL) or ""
    start = f"protected groups must have approval annotation {quoted(APPROVAL)}"
    if not value:
        yield FieldError(REQUIRED, field, "", f"{start}, {_APPROVAL_PAGE}", path)
    elif not value.startswith("unapproved") and not _is_url(value):
        text = f'{start} with either a URL or a reason starting with "unapproved", {_APPROVAL_PAGE}'
        yield FieldError(INVALID, field, value, text, path)


def _is_url(text: str) -> bool:
    scheme, separator, rest = text.partition("://")
    return bool(separator and scheme.isalnum() and rest.partition("/")[0] and text.isprintable() and " " not in text)
