"""Resolution as data: each file of tests/cases/resolution contains catalogs, requests and the expected results.

    catalogs:                        one entry per Catalog
      - name: community            also: priority, message, names, state (a CatalogState)
        default: stable              absent: the catalog does not have the package
        channels: {stable: [{name: p.v1.0.0}, {name: p.v1.1.0, replaces: p.v1.0.0}]}
        bundles: {p.v1.1.0: {version: 1.1.0, image: r/p:1.1.0, properties: [], problem: "", deprecated: ""}}    if not plain
    cases:
      - sentence: the id of the test
        request: {version: 1.1.0, channel: stable}
        running: {name: p.v1.0.0, catalog: community, channel: stable}    also: version, image
        chosen: p.v1.1.0             or kept: the image that stays, or refused: the message of Resolved
        explains: [parts of the explanation, in order]
        image: the image, if it is not the one that the catalog names
        short_reason: the message while the chosen bundle is being installed
        final: false                 absent: true

A plain bundle p.v1.1.0 has version 1.1.0 and image registry/p:1.1.0.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmkit.gocompat.versions import parse_bundle_version
from operator_controller.resolve.explain import MAX_EXPLANATION_BYTES, explain
from operator_controller.resolve.package import read_package
from operator_controller.resolve.resolution import Chosen, Resolution
from operator_controller.resolve.resolver import resolve
from operator_controller.resolve.snapshot import CatalogOffer, CatalogState, PackageRequest, RunningBundle, Snapshot
from operator_controller.resolve.version_range import MastermindsRange

FOLDER = Path(__file__).parent / "resolution"
KNOWN_KEYS = {
    "sentence",
    "request",
    "running",
    "chosen",
    "kept",
    "refused",
    "explains",
    "omits",
    "short_reason",
    "image",
    "final",
    "catalogs",
    "installing_bundle",
    "preferred_catalog",
}


def version_of(name: str) -> str:
    return name.partition(".v")[2]


def offer(catalog: Mapping[str, Any]) -> CatalogOffer:
    package = None
    if "channels" in catalog:
        names = dict.fromkeys(entry["name"] for entries in catalog["channels"].values() for entry in entries)
        changed = catalog.get("bundles", {})
        package = read_package(
            {
                "package": "p",
                "defaultChannel": catalog.get("default", ""),
                "channels": [{"name": name, "entries": entries} for name, entries in catalog["channels"].items()],
                "bundles": [
                    {"name": name, "version": version_of(name), "image": f"registry/p:{version_of(name)}"}
                    | changed.get(name, {})
                    for name in [*names, *(changed.keys() - names.keys())]
                    if changed.get(name, {}) is not None
                ],
                "deprecations": [
                    {"reference": {"schema": "olm.bundle", "name": name}, "message": facts["deprecated"]}
                    for name, facts in changed.items()
                    if facts and "deprecated" in facts
                ],
            }
        )
    return CatalogOffer(
        catalog=catalog["name"],
        priority=catalog.get("priority", 0),
        state=CatalogState(catalog.get("state", "serving")),
        package=package,
        message=catalog.get("message", ""),
        package_names=tuple(catalog.get("names", ())),
    )


def running(facts: Mapping[str, str] | None) -> RunningBundle | None:
    if facts is None:
        return None
    text = facts.get("version", version_of(facts["name"]))
    return RunningBundle(
        name=facts["name"],
        image=facts.get("image", f"registry/p:{text}"),
        package="p",
        version=parse_bundle_version(text),
        version_text=text,
        catalog=facts.get("catalog", "community"),
        channel=facts.get("channel", ""),
    )


def resolve_case(case: Mapping[str, Any], catalogs: list[Mapping[str, Any]]) -> Resolution:
    request = case.get("request", {})
    version = request.get("version")
    return resolve(
        Snapshot(
            request=PackageRequest(
                request.get("package", "p"),
                request.get("channel", ""),
                MastermindsRange.parse(version) if version else None,
            ),
            offers=tuple(offer(catalog) for catalog in case.get("catalogs", catalogs)),
            running=running(case.get("running")),
            installing_bundle=case.get("installing_bundle", ""),
            preferred_catalog=case.get("preferred_catalog", ""),
        )
    )


def load_cases() -> list[Any]:
    files = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))}
    return [
        pytest.param(case, content.get("catalogs", []), id=f"{stem}: {case['sentence']}")
        for stem, content in files.items()
        for case in content["cases"]
    ]


@pytest.mark.parametrize(("case", "catalogs"), load_cases())
def test_the_case(case: Mapping[str, Any], catalogs: list[Mapping[str, Any]]) -> None:
    assert case.keys() <= KNOWN_KEYS
    resolution = resolve_case(case, catalogs)
    explanation = explain(resolution)
    if "chosen" in case:
        assert isinstance(resolution.outcome, Chosen), explanation
        assert resolution.outcome.candidate.bundle.name == case["chosen"]
        assert explanation.is_resolved
        image = resolution.outcome.candidate.bundle.image
        assert explanation.message == f'resolved to "{image}"'
        assert image == case.get("image", image)
    elif "kept" in case:
        assert explanation.is_resolved
        assert explanation.message == f'resolved to "{case["kept"]}"'
    else:
        assert not explanation.is_resolved
        assert explanation.message == case["refused"]
    assert bool(explanation.short_reason) is isinstance(resolution.outcome, Chosen)
    assert explanation.short_reason == case.get("short_reason", explanation.short_reason)
    position = 0
    for part in case.get("explains", ()):
        assert part in explanation.text[position:], explanation.text
        position = explanation.text.index(part, position)
    assert not [part for part in case.get("omits", ()) if part in explanation.text], explanation.text
    assert resolution.is_final is case.get("final", True)
    assert len(explanation.text.encode()) <= MAX_EXPLANATION_BYTES


def test_there_are_cases() -> None:
    assert len(load_cases()) > 30
