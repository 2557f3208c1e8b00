"""Which namespaces nobody may delete, because a BundleDeployment requires them and has no label on them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmkit.api.required_namespaces import required_namespaces

REQUIRED = {"installNamespace": "port", "namespacePolicy": "MustExist"}
CREATED = {"installNamespace": "port", "namespacePolicy": "Create"}


def revision(number: int, outcome: str, install: Any) -> dict[str, Any]:
    """A revision in the history."""
    text = install if isinstance(install, str) else json.dumps(install)
    return {"revision": number, "outcome": outcome, "install": text}


@pytest.mark.parametrize(
    ("spec", "installed", "history", "expected"),
    [
        pytest.param({}, None, [], (), id="nothing is named"),
        pytest.param({"installNamespace": "port"}, None, [], (), id="the policy is Create without one"),
        pytest.param(CREATED, None, [], (), id="the policy is Create"),
        pytest.param(REQUIRED, None, [], ("port",), id="before anything is installed"),
        pytest.param({**REQUIRED, "watchNamespaces": ["b", "a"]}, None, [], ("a", "b", "port"), id="watched ones too"),
        pytest.param({**REQUIRED, "watchNamespaces": [""]}, None, [], ("port",), id="all namespaces are none by name"),
        pytest.param(
            {"installNamespace": "x"}, 1, [revision(1, "Succeeded", REQUIRED)], ("port",), id="spec has changed since"
        ),
        pytest.param(
            {},
            1,
            [revision(2, "InProgress", {}), revision(1, "Succeeded", REQUIRED)],
            ("port",),
            id="another revision has begun, and the installed one is in it",
        ),
        pytest.param(
            {},
            2,
            [revision(2, "InProgress", {}), revision(1, "Succeeded", REQUIRED)],
            ("port",),
            id="the new one is installed, and a rollback may bring the old one back",
        ),
        pytest.param(
            {},
            1,
            [revision(2, "Failed", REQUIRED), revision(1, "Succeeded", {})],
            ("port",),
            id="a failed revision may have left objects in it",
        ),
        pytest.param(
            {},
            1,
            [revision(3, "Succeeded", {}), revision(2, "Succeeded", {}), revision(1, "Superseded", REQUIRED)],
            ("port",),
            id="an older one is still the installed one",
        ),
        pytest.param(
            {},
            2,
            [revision(2, "Succeeded", {}), revision(1, "Succeeded", REQUIRED)],
            (),
            id="a revision that nothing brings back",
        ),
        pytest.param({}, 1, [revision(1, "Succeeded", "{MustExist")], (), id="a text that cannot be read"),
        pytest.param({}, 1, [revision(1, "Succeeded", '"MustExist"')], (), id="a text that is no object"),
        pytest.param(
            {},
            1,
            [revision(1, "Succeeded", {"installNamespace": "x", "config": {"env": [{"value": "MustExist"}]}})],
            (),
            id="a config that has the word",
        ),
    ],
)
def test_what_is_required(
    spec: dict[str, Any], installed: int | None, history: list[dict[str, Any]], expected: tuple[str, ...]
) -> None:
    assert required_namespaces({"spec": spec, "status": {"revision": installed, "history": history}}) == expected


def test_one_without_a_status_requires_what_spec_names() -> None:
    assert required_namespaces({"spec": REQUIRED}) == ("port",)
