"""The ValidatingAdmissionPolicy with which rukpak guards its labels: a part of the suite that is in no manifest.

rukpak applies it where the cluster serves its kind (docs/decisions/0057). Reads the cluster only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from olmctl.questions.operator_state import is_terminating, part, text_at
from olmctl.suite.manifests import PART_OF, PART_OF_LABEL
from olmctl.suite.objects import ObjectState, state_of
from olmctl.terminal import clean
from olmkit.api.label_policy import BINDINGS, POLICIES, POLICY
from olmkit.api.meta import Kind, Object
from olmkit.errors import Forbidden
from olmkit.runtime.client import Client
from olmkit.runtime.discovery import Discovery

UNSERVED = "this cluster serves no ValidatingAdmissionPolicy (Kubernetes 1.30)"
MISSING = f"{POLICIES.kind} {POLICY} or its binding is missing: rukpak applies them while it leads and serves webhooks"
UNGUARDED = (
    "whoever may change Namespaces and CustomResourceDefinitions can change the labels by which rukpak knows them"
)
GUARDS = "guards the labels of rukpak on Namespaces and CustomResourceDefinitions"
"""The effect of the policy."""
_ACTIONS = {"Deny": "denies others a change of these labels", "Warn": "warns who creates an object with such a label"}
"""The effect of a binding, by its validationActions."""


@dataclass(frozen=True)
class LabelGuard:
    """The policy and its bindings, and why the labels are not guarded; empty: they are."""

    states: tuple[ObjectState, ...] = ()
    problem: str = ""


async def label_guard(client: Client) -> LabelGuard:
    """Read what guards the labels now. Raises ApiError."""
    if not serves_policies(await client.discover()):
        return LabelGuard(problem=f"{UNSERVED}: {UNGUARDED}")
    try:
        policies, _ = await client.list(POLICIES, label_selector=f"{PART_OF_LABEL}={PART_OF}")
        bindings, _ = await client.list(BINDINGS, label_selector=f"{PART_OF_LABEL}={PART_OF}")
    except Forbidden as error:
        return LabelGuard(problem=f"whether rukpak's labels are guarded is not known: {clean(error.message)}")
    return guard_of(policies, bindings)


def serves_policies(discovery: Discovery) -> bool:
    """Report whether the cluster serves the kind in the version in which rukpak applies it; a part of Kubernetes since 1.30."""
    return discovery.find(POLICIES.api_version, POLICIES.kind) is not None


def guard_of(policies: Iterable[Object], bindings: Iterable[Object]) -> LabelGuard:
    """Evaluate the policies and bindings of the suite."""
    own = [each for each in policies if each["metadata"]["name"] == POLICY]
    bound = [each for each in bindings if text_at(each, "spec", "policyName") == POLICY]
    states = (
        *(_state(POLICIES, each, GUARDS) for each in own),
        *(_state(BINDINGS, each, _effect(each)) for each in bound),
    )
    denying = [each for each in bound if "Deny" in _actions(each)]
    is_guarded = all(any(not is_terminating(each) for each in needed) for needed in (own, denying))
    return LabelGuard(states, "" if is_guarded else f"{MISSING}; {UNGUARDED}")


def _effect(binding: Object) -> str:
    return "; ".join(_ACTIONS[action] for action in _actions(binding) if action in _ACTIONS)


def _actions(binding: Object) -> list[str]:
    actions: list[str] = part(binding, "spec", "validationActions") or []
    return actions


def _state(kind: Kind, found: Object, message: str) -> ObjectState:
    known = {**found, "apiVersion": kind.api_version, "kind": kind.kind}
    state = state_of(known, known)
    return replace(state, message=message) if state.is_good else state
