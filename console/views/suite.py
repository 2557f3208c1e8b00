"""The suite itself on the cluster: its controllers with their leaders, and its CustomResourceDefinitions. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console.views.parts import Badge, Note
from olmctl.questions.operator_state import condition, part, text_at
from olmkit.api.meta import Object

VERSION_LABEL = "app.kubernetes.io/version"


@dataclass(frozen=True)
class ObjectRow:
    """One object of the suite."""

    kind: str
    name: str
    namespace: str
    badge: Badge
    message: str = ""
    version: str = ""
    ready: str = ""
    leader: str = ""


@dataclass(frozen=True)
class SuiteView:
    """The page."""

    summary: str
    badge: Badge
    controllers: tuple[ObjectRow, ...]
    definitions: tuple[ObjectRow, ...]
    notes: tuple[Note, ...]
    command: str = "olm suite status -o wide"


def suite_view(
    deployments: Sequence[Object],
    leaders: Mapping[str, str],
    definitions: Mapping[str, Object | None],
    version: str,
    notes: Sequence[Note] = (),
) -> SuiteView:
    """The page. `leaders` are by the name of the controller, `definitions` by their names,
    `version` is that of this console."""
    controllers = tuple(_controller(each, leaders) for each in deployments)
    crds = tuple(_definition(name, found) for name, found in definitions.items())
    bad = [row for row in (*controllers, *crds) if row.badge.kind != "ok"]
    badge = Badge("bad", "Needs attention", "alert") if bad else Badge("ok", "Healthy", "check")
    versions = sorted({row.version for row in controllers if row.version})
    made = list(notes)
    if versions and version and versions != [version]:
        made.append(
            Note("warn", f"The cluster has {', '.join(versions)}, and this console is of {version}.", "", "alert")
        )
    text = "Its controllers and its kinds are as they should be."
    if bad:
        text = f"{len(bad)} of {len(controllers) + len(crds)} controllers and kinds need attention."
    return SuiteView(text, badge, controllers, crds, tuple(made))


def _controller(deployment: Object, leaders: Mapping[str, str]) -> ObjectRow:
    name = text_at(deployment, "metadata", "name")
    ready, wanted = part(deployment, "status", "availableReplicas") or 0, part(deployment, "spec", "replicas")
    leader = next((holder for key, holder in leaders.items() if key in name), "")
    is_available = isinstance(wanted, int) and ready >= max(wanted, 1)
    badge = Badge("ok", "Available", "check") if is_available else Badge("bad", "Unavailable", "alert")
    if is_available and leaders and not leader:
        badge = Badge("bad", "NoLeader", "alert")
    message = "" if is_available else text_at(condition(deployment, "Available"), "message")
    version = text_at(deployment, "metadata", "labels", VERSION_LABEL)
    namespace = text_at(deployment, "metadata", "namespace")
    return ObjectRow("Deployment", name, namespace, badge, message, version, f"{ready}/{wanted}", leader)


def _definition(name: str, found: Object | None) -> ObjectRow:
    if found is None:
        return ObjectRow("CustomResourceDefinition", name, "", Badge("bad", "Missing", "alert"))
    established = condition(found, "Established")
    is_good = text_at(established, "status") == "True"
    badge = Badge("ok", "Established", "check") if is_good else Badge("bad", "NotEstablished", "alert")
    return ObjectRow("CustomResourceDefinition", name, "", badge, "" if is_good else text_at(established, "message"))
