"""The content of an OperatorCondition, by the rules of OLM v0: whether it permits an upgrade, and the conditions to copy.

    spec.overrides has Upgradeable       True permits upgrades, another status holds them
    else status.conditions has it        of an older generation than the object's: holds; False: holds
    else                                 permits

In v2 an operator writes spec.conditions, which are copied to status.conditions with the generation of the object. A copy goes
with its original. A condition that only the status has and that was not copied stays: an operator that uses v1 has written it.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.api.bundledeployment_status import MAX_UPGRADE_HOLD_BYTES
from olmkit.api.operator_condition_names import UPGRADEABLE
from olmkit.api.ownership import MANAGER_PREFIX
from olmkit.gocompat.text import one_line, truncate
from rukpak.format.objects import mapping, mappings

MAX_COPIED_BYTES = 256 * 1024
"""Bytes of JSON of the conditions of one object that are copied: the API server stores objects of 1.5 MiB."""
_COPIED = ("type", "status", "reason", "message", "lastTransitionTime")


@dataclass(frozen=True)
class ConditionState:
    """The facts about an OperatorCondition that a decision depends on."""

    hold: str = ""
    """The reason why it permits no upgrade, as OLM v0 says it; empty if it permits one."""
    copied: tuple[Mapping[str, Any], ...] | None = None
    """The copies of spec.conditions for status.conditions; None if it has these copies and no others."""


def condition_state(obj: Mapping[str, Any]) -> ConditionState:
    """The state of an OperatorCondition as read."""
    generation = obj["metadata"].get("generation") or 0
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    return ConditionState(_hold(spec, status, generation), _copies(obj, spec, status))


def _hold(spec: Mapping[str, Any], status: Mapping[str, Any], generation: int) -> str:
    override = _by_type(spec.get("overrides")).get(UPGRADEABLE)
    if override is not None:
        return "" if override.get("status") == "True" else _not_upgradeable(override)
    found = _by_type(status.get("conditions")).get(UPGRADEABLE)
    if found is None:
        return ""
    if (found.get("observedGeneration") or 0) < generation:
        return f'The operatorcondition status "{UPGRADEABLE}"="{one_line(str(found.get("status")))[:64]}" is outdated'
    return _not_upgradeable(found) if found.get("status") == "False" else ""


def _not_upgradeable(condition: Mapping[str, Any]) -> str:
    """The sentence with the message of an operator or an administrator: one line of printable characters, truncated."""
    text = f"The operator is not upgradeable: {one_line(str(condition.get('message') or ''))}"
    return truncate(text.rstrip(), MAX_UPGRADE_HOLD_BYTES)


def _copies(
    obj: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any]
) -> tuple[Mapping[str, Any], ...] | None:
    generation = {"observedGeneration": obj["metadata"].get("generation") or 0}
    originals = _that_fit(_by_type(spec.get("conditions")))
    copies = {
        kind: {**{name: each[name] for name in _COPIED if name in each}, **generation}
        for kind, each in originals.items()
    }
    present = _by_type(status.get("conditions"))
    is_outdated = any(present.get(kind) != copy for kind, copy in copies.items())
    is_left = any(kind not in copies and _is_copy(obj, kind) for kind in present)
    return tuple(copies.values()) if is_outdated or is_left else None


def _that_fit(conditions: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """The conditions whose copies the API server stores too, Upgradeable before all others."""
    found: dict[str, Mapping[str, Any]] = {}
    room = MAX_COPIED_BYTES
    for kind, each in sorted(conditions.items(), key=lambda item: item[0] != UPGRADEABLE):
        room -= len(orjson.dumps(each))
        if room < 0:
            break
        found[kind] = each
    return found


def _is_copy(obj: Mapping[str, Any], kind: str) -> bool:
    """Report whether rukpak has written the condition of this type to the status: by itself, or with the whole list."""
    for entry in mappings(obj["metadata"].get("managedFields")):
        if str(entry.get("manager")).startswith(MANAGER_PREFIX) and entry.get("subresource") == "status":
            fields = mapping(mapping(entry.get("fieldsV1")).get("f:status"))
            owned = fields.get("f:conditions")
            if owned == {} or f'k:{{"type":"{kind}"}}' in mapping(owned):
                return True
    return False


def _by_type(conditions: Any) -> dict[str, Mapping[str, Any]]:
    """The conditions by their type; the first one of each, as Kubernetes finds them."""
    found: dict[str, Mapping[str, Any]] = {}
    for each in mappings(conditions):
        found.setdefault(str(each.get("type")), each)
    return found
