"""The controllers of OLM v0: they have to be stopped while a package is migrated.

While they run, they install again what is taken from a ClusterServiceVersion, and delete what one that is gone had; with a
conversion webhook they reset the CustomResourceDefinition. A stopped one has its number of replicas in an annotation, and the
migrations that have begun in another one: uid=namespace/package of each ClusterServiceVersion, separated by commas.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from olmctl.commands import FAILED, REFUSED, TIMED_OUT, CommandError
from olmctl.migration.marks import MARK, is_past_undo
from olmctl.migration.v0 import COPIED_FROM, SERVICE_VERSIONS, SUBSCRIPTIONS, at, full_name, name_of, namespace_of, text
from olmctl.questions.session import Session
from olmctl.terminal_output import say
from olmkit.api import operators
from olmkit.api.meta import Kind, Object, unchanged_precondition
from olmkit.api.operators import MIGRATIONS_ANNOTATION, REPLICAS_ANNOTATION
from olmkit.errors import Conflict, Forbidden
from olmkit.runtime.access_reviews import review

DEPLOYMENTS = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
NAMES = ("olm-operator", "catalog-operator")
MAX_PATCHES = 20
"""Times that an object is read again because others have changed it."""
POLL_SECONDS = 0.5
_REVIEWS = Kind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews")


async def controllers(session: Session) -> list[Object]:
    """The Deployments of OLM v0's controllers."""
    own, _ = await _named_like_controllers(session)
    return own


async def _named_like_controllers(session: Session) -> tuple[list[Object], list[Object]]:
    """The Deployments of OLM v0's controllers, and others of their names. Name and label are data of whoever may create a
    Deployment: the account of OLM v0's may update the ClusterServiceVersions of all namespaces, by whatever binding."""
    listed, _ = await session.client.list(DEPLOYMENTS, label_selector=f"app in ({','.join(NAMES)})")
    own: list[Object] = []
    others: list[Object] = []
    for each in listed:
        if name_of(each) in NAMES:
            (own if await _may_update_versions(session, each) else others).append(each)
    return own, others


async def _may_update_versions(session: Session, deployment: Object) -> bool:
    """Report whether the service account of a Deployment may do what OLM v0's controllers do. Raises CommandError."""
    namespace = namespace_of(deployment)
    account = text(deployment, "spec", "template", "spec", "serviceAccountName") or "default"
    attributes = {"group": SERVICE_VERSIONS.group, "resource": SERVICE_VERSIONS.plural, "verb": "update"}
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    spec = {"user": f"system:serviceaccount:{namespace}:{account}", "groups": groups, "resourceAttributes": attributes}
    try:
        return bool((await review(session.client, _REVIEWS, spec)).get("allowed"))
    except Forbidden as error:
        why = f"to tell the controllers of OLM v0 from other Deployments of their names ({full_name(deployment)})"
        raise CommandError(REFUSED, f"the permission to create {_REVIEWS.plural} is needed, {why}") from error


def is_running(deployment: Object) -> bool:
    """Report whether the Deployment has pods, or is to have some."""
    replicas = at(deployment, "spec", "replicas")
    return replicas != 0 or bool(at(deployment, "status", "replicas"))


async def require_stopped(session: Session) -> None:
    """Raises CommandError if one of them runs."""
    found, others = await _named_like_controllers(session)
    running = sorted(full_name(each) for each in found if is_running(each))
    if not found:
        names = " and ".join(NAMES)
        say(f"note: no Deployments {names} are found: the controllers of OLM v0 must not run meanwhile", err=True)
    doubtful = sorted(
        full_name(each) for each in others if is_running(each) and name_of(each) not in map(name_of, found)
    )
    if doubtful:
        why = "its service account may not update ClusterServiceVersions at the moment, and no other Deployment does its work"
        text_ = f"Deployment {doubtful[0]} runs, and may be a controller of OLM v0: {why}"
        raise CommandError(
            REFUSED, f"{text_}; if it is one, its permissions may come back: scale it to 0, or delete it"
        )
    if others:
        names = ", ".join(sorted(map(full_name, others)))
        why = "its service account may not update ClusterServiceVersions"
        say(f"note: not of OLM v0, and left as it is: Deployment {names}: {why}", err=True)
    if running:
        why = "they would install again, or delete, what is taken from OLM v0"
        text_ = f"the controllers of OLM v0 run ({', '.join(running)}): {why}"
        raise CommandError(REFUSED, f"{text_}; --stop-controllers stops them for the time of the migration")


async def stop(session: Session, seconds: float) -> None:
    """Scale them to 0, and wait until no pod of them is left. Raises CommandError with TIMED_OUT."""
    deadline = session.time.deadline(seconds)
    await _repeated(lambda: _scale_down(session))
    while running := [each for each in await controllers(session) if is_running(each)]:
        if asyncio.get_running_loop().time() > deadline:
            names = ", ".join(map(full_name, running))
            raise CommandError(TIMED_OUT, f"not stopped within {seconds:g} seconds: {names}")
        await asyncio.sleep(POLL_SECONDS)


async def _scale_down(session: Session) -> None:
    for each in await controllers(session):
        replicas = at(each, "spec", "replicas")
        if replicas != 0:  # one that others have started again keeps its notes
            annotations = {REPLICAS_ANNOTATION: str(replicas or 1), MIGRATIONS_ANNOTATION: _written(_begun(each))}
            metadata = {**unchanged_precondition(each), "annotations": annotations}
            change = {"metadata": metadata, "spec": {"replicas": 0}}
            await session.client.patch(DEPLOYMENTS, name_of(each), change, namespace_of(each))
            say(f"Deployment {full_name(each)} is stopped")


async def start(session: Session) -> None:
    """Start those that a migration has stopped, unless a package is between OLM v0 and the suite."""
    await _repeated(lambda: _start(session))


async def _start(session: Session) -> None:
    """Raises Conflict if somebody has written to one since it was read, such as the note of another migration."""
    stopped = [each for each in await controllers(session) if _replicas_before(each)]
    if not stopped:
        return
    held = await packages_between(session, stopped)
    if held:
        names = "; ".join(held)
        say(f"The controllers of OLM v0 stay stopped: {names}", err=True)
        return
    for each in stopped:
        change = {
            "metadata": {
                **unchanged_precondition(each),
                "annotations": {REPLICAS_ANNOTATION: None, MIGRATIONS_ANNOTATION: None},
            },
            "spec": {"replicas": _replicas_before(each)},
        }
        await session.client.patch(DEPLOYMENTS, name_of(each), change, namespace_of(each))
        say(f"Deployment {full_name(each)} is started again")


def _replicas_before(deployment: Object) -> int:
    written = text(deployment, "metadata", "annotations", REPLICAS_ANNOTATION)
    return int(written) if written.isdecimal() and len(written) < 4 else 0


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
    return any(version["metadata"]["uid"] in _begun(each) for each in await controllers(session))


async def _note(
    session: Session,
    change: Callable[[Mapping[str, str]], Mapping[str, str]],
    on_write: Callable[[bool], object] = lambda _: None,
) -> None:
    async def attempt() -> None:
        for each in await controllers(session):
            before = _begun(each)
            after = change(before)
            if _replicas_before(each) and after != before:
                annotations = {MIGRATIONS_ANNOTATION: _written(after)}
                patch = {"metadata": {**unchanged_precondition(each), "annotations": annotations}}
                on_write(True)
                try:
                    await session.client.patch(DEPLOYMENTS, name_of(each), patch, namespace_of(each))
                except Conflict:
                    on_write(False)
                    raise

    await _repeated(attempt)


async def _repeated(attempt: Callable[[], Awaitable[None]]) -> None:
    """Do it again while others change the Deployments meanwhile. Raises CommandError."""
    for _ in range(MAX_PATCHES):
        try:
            await attempt()
        except Conflict:
            continue
        return
    raise CommandError(FAILED, "the Deployments of the controllers of OLM v0 are changed by others again and again")


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
