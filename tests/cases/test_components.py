"""Resolution of several packages as data: each file of tests/cases/components contains catalogs, Operators and expected results.

catalogs:                        one entry per Catalog
  - name: community              also: priority, state, message, names (those that its status lists; all of them unless
                                 lists_all is false), selects (spec.packages)
    packages:
      A: {0.1.0: [C 0.1.0]}      versions, each replaces the one before, with what each requires and provides:
                                 C >=0.1.0, kind g/v1/K, provides g/v1/K, or a property as a mapping
      B: {channels, bundles}     or a resolution document without names
      C:                         or channels by name: a version alone replaces the one before
        default: stable          by default the first channel
        channels: {stable: [0.1.0, {version: 0.2.0, skips: [0.1.0]}]}
        versions: {0.2.0: [D 0.1.0]}
        deprecated: [0.1.0]
cases:
  - sentence: the id of the test
    operators: [A@0.1.0, B]      in order of creation; or a mapping with fields of OperatorRequest, of which the
                                 package is the name by default
    installed: {C: 0.1.0}        what runs, with an Operator; also: C@community, and what of it is to be replaced
    dependencies: [C]            the installed packages that nobody asked for
    facts: {kube_version, custom_kinds: [g/v1/K]}   also: installed_kinds, of CRDs that BundleDeployments have installed
    taken: {C: what has the name}
    selected: {A: 0.1.0}         the end state of all packages, those that stay included
    refused: {B: the message of Resolved}
    explains: {B: [parts of the explanation, in order]}
    catalogs_deleted: [gone]     of these, what is installed from them is all that is left
    running_from: {A: community} the catalog that is recorded for what runs, if it is another one
    bundles: {A: A.v0.1.0}       the names of bundles of the end state
    from: {A: community}         the catalogs that packages of the end state come from
    because: {C: [A v0.1.0 requires C v0.1.0]}    the requirements that a package of the end state satisfies
    omits: {B: [parts that the explanation does not have]}
    awaited: {B: true}           whether B waits for upgrades or deletions of other Operators
    awaited_deletions: {B: [C]}  the dependencies that are deleted before B is resolved again
    final: {B: false}            whether B is Stalled, or waits for a catalog
    kinds: {B: an AnswerKind}
    to_install: {A: [C]}         the packages without an Operator that an Operator needs
    needed_by: {C: [A]}
    removed_with: {B: [C]}       the packages of the cycle of B that are deleted together with it
    available: {A: 0.2.0}
    clauses: {B: [kinds of the clauses]}
    sentences: {B: [how the sentence of each clause begins]}
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from operator_controller.resolve.answers.answer import Answer
from operator_controller.resolve.answers.component_solver import SolverMemory, solve_components
from operator_controller.resolve.documents.document_reader import read_package
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts, ClusterKind
from operator_controller.resolve.snapshot.cluster_snapshot import (
    CatalogSource,
    ClusterSnapshot,
    OperatorRequest,
    RecordedBundle,
)
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.bundle_properties import package_required
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory

DIRECTORY = Path(__file__).parent / "components"
KNOWN_KEYS = {
    "sentence", "operators", "installed", "dependencies", "facts", "taken", "selected", "refused", "explains", "kinds",
    "to_install", "needed_by", "removed_with", "available", "clauses", "catalogs", "omits", "final",
    "from", "because", "bundles", "catalogs_deleted", "running_from",
    "sentences", "awaited", "awaited_deletions",
}  # fmt: skip


def gvk(text: str) -> dict[str, str]:
    group, version, kind = text.split("/")
    return {"group": group, "version": version, "kind": kind}


def property_of(text: str | dict[str, Any]) -> dict[str, Any]:
    """`C >=0.1.0`, `kind g/v1/K`, `provides g/v1/K`, or a property."""
    if isinstance(text, dict):
        return text
    name, _, rest = text.partition(" ")
    match name:
        case "kind":
            return {"type": "olm.gvk.required", "value": gvk(rest)}
        case "provides":
            return {"type": "olm.gvk", "value": gvk(rest)}
    return package_required(name, rest)


def document(package: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """The resolution document of a package."""
    if isinstance(content.get("channels"), dict):
        return document_of_channels(package, content)
    if "channels" in content:
        return {"package": package, "defaultChannel": "stable", **content}
    names = [f"{package}.v{version}" for version in content]
    entries = [{"name": name, "replaces": before} for name, before in zip(names, ["", *names], strict=False)]
    bundles = [
        {
            "name": name,
            "version": version,
            "image": f"registry/{package}:{version}",
            "properties": [property_of(each) for each in properties or ()],
        }
        for name, (version, properties) in zip(names, content.items(), strict=True)
    ]
    channels = [{"name": "stable", "entries": entries}]
    return {"package": package, "defaultChannel": "stable", "channels": channels, "bundles": bundles}


def document_of_channels(package: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """The resolution document of a package with channels by name."""
    channels: list[dict[str, Any]] = []
    versions: dict[str, None] = {}
    for channel, listed in content["channels"].items():
        entries: list[dict[str, Any]] = []
        before = ""
        for each in listed:
            fields = each if isinstance(each, dict) else {"version": each, "replaces": before}
            before = fields["version"]
            replaced = fields.get("replaces", "")
            entries.append(
                {
                    "name": f"{package}.v{before}",
                    "replaces": f"{package}.v{replaced}" if replaced else "",
                    "skips": [f"{package}.v{version}" for version in fields.get("skips", ())],
                    "skipRange": fields.get("skipRange", ""),
                }
            )
            versions[before] = None
        channels.append({"name": channel, "entries": entries})
    required = content.get("versions", {})
    return {
        "package": package,
        "defaultChannel": content.get("default", channels[0]["name"]),
        "channels": channels,
        "bundles": [
            {
                "name": f"{package}.v{version}",
                "version": version,
                "image": f"registry/{package}:{version.replace('+', '-')}",
                "properties": [property_of(each) for each in required.get(version, ())],
            }
            for version in versions
        ],
        "deprecations": [
            {"reference": {"schema": "olm.bundle", "name": f"{package}.v{version}"}, "message": "do not use"}
            for version in content.get("deprecated", ())
        ],
    }


def recorded(package: str, version: str, catalog: Mapping[str, Any]) -> RecordedBundle:
    """A bundle of a catalog as its installation records it."""
    bundle = read_package(document(package, catalog["packages"][package])).bundles[f"{package}.v{version}"]
    properties = bundle.recorded_properties
    return RecordedBundle(bundle.name, bundle.image, package, version, catalog["name"], "stable", properties)


def requests(case: Mapping[str, Any], catalogs: list[Mapping[str, Any]]) -> dict[str, OperatorRequest]:
    """The Operators by name: first those that are installed, in the order of the case."""
    found: dict[str, OperatorRequest] = {}
    for number, (name, version) in enumerate(case.get("installed", {}).items()):
        package, _, place = name.partition("@")
        catalog = next(each for each in catalogs if place in ("", each["name"]) and package in each.get("packages", {}))
        is_dependency = package in case.get("dependencies", ())
        running = recorded(package, str(version), catalog)
        running = replace(running, catalog=case.get("running_from", {}).get(package, running.catalog))
        found[package] = OperatorRequest(
            package,
            f"uid-{package}",
            f"2026-01-01T00:00:{number:02}Z",
            package,
            running=running,
            is_dependency=is_dependency,
        )
    for number, each in enumerate(case.get("operators", ())):
        fields = (
            dict(each)
            if isinstance(each, dict)
            else {"package": each.partition("@")[0], "version": each.partition("@")[2]}
        )
        package, name = fields["package"], fields.setdefault("name", fields["package"])
        new = OperatorRequest(name, f"uid-{name}", f"2026-01-02T00:00:{number:02}Z", package)
        if "catalogs" in fields:
            fields["catalogs"] = tuple(fields["catalogs"])
        if "channel" in fields:
            fields["channels"] = (fields.pop("channel"),)
        for key in ("installing", "requested"):
            if key in fields:
                fields[key] = recorded(package, fields[key], catalogs[0])
        found[name] = replace(found.get(name, new), **fields)
    return found


def resolve_case(case: Mapping[str, Any], catalogs: list[Mapping[str, Any]]) -> dict[str, Answer]:
    """The answers by Operator."""
    documents = DocumentsInMemory()
    snapshot = snapshot_of(case, catalogs, documents)
    answers = solve_components(snapshot, documents)
    backwards = replace(snapshot, operators=snapshot.operators[::-1], catalogs=snapshot.catalogs[::-1])
    assert solve_components(backwards, documents) == answers
    return {each.operator: each for each in answers}


def names_of(catalog: Mapping[str, Any]) -> list[str]:
    """The packages that the status of a catalog lists."""
    return [*catalog.get("names", catalog.get("packages", ()))]


def snapshot_of(
    case: Mapping[str, Any], catalogs: list[Mapping[str, Any]], documents: DocumentsInMemory
) -> ClusterSnapshot:
    """The Snapshot of a case."""
    sources = [
        CatalogSource(
            name=each["name"],
            priority=each.get("priority", 0),
            state=CatalogState(each.get("state", "serving")),
            content=documents.add(
                {name: document(name, content) for name, content in each.get("packages", {}).items()}
            ),
            message=each.get("message", ""),
            package_names=tuple(name for name in names_of(each) if name in each.get("selects", [name])),
            withheld_names=tuple(name for name in names_of(each) if name not in each.get("selects", [name])),
            lists_all_packages=each.get("lists_all", True),
            selected_packages=tuple(each["selects"]) if "selects" in each else None,
        )
        for each in catalogs
        if each["name"] not in case.get("catalogs_deleted", ())
    ]
    facts = case.get("facts", {})
    kinds = {key: [gvk(text) for text in facts.get(key, ())] for key in ("custom_kinds", "installed_kinds")}
    cluster = ClusterFacts(
        facts.get("kube_version", ""),
        tuple(
            ClusterKind(each["group"], each["kind"], (each["version"],), is_installed=key == "installed_kinds")
            for key, listed in kinds.items()
            for each in listed
        ),
        tuple(facts["native_kinds"]) if "native_kinds" in facts else None,
    )
    by_name = requests(case, catalogs)
    taken = tuple(case.get("taken", {}).items())
    return ClusterSnapshot(tuple(by_name.values()), tuple(sources), cluster, taken)


def load_cases() -> list[Any]:
    files = {path.stem: yaml.load(path.read_bytes(), yaml.CSafeLoader) for path in sorted(DIRECTORY.glob("*.yaml"))}
    return [
        pytest.param(case, case.get("catalogs", content.get("catalogs", [])), id=f"{stem}: {case['sentence']}")
        for stem, content in files.items()
        for case in content["cases"]
    ]


@pytest.mark.parametrize(("case", "catalogs"), load_cases())
def test_what_is_known_before_and_after_catalogs_are_created_is_what_is_solved_anew(
    case: Mapping[str, Any], catalogs: list[Mapping[str, Any]]
) -> None:
    """Catalogs that have nothing of the case: one that is served, and two that cannot be read."""
    documents, memory = DocumentsInMemory(), SolverMemory()
    whole = snapshot_of(case, catalogs, documents)
    content = documents.add({"ZZ": document("ZZ", {"1.0.0": []})})
    idle = (
        CatalogSource("an-idle-catalog", 5, content=content, package_names=("ZZ",), lists_all_packages=True),
        CatalogSource("new", 7, CatalogState.PENDING, message="it is being unpacked"),
        CatalogSource("zz-away", 9, CatalogState.UNREACHABLE, message="no answer", package_names=("ZZ",)),
    )
    for catalogs_now in (whole.catalogs, (*whole.catalogs, *idle), whole.catalogs):
        now = replace(whole, catalogs=catalogs_now)
        known = solve_components(now, documents, memory)
        fresh = solve_components(now, documents)
        assert known == fresh


@pytest.mark.parametrize(("case", "catalogs"), load_cases())
def test_the_case(case: Mapping[str, Any], catalogs: list[Mapping[str, Any]]) -> None:
    assert case.keys() <= KNOWN_KEYS
    answers = resolve_case(case, catalogs)
    if "selected" in case:
        members = {member.package: member.version for each in answers.values() for member in each.members}
        assert members == {package: str(version) for package, version in case["selected"].items()}, answers
    members_by_package = {member.package: member for each in answers.values() for member in each.members}
    assert {name: members_by_package[name].catalog for name in case.get("from", {})} == case.get("from", {})
    assert {name: members_by_package[name].bundle for name in case.get("bundles", {})} == case.get("bundles", {})
    assert {name: list(members_by_package[name].because) for name in case.get("because", {})} == case.get("because", {})
    refused = {name: each.message for name, each in answers.items() if not each.is_resolved}
    assert refused == case.get("refused", {})
    for name, parts in case.get("explains", {}).items():
        position = 0
        for part in parts:
            assert part in answers[name].text[position:], answers[name].text
            position = answers[name].text.index(part, position)
    for name, parts in case.get("omits", {}).items():
        assert not [part for part in parts if part in answers[name].text], answers[name].text
    found: dict[str, dict[str, Any]] = {
        "final": {name: each.is_final for name, each in answers.items()},
        "awaited": {name: bool(each.awaited) for name, each in answers.items()},
        "awaited_deletions": {name: list(each.awaited_deletions) for name, each in answers.items()},
        "kinds": {name: str(each.kind) for name, each in answers.items()},
        "to_install": {name: [one.package for one in each.to_install] for name, each in answers.items()},
        "needed_by": {name: list(each.needed_by) for name, each in answers.items()},
        "removed_with": {name: list(each.removed_with) for name, each in answers.items()},
        "available": {name: each.available_version for name, each in answers.items()},
        "clauses": {name: [str(clause.kind) for clause in each.clauses] for name, each in answers.items()},
    }
    for key, values in found.items():
        assert {name: values[name] for name in case.get(key, {})} == case.get(key, {}), answers
    for name, beginnings in case.get("sentences", {}).items():
        pairs = zip(answers[name].clauses, beginnings, strict=True)
        assert all(clause.sentence.startswith(beginning) for clause, beginning in pairs), answers[name].clauses
    assert all(len(each.text.encode()) <= MAX_EXPLANATION_BYTES for each in answers.values())


def test_there_are_cases() -> None:
    assert len(load_cases()) > 20
