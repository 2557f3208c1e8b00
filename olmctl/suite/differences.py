"""In which fields the objects of the suite on a cluster differ from its manifests: what an installation would change.

The API server applies each object without storing it, so that its defaults are no differences. Metadata and status are not
compared. Never changes the cluster.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olmctl.questions.own_fields import FIELD_MANAGER
from olmctl.suite.manifests import pull_secrets_of, set_image, set_pull_secrets
from olmctl.suite.objects import DIFFERS, MAX_CONCURRENT_REQUESTS, ObjectState, kind_of
from olmkit.api.meta import Object
from olmkit.errors import ApiError, Unavailable
from olmkit.runtime.client import Client

MAX_FIELDS_SHOWN = 3
_NOT_COMPARED = ("metadata", "status")
_ADJUSTABLE = ("Deployment", "NetworkPolicy", "PodDisruptionBudget")
"""Kinds that people adjust to their cluster: replicas, resources, flags and network access. All others are as the controllers of
this version need them."""


@dataclass(frozen=True)
class Comparison:
    """The states with what differs. `unknown` is why objects could not be compared; "" if all could be."""

    states: list[ObjectState]
    unknown: str = ""


async def compare(client: Client, states: Sequence[ObjectState]) -> Comparison:
    """Compare all objects that exist and are not being deleted. Those that nobody adjusts are not good if they differ."""
    limit = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)

    async def one(state: ObjectState) -> ObjectState | ApiError:
        if state.found is None or state.status == "Terminating":
            return state
        try:
            async with limit:
                wanted = _with_own_settings(state, state.found)
                applied = await client.apply(kind_of(wanted), wanted, FIELD_MANAGER, dry_run=True)
        except Unavailable:
            raise
        except ApiError as error:
            return error
        return _compared(state, list(different_fields(state.found, applied)))

    answers = await asyncio.gather(*map(one, states))
    errors = [each.message for each in answers if isinstance(each, ApiError)]
    result = [old if isinstance(new, ApiError) else new for old, new in zip(states, answers, strict=True)]
    return Comparison(result, errors[0] if errors else "")


def _with_own_settings(state: ObjectState, found: Object) -> Object:
    """The expected object; a controller with the image and the logins that it has, because the manifests do not say which."""
    if state.expected["kind"] != "Deployment":
        return state.expected
    wanted = copy.deepcopy(state.expected)
    set_image([wanted], state.image)
    set_pull_secrets([wanted], pull_secrets_of([found]))
    return wanted


def _compared(state: ObjectState, fields: Sequence[str]) -> ObjectState:
    if not fields:
        return state
    more = len(fields) - MAX_FIELDS_SHOWN
    shown = ", ".join((*fields[:MAX_FIELDS_SHOWN], *([f"{more} more"] if more > 0 else ())))
    if state.is_good and state.expected["kind"] not in _ADJUSTABLE:
        text = f"it is not that of this version: {shown}: install this version again"
        return replace(state, status=DIFFERS, is_good=False, message=text, differences=shown)
    return replace(state, differences=shown)


def different_fields(found: Object, applied: Object) -> Iterator[str]:
    """The paths of the fields in which two versions of an object differ, such as `spec.replicas`."""
    for key in sorted({*found, *applied} - {*_NOT_COMPARED}):
        yield from _different(key, found.get(key), applied.get(key))


def _different(path: str, one: Any, other: Any) -> Iterator[str]:
    if one == other:
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from _different(f"{path}.{key}", one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (each, its_other) in enumerate(zip(one, other, strict=True)):
            yield from _different(f"{path}[{number}]", each, its_other)
    else:
        yield path
