"""Reads what the ClusterServiceVersion of a bundle requires of a cluster before anything is installed.

CustomResourceDefinitions and API services of others, kinds of Kubernetes itself (nativeAPIs), and a version of Kubernetes
(minKubeVersion). A CRD counts as served once it is established, and an API service once it is available and its kinds are
discovered: that is in ClusterInfo. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from rukpak.format.bundle import RegistryBundle
from rukpak.render.cluster_info import ClusterInfo, Served, kind_text

_VERSION = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:[-+].*)?")


def missing_kinds(bundle: RegistryBundle, own: Collection[Served], facts: ClusterInfo) -> Iterator[str]:
    """The kinds that the bundle requires and that the cluster does not serve, without its own ones; for messages."""
    for kind, text in required_kinds(bundle):
        if kind not in own and (kind not in facts.served or kind[0] in facts.failed_groups):
            yield f'{kind_text(kind)}, {text} bundle "{bundle.csv_name}" requires{facts.why_missing(kind)}'


def required_kinds(bundle: RegistryBundle) -> Iterator[tuple[Served, str]]:
    """The kinds that the bundle requires, each with a word that continues its name in a message."""
    spec = bundle.spec
    for field, text in (("customresourcedefinitions", "which"), ("apiservicedefinitions", "an API service, which")):
        for item in (spec.get(field) or {}).get("required") or ():
            group = item["group"] if "group" in item else item["name"].partition(".")[2]
            yield (group, item["version"], item["kind"]), text
    for item in spec.get("nativeAPIs") or ():
        yield (item["group"], item["version"], item["kind"]), "which"


def too_old(bundle: RegistryBundle, server_version: str) -> str:
    """That the cluster is older than the minKubeVersion of the bundle, as a message; empty if it is not, or not known."""
    wanted = _min_version(bundle)
    needed, present = _numbers(wanted), _numbers(server_version)
    if needed is None or present is None or present >= needed:
        return ""
    return f'bundle "{bundle.csv_name}" needs Kubernetes {wanted} or newer, this cluster runs {server_version}'


def invalid_version(bundle: RegistryBundle) -> str:
    """That the minKubeVersion of the bundle is no version, as a message; empty if it is one, or there is none."""
    wanted = _min_version(bundle)
    if not wanted or _numbers(wanted) is not None:
        return ""
    return f'minKubeVersion "{wanted}" of bundle "{bundle.csv_name}" is not a version such as 1.28.0'


def _min_version(bundle: RegistryBundle) -> str:
    return str(bundle.spec.get("minKubeVersion") or "").strip()


def _numbers(version: str) -> tuple[int, int, int] | None:
    """Major, minor, patch; missing parts are 0, prereleases and build metadata do not count."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return None
    major, minor, patch = (int(part or 0) for part in match.groups())
    return major, minor, patch
