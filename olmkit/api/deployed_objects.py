"""The parts of the status of a BundleDeployment about single objects: references, failures, and what is announced of them.
Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from olmkit.api.meta import Model

MAX_FAILED_OBJECTS = 20
"""Entries of status.failed.objects."""


class ObjectReference(Model):
    """An object, by its kind and name."""

    group: str = Field(description="API group.")
    kind: str = Field(description="Kind.")
    namespace: str | None = Field(default=None, description="Namespace.")
    name: str = Field(description="Name.")


class FailedObject(ObjectReference):
    """An object that has failed, or was not healthy within its deadline."""

    absent: bool | None = Field(default=None, description="True if it does not exist, or is being deleted.")
    late: bool | None = Field(default=None, description="True if it was not healthy within its deadline.")


class FailedObjects(Model):
    """The objects because of which Healthy is False, and those of them of which nothing is known now."""

    objects: Annotated[list[FailedObject], Field(max_length=MAX_FAILED_OBJECTS)] = Field(
        description="The first of them, in the order in which the message of Healthy names them."
    )
    truncated: bool | None = Field(default=None, description="True if there are more of them.")


class Announcement(Model):
    """The changes that Ready announces before they are made."""

    storage_versions: str | None = Field(
        default=None,
        description=(
            "Digest of the storage versions that the upgrade moves: CustomResourceDefinitions, with their present and their next"
            " storage version. They are moved once it is here."
        ),
    )
    foreign_objects: bool | None = Field(
        default=None,
        description="True if objects that are not part of the bundle are deleted with their Namespace.",
    )
