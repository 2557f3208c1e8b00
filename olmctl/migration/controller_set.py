"""The controllers of another OLM: they have to be stopped while what it has installed is moved.

While they run, they install again what is taken from them, and delete what something that is gone had. A stopped one has its
number of replicas in an annotation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from olmctl.commands import FAILED, REFUSED, TIMED_OUT, CommandError
from olmctl.migration.changes import MAX_PATCHES
from olmctl.migration.values import at, full_name, name_of, namespace_of, text
from olmctl.questions.session import Session
from olmctl.terminal_output import say
from olmkit.api.meta import Kind, Object, unchanged_precondition
from olmkit.api.operators import MIGRATIONS_ANNOTATION, REPLICAS_ANNOTATION
from olmkit.errors import Conflict, Forbidden
from olmkit.runtime.access_reviews import SUBJECT_REVIEWS, may_update

DEPLOYMENTS = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class ControllerSet:
    """The controllers of one OLM."""

    olm: str
    kinds: Mapping[str, Kind]
    """The name of each Deployment, and the kind whose objects its service account may update in all namespaces."""

    async def found(self, session: Session) -> list[Object]:
        """The Deployments of the controllers."""
        own, _ = await self._named_like_controllers(session)
        return own

    async def _named_like_controllers(self, session: Session) -> tuple[list[Object], list[Object]]:
        """The Deployments of the controllers, and others of their names. A name is data of whoever may create a Deployment: the
        account of a controller has its permission, by whatever binding."""
        own: list[Object] = []
        others: list[Object] = []
        for name in self.kinds:
            listed, _ = await session.client.list(DEPLOYMENTS, field_selector=f"metadata.name={name}")
            for each in listed:
                (own if await self._may_update(session, each) else others).append(each)
        return own, others

    async def _may_update(self, session: Session, deployment: Object) -> bool:
        """Report whether the service account of a Deployment may do what the controller of its name does. Raises CommandError."""
        namespace, kind = namespace_of(deployment), self.kinds[name_of(deployment)]
        account = text(deployment, "spec", "template", "spec", "serviceAccountName") or "default"
        try:
            return await may_update(session.client, kind, namespace, account)
        except Forbidden as error:
            what = f"the controllers of {self.olm} from other Deployments of their names ({full_name(deployment)})"
            raise CommandError(
                REFUSED, f"the permission to create {SUBJECT_REVIEWS.plural} is needed, to tell {what}"
            ) from error

    async def require_stopped(self, session: Session) -> None:
        """Raises CommandError if one of them runs."""
        found, others = await self._named_like_controllers(session)
        running = sorted(full_name(each) for each in found if is_running(each))
        if not found:
            names = " and ".join(self.kinds)
            say(
                f"note: no Deployments {names} are found: the controllers of {self.olm} must not run meanwhile",
                err=True,
            )
        doubtful = [each for each in others if is_running(each) and name_of(each) not in map(name_of, found)]
        if doubtful:
            first = min(doubtful, key=full_name)
            why = f"{self._lacks(first)} at the moment, and no other Deployment does its work"
            text_ = f"Deployment {full_name(first)} runs, and may be a controller of {self.olm}: {why}"
            raise CommandError(
                REFUSED, f"{text_}; if it is one, its permissions may come back: scale it to 0, or delete it"
            )
        if others:
            names = ", ".join(sorted(map(full_name, others)))
            say(f"note: not of {self.olm}, and left as it is: Deployment {names}: {self._lacks(others[0])}", err=True)
        if running:
            why = f"they would install again, or delete, what is taken from {self.olm}"
            text_ = f"the controllers of {self.olm} run ({', '.join(running)}): {why}"
            raise CommandError(REFUSED, f"{text_}; --stop-controllers stops them for the time of the migration")

    def _lacks(self, deployment: Object) -> str:
        return f"its service account may not update {self.kinds[name_of(deployment)].kind}s"

    async def stop(self, session: Session, seconds: float) -> None:
        """Scale them to 0, and wait until no pod of them is left. Raises CommandError with TIMED_OUT."""
        deadline = session.time.deadline(seconds)
        await self.repeated(lambda: self._scale_down(session))
        while running := [each for each in await self.found(session) if is_running(each)]:
            if asyncio.get_running_loop().time() > deadline:
                names = ", ".join(map(full_name, running))
                raise CommandError(TIMED_OUT, f"not stopped within {seconds:g} seconds: {names}")
            await asyncio.sleep(POLL_SECONDS)

    async def _scale_down(self, session: Session) -> None:
        for each in await self.found(session):
            replicas = at(each, "spec", "replicas")
            if replicas != 0:  # one that others have started again keeps its notes
                notes = text(each, "metadata", "annotations", MIGRATIONS_ANNOTATION)
                annotations = {REPLICAS_ANNOTATION: str(replicas or 1), MIGRATIONS_ANNOTATION: notes}
                metadata = {**unchanged_precondition(each), "annotations": annotations}
                change = {"metadata": metadata, "spec": {"replicas": 0}}
                await session.client.patch(DEPLOYMENTS, name_of(each), change, namespace_of(each))
                say(f"Deployment {full_name(each)} is stopped")

    async def start(self, session: Session, held: Callable[[list[Object]], Awaitable[list[str]]]) -> None:
        """Start those that a migration has stopped, unless it holds something, by a sentence about each."""

        async def attempt() -> None:
            """Raises Conflict if somebody has written to one since it was read, such as the note of another migration."""
            stopped = [each for each in await self.found(session) if replicas_before(each)]
            if not stopped:
                return
            if names := "; ".join(await held(stopped)):
                say(f"The controllers of {self.olm} stay stopped: {names}", err=True)
                return
            for each in stopped:
                annotations = {REPLICAS_ANNOTATION: None, MIGRATIONS_ANNOTATION: None}
                metadata = {**unchanged_precondition(each), "annotations": annotations}
                change = {"metadata": metadata, "spec": {"replicas": replicas_before(each)}}
                await session.client.patch(DEPLOYMENTS, name_of(each), change, namespace_of(each))
                say(f"Deployment {full_name(each)} is started again")

        await self.repeated(attempt)

    async def repeated(self, attempt: Callable[[], Awaitable[None]]) -> None:
        """Do it again while others change the Deployments meanwhile. Raises CommandError."""
        for _ in range(MAX_PATCHES):
            try:
                await attempt()
            except Conflict:
                continue
            return
        text_ = f"the Deployments of the controllers of {self.olm} are changed by others again and again"
        raise CommandError(FAILED, text_)


def is_running(deployment: Object) -> bool:
    """Report whether the Deployment has pods, or is to have some."""
    replicas = at(deployment, "spec", "replicas")
    return replicas != 0 or bool(at(deployment, "status", "replicas"))


def replicas_before(deployment: Object) -> int:
    """The number of replicas of a Deployment that a migration has stopped; 0 if none has."""
    written = text(deployment, "metadata", "annotations", REPLICAS_ANNOTATION)
    return int(written) if written.isdecimal() and len(written) < 4 else 0
