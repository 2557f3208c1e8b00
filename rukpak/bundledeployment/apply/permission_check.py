"""Asks the API server what the account of a BundleDeployment lacks to install a bundle, before anything is applied.

Everything is asked as the account: a SelfSubjectAccessReview for each verb and kind in each namespace, and for each object only
where not all of them are permitted, which is what each authorizer answers. A dry run decides whether the account may give the
rules of a role of the bundle; a SelfSubjectRulesReview names those that it lacks, and decides where a dry run cannot: for a role
in a Namespace that does not exist yet, or a binding, whose role has to exist. Never writes.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.api.meta import Kind
from olmkit.api.ownership import manager_name
from olmkit.errors import ApiError, Forbidden, NotFound
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.access_reviews import may, rules_in
from rukpak.bundledeployment.identity import Identities
from rukpak.bundledeployment.world import World
from rukpak.format.objects import mappings
from rukpak.permissions.needed import RESOURCES, Grant, NeededPermissions
from rukpak.permissions.rules import EVERY_RULE, Right, Rule
from rukpak.render.rbac import RBAC_GROUP

_ESCALATES = "attempting to grant RBAC permissions not currently held"
"""The words in which the API server refuses a role that gives more than its author has."""


@dataclass(frozen=True)
class PermissionChecker:
    """Asks for all BundleDeployments; `limit` is shared with whoever else sends requests."""

    identities: Identities
    limit: asyncio.Semaphore

    async def missing(
        self, world: World, needed: NeededPermissions, namespace_rights: Iterable[Right]
    ) -> frozenset[Right]:
        """The rights that the account lacks. Raises ApiError."""
        client = self.identities.of(world)
        lists = self._missing_by_kind(client, (*needed.rights(), *namespace_rights))
        rules = await self._held_rules(client, {grant.namespace for grant in needed.grants})
        lists += [self._missing_grant(client, world, grant, rules[grant.namespace]) for grant in needed.grants]
        return frozenset(right for found in await asyncio.gather(*lists) for right in found)

    async def missing_of(self, world: World, rights: Iterable[Right]) -> frozenset[Right]:
        """Those of the rights that the account lacks. Raises ApiError."""
        lists = self._missing_by_kind(self.identities.of(world), rights)
        return frozenset(right for found in await asyncio.gather(*lists) for right in found)

    def _missing_by_kind(self, client: Client, rights: Iterable[Right]) -> list[Coroutine[Any, Any, Iterable[Right]]]:
        """The questions about the rights, for each verb and kind in each namespace."""
        groups: dict[Right, list[Right]] = defaultdict(list)
        for right in rights:
            groups[right._replace(name="")].append(right)
        return [self._missing_objects(client, whole, each) for whole, each in groups.items()]

    async def _missing_objects(self, client: Client, whole: Right, rights: Sequence[Right]) -> Iterable[Right]:
        """Those of the rights that are missing. `whole` is the right on all objects, which usually answers for each."""
        if await self._may(client, whole):
            return ()
        answers = await asyncio.gather(*(self._may(client, right) for right in rights))
        return [right for right, may in zip(rights, answers, strict=True) if not may]

    async def _missing_grant(self, client: Client, world: World, grant: Grant, held: Sequence[Rule]) -> Iterable[Right]:
        """The rights that are missing to give others what a role or a binding gives."""
        rules = grant.rules
        if rules is None:
            if await self._may(client, grant.instead):
                return ()
            rules = await self._rules_of(grant.instead)
            if rules is None:
                return (grant.instead,)
        wanted = [right for rule in rules for right in rule.rights(grant.namespace)]
        missing = [right for right in wanted if not any(rule.covers(right) for rule in held)]
        is_granted = await self._is_granted(client, world, grant)
        if is_granted is None:
            is_granted = not missing or (grant.rules is not None and await self._may(client, grant.instead))
        if is_granted:
            return ()
        return missing or wanted if await self._may_know(client, grant) else (grant.instead,)

    async def _may_know(self, client: Client, grant: Grant) -> bool:
        """Report whether the account may know the rules. Those of a Role that is not in the bundle were read by rukpak, and are
        for those who may read it."""
        is_of_others = grant.rules is None and grant.instead.resource == RESOURCES["Role"]
        return not is_of_others or await self._may(client, grant.instead._replace(verb="get"))

    async def _is_granted(self, client: Client, world: World, grant: Grant) -> bool | None:
        """Report whether the API server lets the account give the rules of a role, by a dry run; None if that does not tell."""
        resource = RESOURCES.get(grant.key.kind)
        if resource is None or grant.rules in (None, EVERY_RULE):
            return None
        kind, namespace = Kind(RBAC_GROUP, "v1", grant.key.kind, resource, bool(grant.namespace)), grant.namespace
        metadata = {"name": grant.key.name, **({"namespace": namespace} if namespace else {})}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        rules = [rule.body() for rule in grant.rules or ()]
        try:
            async with self.limit:
                await client.apply(kind, {**body, "rules": rules}, manager_name(world.name), dry_run=True)
        except Forbidden as error:
            return False if _ESCALATES in error.message else None
        except ApiError:
            return None
        return True

    async def _rules_of(self, bind: Right) -> tuple[Rule, ...] | None:
        """The rules of a role that is not in the bundle; None if there is none."""
        kind = Kind(RBAC_GROUP, "v1", "Role", bind.resource, namespaced=bind.resource == "roles")
        try:
            async with self.limit:
                role = await self.identities.own.get(kind, bind.name, bind.namespace if kind.namespaced else None)
        except NotFound:
            return None
        return tuple(Rule.load(each) for each in mappings(role.get("rules")))

    async def _held_rules(self, client: Client, namespaces: Iterable[str]) -> dict[str, tuple[Rule, ...]]:
        """The rules that the account holds in each namespace."""
        names = sorted(namespaces)
        found = await asyncio.gather(*(self._rules_in(client, name) for name in names))
        return dict(zip(names, found, strict=True))

    async def _rules_in(self, client: Client, namespace: str) -> tuple[Rule, ...]:
        async with self.limit:
            return await rules_in(client, namespace)

    async def _may(self, client: Client, right: Right) -> bool:
        async with self.limit:
            return await may(client, right)
