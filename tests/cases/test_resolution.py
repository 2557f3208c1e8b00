"""Resolution as data: each file of tests/cases/resolution contains catalogs, requests and the expected results.

    catalogs:                        one entry per Catalog
      - name: community            also: priority, message, names, packages (spec.packages), state (a CatalogState)
        default: stable              absent: the catalog does not have the package
        channels: {stable: [{name: p.v1.0.0}, {name: p.v1.1.0, replaces: p.v1.0.0}]}
        bundles: {p.v1.1.0: {version: 1.1.0, image: r/p:1.1.0, properties: [], problem: "", deprecated: ""}}    if not plain
    cases:
      - sentence: the id of the test
        request: {version: 1.1.0, channel: stable}    also: policy (an upgradeConstraintPolicy), selected (names of
                                     catalogs), approved (a version, with approval Manual), excluded (versions)
        running: {name: p.v1.0.0, catalog: community, channel: stable}    also: version, image
        chosen: p.v1.1.0             or kept: the image that stays, or refused: the message of Resolved
        explains: [parts of the explanation, in order]
        image: the image, if it is not the one that the catalog names
        short_reason: the message while the chosen bundle is being installed
        final: false                 absent: true

A plain bundle p.v1.1.0 has version 1.1.0 and image registry/p:1.1.0.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from operator_controller.resolve.answers.answer import Answer, AnswerKind
from operator_controller.resolve.answers.component_solver import solve_components
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.snapshot.cluster_snapshot import (
    CatalogSource,
    ClusterSnapshot,
    OperatorRequest,
    RecordedBundle,
)
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory

DIRECTORY = Path(__file__).parent / "resolution"
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


def document(catalog: Mapping[str, Any]) -> dict[str, Any]:
    """The resolution document of package p."""
    names = dict.fromkeys(entry["name"] for entries in catalog["channels"].values() for entry in entries)
    changed = catalog.get("bundles", {})
    return {
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


def source(catalog: Mapping[str, Any], documents: DocumentsInMemory) -> CatalogSource:
    names = catalog.get("names", ())
    return CatalogSource(
        name=catalog["name"],
        priority=catalog.get("priority", 0),
        state=CatalogState(catalog.get("state", "serving")),
        content=documents.add({"p": document(catalog)} if "channels" in catalog else {}),
        message=catalog.get("message", ""),
        package_names=tuple(each for each in names if each in catalog.get("packages", names)),
        withheld_names=tuple(each for each in names if each not in catalog.get("packages", names)),
        selected_packages=tuple(catalog["packages"]) if "packages" in catalog else None,
    )


def recorded(name: str, facts: Mapping[str, str]) -> RecordedBundle:
    text = facts.get("version", version_of(name))
    return RecordedBundle(
        name=name,
        image=facts.get("image", f"registry/p:{text}"),
        package="p",
        version=text,
        catalog=facts.get("catalog", "community"),
        channel=facts.get("channel", ""),
    )


def resolve_case(
    case: Mapping[str, Any], catalogs: list[Mapping[str, Any]], *, is_of_extension: bool = False
) -> Answer:
    request, running, installing = case.get("request", {}), case.get("running"), case.get("installing_bundle")
    documents = DocumentsInMemory()
    operator = OperatorRequest(
        name="alpha",
        uid="u",
        created="2026-01-01T00:00:00Z",
        package=request.get("package", "p"),
        channels=tuple(request.get("channels", [request["channel"]] if "channel" in request else ())),
        version=request.get("version", ""),
        excluded_versions=tuple(request.get("excluded", ())),
        catalogs=tuple(request["selected"]) if "selected" in request else None,
        ignores_upgrade_edges=request.get("policy") == "Ignore",
        is_manual="approved" in request,
        approved_version=request.get("approved", ""),
        running=recorded(running["name"], running) if running else None,
        installing=recorded(installing, {}) if installing else None,
        preferred_catalog=case.get("preferred_catalog", ""),
        is_of_extension=is_of_extension,
    )
    sources = tuple(source(catalog, documents) for catalog in case.get("catalogs", catalogs))
    (answer,) = solve_components(ClusterSnapshot((operator,), sources), documents)
    return answer


def load_cases() -> list[Any]:
    files = {path.stem: yaml.load(path.read_bytes(), yaml.CSafeLoader) for path in sorted(DIRECTORY.glob("*.yaml"))}
    return [
        pytest.param(case, content.get("catalogs", []), id=f"{stem}: {case['sentence']}")
        for stem, content in files.items()
        for case in content["cases"]
    ]


@pytest.mark.parametrize(("case", "catalogs"), load_cases())
def test_the_case(case: Mapping[str, Any], catalogs: list[Mapping[str, Any]]) -> None:
    assert case.keys() <= KNOWN_KEYS
    answer = resolve_case(case, catalogs)
    if "chosen" in case:
        assert answer.kind is AnswerKind.CHOSEN, answer
        assert answer.bundle is not None
        assert answer.bundle.name == case["chosen"]
        assert answer.is_resolved
        image = answer.bundle.image
        assert answer.message == f'resolved to "{image}"'
        assert image == case.get("image", image)
    elif "kept" in case:
        assert answer.is_resolved
        assert answer.message == f'resolved to "{case["kept"]}"'
    else:
        assert not answer.is_resolved
        assert answer.message == case["refused"]
    assert bool(answer.short_reason) is (answer.kind is AnswerKind.CHOSEN)
    assert answer.short_reason == case.get("short_reason", answer.short_reason)
    position = 0
    for part in case.get("explains", ()):
        assert part in answer.text[position:], answer.text
        position = answer.text.index(part, position)
    assert not [part for part in case.get("omits", ()) if part in answer.text], answer.text
    assert answer.is_final is case.get("final", True)
    assert len(answer.text.encode()) <= MAX_EXPLANATION_BYTES


TERMS_OF_OPERATORS = re.compile(
    r"spec\.(version|channel|catalogSelector|upgradeConstraintPolicy|availability)\b|Policy Ignore|to Ignore|this Operator"
    r"|spec\.excludedVersions(?! of its Operator)|(?<!Catalog's )spec\.packages|a higher spec\.priority|\b(a|no|create) Catalog\b"
)
"""Fields, values and kinds that the author of a ClusterExtension does not have."""


def names_terms_of_operators(case: Mapping[str, Any]) -> bool:
    texts = (case.get("refused", ""), *case.get("explains", ()))
    return any(TERMS_OF_OPERATORS.search(each) for each in texts)


@pytest.mark.parametrize(
    ("case", "catalogs"), [each for each in load_cases() if names_terms_of_operators(each.values[0])]
)
def test_advice_for_a_clusterextension_names_what_its_author_has(
    case: Mapping[str, Any], catalogs: list[Mapping[str, Any]]
) -> None:
    plain, answer = (resolve_case(case, catalogs, is_of_extension=each) for each in (False, True))
    text = f"{answer.message} {answer.text} {answer.available.reason if answer.available else ''}"
    assert not TERMS_OF_OPERATORS.search(text.replace("give one of these ClusterCatalogs a higher spec.priority", ""))
    same = ("kind", "bundle", "is_resolved", "is_final", "refusal")
    assert [getattr(plain, each) for each in same] == [getattr(answer, each) for each in same], "only words differ"


@pytest.mark.parametrize(
    ("request_", "is_offered"),
    [
        pytest.param({"version": "3.3.0"}, True, id="asks for the older version"),
        pytest.param(
            {"version": "3.3.0", "excluded": ["3.4.0"]}, True, id="asks for it, and its Operator excludes another"
        ),
        pytest.param({"excluded": ["3.4.0"]}, False, id="has an Operator that excludes what runs"),
    ],
)
def test_advice_to_create_a_clusterextension_again_if_it(request_: Mapping[str, Any], *, is_offered: bool) -> None:
    channels = {"stable": [{"name": "p.v3.3.0"}, {"name": "p.v3.4.0"}]}
    case = {"request": request_, "running": {"name": "p.v3.4.0"}}
    answer = resolve_case(
        case, [{"name": "community", "channels": channels, "default": "stable"}], is_of_extension=True
    )
    assert "cannot be reached from 3.4.0: it is older" in answer.message
    assert ("creating it again" in answer.text) is is_offered, answer.text


def test_there_are_cases() -> None:
    assert len(load_cases()) > 30
