"""The controllers of OLM v0, and the notes that they have of migrations.

While they run, they install again what is taken from a ClusterServiceVersion, and delete what one that is gone had; with a
conversion webhook they reset the CustomResourceDefinition. A stopped one has the migrations that have begun in an annotation:
uid=namespace/package of each ClusterServiceVersion, separated by commas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from olmctl.migration.controller_set import DEPLOYMENTS, ControllerSet, replicas_before
from olmctl.migration.marks import MARK, is_past_undo
from olmctl.migration.v0 import COPIED_FROM, SERVICE_VERSIONS, SUBSCRIPTIONS
from olmctl.migration.values import at, full_name, name_of, namespace_of, text
from olmctl.questions.session import Session
from olmkit.api import operators
from olmkit.api.meta import Object, unchanged_precondition
from olmkit.api.operators import MIGRATIONS_ANNOTATION
from olmkit.errors import Conflict

CONTROLLERS = ControllerSet("OLM v0", dict.fromkeys(("olm-operator", "catalog-operator"), SERVICE_VERSIONS))


async def start(session: Session) -> None:
    """Start those that a migration has stopped, unless a package is between OLM v0 and the suite."""
    await CONTROLLERS.start(session, lambda stopped: packages_between(session, stopped))


async def note_begun(
    session: Session, version: Object, package: str, on_write: Callable[[bool], object] = lambda _: None
) -> None:
    """Note on the stopped controllers that the migration of this ClusterServiceVersion has begun. Only who may change them can:
    the label of a ClusterServiceVersion is data of the users of its namespace. Calls `on_write` with True before it writes, and
    with False if others have written first."""
    uid, place = version["metadata"]["uid"], f"{namespace_of(version)}/{package}"
    if uid:
        await _note(session, lambda begun: {**begun, uid: place}, on_write)


async def note_ended(session: Session, version: Object, package: str) -> None:
    """Note that the migration of the package in this namespace has ended, or that OLM v0 has it again."""
    uid, place = version["metadata"]["uid"], f"{namespace_of(version)}/{package}"
    await _note(session, lambda begun: {key: each for key, each in begun.items() if key != uid and each != place})


async def is_noted(session: Session, version: Object) -> bool:
    """Report whether the stopped controllers have the note that its migration has begun."""
    return any(version["metadata"]["uid"] in _begun(each) for each in await CONTROLLERS.found(session))


async def _note(
    session: Session,
    change: Callable[[Mapping[str, str]], Mapping[str, str]],
    on_write: Callable[[bool], object] = lambda _: None,
) -> None:
    async def attempt() -> None:
        for each in await CONTROLLERS.found(session):
            before = _begun(each)
            after = change(before)
            if replicas_before(each) and after != before:
                annotations = {MIGRATIONS_ANNOTATION: _written(after)}
                patch = {"metadata": {**unchanged_precondition(each), "annotations": annotations}}
                on_write(True)
                try:
                    await session.client.patch(DEPLOYMENTS, name_of(each), patch, namespace_of(each))
                except Conflict:
                    on_write(False)
                    raise

    await CONTROLLERS.repeated(attempt)


def _begun(deployment: Object) -> Mapping[str, str]:
    """uid of a ClusterServiceVersion -> namespace/package."""
    written = text(deployment, "metadata", "annotations", MIGRATIONS_ANNOTATION).split(",")
    return {uid: place for uid, _, place in (each.partition("=") for each in written) if uid}


def _written(begun: Mapping[str, str]) -> str:
    return ",".join(f"{uid}={place}" if place else uid for uid, place in sorted(begun.items()))


async def packages_between(session: Session, stopped: Sequence[Object]) -> list[str]:
    """The packages whose migration has begun and not ended: the stopped controllers have a note of each, or its Operator has the
    mark. A mark of a ClusterServiceVersion alone proves nothing. One whose ClusterServiceVersion is gone is among them as long as
    OLM v0 would install it again. Each with what ends it: what is being deleted cannot be given back."""
    noted = {uid: place for each in stopped for uid, place in _begun(each).items()}
    marked, _ = await session.client.list(operators.KIND, label_selector=MARK)
    places = {
        f"{text(each, 'spec', 'install', 'namespace')}/{text(each, 'metadata', 'labels', MARK)}" for each in marked
    }
    if not (noted or places):
        return []
    held: set[str] = set()
    found: set[str] = set()
    for each in (await session.client.list(SERVICE_VERSIONS, metadata_only=True))[0]:
        labels = at(each, "metadata", "labels") or {}
        place = noted.get(each["metadata"]["uid"]) or f"{namespace_of(each)}/{labels.get(MARK, '')}"
        if each["metadata"]["uid"] in noted or (place in places and COPIED_FROM not in labels):
            package = place.partition("/")[2]
            command = f"olm migrate v0 {package}"
            back = "" if is_past_undo(each) else f", `{command} --undo` gives it back"
            held.add(
                f"{package} is not finished (ClusterServiceVersion {full_name(each)}): `{command}` continues{back}"
            )
            found.add(place)
    missing = {*places, *noted.values()} - found - {""}
    for each in (await session.client.list(SUBSCRIPTIONS))[0] if missing else ():
        package = text(each, "spec", "name")
        if f"{namespace_of(each)}/{package}" in missing:
            text_ = f"{package} is not finished (the ClusterServiceVersion of Subscription {full_name(each)} is gone)"
            held.add(f"{text_}: `olm migrate v0 {package}` continues")
    return sorted(held)
