"""The CustomResourceDefinitions of a bundle that may come, judged as rukpak will judge them: by those on the cluster, the
settings of the Operator, and the custom resources that exist.

Custom resources are read as the user, and evaluated in this process. Changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmctl.diff.definitions import DefinitionChange, broken_rules, definition_changes
from olmctl.questions.errors import after
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import customresourcedefinitions
from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from olmkit.api.meta import Object
from olmkit.crd_safety.compare import Definition
from olmkit.crd_safety.evidence import Check, Evidence
from olmkit.crd_safety.forms import wanted_forms
from olmkit.crd_safety.object_evaluation import evaluate
from olmkit.crd_safety.verdict import Verdict, judge
from olmkit.errors import ApiError, NotFound
from rukpak.crds.collector import Collector, Subject
from rukpak.format.objects import BundleObject

MAX_CONCURRENT_READS = 8


@dataclass(frozen=True)
class PlannedDefinitions:
    """The changes of the CustomResourceDefinitions, and whether they prevent the upgrade."""

    changes: tuple[DefinitionChange, ...]
    verdict: Verdict
    unread: tuple[str, ...] = ()
    """Sentences about those that could not be read from the cluster, and were compared with the bundle that runs."""


def definitions_of(objects: Sequence[BundleObject]) -> dict[str, Definition]:
    """The CustomResourceDefinitions among the objects of a bundle, by name."""
    return {item.name: item.body for item in objects if item.key[:2] == customresourcedefinitions.KIND.group_kind}


async def planned_definitions(
    session: Session,
    new: Mapping[str, Definition],
    settings: CrdUpgradeSafety | None,
    running: Mapping[str, Definition],
    awaited: Collection[str] = (),
) -> PlannedDefinitions:
    """`new` and `running` are those of the bundle that may come and of the one that runs, by name: one that cannot be read from
    the cluster is compared with that of the bundle that runs. `awaited`: those whose conversion webhook the upgrade waits for.
    Raises ApiError if custom resources cannot be listed now."""
    old, unread = await _live(session, new, running)
    problems = broken_rules(old, new)
    forms = wanted_forms(problems, settings)
    subjects = {name: Subject(old[name], new[name], found) for name, found in problems.items()}
    with after(unread):
        collected = await Collector(session.client, _evaluated).collect(subjects, forms, settings)
    verdict = judge(problems, collected.evidence, settings)
    return PlannedDefinitions(tuple(definition_changes(old, new, problems, verdict, awaited)), verdict, unread)


async def _evaluated(checks: list[Check], objects: list[Object]) -> list[Evidence]:
    return await asyncio.to_thread(lambda: [evaluate(check, objects) for check in checks])


async def _live(
    session: Session, new: Mapping[str, Definition], running: Mapping[str, Definition]
) -> tuple[dict[str, Mapping[str, Any]], tuple[str, ...]]:
    """The CustomResourceDefinitions of the new bundle that are on the cluster, and sentences about those that cannot be read."""
    limit = asyncio.Semaphore(MAX_CONCURRENT_READS)
    unread: list[str] = []

    async def live(name: str) -> Object | Mapping[str, Any] | None:
        try:
            async with limit:
                return await session.client.get(customresourcedefinitions.KIND, name)
        except NotFound:
            return None
        except ApiError as error:
            unread.append(
                f"CustomResourceDefinition {clean(name)} is compared with the bundle that runs: {clean(error.message)}"
            )
            return running.get(name)

    names = sorted(new)
    found = await asyncio.gather(*map(live, names))
    return {name: body for name, body in zip(names, found, strict=True) if body is not None}, tuple(unread)
