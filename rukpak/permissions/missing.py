"""Names missing permissions: in the status, as a sentence, and as roles to paste. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmkit.api.impersonation import Account
from olmkit.api.permissions import MAX_MISSING_BYTES, MAX_MISSING_RULES, MissingRule
from olmkit.gocompat.text import list_names
from rukpak.permissions.rules import PlacedRule, Right, Rule, compact
from rukpak.render.rbac import RBAC_GROUP

MAX_RULES_SHOWN = 3
"""Rules in a sentence."""
MAX_NAMES_SHOWN = 3


def sentence(rights: Iterable[Right]) -> str:
    """The first few rules that give these rights, such as `get, patch deployments.apps in namespace a`."""
    return list_names(map(_text, compact(rights)), "; ", MAX_RULES_SHOWN)


def _text(placed: PlacedRule) -> str:
    namespace, rule = placed
    verbs = ", ".join(rule.verbs)
    if rule.paths:
        return f"{verbs} {list_names(rule.paths)}"
    group = "".join(f".{each}" for each in rule.groups if each)
    names = f" {list_names(rule.names, limit=MAX_NAMES_SHOWN)}" if rule.names else ""
    place = f"in namespace {namespace}" if namespace else "in the whole cluster"
    return f"{verbs} {list_names(f'{each}{group}' for each in rule.resources)}{names} {place}"


def missing_rules(rights: Iterable[Right]) -> tuple[list[MissingRule], bool]:
    """The rules for the status, and whether there are more of them."""
    rules: list[MissingRule] = []
    size = 0
    for placed in compact(rights):
        size += sum(len(text.encode()) for texts in placed.rule.body().values() for text in texts)
        if len(rules) == MAX_MISSING_RULES or size > MAX_MISSING_BYTES:
            return rules, True
        rules.append(_missing_rule(placed))
    return rules, False


def _missing_rule(placed: PlacedRule) -> MissingRule:
    namespace, rule = placed
    return MissingRule(
        namespace=namespace or None,
        api_groups=list(rule.groups) or None,
        resources=list(rule.resources) or None,
        resource_names=list(rule.names) or None,
        non_resource_urls=list(rule.paths) or None,
        verbs=list(rule.verbs),
    )


def bindings(roles: Iterable[Mapping[str, Any]], account: Account) -> Iterator[dict[str, Any]]:
    """The bindings of these roles to the account, with their names."""
    for role in roles:
        yield {
            "apiVersion": role["apiVersion"],
            "kind": f"{role['kind']}Binding",
            "metadata": role["metadata"],
            "subjects": [{"kind": "ServiceAccount", **account._asdict()}],
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": role["kind"], "name": role["metadata"]["name"]},
        }


def roles(rights: Iterable[Right], name: str) -> Iterator[dict[str, Any]]:
    """The ClusterRole and the Roles of this name that give these rights, sorted by namespace."""
    placed = compact(rights)
    for namespace in sorted({each.namespace for each in placed}):
        rules: Sequence[Rule] = [each.rule for each in placed if each.namespace == namespace]
        yield {
            "apiVersion": f"{RBAC_GROUP}/v1",
            "kind": "Role" if namespace else "ClusterRole",
            "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
            "rules": [rule.body() for rule in rules],
        }
