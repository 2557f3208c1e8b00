"""The validator good-practices: requests of resources, descriptions, names of channels and of the version, permissions on
CustomResourceDefinitions. Pure.

The names of channels are checked by upstream's rule, which its loader never lets come to pass: this finding is extra. So are the
permissions and the requests that upstream overlooks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from olmctl.validation.finding import ERROR, WARNING, Finding
from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.optional.csv_findings import (
    DEPLOYMENTS,
    Path,
    Reporter,
    Values,
    containers,
    install_spec,
    quoted_list,
    text_of,
    texts_of,
)
from olmctl.validation.places import line_of
from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import BadVersion, parse_version
from rukpak.format.objects import mapping, mappings

CHANNELS: Final = "operators.operatorframework.io.bundle.channels.v1"
DEFAULT_CHANNEL: Final = "operators.operatorframework.io.bundle.channel.default.v1"
_PREFIXES: Final = ("candidate", "stable", "fast")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+)?\Z")
_MAX_NAME: Final = 1000
"""Characters of a name that are searched for a version."""
_GROUP: Final = "apiextensions.k8s.io"
_RESOURCES: Final = frozenset({"customresourcedefinitions", "*", "[*]"})
_VERBS: Final = frozenset({"create", "patch", "*", "[*]"})
_REQUESTS: Final = (
    "It is recommended to ensure the resource request for CPU and Memory. Be aware that for some clusters configurations it is "
    "required to specify requests or limits for those values. Otherwise, the system or quota may reject Pod creation. More "
    "info: https://master.sdk.operatorframework.io/docs/best-practices/managing-resources/"
)
_PERMISSIONS: Final = (
    "CSV contains permissions to create CRD. An Operator shouldn't deploy or manage other operators (such patterns are known as "
    "meta or super operators or include CRDs in its Operands). It's the Operator Lifecycle Manager's job to manage the "
    "deployment and lifecycle of operators.  Please, review the design of your solution and if you should not be using "
    "Dependency Resolution from OLM instead. More info: "
    "https://sdk.operatorframework.io/docs/best-practices/common-recommendation/"
)
_PERMISSIONS_HINT: Final = (
    "Put the CustomResourceDefinitions into the bundle, and leave out the verbs create and patch."
)


def good_practices(bundle: LoadedBundle, values: Values) -> Iterator[Finding]:
    """The findings of good-practices."""
    report = Reporter.of("good-practices", bundle)
    if report is None:
        return
    yield from _request_findings(report)
    yield from _description_findings(report)
    yield from _channel_findings(report, bundle)
    yield from _permission_findings(report)
    yield from _name_findings(report)


def _request_findings(report: Reporter) -> Iterator[Finding]:
    if install_spec(report.csv).get("deployments") is None:
        text = "unable to find a deployment to install in the CSV"
        hint = "Add the Deployments to spec.install.spec.deployments; if there are none, write an empty list."
        yield report.failed(ERROR, "no-deployment", text, DEPLOYMENTS, hint)
        return
    for path, container, _ in containers(report.csv):
        requests = mapping(container.get("resources")).get("requests")
        name = text_of(container.get("name"))
        if requests is None:
            text = f"unable to find the resource requests for the container: ({name}). {_REQUESTS}"
            hint = "Set resources.requests.cpu and resources.requests.memory."
            yield report.failed(WARNING, "resource-requests", text, path, hint)
        elif missing := [each for each in ("cpu", "memory") if mapping(requests).get(each) is None]:
            text = f"container {quoted(name)} requests no {' and no '.join(missing)}"
            hint = f"Set {' and '.join(f'resources.requests.{each}' for each in missing)}."
            found = report.failed(WARNING, "resource-requests-partial", text, path, hint)
            yield replace(found, extra=True)


def _description_findings(report: Reporter) -> Iterator[Finding]:
    definitions = mapping(report.csv.spec.get("customresourcedefinitions"))
    for relation in ("owned", "required"):
        for index, item in enumerate(mappings(definitions.get(relation))):
            if not item.get("description"):
                text = f"{relation} CRD {quoted(text_of(item.get('name')))} has an empty description"
                path = ("spec", "customresourcedefinitions", relation, index)
                yield report.failed(WARNING, "crd-description", text, path, "Describe the kind in description.")


def _channel_findings(report: Reporter, bundle: LoadedBundle) -> Iterator[Finding]:
    given = f"{bundle.annotations.get(CHANNELS) or ''},{bundle.annotations.get(DEFAULT_CHANNEL) or ''}"
    unusual = sorted(
        {channel for each in given.split(",") if (channel := each.strip()) and not channel.startswith(_PREFIXES)}
    )
    if not unusual:
        return
    text = (
        f"channel(s) {quoted_list(unusual)} are not following the recommended naming convention: "
        "https://olm.operatorframework.io/docs/best-practices/channel-naming"
    )
    found = report.failed(WARNING, "channel-name", text, hint=f"Begin the names with {', '.join(_PREFIXES)}.")
    file = bundle.annotations_file
    line = line_of(bundle.files[file], ("annotations", CHANNELS)) if file in bundle.files else 0
    yield replace(found, extra=True, file=file, line=line)


def _permission_findings(report: Reporter) -> Iterator[Finding]:
    wide: Path | None = None
    for field in ("permissions", "clusterPermissions"):
        for index, entry in enumerate(mappings(install_spec(report.csv).get(field))):
            for number, rule in enumerate(mappings(entry.get("rules"))):
                path = ("spec", "install", "spec", field, index, "rules", number)
                if _creates_definitions(rule, _GROUP):
                    yield report.failed(WARNING, "crd-permission", _PERMISSIONS, path, _PERMISSIONS_HINT)
                    return
                if wide is None and _creates_definitions(rule, "*"):
                    wide = path
    if wide is not None:
        text = 'permissions on all API groups ("*") include those to create CRDs'
        yield replace(report.failed(WARNING, "crd-permission-all-groups", text, wide, _PERMISSIONS_HINT), extra=True)


def _creates_definitions(rule: Mapping[str, Any], group: str) -> bool:
    groups, resources, verbs = (texts_of(rule.get(field)) for field in ("apiGroups", "resources", "verbs"))
    return group in groups and not _RESOURCES.isdisjoint(resources) and not _VERBS.isdisjoint(verbs)


def _name_findings(report: Reporter) -> Iterator[Finding]:
    name, path = report.csv.name, ("metadata", "name")
    hint = "Name it <package>.v<version>, such as memcached-operator.v0.0.1."
    if not _ends_in_version(name):
        text = (
            f"csv.metadata.Name {name} is not following the versioning convention (MAJOR.MINOR.PATCH e.g 0.0.1): "
            "https://semver.org/"
        )
        yield report.failed(WARNING, "csv-name-version", text, path, hint)
    if name.count(".v") != 1:
        text = (
            f"csv.metadata.Name {name} is not following the recommended naming convention: <operator-name>.v<semver> e.g. "
            "memcached-operator.v0.0.1"
        )
        yield report.failed(WARNING, "csv-name-convention", text, path, hint)


def _ends_in_version(name: str) -> bool:
    found = _VERSION.search(name[-_MAX_NAME:])
    if found is None:
        return False
    try:
        parse_version(found[0])
    except BadVersion:
        return False
    return True
