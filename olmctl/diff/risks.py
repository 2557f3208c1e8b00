"""Permissions as sentences for people who decide about an installation: per account, the riskiest first.

    1 control    it may become anything: `*` on `*`; escalate, bind, impersonate; tokens of accounts, pods, workloads or Secrets
                 in all namespaces; admission webhooks; the proxy of nodes
    2 writes     it changes objects in the whole cluster
    3 reads      it reads objects in the whole cluster
    4 namespaced it is limited to namespaces

A permission of a role outside of the bundle is not known, and counts as 1 in the whole cluster. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from olmctl.diff.permissions import EVERYTHING, Permission, sentences

READ_VERBS = frozenset({"get", "list", "watch"})
RBAC_GROUP, ADMISSION_GROUP = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
_READ_SECRETS = READ_VERBS | {EVERYTHING}
_MAKES_PODS = frozenset({
    ("", "pods"), ("", "replicationcontrollers"), ("apps", "deployments"), ("apps", "daemonsets"), ("apps", "statefulsets"),
    ("apps", "replicasets"), ("batch", "jobs"), ("batch", "cronjobs"),
})  # fmt: skip
"""Group and resource of objects that run code with any account of their namespace."""
_IN_PODS = frozenset({"pods/exec", "pods/attach", "pods/ephemeralcontainers"})
_RESTRICTED_BY_RBAC = frozenset({"roles", "clusterroles", "rolebindings", "clusterrolebindings"})


class Risk(IntEnum):
    """The most that an account can do, the riskiest first."""

    CONTROL = 1
    WRITES = 2
    READS = 3
    NAMESPACED = 4


TITLES = {
    Risk.CONTROL: "can take control of the cluster",
    Risk.WRITES: "changes objects in the whole cluster",
    Risk.READS: "reads objects in the whole cluster",
    Risk.NAMESPACED: "is limited to namespaces",
}
"""Each risk as the end of a sentence that begins with an account."""


@dataclass(frozen=True)
class RiskGroup:
    """The permissions of one account of one risk."""

    account: str
    """As in Permission.subject."""
    risk: Risk
    sentences: tuple[str, ...]
    """Without the account: `get, list pods in all namespaces`."""

    @property
    def title(self) -> str:
        """A sentence: `ServiceAccount ns/name can take control of the cluster`."""
        return f"{self.account} {TITLES[self.risk]}"


def risk_of(permission: Permission) -> Risk:
    """The risk of one permission."""
    if permission.namespace:
        return Risk.NAMESPACED
    if not permission.verb or _gives_control(permission):
        return Risk.CONTROL
    return Risk.READS if permission.verb in READ_VERBS else Risk.WRITES


def by_risk(found: Iterable[Permission]) -> list[RiskGroup]:
    """The permissions, grouped: the riskiest group first, then by account."""
    groups: dict[tuple[Risk, str], list[Permission]] = defaultdict(list)
    for each in found:
        groups[risk_of(each), each.subject].append(each)
    return [_group(account, risk, groups[risk, account]) for risk, account in sorted(groups)]


def _group(account: str, risk: Risk, found: Sequence[Permission]) -> RiskGroup:
    return RiskGroup(account, risk, tuple(text.removeprefix(f"{account}: ") for text in sentences(found)))


def _gives_control(permission: Permission) -> bool:
    """Report whether who has this in the whole cluster can get everything."""
    group, resource, verb = permission.group, permission.resource, permission.verb
    if resource.startswith("/"):
        return resource.startswith(f"/{EVERYTHING}") and verb == EVERYTHING

    def is_about(wanted_group: str, wanted: str) -> bool:
        """Report whether the resource is the wanted one, or a pattern that has it."""
        subresource = f"{EVERYTHING}/{wanted.partition('/')[2]}" if "/" in wanted else EVERYTHING
        return group in (EVERYTHING, wanted_group) and resource in (EVERYTHING, wanted, subresource)

    writes = verb not in READ_VERBS
    if resource == EVERYTHING and verb == EVERYTHING and group in (EVERYTHING, ""):
        return True
    if verb in ("escalate", "bind", EVERYTHING) and any(is_about(RBAC_GROUP, each) for each in _RESTRICTED_BY_RBAC):
        return True
    if verb == "impersonate" or (verb == EVERYTHING and any(is_about("", each) for each in ("users", "groups"))):
        return True
    if is_about("", "nodes/proxy") or (writes and is_about("", "serviceaccounts/token")):
        return True
    if permission.name:
        return False
    if verb in _READ_SECRETS and is_about("", "secrets"):
        return True
    if writes and verb in ("create", "update", "patch", EVERYTHING):
        makes_pods = any(is_about(*each) for each in _MAKES_PODS) or any(is_about("", each) for each in _IN_PODS)
        configures = any(
            is_about(ADMISSION_GROUP, f"{each}webhookconfigurations") for each in ("validating", "mutating")
        )
        return makes_pods or configures
    return False
