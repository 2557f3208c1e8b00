"""Previews of installations in a real process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from console import previewer as module
from console.preview_request import PreviewRequest
from console.previewer import Previewer

TREE = {"type": "olm.package.required", "value": {"packageName": "lib", "versionRange": ">=1.0.0"}}


def document(package: str, *versions: str, properties: tuple[Any, ...] = ()) -> dict[str, Any]:
    """The resolution document of a package with one channel, in which each version replaces the one before."""
    names = [f"{package}.v{version}" for version in versions]
    entries = [
        {"name": name, "replaces": names[number - 1] if number else "", "skips": [], "skipRange": ""}
        for number, name in enumerate(names)
    ]
    bundles = [
        {"name": name, "image": "i", "version": version, "mediaType": "registry+v1", "properties": list(properties)}
        for name, version in zip(names, versions, strict=True)
    ]
    return {
        "package": package,
        "defaultChannel": "stable",
        "channels": [{"name": "stable", "entries": entries}],
        "bundles": bundles,
        "deprecations": [],
    }


DOCUMENTS = {"app": document("app", "1.0.0", "1.1.0", properties=(TREE,)), "lib": document("lib", "1.0.0", "2.0.0")}


def asked(**changes: Any) -> PreviewRequest:
    given = {"catalog": "c", "package": "app", "version": "", "channel": "", "installed": {}, "documents": DOCUMENTS}
    return PreviewRequest(**{**given, **changes})


@pytest.fixture
async def previewer() -> AsyncIterator[Previewer]:
    made = Previewer()
    yield made
    await made.close()


async def test_a_package_with_what_it_requires_beside_what_is_installed(previewer: Previewer) -> None:
    found = await previewer.preview(asked())
    assert [(each.package, each.version) for each in found.bundles] == [("app", "1.1.0"), ("lib", "2.0.0")]
    assert found.bundles[1].because == ('app v1.1.0 requires lib ">=1.0.0"',)
    kept = await previewer.preview(asked(installed={"lib": "1.0.0", "gone": "9.9.9"}, version="1.0.0"))
    assert {each.package: each.version for each in kept.bundles} == {"app": "1.0.0", "lib": "1.0.0"}
    assert "none is 7.0.0" in (await previewer.preview(asked(version="7.0.0"))).refusal
    assert previewer._worker is not None
    assert previewer._worker.started == 1


async def test_what_takes_long_is_ended_and_the_next_one_is_answered(
    previewer: Previewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await previewer.preview(asked())).bundles
    with monkeypatch.context() as patch:
        patch.setattr(module, "WAIT_SECONDS", 0.0)
        late = await previewer.preview(asked())
    assert (late.problem, late.is_late) == ("other previews take their time", True)
    first, second = await asyncio.gather(previewer.preview(asked()), previewer.preview(asked(version="1.0.0")))
    assert [found.bundles[0].version for found in (first, second)] == ["1.1.0", "1.0.0"]


@pytest.mark.parametrize(
    "documents",
    [
        {},
        {"app": {}},
        {"app": {"package": "app", "bundles": 5}},
        {"app": document("app", "not a version")},
        {"app": {**DOCUMENTS["app"], "bundles": []}},
    ],
)
async def test_hostile_documents_end_nothing(previewer: Previewer, documents: dict[str, Any]) -> None:
    found = await previewer.preview(asked(documents=documents))
    assert (bool(found.refusal or found.problem), found.bundles) == (True, ())
