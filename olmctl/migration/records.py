"""Patches that take an object from another OLM and record what was taken, and that give it back.

One patch takes everything away and records it in an annotation of the object itself, so that no object is between two states. The
label names the installation, by which the objects are found again. What is given back is limited to what that OLM writes: the
annotation is data of whoever may change the object. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmctl.migration.values import at, items, text
from olmkit.api.bundledeployment_status import KEEP_TEMPLATE_ANNOTATION
from olmkit.api.bundledeployments import RELEASED_ANNOTATION
from olmkit.api.meta import Kind, Object, unchanged_precondition
from olmkit.api.ownership import has_applied

MAX_RECORD_CHARACTERS = 65_536
DEPLOYMENT = ("apps", "Deployment")
KEEP = "until-the-bundle-changes"
"""The value of the annotation before rukpak replaces it."""


@dataclass(frozen=True)
class Record:
    """The labels, annotations and owner references that were taken from an object."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    references: tuple[Mapping[str, Any], ...] = ()
    is_new: bool = False
    """True if the object was not there before the migration."""
    template: str = ""
    """A digest of the pod template of a Deployment."""

    def dump(self) -> str:
        """The value of the annotation."""
        value = {
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "ownerReferences": [dict(each) for each in self.references],
            "isNew": self.is_new,
            "template": self.template,
        }
        return json.dumps({name: each for name, each in value.items() if each}, sort_keys=True)


@dataclass(frozen=True)
class Marks:
    """The marks of the migration from one OLM, and what that OLM writes."""

    key: str
    """The label and the annotation."""
    manager: str
    """The field manager of the marks of what the Operator has created."""
    group: str
    """The API group of the owners that it refers to."""
    is_label: Callable[[str], bool]
    is_annotation: Callable[[str], bool]

    @property
    def field(self) -> tuple[str, ...]:
        """The annotation in the fields of a field manager."""
        return "f:metadata", "f:annotations", f"f:{self.key}"

    def record_of(self, obj: Object) -> Record | None:
        """The record of an object, with nothing in it that the OLM does not write; None if it has none that can be read."""
        written = text(obj, "metadata", "annotations", self.key)
        try:
            value = json.loads(written) if 0 < len(written) <= MAX_RECORD_CHARACTERS else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, Mapping):
            return None
        labels = {key: each for key, each in _pairs(value.get("labels")) if self.is_label(key)}
        annotations = {key: each for key, each in _pairs(value.get("annotations")) if self.is_annotation(key)}
        references = tuple(each for each in value.get("ownerReferences") or () if self._is_reference(each))
        return Record(labels, annotations, references, value.get("isNew") is True, text(value, "template"))

    def _is_reference(self, value: Any) -> bool:
        fields = ("apiVersion", "kind", "name", "uid")
        return text(value, "apiVersion").startswith(f"{self.group}/") and all(text(value, name) for name in fields)

    def taken(
        self,
        obj: Object,
        installation: str,
        owners: Collection[str],
        labels: Mapping[str, str],
        annotations: Mapping[str, str],
        more: Mapping[str, Any] | None = None,
    ) -> Object | None:
        """The patch that takes these labels and annotations, and the references to the `owners`, from an object; None if there is
        nothing to take. `obj`: a Deployment whole, others with their metadata. `more`: of the metadata of the patch."""
        references = at(obj, "metadata", "ownerReferences") or ()
        taken = tuple(each for each in references if text(each, "uid") in owners)
        if not (labels or annotations or taken):
            return None
        before = self.record_of(obj) or Record()
        is_deployment = (text(obj, "apiVersion").partition("/")[0], text(obj, "kind")) == DEPLOYMENT
        record = Record(
            {**before.labels, **labels},
            {**before.annotations, **annotations},
            (*(each for each in before.references if text(each, "uid") not in owners), *taken)
            if taken
            else before.references,
            before.is_new,
            before.template or (template_digest(obj) if is_deployment else ""),
        )
        metadata: Object = {
            **unchanged_precondition(obj),
            "labels": {**dict.fromkeys(labels), self.key: installation},
            "annotations": {**dict.fromkeys(annotations), self.key: record.dump()},
            **(more or {}),
        }
        if taken:
            metadata["ownerReferences"] = [each for each in references if each not in taken]
        if is_deployment:
            metadata["annotations"][KEEP_TEMPLATE_ANNOTATION] = KEEP
        return {"metadata": metadata}

    def marked_new(self, kind: Kind, obj: Object, installation: str) -> Object:
        """The apply of `manager` that marks an object which the Operator has created. rukpak gives up the fields of what it
        releases: the owner of the mark is what shows then that it is no mark of others."""
        place = {key: obj["metadata"][key] for key in ("name", "namespace") if obj["metadata"].get(key)}
        marks = {"labels": {self.key: installation}, "annotations": {self.key: Record(is_new=True).dump()}}
        return {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {**unchanged_precondition(obj), **place, **marks},
        }

    def restored(self, obj: Object, owners: Collection[str]) -> Object:
        """The patch that gives the object back, without rukpak's note that it has left it. References to an owner that is not
        there any more are left out: the garbage collector would delete the object."""
        record = self.record_of(obj) or Record()
        present: Sequence[Any] = at(obj, "metadata", "ownerReferences") or ()
        known = {text(each, "uid") for each in present}
        back = [each for each in record.references if text(each, "uid") in owners and text(each, "uid") not in known]
        return {
            "metadata": {
                **unchanged_precondition(obj),
                "labels": {**record.labels, self.key: None},
                "annotations": {
                    **record.annotations,
                    **dict.fromkeys((self.key, KEEP_TEMPLATE_ANNOTATION, RELEASED_ANNOTATION)),
                },
                "ownerReferences": [*present, *map(dict, back)],
            }
        }

    def marked_since(self, obj: Object) -> str:
        """The time since when an object has the mark, as the API server writes it; "" if nothing shows it."""
        entries = items(obj, "metadata", "managedFields")
        times = [
            text(each, "time")
            for each in entries
            if at(each, "fieldsV1", "f:metadata", "f:labels", f"f:{self.key}") is not None
        ]
        return min(times, default="")

    def unmarked(self, obj: Object) -> Object | None:
        """The patch that forgets what was taken away; None if the object has no mark."""
        if self.key not in {**(at(obj, "metadata", "labels") or {}), **(at(obj, "metadata", "annotations") or {})}:
            return None
        return {
            "metadata": {**unchanged_precondition(obj), "labels": {self.key: None}, "annotations": {self.key: None}}
        }


def pairs(obj: Object, name: str) -> dict[str, str]:
    """The labels or the annotations of an object."""
    return dict(_pairs(at(obj, "metadata", name)))


def _pairs(value: Any) -> list[tuple[str, str]]:
    return [(key, each) for key, each in value.items() if isinstance(each, str)] if isinstance(value, Mapping) else []


def is_created_by(obj: Object, manager: str, since: str, *path: str) -> bool:
    """Report whether this field manager has created the object, and not before `since`, a time as the API server writes it; False
    if `since` is empty. With a path, it has to own that field. The record of the object proves nothing: whoever may change the
    object can write it."""
    created = text(obj, "metadata", "creationTimestamp")
    return bool(since) and created >= since and has_applied(obj, manager, *path)


def template_digest(deployment: Object) -> str:
    """A digest of the pod template of a Deployment as it is on the cluster."""
    template = json.dumps(at(deployment, "spec", "template"), sort_keys=True)
    return hashlib.sha256(template.encode()).hexdigest()[:32]
