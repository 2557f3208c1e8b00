"""The namespaces that a BundleDeployment requires, because its namespacePolicy is MustExist.

They have no label of it, so nothing on them says that its objects are in them. rukpak deletes none of them, not even one that it
created for another BundleDeployment, and `olm` says so. Reads BundleDeployments as they are on the cluster. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmkit.api.bundledeployment_status import RevisionOutcome
from olmkit.api.install_policies import MUST_EXIST


def required_namespaces(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the namespaces that a BundleDeployment requires, sorted. An index of the informer.

    These are the namespaces of spec, and those of each revision whose objects may still be there.
    """
    settings = (raw["spec"], *map(_settings, _kept_revisions(raw.get("status") or {})))
    return tuple(sorted({name for each in settings for name in named_namespaces(each) if _must_exist(each)}))


def all_required_namespaces(deployments: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The names of the namespaces that any of these BundleDeployments requires."""
    return frozenset(name for each in deployments for name in required_namespaces(each))


def named_namespaces(settings: Mapping[str, Any]) -> Iterator[str]:
    """The namespaces that the spec of a BundleDeployment names: to install into, and to watch."""
    yield from filter(None, (settings.get("installNamespace"), *(settings.get("watchNamespaces") or ())))


def _must_exist(settings: Mapping[str, Any]) -> bool:
    return settings.get("namespacePolicy") == MUST_EXIST


def _kept_revisions(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The revisions whose objects may be there: the newest ones, down to one that has succeeded, which a rollback brings back;
    and the installed one."""
    is_older = False
    for revision in status.get("history") or ():
        if not is_older or revision.get("revision") == status.get("revision"):
            yield revision
        is_older |= revision.get("outcome") == RevisionOutcome.SUCCEEDED


def _settings(revision: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of spec that said how to install a revision; empty if they cannot be read, or name no such policy."""
    text = revision.get("install") or ""
    if MUST_EXIST not in text:  # most do not: a config can be large
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
