"""What is printed about an installation, and the command to try it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from olmctl.bundle import installed_output
from olmctl.bundle.example import Example
from olmctl.bundle.installed_output import command, none_fits, not_printed, removal_ends, summary
from olmctl.questions.installed_objects import NAMESPACE, InstalledObject, InstalledObjects
from olmkit.errors import Forbidden
from tests.unit.olmctl.bundle.bundles import widgets

BODY = {"apiVersion": "example.com/v1", "kind": "Widget"}


@pytest.mark.parametrize(
    ("watched", "text"),
    [
        pytest.param((), "widgets 1.0.0 is in namespace own: 2 Namespaces", id="it is not known what is watched"),
        pytest.param(("",), "widgets 1.0.0 is in namespace own, watches all namespaces: 2 Namespaces", id="all"),
        pytest.param(("a", "b"), "widgets 1.0.0 is in namespace own, watches a, b: 2 Namespaces", id="some"),
    ],
)
def test_the_summary(watched: tuple[str, ...], text: str) -> None:
    one = InstalledObject(NAMESPACE, {"metadata": {"name": "own"}}, "Healthy", "")
    leaving = replace(one, obj={"metadata": {"name": "old", "deletionTimestamp": "2026-01-01T00:00:00Z"}})
    assert summary(widgets(), "own", watched, InstalledObjects((one, one, leaving), ())) == text


def test_the_summary_counts_what_cannot_be_listed() -> None:
    one = InstalledObject(NAMESPACE, {"metadata": {"name": "own"}}, "Healthy", "")
    start = "widgets 1.0.0 is in namespace own"
    denied = ("a cannot be listed: denied", "b cannot be listed: denied")
    assert summary(widgets(), "own", (), InstalledObjects((), ())) == f"{start}: no objects"
    assert summary(widgets(), "own", (), InstalledObjects((), denied)) == f"{start}: 2 kinds cannot be listed"
    found = InstalledObjects((one,), denied[:1])
    assert summary(widgets(), "own", (), found) == f"{start}: 1 Namespace, 1 kind cannot be listed"


DEPLOYMENT = {"metadata": {"name": "w", "uid": "1"}, "status": {"activeBundle": "w-2"}}


def bundle(name: str, owner: str = "1", **more: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "ownerReferences": [{"uid": owner}], **more}}


ACTIVE, BEFORE = bundle("w-2"), bundle("w-1")
DELETED = bundle("w-1", deletionTimestamp="2026-01-01T00:00:00Z")


class Bundles:
    """A client that lists these Bundles, and reports these changes of w-1."""

    def __init__(self, listed: Sequence[Any] | None, changes: Sequence[Any]) -> None:
        self.listed = listed
        self.changes = list(changes)

    async def list(self, *_: object, label_selector: str) -> tuple[Sequence[Any], str]:
        assert label_selector == "core.rukpak.io/owner-name=w"
        if self.listed is None:
            raise Forbidden(403, "Forbidden", "denied")
        return self.listed, "1"

    async def pages(self, *_: object, field_selector: str) -> AsyncIterator[tuple[Sequence[Any], str]]:
        assert field_selector == "metadata.name=w-1"
        yield [BEFORE], "1"

    async def watch(self, *_: object, field_selector: str) -> AsyncGenerator[Any, None]:
        assert field_selector == "metadata.name=w-1"
        while self.changes:
            yield self.changes.pop(0)
        await asyncio.Event().wait()


def changed(found: Any, event: str = "MODIFIED") -> Any:
    return {"type": event, "object": found}


@pytest.mark.parametrize(
    ("listed", "changes", "has_ended"),
    [
        pytest.param([ACTIVE], [], True, id="nothing was there before"),
        pytest.param(
            [ACTIVE, BEFORE], [changed(BEFORE), changed(DELETED, "DELETED")], True, id="the earlier bundle goes"
        ),
        pytest.param([ACTIVE, BEFORE], [changed(DELETED)], True, id="a finalizer holds the earlier bundle"),
        pytest.param([ACTIVE, bundle("w-1", "2")], [], True, id="another one has copied the label"),
        pytest.param([ACTIVE, BEFORE], [changed(BEFORE)], False, id="the earlier bundle stays"),
        pytest.param(None, [], True, id="it may not be read"),
    ],
)
async def test_the_removal_of_what_was_before_is_awaited(
    listed: list[Any] | None, changes: list[Any], has_ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is deleted right after is not counted."""
    monkeypatch.setattr(installed_output, "REMOVAL_SECONDS", 0.1)
    client = Bundles(listed, changes)
    assert await removal_ends(cast("Any", SimpleNamespace(client=client)), DEPLOYMENT) is has_ended
    assert client.changes == []


def test_the_command() -> None:
    lines = list(command(Example({**BODY, "spec": {"text": "a\nEOF\nb"}}, "there"), "own"))
    assert lines[3] == "kubectl apply --namespace there -f - <<'EOF'"
    assert (lines[4], lines.index("EOF")) == ("apiVersion: example.com/v1", len(lines) - 1)


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        pytest.param({f"k{number}": 1 for number in range(300)}, "has 303 lines", id="that is too long"),
        pytest.param(nested(900), "cannot be printed for a shell", id="that is nested too deep"),
    ],
)
def test_an_example_that_is_not_printed(spec: Any, cause: str) -> None:
    example = Example({**BODY, "spec": spec})
    assert list(command(example, "own")) == []
    text = f"the first example of the bundle {cause}: see alm-examples in the ClusterServiceVersion"
    assert not_printed(example) == text


@pytest.mark.parametrize(
    ("namespace", "is_created"),
    [
        pytest.param("b", True, id="of its own"),
        pytest.param("own", False, id="that of the operator"),
        pytest.param("default", False, id="that every cluster has"),
        pytest.param("b; reboot", False, id="that is no name"),
    ],
)
def test_the_namespace_of_an_example_is_created_before_it(namespace: str, is_created: bool) -> None:
    example = Example({**BODY, "metadata": {"name": "a", "namespace": namespace}})
    lines = list(command(example, "own"))
    assert (f"kubectl create namespace {namespace}" in lines) is is_created
    assert lines[1] == f"To try it, create its first example{', and its namespace unless it exists' * is_created}:"
    assert lines[3 + is_created] == "kubectl apply -f - <<'EOF'"
    assert not_printed(example) == ""


def test_examples_that_do_not_fit_are_counted() -> None:
    text = "its CustomResourceDefinition: olm bundle validate says why"
    assert none_fits(1) == f"the example of the bundle does not fit {text}"
    assert none_fits(3) == f"none of the 3 examples of the bundle fits {text}"
