"""Runs a controller of a kind that an installation may leave out: only while this process may list the kind.

The RBAC of the kind is part of what is left out, so it is the switch. Without it nothing is requested but a review of the own
access, also if another project has the kind on the cluster. The informers of the controller run on the leader alone, and only
while the controller does: they never keep the process from being ready. Never creates the kind, and writes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from olmkit.api.meta import Kind
from olmkit.errors import ApiError
from olmkit.runtime.access_reviews import is_allowed
from olmkit.runtime.controller import Controller
from olmkit.runtime.informer import Informer
from olmkit.runtime.manager import Manager

RECHECK_SECONDS = 30.0
"""The interval between two reviews of the own access."""

log = logging.getLogger(__name__)
MakeInformer = Callable[..., Informer]
"""Makes an informer of a kind, with the options of Informer."""
Make = Callable[[MakeInformer], Controller]


class OptionalController:
    """The controller of `kind`, which `make` makes with informers of its own. It may watch informers of the manager too.

    Given to Manager.add_runnable() with every_replica=False, and not to Manager.add_controller().
    """

    def __init__(self, manager: Manager, kind: Kind, make: Make, *, recheck_seconds: float = RECHECK_SECONDS) -> None:
        self._client = manager.client
        self._kind = kind
        self._recheck_seconds = recheck_seconds
        self._informers: list[Informer] = []
        self._is_allowed = False
        self._error = ""
        self.controller = make(self._informer)

    def _informer(self, kind: Kind, **options: Any) -> Informer:
        informer = Informer(self._client, kind, **options)
        self._informers.append(informer)
        return informer

    async def run(self) -> None:
        """Run the controller whenever it may list the kind, until cancelled. Raises what the controller raises."""
        while True:
            await self._wait_until(is_allowed=True)
            log.info("the kind is served, its controller starts", extra={"kind": self._kind.kind})
            await self._run_controller()
            log.info("the kind may not be listed any more, its controller has ended", extra={"kind": self._kind.kind})

    async def _run_controller(self) -> None:
        """Run the controller with its informers, which list again, until the kind may not be listed any more."""
        async with asyncio.TaskGroup() as group:
            for informer in self._informers:
                informer.relist()
            informers = [group.create_task(each.run(), name=f"informer {each.kind.plural}") for each in self._informers]
            controller = group.create_task(self.controller.run(), name=self.controller.name)
            await self._wait_until(is_allowed=False)
            self.controller.stop()
            await asyncio.wait({controller})
            for task in informers:
                task.cancel()

    async def _wait_until(self, *, is_allowed: bool) -> None:
        """Check periodically, and return when the permission is or is not there, as `is_allowed` says."""
        while await self._check() != is_allowed:  # noqa: ASYNC110 the API server has no event for it
            await asyncio.sleep(self._recheck_seconds)

    async def _check(self) -> bool:
        """Ask the API server; while it does not answer, the last answer remains."""
        attributes = {"verb": "list", "group": self._kind.group, "resource": self._kind.plural}
        try:
            self._is_allowed = await is_allowed(self._client, {"resourceAttributes": attributes})
            self._error = ""
        except ApiError as error:
            if error.message != self._error:
                self._error = error.message
                facts = {"kind": self._kind.kind, "error": error.message}
                log.warning("cannot check whether the kind may be listed, trying again", extra=facts)
        return self._is_allowed
