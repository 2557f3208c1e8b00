"""The namespace of the suite, for a session that names none: that in which operator-controller has its permissions.

Read by the session when a question depends on the namespace. A Deployment proves nothing: whoever may create one in any namespace
could have the tokens sent there that olm sends to controllers. Only who has the permissions of the suite can bind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from olmctl.questions.operator_state import part
from olmkit.api.meta import Kind
from olmkit.api.names import is_dns1123_label
from olmkit.errors import Forbidden, NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.flags import Settings

_BINDINGS = Kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings")
_BINDING_NAME = "olm-suite-operator-controller"
_ACCOUNT = "operator-controller"


@dataclass(frozen=True)
class SystemNamespace:
    """The namespace of the suite. `is_assumed`: the user may not find out where the suite is, and it is the default."""

    name: str = Settings.system_namespace
    is_assumed: bool = False

    @property
    def text(self) -> str:
        """The namespace in a sentence about what is, or is not, there."""
        hint = " (if the suite has another one, name it with --system-namespace)" if self.is_assumed else ""
        return f"namespace {self.name}{hint}"


def bound_namespace(binding: Mapping[str, object]) -> str:
    """The namespace of the account of operator-controller in this ClusterRoleBinding; the default if it has none."""
    subjects = part(binding, "subjects") or ()
    found = (each for each in subjects if each.get("kind") == "ServiceAccount" and each.get("name") == _ACCOUNT)
    names = [str(each.get("namespace") or "") for each in found]
    return next((each for each in names if is_dns1123_label(each)), Settings.system_namespace)


async def find_bound_namespace(client: Client) -> str | None:
    """The namespace in which operator-controller has its permissions; None if it has none. Raises ApiError."""
    with suppress(NotFound):
        return bound_namespace(await client.get(_BINDINGS, _BINDING_NAME))
    return None


async def find_system_namespace(client: Client) -> SystemNamespace:
    """The namespace of the suite on the cluster. Raises ApiError if the API server does not answer."""
    try:
        bound = await find_bound_namespace(client)
    except Forbidden:
        return SystemNamespace(is_assumed=True)
    return SystemNamespace() if bound is None else SystemNamespace(bound)


def second_suite_refusal(elsewhere: str, *, is_running: bool) -> str:
    """The reason why a suite is neither installed nor removed beside the one of the namespace `elsewhere`. `is_running`: its
    controllers are there; otherwise its permissions are, as after an uninstallation that did not end."""
    state = "is installed in" if is_running else "has its permissions (ClusterRoleBindings) in"
    text = f"olm-suite {state} the namespace {elsewhere}, and a cluster has one: use --system-namespace {elsewhere}"
    return f"{text}, or uninstall it first: `olm suite uninstall --system-namespace {elsewhere}`"
