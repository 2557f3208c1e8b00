"""The versions that an Operator excludes by spec.excludedVersions, and who has excluded them. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from olmctl.questions.errors import Refused
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.own_fields import FIELD_MANAGER, member_field, own_metadata, own_spec
from olmctl.terminal import clean
from olmkit.api import operators
from olmkit.api.meta import Object
from operator_controller.resolve.snapshot.cluster_snapshot import excluded_precedences

FIELD = "excludedVersions"


def excluded_versions(found: Object) -> list[str]:
    """The entries of spec.excludedVersions."""
    return [each for each in part(found, "spec", FIELD) or () if isinstance(each, str)]


def excluded_entry(found: Object, version: str) -> str:
    """The entry of spec.excludedVersions that excludes the version; "" if there is none."""
    wanted = excluded_precedences([version])
    return next((each for each in excluded_versions(found) if wanted & excluded_precedences([each])), "")


def undo_hint(found: Object, entry: str) -> str:
    """Name the command that permits the version again."""
    return f"`olm exclude {found['metadata']['name']} {shlex.quote(entry)} --undo` permits it"


def check_not_excluded(found: Object, version: str) -> None:
    """Raises Refused if the version that the Operator is to ask for is one that it excludes."""
    if entry := excluded_entry(found, version):
        name = found["metadata"]["name"]
        raise Refused(f"{name}: spec.{FIELD} has {clean(entry)}: {clean(undo_hint(found, entry))}")


def stays_note(found: Object, version: str) -> str:
    """That the version runs and stays although it is excluded, as a clause; "" if it does not run."""
    running = text_at(found, "status", "installed", "version")
    until = "the Operator is not Ready until another version replaces it (--undo permits it again)"
    return f"it runs {running}, which stays, and {until}" if is_running(found, version) else ""


def is_running(found: Object, version: str) -> bool:
    """Report whether the Operator runs the version, which an exclusion does not remove."""
    running = text_at(found, "status", "installed", "version")
    return bool(running) and bool(excluded_precedences([version]) & excluded_precedences([running]))


def managers(found: Object, entry: str) -> set[str]:
    """The field managers that have this entry."""
    return {
        text_at(each, "manager")
        for each in part(found, "metadata", "managedFields") or ()
        if member_field(entry) in (part(each, "fieldsV1", "f:spec", f"f:{FIELD}") or {})
    }


def other_managers(found: Object, entry: str, manager: str = FIELD_MANAGER) -> list[str]:
    """The field managers beside this one that have this entry."""
    return sorted(managers(found, entry) - {manager})


def own_exclusions(found: Object, manager: str = FIELD_MANAGER) -> list[str]:
    """The entries that the manager has applied."""
    return list(own_spec(found, manager).get(FIELD) or ())


def with_exclusion(found: Object, version: str, manager: str = FIELD_MANAGER) -> Object:
    """The manifest to apply so that the manager excludes one more version. What others exclude stays theirs."""
    return excluding(found, [*own_exclusions(found, manager), version], manager)


def excluding(found: Object, versions: Sequence[str], manager: str = FIELD_MANAGER) -> Object:
    """The manifest to apply so that these versions are those that the manager excludes, with the other fields that it manages."""
    spec = {key: value for key, value in own_spec(found, manager).items() if key != FIELD}
    return {
        "apiVersion": operators.KIND.api_version,
        "kind": operators.KIND.kind,
        "metadata": {
            **own_metadata(found, manager),
            "name": found["metadata"]["name"],
            "uid": found["metadata"]["uid"],
        },
        "spec": spec | ({FIELD: list(versions)} if versions else {}),
    }


def without_own(found: Object, entry: str, manager: str = FIELD_MANAGER) -> Object | None:
    """The manifest to apply so that the manager excludes the entry no longer; None if it does not exclude it."""
    own = own_exclusions(found, manager)
    return excluding(found, [each for each in own if each != entry], manager) if entry in own else None


def without_entry(found: Object, entry: str) -> Object | None:
    """The patch that takes the entry out, whoever has it; None if it is out. It names the state that it was made from."""
    listed = excluded_versions(found)
    if entry not in listed:
        return None
    left = [each for each in listed if each != entry]
    return {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, "spec": {FIELD: left or None}}
