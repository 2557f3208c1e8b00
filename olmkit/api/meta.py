"""Shared by all kinds of the suite: the base model, object metadata, conditions, and resource types.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from olmkit.errors import NotFound

Object = dict[str, Any]
"""An object as the API server returns it."""
MAX_MESSAGE_BYTES = 32_768
"""Bytes of the message of a condition: the limit of metav1.Condition."""
ORPHAN_FINALIZER = "orphan"
"""The entry that the API server adds to the finalizers of an object that is deleted without its dependents."""


@dataclass(frozen=True)
class Kind:
    """A resource type. `group` is empty for core kinds."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = False

    @property
    def api_version(self) -> str:
        """`group/version`, or `version` for core kinds."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> tuple[str, str]:
        """(group, kind): the kind in all of its versions."""
        return self.group, self.kind

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """URL path of one object, of the collection in a namespace, or of the collection in all namespaces.

        Each name is one segment of it, whatever it contains. Raises NotFound for one that no object can have.
        """
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{_segment(namespace)}" if self.namespaced and namespace else ""
        return f"{base}{scope}/{self.plural}" + (f"/{_segment(name)}" if name else "")


def _segment(name: str) -> str:
    if name in (".", ".."):
        raise NotFound(404, "NotFound", f"{name} is no name of an object")
    return quote(name, safe=":")


class Model(BaseModel):
    """Base of all API models: camelCase in JSON, snake_case in Python, frozen; unknown fields are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")

    def dump(self) -> dict[str, Any]:
        """The object as a mapping for JSON, by alias, without fields that are None."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @classmethod
    def load(cls, raw: Any) -> Self:
        """Reads the API server's JSON; None counts as an empty object. Raises pydantic.ValidationError."""
        return cls.model_validate(raw if raw is not None else {})


def without_nulls(value: Any) -> Any:
    """The JSON value without fields that are null, which a server-side apply does not write."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


class OwnerReference(Model):
    """metav1.OwnerReference."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


def controller_reference(kind: Kind, name: str, uid: str) -> Object:
    """The owner reference of a controller: the garbage collector deletes its dependents after it."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controlling_owner(raw: Mapping[str, Any]) -> Object | None:
    """The owner reference of the object that controls this one; None if nothing does, as for an object that is not there yet."""
    owners = (raw.get("metadata") or {}).get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def with_owner(raw: Mapping[str, Any], reference: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The owner references of the object with this one at the end."""
    return *without_owner(raw, reference["uid"]), reference


def without_owner(raw: Mapping[str, Any], uid: str) -> tuple[Mapping[str, Any], ...]:
    """The owner references of the object without those to the owner with this uid."""
    return tuple(each for each in raw["metadata"].get("ownerReferences") or () if each["uid"] != uid)


def apply_precondition(uid: str | None) -> dict[str, str]:
    """Metadata for a server-side apply that changes only the object with that uid; without a uid it is create-only.

    The API server returns 409 when the precondition fails. resourceVersion "1" is never that of an existing object.
    """
    return {"uid": uid} if uid else {"resourceVersion": "1"}


def unchanged_precondition(obj: Mapping[str, Any]) -> dict[str, str]:
    """Metadata for a write that changes the object only as it is, if nobody has written to it since."""
    metadata = obj["metadata"]
    return {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}


class ObjectMeta(Model):
    """The part of metav1.ObjectMeta that controllers read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    finalizers: list[str] = Field(default_factory=list)
    owner_references: list[OwnerReference] = Field(default_factory=list)

    @property
    def deleting(self) -> bool:
        """True if the object is being deleted."""
        return self.deletion_timestamp is not None

    def is_orphaning(self, *, was_orphaning: bool) -> bool:
        """Report whether the object is being deleted without its dependents, as `kubectl delete --cascade=orphan` requests.
        `was_orphaning`: it was seen with ORPHAN_FINALIZER, which the garbage collector removes within milliseconds."""
        return self.deleting and (ORPHAN_FINALIZER in self.finalizers or was_orphaning)

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls the object; None if there is none."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Condition(Model):
    """metav1.Condition: one aspect of an object's state, with the generation that it was computed for."""

    type: Annotated[str, Field(max_length=316, pattern=r"^[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?$")] = Field(
        description="Type of the condition, in CamelCase."
    )
    status: Literal["True", "False", "Unknown"] = Field(description="Status of the condition.")
    reason: Annotated[
        str, Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    ] = Field(description="Reason of the status, in CamelCase; part of the API.")
    message: Annotated[str, Field(max_length=MAX_MESSAGE_BYTES)] = Field(description="Explanation for users.")
    observed_generation: int = Field(
        default=0, ge=-1, description="The generation of the object that the condition was set for."
    )
    last_transition_time: str = Field(
        description="When the status last changed.", json_schema_extra={"format": "date-time"}
    )


class Resource(Model):
    """Base of the kinds; each adds spec and status."""

    metadata: ObjectMeta = Field(default_factory=ObjectMeta)


_CONDITIONS: JsonDict = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}


class Conditioned(Model):
    """The part of the status that all reconciled kinds share."""

    conditions: list[Condition] = Field(
        default_factory=list, description="The state as conditions.", json_schema_extra=_CONDITIONS
    )


class ConditionedStatus(Conditioned):
    """The part of the status that the four reconciled kinds of the suite share, as kstatus reads it."""

    observed_generation: int = Field(
        default=-1,
        description="The generation that this status was computed for; -1 until a controller has processed the object.",
    )
    conditions: list[Condition] = Field(
        default_factory=list,
        description="The state as conditions. Ready is always present; Reconciling and Stalled only while True, and never both.",
        json_schema_extra=_CONDITIONS,
    )
