"""Lists custom resources, in pages, and has them evaluated for the forms that decide about an upgrade of their definitions.

Never writes, and never keeps a value of an object.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from olmkit.api.meta import Kind, Object
from olmkit.crd_safety.compare import Definition
from olmkit.crd_safety.evidence import Check, Evidence, Form
from olmkit.crd_safety.forms import check_of, is_concerned, listed_version
from olmkit.crd_safety.problem import Problem
from olmkit.errors import ApiError, NotFound, OlmError, Unavailable
from olmkit.runtime.client import Client

MAX_OBJECTS = 10_000
"""Custom resources of one kind that are checked."""
PAGE = 50
"""Objects per request: each may have 1.5 MB."""
_CONVERSION_FAILED = 500
"""The code of a list that a conversion webhook does not answer: it is none of the API server's own."""

Evaluate = Callable[[list[Check], list[Object]], Awaitable[list[Evidence]]]


@dataclass(frozen=True)
class Subject:
    """A CustomResourceDefinition on the cluster, the one that is to replace it, and the rules that this breaks."""

    old: Definition
    new: Definition
    problems: Sequence[Problem]


@dataclass
class Collected:
    """The evidence of custom resources, and which they were, by kind."""

    evidence: dict[Form, Evidence] = field(default_factory=dict)
    seen: dict[Kind, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Collector:
    """`evaluate` evaluates a page for several checks. Raises what it raises only if it is no Exception of a check."""

    client: Client
    evaluate: Evaluate
    max_objects: int = MAX_OBJECTS

    async def collect(
        self, subjects: Mapping[str, Subject], forms: Sequence[Form], settings: CrdUpgradeSafety | None
    ) -> Collected:
        """The evidence for each form. Raises ApiError if custom resources cannot be listed now."""
        found = Collected()
        lists: dict[tuple[str, str], list[Form]] = {}
        for form in forms:
            subject = subjects[form.definition]
            if not is_concerned(form, subject.new):
                found.evidence[form] = Evidence()
                continue
            version, _ = listed_version(form, subject.old)
            lists.setdefault((form.definition, version), []).append(form)
        for (name, version), group in lists.items():
            await self._list(found, subjects[name], version, group, settings)
        return found

    async def _list(
        self, found: Collected, subject: Subject, version: str, forms: list[Form], settings: CrdUpgradeSafety | None
    ) -> None:
        if not version:
            found.evidence |= dict.fromkeys(
                forms, Evidence(unknown="its custom resources cannot be listed: no version is served")
            )
            return
        hidden = {form for form in forms if not listed_version(form, subject.old)[1]}
        checks = [
            Check(None, {}) if form in hidden else check_of(form, subject.problems, subject.old, subject.new, settings)
            for form in forms
        ]
        kind = _kind(subject.old, version)
        evidence = await self._evidence(kind, checks, found.seen.setdefault(kind, {}))
        for form, shown in zip(forms, evidence, strict=True):
            unread = f"custom resources are stored in version {form.source}, which is not served"
            found.evidence[form] = replace(shown, unknown=unread) if form in hidden and shown.count else shown

    async def _evidence(self, kind: Kind, checks: list[Check], seen: dict[str, int]) -> list[Evidence]:
        total = [Evidence() for _ in checks]
        try:
            async for objects, _ in self.client.pages(kind, limit=PAGE):
                seen |= generations(objects)
                shown = await self.evaluate(checks, objects)
                total = [one + other for one, other in zip(total, shown, strict=True)]
                if total[0].count >= self.max_objects:
                    return [
                        _unknown(each, f"only the first {each.count} custom resources were checked") for each in total
                    ]
        except ApiError as error:
            if isinstance(error, NotFound) or (isinstance(error, Unavailable) and error.status != _CONVERSION_FAILED):
                raise
            advice = ", see to its conversion webhook first" if isinstance(error, Unavailable) else ""
            reason = f"its custom resources cannot be listed{advice}: {error.message}"
            return [_unknown(each, reason) for each in total]
        except OlmError as error:
            return [replace(each, failed=error.message) for each in total]
        except Exception as error:  # whatever an object does to what evaluates it
            return [replace(each, failed=type(error).__name__) for each in total]
        return total


def generations(objects: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The generation of each custom resource, by uid: another generation has other fields."""
    return {obj["metadata"]["uid"]: obj["metadata"].get("generation", 0) for obj in objects}


def _unknown(shown: Evidence, reason: str) -> Evidence:
    return replace(shown, unknown=shown.unknown or reason)


def _kind(definition: Definition, version: str) -> Kind:
    spec = definition["spec"]
    names = spec["names"]
    return Kind(spec["group"], version, names["kind"], names["plural"], spec.get("scope") == "Namespaced")
