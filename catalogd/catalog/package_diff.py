"""The Package objects of one Catalog: their names, and the differences between the objects on the cluster and the desired
objects.

The bodies of objects come from catalogd.ingest.package_objects. Knows no catalog file. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from sys import intern
from typing import Any

from catalogd.ingest.package_objects import ObjectFingerprint, fingerprint
from olmkit.api import catalogs, packages
from olmkit.api.meta import apply_precondition, controller_reference, controlling_owner
from olmkit.api.names import is_dns1123_subdomain, is_label_value, safe_name

_IDENTITY = ("name", "uid", "resourceVersion", "deletionTimestamp")


def object_name(catalog: str, package: str, is_taken: Callable[[str], bool]) -> str:
    """The name `<catalog>-<package>`, or its safe form if this name is not a DNS-1123 subdomain, is too long or is taken."""
    name = _plain_name(catalog, package)
    if is_dns1123_subdomain(name) and not is_taken(name):
        return name
    return safe_name(name, f"{catalog}/{package}")


def _plain_name(catalog: str, package: str) -> str:
    """The name unless it is invalid or taken."""
    return f"{catalog}-{package}"


def _package_of(spec: Mapping[str, Any]) -> str:
    return str(spec.get("packageName", ""))


@dataclass(frozen=True)
class ExistingObject:
    """An object on the cluster, without what need not be compared. `owner` is its controller's uid, "" without one.

    `drift_accepted`: it was just written and still differs, because others own fields of it; it is left as it is. `deleting`: it
    was deleted and waits for finalizers of others.
    """

    name: str
    uid: str
    catalog: str
    package: str
    owner: str
    has_labels: bool
    fingerprint: str
    drift_accepted: bool = False
    deleting: bool = False


@dataclass(frozen=True)
class ObjectWrite:
    """An object to write. `package` is the name in its spec. `uid` is the uid of the object to change, "" to create an object."""

    name: str
    package: str
    uid: str = ""


@dataclass(frozen=True)
class Difference:
    """The differences between the objects on the cluster and the desired ones, sorted by name.

    `deletes`: name and uid. `renamed`: package and name of each object whose plain name is invalid or taken.
    """

    writes: tuple[ObjectWrite, ...] = ()
    deletes: tuple[tuple[str, str], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.writes or self.deletes)


def difference(
    catalog: tuple[str, str],
    desired: Iterable[ObjectFingerprint],
    existing: Iterable[ExistingObject],
    package_of: Callable[[str], tuple[str, str] | None],
) -> Difference:
    """The writes and deletions that turn the objects of this Catalog (name, uid) into the desired objects.

    `existing` are all Packages whose spec names this catalog; `package_of` returns the (catalog, package) of an object
    by its name. Objects that another Catalog object controls (an earlier one of this name) are deleted first and created again
    in a later pass. Objects without a controller are adopted if they are desired, else left as they are. An object that is
    being deleted is not deleted again.
    """
    name_of_catalog, uid = catalog
    known = {each.name: each for each in existing}
    objects: dict[str, ObjectFingerprint] = {}
    renamed = []
    for each in desired:
        own = (name_of_catalog, each.package)

        def is_taken(name: str, own: tuple[str, str] = own) -> bool:
            return name in objects or package_of(name) not in (None, own)

        name = object_name(name_of_catalog, each.package, is_taken)
        objects[name] = each
        if name != _plain_name(name_of_catalog, each.package):
            renamed.append((each.package, name))
    deleted = {each.name for each in known.values() if each.owner and (each.owner != uid or each.name not in objects)}
    writes = (
        ObjectWrite(name, each.package, known[name].uid if name in known else "")
        for name, each in objects.items()
        if name not in deleted and not _is_up_to_date(known.get(name), uid, each)
    )
    return Difference(
        tuple(sorted(writes, key=lambda write: write.name)),
        tuple(sorted((name, known[name].uid) for name in deleted if not known[name].deleting)),
        tuple(sorted(renamed)),
    )


def _is_up_to_date(existing: ExistingObject | None, uid: str, desired: ObjectFingerprint) -> bool:
    if existing is None:
        return False
    is_same = existing.package == desired.package and existing.fingerprint == desired.fingerprint
    return existing.drift_accepted or (is_same and existing.owner == uid and existing.has_labels)


def of_packages(names: Collection[str], desired: Iterable[ObjectFingerprint]) -> tuple[ObjectFingerprint, ...]:
    """The desired objects whose package has one of the names."""
    names = frozenset(names)
    return tuple(each for each in desired if each.package in names)


def desired_object(catalog: str, uid: str, write: ObjectWrite, body: Mapping[str, Any]) -> dict[str, Any]:
    """The object to apply: `body` with its name, owner and labels. A precondition keeps it from replacing another object."""
    owners = [controller_reference(catalogs.KIND, catalog, uid)]
    metadata: dict[str, Any] = {**body["metadata"], "name": write.name, "ownerReferences": owners}
    if labels := _labels(catalog, _package_of(body["spec"])):
        metadata["labels"] = labels
    metadata.update(apply_precondition(write.uid))
    return {
        "apiVersion": packages.KIND.api_version,
        "kind": packages.KIND.kind,
        "metadata": metadata,
        "spec": {"catalog": {"name": catalog}, **body["spec"]},
    }


def _labels(catalog: str, package: str) -> dict[str, str]:
    """The labels for selectors. A name that is not a valid label value is left out."""
    labels = {packages.CATALOG_LABEL: catalog, packages.PACKAGE_LABEL: package}
    return {label: value for label, value in labels.items() if is_label_value(value)}


def _known_labels(metadata: Mapping[str, Any]) -> dict[str, str]:
    labels = metadata.get("labels") or {}
    return {label: labels[label] for label in (packages.CATALOG_LABEL, packages.PACKAGE_LABEL) if label in labels}


def existing_object(obj: Mapping[str, Any], accepted_version: str | None = None) -> ExistingObject:
    """An object as `transform` returns it; its drift is accepted at `accepted_version`, a resourceVersion."""
    metadata, spec = obj["metadata"], obj.get("spec") or {}
    catalog = (spec.get("catalog") or {}).get("name", "")
    owner = controlling_owner(obj)
    return ExistingObject(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        catalog=catalog,
        package=_package_of(spec),
        owner=owner["uid"] if owner is not None else "",
        has_labels=_known_labels(metadata) == _labels(catalog, _package_of(spec)),
        fingerprint=obj.get("fingerprint") or fingerprint(obj),
        drift_accepted=accepted_version is not None and accepted_version == metadata.get("resourceVersion"),
        deleting="deletionTimestamp" in metadata,
    )


def transform(obj: dict[str, Any]) -> dict[str, Any]:
    """The part of a Package that an informer keeps: the fields that `existing_object` reads. There may be ten thousand
    Packages."""
    spec = obj.get("spec") or {}
    metadata = {key: obj["metadata"][key] for key in _IDENTITY if key in obj["metadata"]}
    if labels := _known_labels(obj["metadata"]):
        metadata["labels"] = {label: intern(value) for label, value in labels.items()}
    if owner := controlling_owner(obj):
        metadata["ownerReferences"] = [{"controller": True, "uid": intern(owner["uid"])}]
    kept: dict[str, Any] = {key: spec[key] for key in ("packageName",) if key in spec}
    if catalog := (spec.get("catalog") or {}).get("name"):
        kept["catalog"] = {"name": intern(catalog)}
    return {
        "apiVersion": packages.KIND.api_version,
        "kind": intern(obj.get("kind", "")),
        "metadata": metadata,
        "spec": kept,
        "fingerprint": fingerprint(obj),
    }
