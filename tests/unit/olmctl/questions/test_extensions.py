"""Operators that are found by the name of their ClusterExtension, and ClusterExtensions without an Operator."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from olmctl.questions.errors import NothingFound
from olmctl.questions.extensions import (
    ExtensionProblem,
    WaitingExtension,
    all_extensions,
    operator_of,
    problem_of,
    problems_of,
    waiting_extension,
    without_operator,
)
from olmctl.questions.left_installations import operator_named
from olmctl.questions.operators import OperatorRow
from olmctl.questions.session import Session
from olmctl.questions.why import why
from olmkit.api import clusterextensions, operators
from olmkit.api.clusterextensions import operator_name
from olmkit.api.meta import Kind, controller_reference
from olmkit.errors import ApiError, Forbidden, NotFound

Object = dict[str, Any]
LONG = "a-name-that-is-longer-than-the-name-of-an-operator-may-be"
SHORTER = operator_name(LONG)


def operator(name: str, extension: str = "") -> Object:
    """An Operator, of a ClusterExtension if that is named."""
    owners = [controller_reference(clusterextensions.KIND, extension, "u")] if extension else []
    return {"kind": "Operator", "metadata": {"name": name, "ownerReferences": owners}}


def extension(name: str, reason: str = "", message: str = "") -> Object:
    """A ClusterExtension, with the reason and the message of Progressing, if it has one."""
    catalog = {"packageName": "lamp", "version": "1.x", "channels": ["stable"]}
    progressing = {"type": "Progressing", "status": "True", "reason": reason, "message": message}
    status = {"conditions": [progressing] if reason else []}
    return {"metadata": {"name": name}, "spec": {"source": {"catalog": catalog}}, "status": status}


class Client:
    """A cluster with these objects."""

    def __init__(self, *found: Object, error: ApiError | None = None) -> None:
        self.found = {each["metadata"]["name"]: each for each in found if "source" not in each.get("spec", {})}
        self.extensions = [each for each in found if "source" in each.get("spec", {})]
        self.error = error
        self.requested: list[str] = []

    async def get(self, kind: Kind, name: str) -> Object:
        """The object, or the error of ClusterExtensions."""
        self.requested.append(f"{kind.plural}/{name}")
        if kind == operators.KIND and name in self.found:
            return self.found[name]
        if kind == clusterextensions.KIND:
            if self.error is not None:
                raise self.error
            for each in self.extensions:
                if each["metadata"]["name"] == name:
                    return each
        raise NotFound(404, "NotFound", f"{kind.plural} {name} not found")

    async def list(self, kind: Kind, **_: object) -> tuple[list[Object], str]:
        """The ClusterExtensions, or their error."""
        if self.error is not None:
            raise self.error
        return self.extensions, "1"


class Desk:
    """A session with that client."""

    def __init__(self, client: Client) -> None:
        self.client = client


def session(client: Client) -> Session:
    return cast("Session", Desk(client))


@pytest.mark.parametrize(
    ("found", "name", "expected", "requests"),
    [
        pytest.param([operator("lamp")], "lamp", "lamp", 1, id="an Operator of the name is it, with one request"),
        pytest.param([operator(SHORTER, LONG)], LONG, SHORTER, 2, id="a long name leads to the shorter one"),
        pytest.param([operator(SHORTER)], LONG, "", 2, id="an Operator of the shorter name that belongs to nobody"),
        pytest.param([operator(SHORTER, "x")], LONG, "", 2, id="an Operator of another ClusterExtension"),
        pytest.param([], LONG, "", 2, id="a long name without an Operator"),
        pytest.param([operator("other")], "lamp", "", 1, id="a short name without an Operator, with one request"),
    ],
)
def test_an_operator_is_found_by_the_name_of_its_clusterextension(
    found: list[Object], name: str, expected: str, requests: int
) -> None:
    client = Client(*found)
    searched = operator_of(session(client), name)
    if expected:
        assert asyncio.run(searched)["metadata"]["name"] == expected
    else:
        with pytest.raises(NotFound, match=f"operators {name} not found"):
            asyncio.run(searched)
    assert len(client.requested) == requests


FORBIDDEN, NOT_SERVED = Forbidden(403, "Forbidden", "no"), NotFound(404, "NotFound", "404 page not found")


@pytest.mark.parametrize("error", [FORBIDDEN, NOT_SERVED], ids=["it may not be read", "the kind is not served"])
def test_nothing_is_said_of_clusterextensions_that_cannot_be_read(error: ApiError) -> None:
    desk = session(Client(extension("lamp"), error=error))
    assert asyncio.run(waiting_extension(desk, "lamp")) is None
    assert asyncio.run(all_extensions(desk)) == []
    with pytest.raises(NotFound, match="operators lamp not found"):
        asyncio.run(operator_named(desk, "lamp"))


def test_commands_say_that_the_operator_of_a_clusterextension_is_not_created_yet() -> None:
    desk = session(Client(extension("lamp", "Blocked", "an Operator of another package has the name")))
    with pytest.raises(NothingFound, match="ClusterExtension lamp has no Operator yet: `olm why lamp` shows"):
        asyncio.run(operator_named(desk, "lamp"))
    found = asyncio.run(why(desk, "lamp"))
    assert isinstance(found, WaitingExtension)
    assert found.asked == "package lamp, version 1.x, channel stable"
    assert (found.state, found.message) == ("Blocked", "an Operator of another package has the name")


def test_a_list_has_the_clusterextensions_that_no_operator_belongs_to() -> None:
    listed = [extension("new"), extension("lamp"), extension("held", "Retrying", "later")]
    found = without_operator(listed, [operator("lamp", "lamp"), operator("new"), operator("held", "")])
    assert [(each.name, each.package, each.state, each.message) for each in found] == [
        ("held", "lamp", "Retrying", "later"),
        ("new", "lamp", "Pending", ""),
    ]


# --- ClusterExtensions with a problem


INVALID, RETRYING = ("InvalidConfiguration", 'unknown field "x"'), ("Retrying", "the selector is invalid")
READY: Object = {"type": "Ready", "status": "True", "reason": "Succeeded"}
WAITS: Object = {"available": {"version": "2.0.0", "reason": "ApprovalRequired"}}


@pytest.mark.parametrize(
    ("said", "status", "is_problem"),
    [
        pytest.param(INVALID, {}, True, id="a change is invalid, and the Operator keeps the spec before"),
        pytest.param(RETRYING, {}, True, id="a change cannot be written, and is retried"),
        pytest.param(("Blocked", "the account is another one"), {}, True, id="a change is refused"),
        pytest.param(INVALID, WAITS, True, id="a change is invalid while a version waits for approval"),
        pytest.param(("Blocked", "waits for approval"), WAITS, False, id="the Operator reports the version that waits"),
        pytest.param(RETRYING, {"failure": {"reason": "NoUpgradeEdge"}}, False, id="the Operator reports the failure"),
        pytest.param(
            RETRYING,
            {"conditions": [{**READY, "status": "False"}]},
            False,
            id="the Operator is not Ready, and says why",
        ),
        pytest.param(("Succeeded", "Desired state reached"), {}, False, id="the desired state is reached"),
        pytest.param(("", ""), {}, False, id="nothing is reported yet"),
    ],
)
def test_a_problem_that_the_operator_does_not_report_is_that_of_the_clusterextension(
    said: tuple[str, str], status: Object, *, is_problem: bool
) -> None:
    found = {**operator(SHORTER, LONG), "status": {"conditions": [READY], **status}}
    owner = extension(LONG, *said)
    expected = ExtensionProblem(*said) if is_problem else None
    assert problems_of([owner, extension("other", *INVALID)], [found]).get(SHORTER) == expected
    assert asyncio.run(problem_of(session(Client(found, owner)), found)) == expected


def test_an_operator_without_a_clusterextension_has_no_problem_of_one() -> None:
    found, client = {**operator("lamp"), "status": {"conditions": [READY]}}, Client(extension("lamp", *INVALID))
    assert (problems_of(client.extensions, [found]), asyncio.run(problem_of(session(client), found))) == ({}, None)
    assert client.requested == []


@pytest.mark.parametrize("error", [FORBIDDEN, NOT_SERVED])
def test_a_clusterextension_that_may_not_be_read_has_no_problem(error: ApiError) -> None:
    found = {**operator("lamp", "lamp"), "status": {"conditions": [READY]}}
    assert asyncio.run(problem_of(session(Client(found, error=error)), found)) is None


def test_the_row_of_an_operator_has_the_problem_of_its_clusterextension() -> None:
    found = {**operator("lamp", "lamp"), "status": {"conditions": [READY]}}
    found["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    row = OperatorRow.of(found, ExtensionProblem(*INVALID))
    assert (row.state, row.message) == INVALID
