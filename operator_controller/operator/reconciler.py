"""Reconciles Operators: observes one, runs the five steps, and writes its status.

Reads informers and asks the Resolver. Writes only the status; act carries out Plans.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from olmkit.api.clusterextensions import extension_of
from olmkit.api.conditions import StatusReport, find_condition, is_condition_true
from olmkit.api.meta import Object
from olmkit.api.operator_status import OperatorStatus
from olmkit.api.operators import ConditionType, Operator
from olmkit.api.ownership import is_dependency
from olmkit.runtime.informer import Change
from olmkit.runtime.orphaning import OrphaningObjects
from olmkit.runtime.reconciler import Reconciler
from olmkit.runtime.status_publisher import Publisher
from operator_controller.crd_checks.checker import CrdChecker
from operator_controller.operator.act import OperatorActions
from operator_controller.operator.crd_check import waiting_bundle
from operator_controller.operator.decide import decide
from operator_controller.operator.dependencies import DeletionEvaluation, is_unused
from operator_controller.operator.evaluation import Evaluation
from operator_controller.operator.events import (
    PACKAGE_INDEX,
    Informers,
    packages_of,
    pull_secret_of,
    selected_catalogs,
    verification_of,
)
from operator_controller.operator.metrics import count_installation
from operator_controller.operator.planned_bundle import read_record
from operator_controller.operator.rejected_images import RejectedImages
from operator_controller.operator.report import report
from operator_controller.operator.resolution_request import make_request
from operator_controller.operator.running_bundle import read_recorded, read_running
from operator_controller.operator.world import (
    Done,
    Neighbour,
    ObservedBundleDeployment,
    PackageClaim,
    Plan,
    World,
    is_owned,
)
from operator_controller.resolution.resolution_loop import Resolver
from operator_controller.resolve.answers.answer import related_packages
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest


class MissingBundles:
    """Remembers the time since which the active Bundle of each Operator has been missing. A new leader starts again.

    observe reads it, and publish records it at the end of a pass.
    """

    def __init__(self) -> None:
        self._since: dict[str, tuple[str, datetime]] = {}

    def since(self, operator: str, bundle: str, now: datetime) -> datetime:
        """The time since which the Bundle has been missing; `now` if it was not missing in the last pass."""
        name, since = self._since.get(operator, ("", now))
        return since if name == bundle else now

    def record(self, world: World) -> None:
        """Remember the missing Bundle of a World, or that no Bundle is missing."""
        name = world.operator.metadata.name
        if world.missing_bundle and world.missing_since is not None:
            self._since[name] = world.missing_bundle, world.missing_since
        else:
            self._since.pop(name, None)

    def forget_deleted(self, change: Change) -> None:
        """Forget an Operator that was deleted."""
        if change.new is None and change.old is not None:
            self._since.pop(change.old["metadata"]["name"], None)

    def clear(self) -> None:
        """Forget everything."""
        self._since.clear()


@dataclass(frozen=True)
class OperatorReconciler:
    """Observes and publishes; `actions` carries out Plans."""

    actions: OperatorActions
    publisher: Publisher
    informers: Informers
    resolver: Resolver
    rejected_images: RejectedImages = field(default_factory=RejectedImages)
    missing_bundles: MissingBundles = field(default_factory=MissingBundles)
    orphaning: OrphaningObjects = field(default_factory=OrphaningObjects)
    crd_checker: CrdChecker | None = None

    def steps(
        self,
    ) -> Reconciler[World, Plan, Evaluation | DeletionEvaluation, Done, StatusReport[OperatorStatus] | None]:
        """The pass over one Operator."""
        return Reconciler(self.observe, decide, self.actions.act, report, self.publish)

    def start_leading(self) -> None:
        """Forget facts that another leader may have changed."""
        self.publisher.reset()
        self.missing_bundles.clear()
        self.resolver.clear()
        if self.crd_checker is not None:
            self.crd_checker.clear()

    async def observe(self, key: str) -> World | None:
        """The World of an Operator; None if it does not exist."""
        world = self._observe_unresolved(key)
        request = make_request(world) if world is not None else None
        if world is None or request is None or not (request.is_resolvable or request.is_deleting):
            return world
        resolution = self.resolver.answer_to(request)
        answer = resolution.answer
        if answer is None:
            return replace(world, resolution=resolution)
        catalog = self.informers.catalogs.get(answer.bundle.catalog) if answer.bundle is not None else None
        return replace(
            world,
            resolution=resolution,
            pull_secret=pull_secret_of(catalog) if catalog is not None else None,
            verification=verification_of(catalog) if catalog is not None else None,
            crd_check=self.crd_checker.state(key) if self.crd_checker is not None else None,
            neighbours=self._neighbours(related_packages(answer, request.held_package)),
        )

    def read_request(self, key: str) -> OperatorRequest | None:
        """The request of an Operator, for the Resolver; None if it does not take part in resolution."""
        world = self._observe_unresolved(key)
        return make_request(world) if world is not None else None

    def _observe_unresolved(self, key: str) -> World | None:
        """The World without the answer of resolution."""
        world = self._observe_objects(key)
        if world is None or world.operator.metadata.deleting:
            return world
        return replace(
            world,
            claims=package_claims(self.informers, world.operator.spec.package_name),
            rejected_images=self.rejected_images.snapshot(),
            selected_catalogs=selected_catalogs(world.operator, self.informers.catalogs.objects.values()),
        )

    def _observe_objects(self, key: str) -> World | None:
        """The World with the Operator, its BundleDeployment and the running bundle."""
        raw = self.informers.operators.get(key)
        if raw is None:
            return None
        operator = Operator.load(raw)
        deployment = self.informers.deployments.get(key)
        world = World(
            now=datetime.now(UTC),
            raw=raw,
            operator=operator,
            bundle_deployment=ObservedBundleDeployment.load(deployment) if deployment is not None else None,
            was_orphaning=operator.metadata.uid in self.orphaning,
        )
        if world.leaves_bundle_deployment:
            world = replace(world, dependencies=self._dependencies(operator))
        return self._with_running(world)

    def _dependencies(self, operator: Operator) -> tuple[str, ...]:
        """The names of the Operators that were created for requirements of its bundle."""
        names = sorted(one.operator for one in operator.status.dependencies or () if one.operator)
        found = {name: self.informers.operators.get(name) for name in names}
        return tuple(name for name, raw in found.items() if raw is not None and is_dependency(raw))

    def _neighbours(self, packages: Iterable[str]) -> dict[str, Neighbour]:
        """The Operators for these packages, as far as they exist."""
        found: dict[str, Neighbour] = {}
        for package in packages:
            claims = package_claims(self.informers, package)
            senior = min(claims, key=lambda claim: claim.seniority, default=None)
            world = self._observe_objects(senior.name) if senior is not None else None
            if world is not None:
                found[package] = _neighbour(world, package)
        return found

    def _with_running(self, world: World) -> World:
        """The World with the running bundle, read from the active Bundle, or from its record if the Bundle is missing."""
        deployment = world.owned_bundle_deployment
        active = deployment.model.status.active_bundle if deployment else None
        if deployment is None or not active:
            return world
        raw = self.informers.bundles.get(active)
        if raw is not None:
            running, installed = read_running(raw)
            return replace(world, running=running, installed_status=installed)
        recorded = read_recorded(world.operator, deployment)
        return replace(
            world,
            running=recorded[0] if recorded else None,
            installed_status=recorded[1] if recorded else None,
            missing_bundle=active,
            missing_since=self.missing_bundles.since(world.operator.metadata.name, active, world.now),
        )

    async def publish(self, world: World, status_report: StatusReport[OperatorStatus] | None) -> None:
        """Record the observations that later passes need, then write the report, if there is one. Raises NotFound when the
        Operator is deleted."""
        self.missing_bundles.record(world)
        if world.resolution is not None:
            self.resolver.expect(world.resolution)
        if status_report is None:
            return
        if await self.publisher(world.raw, status_report):
            count_installation(world.operator.status, status_report.status)
        name = world.operator.metadata.name
        if self.crd_checker is not None and self.informers.operators.get(name) is not None:
            self.crd_checker.expect(name, waiting_bundle(world.operator, status_report.status.available))


def _neighbour(world: World, package: str) -> Neighbour:
    ready = find_condition(world.operator.status.conditions, ConditionType.READY)
    deployment = world.owned_bundle_deployment
    record = read_record(deployment) if deployment is not None else None
    return Neighbour(
        operator=world.operator.metadata.name,
        package=package,
        bundle=world.running.name if world.running is not None else "",
        message=ready.message if ready is not None else "",
        is_stalled=is_condition_true(world.operator.status.conditions, ConditionType.STALLED),
        is_deleting=world.operator.metadata.deleting,
        has_bundle_deployment=deployment is not None,
        is_unused=is_unused(world),
        requested=deployment.bundle_name if deployment is not None else "",
        plan=record.plan if record is not None else "",
    )


# --- other Operators for the same package


def package_claims(informers: Informers, package: str) -> tuple[PackageClaim, ...]:
    """The claims of all Operators that request the package or have it, sorted by name."""
    claimants = {raw["metadata"]["name"]: raw for raw in informers.operators.by_index(PACKAGE_INDEX, package)}
    for deployment in informers.deployments.by_index(PACKAGE_INDEX, package):
        name = deployment["metadata"]["name"]
        operator = informers.operators.get(name)
        if operator is not None and _owns(operator, deployment):
            claimants[name] = operator
    found = (_claim(informers, raw, package) for _, raw in sorted(claimants.items()))
    return tuple(claim for claim in found if claim is not None)


def _claim(informers: Informers, operator: Object, package: str) -> PackageClaim | None:
    """The claim of an Operator. None if it requests the package while another package is installed for it, which must be resolved
    first."""
    name = operator["metadata"]["name"]
    deployment = informers.deployments.get(name)
    if deployment is not None and not _owns(operator, deployment):
        deployment = None
    is_installed = deployment is not None and bool((deployment.get("status") or {}).get("activeBundle"))
    has_package = deployment is not None and package in packages_of(deployment)
    if is_installed and not has_package:
        return None
    return PackageClaim(
        is_new=not (is_installed and has_package),
        is_idle=not has_package,
        created=operator["metadata"].get("creationTimestamp", ""),
        name=name,
        is_deleting="deletionTimestamp" in operator["metadata"],
        is_dependency=is_dependency(operator),
        extension=extension_of(operator),
    )


def _owns(operator: Object, deployment: Object) -> bool:
    return is_owned(ObservedBundleDeployment.load(deployment), operator["metadata"]["uid"])
