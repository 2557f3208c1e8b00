"""The faults that rukpak refuses when it reads and renders a bundle, as findings with the lines that they are about.

The rules are those of rukpak.format and rukpak.render, and stand only there. What upstream's validators or the other extra checks
report is left out here. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from olmctl.validation.extra.parsed_files import ParsedFile, parse_file
from olmctl.validation.extra.report import Checked, Path, Place, entries, found_at, found_in
from olmctl.validation.finding import ERROR, WARNING, Finding, Level
from olmctl.validation.loaded_bundle import Document
from rukpak.format import BadBundle, RegistryBundle, read_registry
from rukpak.render.cluster_info import ClusterInfo
from rukpak.render.install_modes import ALL, MULTI, OWN, SINGLE
from rukpak.render.namespaces import install_namespace
from rukpak.render.preflight import check
from rukpak.render.refusals import applicable
from rukpak.render.renderer import RenderOptions, render

_HINT: Final = "Correct it: the bundle cannot be installed like this."
_WATCHED: Final = ("watched-by-validate", "watched-by-validate-too")
"""The namespaces that a bundle is rendered for if it can watch neither all namespaces nor its own."""


@dataclass(frozen=True)
class _Known:
    """A message of rukpak: the pattern, and the rule; "" if another check reports the same."""

    pattern: re.Pattern[str]
    rule: str = ""
    hint: str = ""


def _known(pattern: str, rule: str = "", hint: str = "") -> _Known:
    return _Known(re.compile(pattern), rule, hint)


_KNOWN: Final = (
    _known(
        r"error parsing objects in .*: (?:line \d+.*|apiVersion is missing|.* has no metadata(?:\.name)?|kind is missing)\Z"
    ),
    _known(
        r"error parsing objects in .*(?:labels|annotations): .* must be text in quotes",
        "metadata-text",
        "Write it in quotes.",
    ),
    _known(r"subdirectories are not allowed"),
    _known(r'(?:no ClusterServiceVersion found|\d+ ClusterServiceVersions found|the bundle has no "manifests")'),
    _known(r".* is there \d+ times"),
    _known(r"package name is empty"),
    _known(r"metadata/(?:annotations|properties)\.yaml"),
    _known(
        r".*annotation olm\.properties must be a JSON list", "olm-properties", "Write a JSON list of {type, value}."
    ),
    _known(r"cluster service version contains duplicate strategy deployment"),
    _known(r"invalid cluster service version strategy deployment name", "deployment-name", "Use a DNS name."),
    _known(r"bundle contains duplicate custom resource definition"),
    _known(r"cluster service definition references owned custom resource definition"),
    _known(r"bundle contains conversion webhook"),
    _known(
        r"webhook of type '.*' with name '(?P<webhook>.*)' references non-existent deployment",
        "webhook-deployment",
        "Let deploymentName be the name of a Deployment of this ClusterServiceVersion.",
    ),
    _known(
        r"duplicate webhook '(?P<webhook>.*)' of type", "webhook-twice", "Give each webhook a generateName of its own."
    ),
    _known(
        r"webhook of type '.*' has invalid name '(?P<webhook>.*)': ",
        "webhook-name",
        "Set generateName to a DNS name, such as vmemcached.kb.io.",
    ),
    _known(
        r"conversion webhooks \[.*\] reference same custom resource definition",
        "webhook-conversion",
        "Let one webhook convert a definition.",
    ),
    _known(
        r"conversion webhook '(?P<webhook>.*)' references custom resource definition '.*' not owned bundle",
        "webhook-conversion",
        "Name only definitions that this bundle owns in conversionCRDs.",
    ),
    _known(r"webhook \"(?P<webhook>.*)\" contains forbidden rule", "webhook-rules", "Leave this out of the rules."),
    _known(r"unsupported resource"),
    _known(r'bundle ".*" supports (?:no install mode at all|only the unknown install modes)'),
    _known(
        r"custom resource definition '.*' must have \.spec\.preserveUnknownFields set to false", "conversion-pruning"
    ),
    _known(r"API service .* references non-existent deployment", "apiservice-deployment"),
    _known(r"Deployment\.apps [^:]*: .*\.(?:ports|containers|initContainers|volumes) has .*with different values"),
    _known(r"[^:]*: .* has .*, with different values", "repeated-item", "Keep one of the items."),
    _known(r"ClusterServiceVersion .*: spec\.(?:version|install\.spec\.deployments) "),
    _known(r"the bundle cannot run on Kubernetes 1\.22 or newer"),
    _known(r'minKubeVersion ".*" of bundle'),
    _known(r".* has a name that Kubernetes does not accept"),
)
_FILE = re.compile(r'error parsing objects in "([^"]*)"')
_OBJECT = re.compile(r"(?:[A-Za-z]+(?:\.[a-z0-9.-]+)?) (?:[a-z0-9-]+/)?([^ :/]+)")
_REPEATED = re.compile(r"Deployment\.apps [^:]*: .*\.(?:env|ports|containers|initContainers|volumes) has ")
"""The notes that olmctl.validation.extra.deployments reports, with the line."""


def install_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about what rukpak refuses, and about items that it makes one."""
    try:
        bundle = read_registry(_files(checked), _reader(checked))
        notes = _rendered(bundle)
    except BadBundle as error:
        for message in error.errors:
            yield from _refused(checked, message)
        return
    for note in notes:
        if not _REPEATED.match(note):
            yield _placed(checked, WARNING, "repeated-item", note, "Keep one of the items.")


def _files(checked: Checked) -> Mapping[str, bytes]:
    return {name: data for name, data in checked.bundle.files.items() if name.startswith(("manifests/", "metadata/"))}


def _reader(checked: Checked) -> Any:
    parsed: dict[bytes, ParsedFile] = {checked.bundle.files[name]: file for name, file in checked.files.items()}

    def read(data: bytes) -> list[Any]:
        found = parsed.get(data) or parse_file(data)
        if found.error is not None:
            raise found.error
        return list(found.documents)

    return read


def _rendered(bundle: RegistryBundle) -> tuple[str, ...]:
    """Render and check the bundle as `olm bundle render` and rukpak do; returns the notes. Raises BadBundle."""
    namespace, _ = install_namespace(bundle)
    modes = bundle.install_modes
    targets = None
    if ALL not in modes and OWN not in modes and (SINGLE in modes or MULTI in modes):
        targets = _WATCHED[:1] if SINGLE in modes else _WATCHED
    manifests, notes = applicable(bundle, render(bundle, RenderOptions(namespace, targets)))
    if faults := check(manifests, bundle, ClusterInfo(served=frozenset())).faults:
        raise BadBundle.of("", faults)
    return notes


def _refused(checked: Checked, message: str) -> Iterator[Finding]:
    known = next((each for each in _KNOWN if each.pattern.match(message)), None)
    if known is None:
        yield _placed(checked, ERROR, "install-refused", message, _HINT)
    elif known.rule:
        match = known.pattern.match(message)
        webhook = match.groupdict().get("webhook") if match else None
        yield _placed(checked, ERROR, known.rule, message, known.hint or _HINT, webhook)


def _placed(checked: Checked, level: Level, rule: str, message: str, hint: str, webhook: str | None = None) -> Finding:
    """The finding at the file that the message names, else at the object, else at the ClusterServiceVersion."""
    if file := _FILE.match(message):
        name = f"{checked.bundle.manifests}/{file[1]}"
        document = next((each for each in checked.bundle.documents if each.file == name), None)
        return (
            found_at(level, rule, message, document, hint=hint)
            if document
            else found_in(level, rule, message, Place(name), hint)
        )
    if webhook is not None:
        for index, each in entries(checked.csv.spec.get("webhookdefinitions")):
            if str(each.get("generateName") or "") == webhook:
                path: Path = ("spec", "webhookdefinitions", index)
                return found_at(level, rule, message, checked.csv, path, hint)
    return found_at(level, rule, message, _document(checked, message) or checked.csv, _path(checked, message), hint)


def _document(checked: Checked, message: str) -> Document | None:
    """The object of the bundle that a message begins with: `Service ns/name: ...`."""
    found = _OBJECT.match(message)
    kind = message.partition(" ")[0].partition(".")[0]
    return next(
        (each for each in checked.bundle.documents if found and each.kind == kind and each.name == found[1]), None
    )


def _path(checked: Checked, message: str) -> Path:
    """The path of the Deployment that a message begins with."""
    found = _OBJECT.match(message)
    if not message.startswith("Deployment.apps ") or found is None:
        return ()
    return next(
        (
            ("spec", "install", "spec", "deployments", index)
            for index, deployment in checked.deployments
            if deployment.get("name") == found[1]
        ),
        (),
    )
