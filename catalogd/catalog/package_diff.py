"""The Package and BundleMetadata objects of one Catalog: their names, and which on the cluster differ from what is offered.

Used by catalogd.catalog.reconciler to observe and to write. What an object says comes from catalogd.ingest.package_objects.
Knows no catalog file. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from sys import intern
from typing import Any

from catalogd.ingest.package_objects import ObjectFingerprint, fingerprint
from olmkit.api import bundlemetadata, catalogs, packages
from olmkit.api.meta import Kind, apply_precondition, controller_reference
from olmkit.api.names import is_dns1123_subdomain, is_label_value, safe_name


@dataclass(frozen=True)
class SyncedKind:
    """A kind of data that catalogd lists a catalog by; `fields` of its spec identify what an object speaks of in the catalog."""

    kind: Kind
    identity_fields: tuple[str, ...]

    def subject(self, spec: Mapping[str, Any]) -> str:
        """What a spec speaks of, as Offer.package says it: the package, or `<package>/<bundle>`."""
        return "/".join(str(spec.get(each, "")) for each in self.identity_fields)

    def object_name(self, catalog: str, subject: str, is_held: Callable[[str], bool]) -> str:
        """`<catalog>-<package or bundle>`, or its safe form when that is no DNS-1123 subdomain, is too long or is held."""
        name = self.plain_name(catalog, subject)
        if is_dns1123_subdomain(name) and not is_held(name):
            return name
        return safe_name(name, f"{catalog}/{subject}")

    def plain_name(self, catalog: str, subject: str) -> str:
        """The name where nothing speaks against it."""
        return f"{catalog}-{subject.split('/', len(self.identity_fields) - 1)[-1]}"


_IDENTITY = ("name", "uid", "resourceVersion", "deletionTimestamp")
PACKAGES = SyncedKind(packages.KIND, ("packageName",))
BUNDLE_METADATA = SyncedKind(bundlemetadata.KIND, ("package", "bundleName"))


@dataclass(frozen=True)
class ExistingObject:
    """An object on the cluster, without what need not be compared. `owner` is its controller's uid, "" without one.

    `settled`: it was just written and still differs, because somebody else owns fields of it; it is left so. `deleting`: it was
    deleted and waits for somebody's finalizers.
    """

    name: str
    uid: str
    catalog: str
    subject: str
    owner: str
    has_labels: bool
    fingerprint: str
    drift_accepted: bool = False
    deleting: bool = False


@dataclass(frozen=True)
class ObjectWrite:
    """An object to be written: `package` is what it speaks of, `uid` is that of the object to change, "" to create one."""

    name: str
    subject: str
    uid: str = ""


@dataclass(frozen=True)
class Difference:
    """What separates the objects on the cluster from those wanted, sorted by name. `renamed`: package to object name."""

    writes: tuple[ObjectWrite, ...] = ()
    deletes: tuple[tuple[str, str], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.writes or self.deletes)


NO_DIFFERENCE = Difference()


def difference(
    listing: SyncedKind,
    catalog: tuple[str, str],
    offers: Iterable[ObjectFingerprint],
    existing: Iterable[ExistingObject],
    holder: Callable[[str], tuple[str, str] | None],
) -> Difference:
    """What to write and delete so that the objects of this Catalog, by name and uid, are those offered.

    `existing` are all objects of the kind whose spec names this catalog; `holder` says which (catalog, subject) an object of a
    name speaks of. Objects that another Catalog object controls (an earlier one of this name) are deleted first and made again
    in a later pass; those that nobody controls are taken over if they are wanted and left alone if not. None is deleted twice.
    """
    name_of_catalog, uid = catalog
    known = {each.name: each for each in existing}
    wanted: dict[str, ObjectFingerprint] = {}
    renamed = []
    for offer in offers:
        own = (name_of_catalog, offer.subject)

        def is_held(name: str, own: tuple[str, str] = own) -> bool:
            return name in wanted or holder(name) not in (None, own)

        name = listing.object_name(name_of_catalog, offer.subject, is_held)
        wanted[name] = offer
        if name != listing.plain_name(name_of_catalog, offer.subject):
            renamed.append((offer.subject, name))
    leaving = {each.name for each in known.values() if each.owner and (each.owner != uid or each.name not in wanted)}
    writes = (
        ObjectWrite(name, offer.subject, known[name].uid if name in known else "")
        for name, offer in wanted.items()
        if name not in leaving and not _is_up_to_date(known.get(name), uid, offer)
    )
    return Difference(
        tuple(sorted(writes, key=lambda write: write.name)),
        tuple(sorted((name, known[name].uid) for name in leaving if not known[name].deleting)),
        tuple(sorted(renamed)),
    )


def _is_up_to_date(existing: ExistingObject | None, uid: str, offer: ObjectFingerprint) -> bool:
    if existing is None:
        return False
    same = existing.subject == offer.subject and existing.fingerprint == offer.fingerprint
    return existing.drift_accepted or (same and existing.owner == uid and existing.has_labels)


def desired_object(
    listing: SyncedKind, catalog: str, uid: str, write: ObjectWrite, said: Mapping[str, Any]
) -> dict[str, Any]:
    """The object to apply. One that is to be created says so by a resourceVersion that only an absent object has."""
    owners = [controller_reference(catalogs.KIND, catalog, uid)]
    metadata: dict[str, Any] = {**said["metadata"], "name": write.name, "ownerReferences": owners}
    if labels := _labels(catalog, str(said["spec"].get(listing.identity_fields[0], ""))):
        metadata["labels"] = labels
    metadata.update(apply_precondition(write.uid))
    return {
        "apiVersion": listing.kind.api_version,
        "kind": listing.kind.kind,
        "metadata": metadata,
        "spec": {"catalog": {"name": catalog}, **said["spec"]},
    }


def _labels(catalog: str, package: str) -> dict[str, str]:
    """What selectors may ask for; a name that no label may have is left out."""
    wanted = {packages.CATALOG_LABEL: catalog, packages.PACKAGE_LABEL: package}
    return {label: value for label, value in wanted.items() if is_label_value(value)}


def _known_labels(metadata: Mapping[str, Any]) -> dict[str, str]:
    labels = metadata.get("labels") or {}
    return {label: labels[label] for label in (packages.CATALOG_LABEL, packages.PACKAGE_LABEL) if label in labels}


def existing_object(listing: SyncedKind, obj: Mapping[str, Any], settled_version: str | None = None) -> ExistingObject:
    """An object as trimmed by `project`; `settled_version` is the resourceVersion at which it was left as it is."""
    metadata, spec = obj["metadata"], obj.get("spec") or {}
    catalog = (spec.get("catalog") or {}).get("name", "")
    owners = [each for each in metadata.get("ownerReferences") or () if each.get("controller")]
    return ExistingObject(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        catalog=catalog,
        subject=listing.subject(spec),
        owner=owners[0]["uid"] if owners else "",
        has_labels=_known_labels(metadata) == _labels(catalog, str(spec.get(listing.identity_fields[0], ""))),
        fingerprint=obj.get("fingerprint") or fingerprint(obj),
        drift_accepted=settled_version is not None and settled_version == metadata.get("resourceVersion"),
        deleting="deletionTimestamp" in metadata,
    )


def transform(obj: dict[str, Any]) -> dict[str, Any]:
    """What an informer keeps of an object of either kind, which is what `existing` asks: there may be ten thousand."""
    spec = obj.get("spec") or {}
    metadata = {key: obj["metadata"][key] for key in _IDENTITY if key in obj["metadata"]}
    if labels := _known_labels(obj["metadata"]):
        metadata["labels"] = {label: intern(value) for label, value in labels.items()}
    if owners := [each for each in obj["metadata"].get("ownerReferences") or () if each.get("controller")]:
        metadata["ownerReferences"] = [{"controller": True, "uid": intern(owners[0]["uid"])}]
    kept = {key: spec[key] for key in (*PACKAGES.identity_fields, *BUNDLE_METADATA.identity_fields) if key in spec}
    if catalog := (spec.get("catalog") or {}).get("name"):
        kept["catalog"] = {"name": intern(catalog)}
    return {
        "apiVersion": packages.KIND.api_version,
        "kind": intern(obj.get("kind", "")),
        "metadata": metadata,
        "spec": kept,
        "fingerprint": fingerprint(obj),
    }
