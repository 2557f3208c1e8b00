"""What is asked before anything is taken from OLM v0."""

from __future__ import annotations

import asyncio
import copy
from typing import Any, cast

import pytest

from olmctl.commands import CommandError
from olmctl.migration import steps
from olmctl.migration.controller_set import DEPLOYMENTS
from olmctl.migration.controllers import CONTROLLERS, start
from olmctl.migration.marks import MARK
from olmctl.migration.packages import make_plan
from olmctl.migration.v0 import SERVICE_VERSIONS, OlmV0
from olmctl.questions.session import Session
from olmkit.api.operators import MIGRATIONS_ANNOTATION
from olmkit.errors import Conflict, NotFound
from tests.unit.olmctl.migration.test_controllers import Cluster, deployment
from tests.unit.olmctl.migration.v0_objects import Object, olm, subscription, version


class Site(Cluster):
    """A cluster of OLM v0 with the package lamp, whose controller is stopped, and one migration that has got so far."""

    def __init__(self) -> None:
        self.controller = deployment("olm")
        self.refusal = ""
        self.operator: Object | None = None
        self.version = version(labels={})
        self.version["metadata"] |= {"resourceVersion": "1", "labels": {}}
        self.found: OlmV0 = olm(versions=[self.version])
        super().__init__({DEPLOYMENTS: [self.controller], SERVICE_VERSIONS: [self.version]})
        self.session = cast(Session, self)
        asyncio.run(CONTROLLERS.stop(self.session, 1))

    async def get(self, kind: Any, *_: Any) -> Object:
        if kind == SERVICE_VERSIONS:
            return copy.deepcopy(self.version)
        if self.operator is None:
            raise NotFound(404, "NotFound", "")
        return self.operator

    async def patch(self, kind: Any, name: str, patch: Object, namespace: str) -> None:
        if kind != SERVICE_VERSIONS:
            return await super().patch(kind, name, patch, namespace)
        metadata = self.version["metadata"]
        if patch["metadata"].get("resourceVersion", metadata["resourceVersion"]) != metadata["resourceVersion"]:
            raise Conflict(409, "Conflict", "the object has been modified")
        metadata["resourceVersion"] += "1"
        labels = {**metadata["labels"], **patch["metadata"]["labels"]}
        metadata["labels"] = {key: each for key, each in labels.items() if each is not None}
        return None

    @property
    def note(self) -> str | None:
        written: str | None = self.controller["metadata"]["annotations"].get(MIGRATIONS_ANNOTATION)
        return written


class Taken(Exception):
    """The first object is taken from OLM v0."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    """One in which the Catalog is there, and taking an object ends the test."""
    site = Site()

    async def nothing(*_: Any) -> None:
        """The Catalog is there."""

    async def read(_: Session) -> OlmV0:
        return site.found

    async def applied(*_: Any, is_dry_run: bool = False, **__: Any) -> None:
        assert is_dry_run
        if site.refusal:
            raise CommandError(1, site.refusal)

    async def owned(*_: Any) -> None:
        raise Taken

    monkeypatch.setattr(steps.Move, "_provide_catalog", nothing)
    monkeypatch.setattr(steps, "apply_operator", applied)
    monkeypatch.setattr(steps, "read_olm_v0", read)
    monkeypatch.setattr(steps, "owned_objects", owned)
    return site


def move(site: Site) -> steps.Move:
    (plan,) = make_plan(olm(versions=[version()]), {}).packages
    assert plan.version is not None
    plan.version["metadata"] |= {"resourceVersion": "1"}
    return steps.Move(site.session, plan, 1)


def test_the_note_of_a_migration_comes_before_everything_that_it_takes(site: Site) -> None:
    with pytest.raises(Taken):
        asyncio.run(move(site).run())
    assert (site.version["metadata"]["labels"], site.note) == ({MARK: "lamp"}, "uid-lamp=lamps/lamp")


def test_another_migration_that_ends_leaves_the_controllers_stopped(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def end_the_other(_: steps.Move) -> None:
        await start(site.session)

    monkeypatch.setattr(steps.Move, "_provide_catalog", end_the_other)
    with pytest.raises(Taken):
        asyncio.run(move(site).run())
    assert site.controller["spec"]["replicas"] == 0


def test_nothing_is_taken_while_the_controllers_run_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scale(_: steps.Move) -> None:
        site.controller["spec"]["replicas"] = 1

    monkeypatch.setattr(steps.Move, "_provide_catalog", scale)
    with pytest.raises(CommandError, match="the controllers of OLM v0 run"):
        asyncio.run(move(site).run())
    assert (site.version["metadata"]["labels"], site.note) == ({}, ""), "nothing has begun"


def test_nothing_is_taken_of_a_package_that_olm_v0_has_upgraded_since_the_plan(site: Site) -> None:
    status = {"installedCSV": "lamp.v1.1.0", "currentCSV": "lamp.v1.1.0"}
    site.found = olm(versions=[site.version], subscriptions=[subscription(status=status)])
    words = r"lamp: OLM v0 has changed since the plan was made: Subscription lamps/lamp has lamp\.v1\.1\.0 installed"
    with pytest.raises(CommandError, match=words):
        asyncio.run(move(site).run())
    assert (site.version["metadata"]["labels"], site.note) == ({}, ""), "nothing has begun"


def test_a_migration_that_had_begun_keeps_its_note(site: Site) -> None:
    with pytest.raises(Taken):
        asyncio.run(move(site).run())
    site.found = olm(versions=[])
    continued = move(site)
    assert continued.plan.version is not None
    continued.plan.version["metadata"]["labels"] = {MARK: "lamp"}
    with pytest.raises(CommandError, match="is gone"):
        asyncio.run(continued.run())
    assert (site.version["metadata"]["labels"], site.note) == ({MARK: "lamp"}, "uid-lamp=lamps/lamp")


def test_a_run_that_fails_takes_back_nothing_that_another_run_has_written(site: Site) -> None:
    """Both have made their plans before one of them wrote."""
    first, second = move(site), move(site)
    with pytest.raises(Taken):
        asyncio.run(first.run())
    site.refusal = "interrupted"
    with pytest.raises(CommandError, match="interrupted"):
        asyncio.run(second.run())
    assert (site.version["metadata"]["labels"], site.note) == ({MARK: "lamp"}, "uid-lamp=lamps/lamp")


def test_nothing_is_taken_if_the_operator_would_be_refused(site: Site) -> None:
    site.refusal = "Operator lamp is invalid"
    with pytest.raises(CommandError, match="Operator lamp is invalid"):
        asyncio.run(move(site).run())
    assert (site.version["metadata"]["labels"], site.note) == ({}, ""), "nothing has begun"


def test_an_operator_that_was_upgraded_in_a_hold_is_left_as_it_is(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    status = {"installed": {"version": "1.1.0"}}
    site.operator = {"metadata": {"name": "lamp", "labels": {MARK: "lamp"}}, "spec": {}, "status": status}
    asyncio.run(move(site).run())
    assert "lamp: its Operator has been upgraded to 1.1.0" in capsys.readouterr().out
    site.operator["status"] = {"installed": {"version": "1.0.0"}}
    with pytest.raises(Taken):
        asyncio.run(move(site).run())
