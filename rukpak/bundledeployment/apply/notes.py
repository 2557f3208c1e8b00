"""The notes of what was applied, as one digest in the status: they survive the process.

A process that starts has no notes (World.last_applied). If the rendered objects and the hashes of our fields on the cluster give
the digest of the status, the objects are as the process before applied them, and nothing is dry-run or applied. Otherwise all of
them are applied again.

The hash of our fields is one of names and of a time in whole seconds, not of values: an object that is applied twice within a
second, with different values, may have the same one. So the digest is removed from the status before an object is applied in a
form that the digest does not stand for, and written again when all objects are applied. Never compares a note with the cluster
once it is known: that is drift. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import orjson

from rukpak.bundledeployment.drift import fields_hash
from rukpak.bundledeployment.plan import Apply, BeginRevision, Done, ForgetNotes
from rukpak.bundledeployment.rendered_bundle import Content, RenderedBundle, RenderedObject
from rukpak.bundledeployment.world import NAMESPACE, LastApplied, World
from rukpak.format.objects import ObjectKey

BODY_VERSION = 1
"""Part of the digest. Raised when rukpak.bundledeployment.apply.applier adds something else to the rendered objects: a new
version of rukpak then applies all of them again.
"""
BEFORE_THIS_PROCESS = datetime.min.replace(tzinfo=UTC)
"""The time of an apply by an earlier process: long enough ago that a revert is not a quick one."""


def restored(world: World) -> Mapping[ObjectKey, LastApplied]:
    """The notes of the process before; empty if there are none, or if an object is not as it was applied."""
    expected = world.deployment.status.applied_digest
    if not expected:
        return {}
    candidates = (_observed(world, content) for content in _contents(world))
    return next((notes for notes in candidates if notes and _digest(notes) == expected), {})


def is_outdated(world: World, content: RenderedBundle) -> bool:
    """Report whether the digest of the status stands for other objects than those of `content`, which are about to be applied."""
    known = world.deployment.status.applied_digest
    return known is not None and known != _noted(world, content)


def reported(world: World, outcome: Done | Exception) -> str | None:
    """The digest for the status: of the bundle whose objects are all applied. Unchanged while that is not known, and after a pass
    that may have applied some: the World is of before.
    """
    known = world.deployment.status.applied_digest
    if not isinstance(outcome, Done) or isinstance(outcome.plan, Apply):
        return known
    if isinstance(outcome.plan, BeginRevision | ForgetNotes):
        return None
    digests = (_noted(world, content) for content in _contents(world))
    return next((digest for digest in digests if digest), known)


def _contents(world: World) -> Iterator[RenderedBundle]:
    contents: tuple[Content, ...] = (world.content, world.active_content)
    return (content for content in contents if isinstance(content, RenderedBundle))


def _observed(world: World, content: RenderedBundle) -> Mapping[ObjectKey, LastApplied]:
    """The notes that its objects on the cluster would have; empty if one does not exist."""
    notes = {}
    for item in _applicable(world, content):
        live = fields_hash(world, item.key)
        if not live:
            return {}
        notes[item.key] = LastApplied(item.digest, live, BEFORE_THIS_PROCESS)
    return notes


def _noted(world: World, content: RenderedBundle) -> str:
    """The digest of the notes about its objects; empty unless each of them was applied in this form."""
    notes = {}
    for item in _applicable(world, content):
        last = world.last_applied.get(item.key)
        if last is None or last.digest != item.digest:
            return ""
        notes[item.key] = last
    return _digest(notes)


def _applicable(world: World, content: RenderedBundle) -> Iterator[RenderedObject]:
    """Its objects without the Namespaces that it only writes to and that do not exist, and without what a rollback leaves."""
    absent = content.external_namespaces - world.namespaces.keys()
    applicable = (item for item in content.objects() if not world.is_left(item.key))
    return (item for item in applicable if not (item.key[:2] == NAMESPACE and item.key.name in absent))


def _digest(notes: Mapping[ObjectKey, LastApplied]) -> str:
    entries = [[*key, last.digest, last.fields_hash] for key, last in sorted(notes.items())]
    return hashlib.sha256(orjson.dumps([BODY_VERSION, entries])).hexdigest()[:32]
