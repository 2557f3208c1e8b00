"""What is kept of a CustomResourceDefinition, and when two of them are equal."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.customresourcedefinitions import (
    Conversion,
    CustomResourceDefinition,
    conversion_of,
    custom_resource_definition,
    definition_of,
    trim,
)

Object = dict[str, Any]

ESTABLISHED = {"type": "Established", "status": "True"}
VERSIONS = (
    {"name": "v2", "served": True, "storage": False, "schema": {}},
    {"name": "v1", "served": True, "storage": True},
    {"name": "v0", "served": False, "storage": False},
)


def crd(*conditions: Object, versions: tuple[Object, ...] = VERSIONS, **metadata: Any) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "boats.example.com",
            "uid": "u",
            "resourceVersion": "9",
            "labels": {"core.rukpak.io/owner-uid": "owner", "app": "x"},
            "annotations": {"long": "x" * 100},
            **metadata,
        },
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Boat", "plural": "boats"},
            "versions": list(versions),
        },
        "status": {"conditions": list(conditions)},
    }


def facts(*conditions: Object, **metadata: Any) -> CustomResourceDefinition:
    return custom_resource_definition(crd(*conditions, **metadata))


def test_a_crd_is_what_it_defines() -> None:
    found = facts(ESTABLISHED)
    assert found == CustomResourceDefinition(
        name="boats.example.com",
        uid="u",
        group="example.com",
        kind="Boat",
        plural="boats",
        is_namespaced=True,
        served_versions=("v2", "v1"),
        storage_version="v1",
        is_established=True,
        owner_uid="owner",
        is_unattributed=True,
    )
    assert found.resource_version == "9"
    assert found.group_kind == ("example.com", "Boat")
    assert found.is_served


def test_an_informer_keeps_its_identity_and_the_facts_alone() -> None:
    kept = trim(crd(ESTABLISHED, generation=3))
    assert kept["metadata"] == {"name": "boats.example.com", "uid": "u", "resourceVersion": "9", "generation": 3}
    assert set(kept) == {"metadata", "definition"}
    assert definition_of(kept) == facts(ESTABLISHED)


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(None, id="there is none"),
        pytest.param({"metadata": {"name": "boats.example.com"}}, id="the informer could not trim it"),
    ],
)
def test_a_crd_that_cannot_be_read_has_no_facts(obj: Object | None) -> None:
    assert definition_of(obj) is None


def test_crds_that_differ_in_the_resource_version_alone_are_equal() -> None:
    assert facts(ESTABLISHED) == facts(ESTABLISHED, resourceVersion="10")
    assert facts(ESTABLISHED) != facts(ESTABLISHED, uid="another")


def test_a_crd_that_is_being_deleted_is_not_served() -> None:
    found = facts(ESTABLISHED, deletionTimestamp="2026-01-01T11:00:00Z")
    assert (found.is_established, found.is_terminating, found.is_served) == (True, True, False)


def test_a_crd_without_a_served_version_is_not_served() -> None:
    found = facts(ESTABLISHED, versions=VERSIONS[2:])
    assert (found.is_established, found.served_versions, found.is_served) == (True, (), False)


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        pytest.param([], "", id="its controller has not observed it"),
        pytest.param(
            [
                {"type": "NamesAccepted", "status": "True", "message": "no conflicts found"},
                {"type": "Established", "status": "False", "message": "the initial names have been accepted"},
            ],
            "",
            id="not yet",
        ),
        pytest.param(
            [
                {"type": "Established", "status": "False", "message": "not all names are accepted"},
                {"type": "NamesAccepted", "status": "False", "message": '"boats" is already in use'},
            ],
            '"boats" is already in use',
            id="its names are taken",
        ),
    ],
)
def test_why_a_crd_is_not_established(conditions: list[Object], problem: str) -> None:
    found = facts(*conditions)
    assert (found.is_established, found.problem, found.is_served) == (False, problem, False)


def test_a_crd_that_was_released_has_no_owner() -> None:
    found = facts(ESTABLISHED, labels={}, annotations={"core.rukpak.io/released": "ship"})
    assert (found.owner_uid, found.released_by) == ("", "ship")


@pytest.mark.parametrize(
    ("conversion", "expected"),
    [
        pytest.param(None, Conversion(), id="there is none"),
        pytest.param({"strategy": "None"}, Conversion(), id="only the version is replaced"),
        pytest.param(
            {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"namespace": "n", "name": "s"}}}},
            Conversion("Webhook", "n", "s", "", 443),
            id="a Service, with the default port",
        ),
        pytest.param(
            {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://example.com/c", "caBundle": "x"}}},
            Conversion("Webhook", url="https://example.com/c"),
            id="a URL",
        ),
    ],
)
def test_the_conversion_of_a_definition_is_where_its_webhook_is(
    conversion: Object | None, expected: Conversion
) -> None:
    assert conversion_of({"spec": {"conversion": conversion}}) == expected


@pytest.mark.parametrize(
    ("served", "stored", "expected"),
    [
        pytest.param(("v1",), ("v1",), (), id="one version"),
        pytest.param(("v2", "v1"), ("v1",), ("v1", "v2"), id="two are served"),
        pytest.param(("v2",), ("v1", "v2"), ("v1", "v2"), id="objects may be stored in one that is not served"),
    ],
)
def test_custom_resources_are_converted_between_versions_that_are_served_or_stored(
    served: tuple[str, ...], stored: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    found = CustomResourceDefinition("boats.example.com", served_versions=served, stored_versions=stored)
    assert found.converted_versions == expected
