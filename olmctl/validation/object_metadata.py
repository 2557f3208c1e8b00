"""The metadata of an object as Kubernetes validates it when the object is created, without its name. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmctl.validation.kubernetes_names import label_value_errors, qualified_name_errors
from olmkit.gocompat.text import quoted
from rukpak.format.objects import group_of

MAX_ANNOTATION_BYTES = 256 * 1024
_MANAGER_BYTES, _SUBRESOURCE_BYTES = 128, 256
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


@dataclass(frozen=True)
class FieldError:
    """An error of Kubernetes about a field. `kind` is its type as Go names it, such as FieldValueInvalid."""

    kind: str
    field: str
    value: Any = ""
    detail: str = ""
    path: tuple[str | int, ...] = ()
    """The place of the value in the object."""

    def __str__(self) -> str:
        """Kubernetes' text. What Go would print as source code of a list or struct is left out."""
        name = _TEXTS[self.kind]
        detail = f": {self.detail}" if self.detail else ""
        if self.kind in _WITHOUT_VALUE:
            return f"{self.field}: {name}{detail}"
        shown = _shown(self.value)
        return f"{self.field}: {name}: {shown}{detail}" if shown else f"{self.field}: {name}{detail}"


INVALID, REQUIRED, FORBIDDEN = "FieldValueInvalid", "FieldValueRequired", "FieldValueForbidden"
NOT_SUPPORTED, TOO_LONG, TOO_MANY, DUPLICATE = (
    "FieldValueNotSupported", "FieldValueTooLong", "FieldValueTooMany", "FieldValueDuplicate",
)  # fmt: skip
_TEXTS = {
    INVALID: "Invalid value",
    REQUIRED: "Required value",
    FORBIDDEN: "Forbidden",
    NOT_SUPPORTED: "Unsupported value",
    TOO_LONG: "Too long",
    TOO_MANY: "Too many",
    DUPLICATE: "Duplicate value",
}
_WITHOUT_VALUE = (REQUIRED, FORBIDDEN, TOO_LONG)


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return quoted(value) if isinstance(value, str) else ""


def metadata_errors(metadata: Mapping[str, Any], name_errors: Callable[[str], list[str]]) -> Iterator[FieldError]:
    """The errors of the metadata of an object that is taken for one without a namespace. A field of another type than it has in
    Kubernetes counts as absent."""
    generated, name = _text(metadata, "generateName"), _text(metadata, "name")
    if generated:
        for text in name_errors(generated):
            yield FieldError(INVALID, "metadata.generateName", generated, text, ("metadata", "generateName"))
    if not name:
        yield FieldError(REQUIRED, "metadata.name", "", "name or generateName is required", ("metadata",))
    for text in name_errors(name) if name else ():
        yield FieldError(INVALID, "metadata.name", name, text, ("metadata", "name"))
    if _text(metadata, "namespace"):
        yield FieldError(FORBIDDEN, "metadata.namespace", "", "not allowed on this type", ("metadata", "namespace"))
    generation = metadata.get("generation")
    if isinstance(generation, int) and not isinstance(generation, bool) and generation < 0:
        yield FieldError(INVALID, "metadata.generation", generation, "must be greater than or equal to 0")
    yield from _label_errors(_texts(metadata.get("labels")))
    yield from _annotation_errors(_texts(metadata.get("annotations")))
    yield from _owner_errors(metadata.get("ownerReferences"))
    yield from _finalizer_errors(metadata.get("finalizers"))
    yield from _managed_errors(metadata.get("managedFields"))


def _text(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> Mapping[str, str]:
    """A mapping of texts; an empty one for a mapping that holds anything else, as Kubernetes' accessors return it."""
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
        return {}
    return value


def _label_errors(labels: Mapping[str, str]) -> Iterator[FieldError]:
    for key in sorted(labels):
        path = ("metadata", "labels", key)
        yield from (FieldError(INVALID, "metadata.labels", key, text, path) for text in qualified_name_errors(key))
        value = labels[key]
        yield from (FieldError(INVALID, "metadata.labels", value, text, path) for text in label_value_errors(value))


def _annotation_errors(annotations: Mapping[str, str]) -> Iterator[FieldError]:
    size = 0
    for key in sorted(annotations):
        path = ("metadata", "annotations", key)
        for text in qualified_name_errors(key.lower()):
            yield FieldError(INVALID, "metadata.annotations", key, text, path)
        size += len(key.encode(errors="replace")) + len(annotations[key].encode(errors="replace"))
    if size > MAX_ANNOTATION_BYTES:
        text = f"may not be more than {MAX_ANNOTATION_BYTES} bytes"
        yield FieldError(TOO_LONG, "metadata.annotations", "<value omitted>", text, ("metadata", "annotations"))


def _owner_errors(owners: Any) -> Iterator[FieldError]:
    field, controller = "metadata.ownerReferences", ""
    for number, owner in enumerate(owners if isinstance(owners, list) else ()):
        if not isinstance(owner, Mapping):
            continue
        path = ("metadata", "ownerReferences", number)
        version, kind, name = (_text(owner, key) for key in ("apiVersion", "kind", "name"))
        if not version.rpartition("/")[2] or version.count("/") > 1:
            yield FieldError(INVALID, f"{field}.apiVersion", version, "version must not be empty", path)
        for key in ("kind", "name", "uid"):
            if not _text(owner, key):
                yield FieldError(INVALID, f"{field}.{key}", "", f"{key} must not be empty", path)
        if (group_of(version), version, kind) == ("", "v1", "Event"):
            yield FieldError(INVALID, field, owner, "/v1, Kind=Event is disallowed from being an owner", path)
        if owner.get("controller") is True:
            current = f"{kind}/{name}"
            if controller:
                found = f'Found "true" in references for {controller} and {current}'
                yield FieldError(
                    INVALID, field, owners, f"Only one reference can have Controller set to true. {found}", path
                )
            controller = controller or current


def _finalizer_errors(finalizers: Any) -> Iterator[FieldError]:
    if not isinstance(finalizers, list) or not all(isinstance(each, str) for each in finalizers):
        return
    path = ("metadata", "finalizers")
    for each in finalizers:
        yield from (
            FieldError(INVALID, "metadata.finalizers", each, text, path) for text in qualified_name_errors(each)
        )
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        text = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        yield FieldError(INVALID, "metadata.finalizers", finalizers, text, path)


def _managed_errors(entries: Any) -> Iterator[FieldError]:
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, Mapping):
            continue
        field, path = f"metadata.managedFields[{number}]", ("metadata", "managedFields", number)
        operation, fields_type = _text(entry, "operation"), _text(entry, "fieldsType")
        if operation not in ("Apply", "Update"):
            yield FieldError(INVALID, f"{field}.operation", operation, "must be `Apply` or `Update`", path)
        if fields_type and fields_type != "FieldsV1":
            yield FieldError(INVALID, f"{field}.fieldsType", fields_type, "must be `FieldsV1`", path)
        for key, limit in (("manager", _MANAGER_BYTES), ("subresource", _SUBRESOURCE_BYTES)):
            if len(_text(entry, key).encode(errors="replace")) > limit:
                yield FieldError(TOO_LONG, f"{field}.{key}", "", f"may not be more than {limit} bytes", path)
