"""The rules of config/ that are bound to the accounts of the suite, one verb each, and the requests that need them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.audit.requests import Request

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Grant:
    """One verb of one rule, for one account. `namespace` is that of the Role; "" for a ClusterRole that is bound as such."""

    account: str
    role: str
    namespace: str
    verb: str
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = ", ".join(self.paths or self.resources)
        names = f" {', '.join(self.names)}" if self.names else ""
        return f"{self.account}: {self.role}: {self.verb} {what}{names}"

    @property
    def is_wildcard(self) -> bool:
        """True if it permits everything: no request shows that all of it is needed."""
        return self.verb == "*" or "*" in (*self.groups, *self.resources, *self.paths)

    def permits(self, request: Request) -> bool:
        """Report whether RBAC permits the request because of this rule."""
        if (request.account, request.verb) != (self.account, self.verb):
            return False
        if request.path:
            return any(_matches(path, request.path) for path in self.paths)
        return (
            request.group in self.groups
            and request.resource in self.resources
            and self.namespace in ("", request.namespace)
            and (not self.names or request.name in self.names)
        )


def _matches(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def grants(objects: Iterable[Object], accounts: Iterable[str]) -> list[Grant]:
    """What the bindings among the objects grant to these ServiceAccounts."""
    known = list(objects)
    roles = {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in known}
    found = list[Grant]()
    for binding in known:
        if not binding["kind"].endswith("RoleBinding"):
            continue
        namespace, ref = binding["metadata"].get("namespace", ""), binding["roleRef"]
        role = roles[(ref["kind"], namespace if ref["kind"] == "Role" else "", ref["name"])]
        for subject in binding.get("subjects", ()):
            if subject["kind"] == "ServiceAccount" and subject["name"] in accounts:
                found += _granted(subject["name"], namespace, role)
    return found


def _granted(account: str, namespace: str, role: Object) -> Iterator[Grant]:
    for rule in role["rules"]:
        for verb in rule["verbs"]:
            yield Grant(
                account,
                role["metadata"]["name"],
                namespace,
                verb,
                tuple(rule.get("apiGroups", ())),
                tuple(rule.get("resources", ())),
                tuple(rule.get("resourceNames", ())),
                tuple(rule.get("nonResourceURLs", ())),
            )


def roles_of_people(objects: Iterable[Object], accounts: Iterable[str]) -> set[str]:
    """The names of the roles that no binding gives to one of the accounts."""
    known = list(objects)
    bound = {grant.role for grant in grants(known, accounts)}
    return {each["metadata"]["name"] for each in known if each["kind"] in ("Role", "ClusterRole")} - bound


def unused(granted: Iterable[Grant], requests: Iterable[Request]) -> list[Grant]:
    """The grants that no request needed, without wildcards."""
    asked = list(requests)
    return [grant for grant in granted if not grant.is_wildcard and not any(map(grant.permits, asked))]
