"""The versions of a package that the catalogs offer."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from olmctl.questions.offered_versions import package_versions, without_prefix
from olmctl.questions.session import Session
from olmkit.api.package_annotations import VERSIONS_ANNOTATION
from olmkit.errors import Forbidden

Object = dict[str, Any]


class Client:
    """Lists these objects, or raises."""

    def __init__(self, *objects: Object, error: Exception | None = None) -> None:
        self.objects, self.error = list(objects), error

    async def list(self, *_: object, **__: object) -> tuple[list[Object], str]:
        """The objects."""
        if self.error is not None:
            raise self.error
        return self.objects, "1"


class Desk:
    """A session with that client."""

    def __init__(self, client: Client) -> None:
        self.client = client


def package(name: str, catalog: str, versions: str) -> Object:
    """A Package object."""
    metadata = {"name": f"{catalog}-{name}", "annotations": {VERSIONS_ANNOTATION: versions}}
    return {"metadata": metadata, "spec": {"packageName": name, "catalog": {"name": catalog}}}


@pytest.mark.parametrize(
    ("client", "versions"),
    [
        pytest.param(Client(), [], id="no catalog has it"),
        pytest.param(
            Client(package("tools", "a", "1.1.0,1.0.0"), package("tools", "b", "2.0.0"), package("else", "b", "9.0.0")),
            ["1.0.0", "1.1.0", "2.0.0"],
            id="two catalogs have it",
        ),
        pytest.param(Client(error=Forbidden(403, "Forbidden", "no")), None, id="who may not list packages"),
    ],
)
def test_the_versions_of_all_catalogs(client: Client, versions: list[str] | None) -> None:
    found = asyncio.run(package_versions(cast("Session", Desk(client)), "tools"))
    assert (None if found is None else sorted(map(str, found))) == versions


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("v0.2.0", "0.2.0", id="that of a tag"),
        pytest.param("0.2.0-v1", "0.2.0-v1", id="a version"),
        pytest.param("vault", "vault", id="a word"),
    ],
)
def test_a_version_without_the_v_of_its_tag(text: str, version: str) -> None:
    assert without_prefix(text) == version
