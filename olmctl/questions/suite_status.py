"""The objects of the suite on the cluster: whether they are there, as they have to be, and the versions of the controllers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from olmctl.questions.session import Session
from olmctl.suite.differences import compare
from olmctl.suite.label_guard import LabelGuard, label_guard
from olmctl.suite.manifests import Manifests, load_manifests
from olmctl.suite.objects import ObjectState, name_of, states
from olmctl.suite.operator_conditions import with_own_definition
from olmctl.suite.package_manifests import with_own_package_manifests
from olmctl.suite.running import with_image_differences, with_leaders
from olmctl.suite.v1_kinds import find_renewal, own_objects, with_own_v1, without_secrets
from olmctl.suite.web_console import with_own_console
from olmctl.terminal import clean
from olmkit.errors import Forbidden
from olmkit.gocompat.versions import is_newer


@dataclass(frozen=True)
class SuiteStatus:
    """The state of the suite."""

    objects: tuple[ObjectState, ...]
    """The objects of the manifests."""
    guard: LabelGuard
    """The guard of rukpak's labels."""
    version: str
    """The version of this program."""
    versions: tuple[str, ...]
    """The versions of the controllers."""
    unknown: str
    """The reason why objects could not be compared with the manifests; "" if all could be."""
    v1: str = ""
    """The reason why the kinds of OLM v1 are not served although the suite has them; "" if they are, or if it has them not."""

    @property
    def is_installed(self) -> bool:
        """True if any object is there."""
        return any(each.found for each in self.objects)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about what differs and may differ, and what could not be compared."""
        found = [*filter(None, [version_warning(self.versions, self.version)])]
        if self.unknown:
            found.append(f"not all objects could be compared with those of {self.version}: {clean(self.unknown)}")
        for each in self.objects:
            if each.is_good and each.differences:
                found.append(f"{name_of(each.expected)} was changed on this cluster: {each.differences}")
        return (*found, *filter(None, [self.v1, self.guard.problem]))


def version_warning(versions: Sequence[str], version: str, program: str = "command") -> str:
    """Say that the controllers are of other versions than this program; "" if they are not."""
    if not versions or [*versions] == [version]:
        return ""
    is_old = any(is_newer(each, version) for each in versions)
    advice = "use the command olm of the newest version" if is_old else "`olm suite install` upgrades it"
    return f"the cluster has {', '.join(versions)}, this {program} is of {version}: {advice}"


async def suite_status(session: Session, show: Callable[[str], None]) -> SuiteStatus:
    """Read it, with the leaders of the controllers, for which it waits for some seconds; `show` gets a text about each wait.
    Raises ApiError; OlmError for the namespace of the keys."""
    manifests = load_manifests(system_namespace=await session.system_namespace())
    manifests = await with_own_definition(session.client, manifests)
    manifests = await with_own_package_manifests(session.client, manifests, await session.system_namespace())
    manifests = await with_own_console(session.client, manifests)
    manifests = await with_own_v1(session.client, without_secrets(manifests))
    found = await states(session.client, manifests.all)
    found = await with_leaders(session.client, await session.system_namespace(), with_image_differences(found), show)
    versions, unknown = sorted({each.version for each in found if each.version}), ""
    if versions == [manifests.version]:
        compared = await compare(session.client, found)
        found, unknown = compared.states, compared.unknown
    is_installed = any(each.found for each in found)
    guard = await label_guard(session.client) if is_installed else LabelGuard()
    v1 = await _v1_warning(session, manifests, show)
    return SuiteStatus(tuple(found), guard, manifests.version, tuple(versions), unknown, v1)


async def _v1_warning(session: Session, manifests: Manifests, show: Callable[[str], None]) -> str:
    """Say that OLM v1 leads although the suite serves its kinds; "" if it does not, or if the user may not read Leases."""
    is_served = bool(await own_objects(session.client, manifests))
    try:
        renewal = await find_renewal(session.client, show) if is_served else None
    except Forbidden:
        return ""
    return f"ClusterCatalogs and ClusterExtensions are left to OLM v1: {renewal.text}" if renewal else ""
