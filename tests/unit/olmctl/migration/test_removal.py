"""What is asked before the objects of OLM v0 of a package are deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from olmctl.commands import CommandError
from olmctl.migration.marks import MARK
from olmctl.migration.removal import REMOVING, Removal
from olmctl.questions.session import Session
from olmkit.api import operators
from olmkit.errors import NotFound
from tests.unit.olmctl.migration.v0_objects import Object, olm, version


class ReadOnly:
    """A client, and the session that has it, of a cluster with this Operator; a write fails the test."""

    def __init__(self, operator: Object | None) -> None:
        self._operator = operator

    @property
    def client(self) -> ReadOnly:
        return self

    time = client

    def deadline(self, seconds: float) -> float:
        return asyncio.get_running_loop().time() + seconds

    async def pages(self, *_: Any, **__: Any) -> AsyncGenerator[tuple[list[Object], str], None]:
        yield ([self._operator] if self._operator else []), ""

    async def list(self, *_: Any, **__: Any) -> tuple[list[Object], str]:
        return [], ""

    async def get(self, kind: Any, *_: Any) -> Object:
        if kind != operators.KIND or self._operator is None:
            raise NotFound(404, "NotFound", "")
        return self._operator


def operator_of(installed: str, ready: str, stalled: str = "False") -> Object:
    """The Operator of namespace tenant, with this version and these conditions."""
    conditions = [
        {"type": "Ready", "status": ready, "reason": "Any", "message": "OLM v0 has its objects"},
        {"type": "Stalled", "status": stalled, "reason": "Any", "message": ""},
    ]
    return {
        "metadata": {"name": "lamp", "generation": 1},
        "spec": {"install": {"namespace": "tenant"}},
        "status": {"observedGeneration": 1, "installed": {"version": installed}, "conditions": conditions},
    }


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        pytest.param(None, "there is no Operator lamp: nothing of OLM v0 is deleted", id="no Operator"),
        pytest.param(
            {"spec": {"install": {"namespace": "lamps"}}},
            "Operator lamp is for namespace lamps, and ClusterServiceVersion tenant/lamp.v1.0.0 is not there",
            id="an Operator for another namespace",
        ),
        pytest.param(
            operator_of("1.1.0", "True"),
            "Operator lamp has version 1.1.0, and ClusterServiceVersion tenant/lamp.v1.0.0 is version 1.0.0",
            id="an Operator with another version",
        ),
        pytest.param(
            operator_of("", "False", "True"), "lamp: OLM v0 has its objects", id="an Operator that is stalled"
        ),
    ],
)
def test_a_mark_that_anybody_has_written_deletes_nothing(operator: Object | None, words: str) -> None:
    marked = version("lamp", "tenant", labels={MARK: "lamp"})
    marked["metadata"]["annotations"][MARK] = f"{REMOVING} olm/community"
    removal = Removal(cast(Session, ReadOnly(operator)), olm(versions=[marked]), "lamp", marked, 1)
    with pytest.raises(CommandError, match=words):
        asyncio.run(removal.run())
