"""Observes the World of one BundleDeployment from informers, rendered content and the Memory of this process.

Reads in stages, and each stage depends on the stages before it:

    bundles        its Bundles, and their content as it is rendered for this cluster
    objects        its objects on the cluster: the objects with its label, Namespaces, CustomResourceDefinitions
    contents       the content as it would be applied now, with certificates; the notes about the last applies
    definitions    the problems of the CustomResourceDefinitions of the content, and the conversion of custom resources
    state          the evaluation, and the facts that depend on it: endpoints that the next phase waits for, pods, counts
    removal        during a deletion, instead of all stages but `objects`: the facts that the deletion needs

Only reads. If a later pass needs a fact that this pass finds out, the fact is part of the World, and publish records it. A watch
begins with its first reader and ends with its last reader. Requests to the API server only read facts that the next decision
depends on and that no informer has. If only a single decision depends on a fact, a Plan reads it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import compress

from olmkit.api import operator_condition_names, operators
from olmkit.api.bundledeployments import INVENTORY_ANNOTATION, BundleDeployment
from olmkit.api.customresourcedefinitions import definition_of
from olmkit.api.impersonation import Account
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client
from olmkit.stored_times import time_left
from rukpak.admission.probe import AdmissionProbe
from rukpak.bundledeployment.account_rules import AccountPolicy, shown_to
from rukpak.bundledeployment.act import MAX_FAILED_DELETIONS, Memory
from rukpak.bundledeployment.apply.certificate_rotation import with_certificates
from rukpak.bundledeployment.apply.certificate_secrets import CertificateSecrets
from rukpak.bundledeployment.apply.created_namespaces import observed
from rukpak.bundledeployment.apply.install import awaited_endpoints
from rukpak.bundledeployment.apply.kept_templates import DEPLOYMENT, is_prepared
from rukpak.bundledeployment.apply.notes import restored
from rukpak.bundledeployment.apply.object_owner import described
from rukpak.bundledeployment.apply.owner_lookup import observed_definition
from rukpak.bundledeployment.bundle_info import BundleInfo, UnpackState
from rukpak.bundledeployment.charts.chart_renderer import ChartRenderer
from rukpak.bundledeployment.charts.chart_state import ChartState
from rukpak.bundledeployment.cluster import inventory, transforms
from rukpak.bundledeployment.cluster.account_watch import AccountWatch
from rukpak.bundledeployment.cluster.conversion_watch import ConversionWatch
from rukpak.bundledeployment.cluster.endpoint_probe import EndpointProbe, EndpointState
from rukpak.bundledeployment.cluster.informers import MEMBER_INDEX, ORPHAN_INDEX, RELEASED_INDEX, Informers
from rukpak.bundledeployment.cluster.inventory import OWNER_INDEX, Inventory
from rukpak.bundledeployment.cluster.namespace_blockers import NamespaceBlockers
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.cluster.namespace_reader import read_blockers
from rukpak.bundledeployment.cluster.pod_watch import PodWatch
from rukpak.bundledeployment.cluster.rest_mapper import RestMapper
from rukpak.bundledeployment.cluster.usage import UsageReader, installed_definitions
from rukpak.bundledeployment.cluster.webhook_endpoints import webhooks_without_endpoints
from rukpak.bundledeployment.count_schedule import (
    NO_DELAY,
    CustomResourceCounts,
    count_request,
    is_count_wanted,
    time_to_count,
)
from rukpak.bundledeployment.crd_upgrade import crd_gate
from rukpak.bundledeployment.crd_upgrade.crd_changes import CrdChangeReader
from rukpak.bundledeployment.crd_upgrade.existing_objects import ExistingObjectsChecker
from rukpak.bundledeployment.crd_upgrade.held_definitions import with_held_definitions
from rukpak.bundledeployment.evaluate import evaluate
from rukpak.bundledeployment.evaluation import Evaluation
from rukpak.bundledeployment.events import (
    CREATED_INDEX,
    REQUIRED_INDEX,
    UID_INDEX,
    EventMapper,
    controller_references,
    recorded_namespaces,
)
from rukpak.bundledeployment.identity import Identities
from rukpak.bundledeployment.object_labels import with_labels
from rukpak.bundledeployment.render_cache import RenderCache
from rukpak.bundledeployment.rendered_bundle import Content, MissingContent, RenderedBundle, UnrenderedChart
from rukpak.bundledeployment.revisions.bundle_bodies import derive_record
from rukpak.bundledeployment.revisions.target import options_of
from rukpak.bundledeployment.world import (
    CRD,
    NAMESPACE,
    CustomResource,
    DeletedWorld,
    Interests,
    ListFailure,
    World,
)
from rukpak.format.objects import ObjectKey
from rukpak.render.install_options import InstallOptions

PODS_READ_AFTER = timedelta(seconds=5)
"""The time for which a workload has to be unhealthy before its pods are read. Most rollouts end earlier."""

TARGET, ACTIVE, FALLBACK = "target", "active", "fallback"
"""The roles of the contents."""


@dataclass(frozen=True)
class Observer:
    """Observes all BundleDeployments. `memories` has the Memory of each by name, which act and publish record."""

    client: Client
    informers: Informers
    rest_mapper: RestMapper
    render_cache: RenderCache
    inventory: Inventory
    event_mapper: EventMapper
    usage: UsageReader
    crd_changes: CrdChangeReader
    endpoint_probe: EndpointProbe
    certificates: CertificateSecrets
    conversions: ConversionWatch
    pods: PodWatch
    existing_objects: ExistingObjectsChecker
    memories: Mapping[str, Memory]
    charts: ChartRenderer
    accounts: AccountWatch
    account_policy: AccountPolicy
    admission: AdmissionProbe | None = None
    """The probe of the webhooks without which no Bundle is created and nothing is done as an account; None if there is none."""

    async def observe(self, key: str) -> World | DeletedWorld | None:
        """The World of a BundleDeployment; None if it does not exist and this process has no Memory of it. Raises ApiError only
        if the API server does not report which kinds it serves.
        """
        raw, memory = self.informers.deployments.get(key), self.memories.get(key)
        uid = raw["metadata"]["uid"] if raw is not None else None
        if memory is not None and memory.uid != uid:
            return DeletedWorld(key)
        if raw is None:
            return None
        changes_before = self.event_mapper.changes
        await self.rest_mapper.refresh()
        deployment, memory = BundleDeployment.load(raw), memory or Memory(uid or "")
        start = World(
            now=datetime.now(UTC),
            raw=raw,
            deployment=deployment,
            inventory=inventory.parse_annotation(deployment.metadata.annotations.get(INVENTORY_ANNOTATION, "")),
            changes_before=changes_before,
            last_applied=memory.last_applied,
            usage=memory.usage,
            brief_wait_since=memory.brief_wait_since,
            permitted=memory.permitted,
            is_refused=memory.is_refused,
            uncopied=memory.uncopied,
            has_operator_conditions=bool(self.rest_mapper.versions(operator_condition_names.GROUP_KIND)),
            account_refusal=self.account_policy.refusal(deployment.spec.account()),
        )
        start = await self._with_account(start)
        if deployment.metadata.deleting:
            return await self._with_removal(await self._with_objects(start), memory)
        known = await self._with_objects(await self._with_record(await self._with_bundles(start)))
        rendered = await self._with_templates(await self._with_contents(known))
        return await self._with_state(await self._with_definitions(rendered), memory)

    def _as_account(self, world: World) -> Client | None:
        """The client of the account; None without one."""
        return Identities(self.client).of(world) if world.account is not None else None

    async def _with_account(self, world: World) -> World:
        """The World with the state of the account. A refused one is not watched."""
        account = world.account if not world.account_refusal else None
        unguarded = self.admission.account_problem() if self.admission and account is not None else ""
        exists = await self.accounts.exists(world.name, account)
        return replace(world, account_exists=exists, account_unguarded=unguarded)

    async def _with_bundles(self, world: World) -> World:
        own = {obj["metadata"]["name"]: obj for obj in self.informers.bundles.by_index(OWNER_INDEX, world.uid)}
        without_owner = self.informers.bundles.by_index(ORPHAN_INDEX, world.name)
        orphans = {obj["metadata"]["name"] for obj in without_owner} - own.keys()
        own |= {name: obj for name in orphans if (obj := self.informers.bundles.get(name)) is not None}
        other = self.informers.bundles.get(world.target_bundle) if world.target_bundle not in own else None
        owner = _owner_of(other) if other else ""
        is_left = owner == described(world.name)
        active = world.active_bundle if not world.is_target_active else None
        known = {name: replace(self._bundle(obj), is_orphan=name in orphans) for name, obj in own.items()}
        charts = self._charts(world, known, active)
        world = replace(world, charts=tuple(dict.fromkeys(charts.values())))
        needed = (world.target_bundle, active, world.fallback.bundle if world.fallback else None)
        is_complete = all(name in own for name in needed if name is not None)
        return replace(
            world,
            bundles=known,
            bundle_owner=owner,
            left_bundle=self._bundle(other) if other and is_left else None,
            content=await self._content(
                world, known.get(world.target_bundle), world.target.options, charts.get(TARGET)
            ),
            active_content=await self._content(
                world, known.get(active or ""), world.installed_options, charts.get(ACTIVE)
            ),
            fallback_content=await self._fallback_content(world, known, charts.get(FALLBACK)),
            admission_problem=await self.admission.problem() if self.admission and not is_complete else "",
            is_active_name_taken=active is not None
            and active not in own
            and self.informers.bundles.get(active) is not None,
        )

    def _charts(self, world: World, known: Mapping[str, BundleInfo], active: str | None) -> dict[str, ChartState]:
        """The charts among the contents, by the role of the content."""
        good = world.fallback
        wanted = [
            (TARGET, world.target_bundle, world.target.options, world.target.revision),
            (ACTIVE, active or "", world.installed_options, world.installed_revision),
            *([(FALLBACK, good.bundle, options_of(good), good)] if good is not None else []),
        ]
        found: dict[str, ChartState] = {}
        for role, name, options, revision in wanted:
            bundle = known.get(name)
            if bundle is not None and bundle.is_chart and bundle.digest and bundle.unpack_state is UnpackState.DONE:
                is_later = world.is_later(revision)
                inputs = self.charts.inputs(world.name, name, bundle.digest, options, is_upgrade=is_later)
                found[role] = self.charts.state(inputs, has_account=world.account is not None)
        return found

    async def _fallback_content(
        self, world: World, known: Mapping[str, BundleInfo], chart: ChartState | None
    ) -> Content:
        good = world.fallback
        return await self._content(world, known.get(good.bundle), options_of(good), chart) if good else MissingContent()

    async def _with_record(self, world: World) -> World:
        """The World with the record from the Operator's status, if the active Bundle is missing and was never recorded."""
        active = world.active_bundle
        is_known = active is None or active in world.bundles or world.record(active) is not None
        owner = world.deployment.metadata.controller
        if is_known or owner is None or owner.kind != operators.KIND.kind:
            return world
        try:
            operator = operators.Operator.load(await self.client.get(operators.KIND, owner.name))
        except ApiError:
            return world
        is_owner = operator.metadata.uid == owner.uid
        return replace(world, derived_record=derive_record(world, operator.status) if is_owner else None)

    async def _content(
        self, world: World, bundle: BundleInfo | None, options: InstallOptions, chart: ChartState | None
    ) -> Content:
        """The content of a Bundle as it is to be installed, if the Bundle is unpacked. A chart is installed as helm has rendered
        it last."""
        digest = bundle.digest if bundle is not None else ""
        if bundle is None or not digest or bundle.unpack_state is not UnpackState.DONE:
            return MissingContent()
        if chart is not None and (chart.error is not None or not chart.digest):
            return chart.error or UnrenderedChart()
        return await self.render_cache.rendered(
            bundle.name, world.name, digest, options, chart.digest if chart is not None else ""
        )

    async def _with_objects(self, world: World) -> World:
        interests = self._interests(world)
        owned = await self.inventory.list(world.uid, world.inventory)
        namespaces = self._namespaces(world, interests.namespaces)
        definitions = filter(None, (definition_of(self.informers.crds.get(name)) for name in interests.crds))
        name_of = self.event_mapper.name_of
        crds = {crd.name: await observed_definition(self.client, crd, name_of, world.name) for crd in definitions}
        return replace(
            world,
            interests=interests,
            labeled={key: self.informers.pending_deletions.applied_to(entry) for key, entry in owned.labeled.items()},
            taken=self._taken(world),
            unsynced=owned.unsynced,
            unreachable_kinds=owned.unreachable,
            namespaces=namespaces,
            crds=crds,
            namespace_blockers=await self._namespace_blockers(namespaces.values(), world.account),
        )

    async def _with_contents(self, world: World) -> World:
        """The World with the contents as they would be applied now, and the notes about the last applies."""
        contents = (world.content, world.active_content)
        certificates = await self.certificates.read(world, contents)
        content, active = (
            with_certificates(with_labels(each, world.object_labels), certificates)
            if isinstance(each, RenderedBundle)
            else each
            for each in contents
        )
        content = with_held_definitions(world, content)
        known = replace(world, certificates=certificates, content=content, active_content=active)
        return known if known.last_applied else replace(known, last_applied=restored(known))

    async def _with_templates(self, world: World) -> World:
        """The World with the Deployments that others have prepared to be taken over with their pods."""
        content = world.content
        if not world.takes_templates or not isinstance(content, RenderedBundle):
            return world
        known = {*world.owned, *world.last_applied}  # what was applied before was taken over before
        wanted = [item.key for item in content.objects() if item.key[:2] == DEPLOYMENT and item.key not in known]
        kind = self.rest_mapper.storage_kind(DEPLOYMENT)
        found = await asyncio.gather(*(self._is_prepared(kind, key) for key in wanted if kind is not None))
        return replace(world, prepared_templates=frozenset(compress(wanted, found)))

    async def _is_prepared(self, kind: Kind, key: ObjectKey) -> bool:
        try:
            return is_prepared(await self.client.get(kind, key.name, key.namespace))
        except ApiError:  # the apply finds it out
            return False

    async def _with_definitions(self, world: World) -> World:
        """The World with the problems of the CustomResourceDefinitions that are about to be replaced, and the state of their
        conversion."""
        return replace(
            world,
            crd_problems=await self.crd_changes.problems(world, crd_gate.candidates(world)),
            conversion_problems=await self.conversions.problems(world),
            existing_objects=shown_to(world, self.existing_objects.state(world.name)),
        )

    def _taken(self, world: World) -> frozenset[ObjectKey]:
        if world.is_target_active or not isinstance(world.content, RenderedBundle):
            return frozenset()
        return self.inventory.taken(world.uid, (item.key for item in world.content.objects()))

    async def _with_state(self, world: World, memory: Memory) -> World:
        """The World with its evaluation and the facts that depend on it: the state of the installed objects, and of the endpoints
        that the next phase waits for."""
        evaluation = evaluate(world)
        endpoints = await self._endpoints(world, evaluation, memory.refused_since)
        refused = {name: state.refused_since for name, state in endpoints.items()}
        unhealthy = {key: entry.pod_selector for key, entry in world.owned.items() if entry.pod_selector}
        since = (memory.unhealthy_since or world.now) if unhealthy else None
        is_read = since is not None and not time_left(since, PODS_READ_AFTER, world.now)
        return replace(
            world,
            evaluation=evaluation,
            endpoint_problems={name: state.problem for name, state in endpoints.items()},
            refused_since={name: each for name, each in {**memory.refused_since, **refused}.items() if each},
            unhealthy_since=since,
            pod_problems=await self.pods.problems(world.name, unhealthy if is_read else {}, self._as_account(world)),
            custom_resource_counts=await self._counts(world, memory.custom_resource_counts),
        )

    async def _endpoints(
        self, world: World, evaluation: Evaluation, refused_since: Mapping[str, datetime]
    ) -> dict[str, EndpointState]:
        """The endpoints that the next phase waits for, by their Deployment."""
        applied = world.content if evaluation.blocker is None else world.active_content
        awaited = awaited_endpoints(world, applied) if isinstance(applied, RenderedBundle) else ()
        return {
            endpoint.deployment: await self.endpoint_probe.state(
                endpoint,
                world.certificates.get(endpoint.secret_key),
                refused_since.get(endpoint.deployment),
                world.now,
            )
            for endpoint in awaited
        }

    def _interests(self, world: World) -> Interests:
        contents = world.contents
        keys = [item.key for content in contents for item in content.objects()]
        released_namespaces, released_crds = (
            {obj["metadata"]["name"] for obj in informer.by_index(RELEASED_INDEX, world.name)}
            for informer in (self.informers.namespaces, self.informers.crds)
        )
        return Interests(
            kinds=world.inventory.union(*(content.absent_kinds for content in contents)),
            namespaces=frozenset(
                released_namespaces.union(
                    (key.name for key in keys if key[:2] == NAMESPACE),
                    recorded_namespaces(world.raw),
                    *(content.required_namespaces for content in contents),
                )
            ),
            crds=frozenset(released_crds.union(key.name for key in keys if key[:2] == CRD)),
            all_kinds=any(chart.inputs.api_versions for chart in world.charts),
            values=frozenset(each for chart in world.charts for each, _ in chart.inputs.versions),
        )

    def _namespaces(self, world: World, names: Iterable[str]) -> dict[str, NamespaceInfo]:
        """The Namespaces with these names, and the Namespaces that the BundleDeployment is a member of."""
        found = [transforms.namespace_info_of(self.informers.namespaces.get(name)) for name in names]
        found += map(transforms.namespace_info_of, self.informers.namespaces.by_index(MEMBER_INDEX, world.uid))
        known = (self.informers.pending_deletions.applied_to(entry) for entry in found if entry is not None)
        return {entry.name: self._observed(world, entry) for entry in known}

    def _observed(self, world: World, namespace: NamespaceInfo) -> NamespaceInfo:
        is_required = bool(self.informers.deployments.by_index(REQUIRED_INDEX, namespace.name))
        return replace(observed(namespace, world.raw, self._others(world, namespace)), is_required=is_required)

    def _others(self, world: World, namespace: NamespaceInfo) -> list[Object]:
        """The other BundleDeployments that the labels of the Namespace name, and the BundleDeployments that have recorded a
        Namespace of its name."""
        found = [raw for uid in namespace.members for raw in self.informers.deployments.by_index(UID_INDEX, uid)]
        found += self.informers.deployments.by_index(CREATED_INDEX, namespace.name)
        by_uid = {raw["metadata"]["uid"]: raw for raw in found}
        return [raw for uid, raw in by_uid.items() if uid != world.uid]

    async def _namespace_blockers(
        self, namespaces: Iterable[NamespaceInfo], account: Account | None
    ) -> dict[str, NamespaceBlockers]:
        """The blockers of the Namespaces that are being deleted; with an account without the names of objects in them."""
        deleting = [namespace.name for namespace in namespaces if namespace.deletion_timestamp is not None]
        kinds = self.rest_mapper.listable_kinds() if deleting else ()
        found = {name: await read_blockers(self.client, kinds, name) for name in deleting}
        return found if account is None else {name: replace(each, finalizers={}) for name, each in found.items()}

    def _bundle(self, raw: Object) -> BundleInfo:
        bundle = transforms.bundle_info(raw)
        is_deleting = bundle.is_deleting or bundle.uid in self.informers.pending_deletions
        return replace(bundle, is_deleting=is_deleting)

    async def _counts(self, world: World, last: CustomResourceCounts | None) -> CustomResourceCounts | None:
        """The number of custom resources, if a count is wanted. They are counted when a count is due and the CRDs are known."""
        deployment = world.deployment
        if not is_count_wanted(deployment):
            return None
        if time_to_count(deployment, last, world.now) != NO_DELAY:
            return last
        counts = await self.usage.custom_resources(world.uid, world.name)
        request, is_deleting = count_request(deployment), deployment.metadata.deleting
        return CustomResourceCounts(request, world.now, is_deleting, counts)

    async def _with_removal(self, world: World, memory: Memory) -> World:
        """The World with the facts that a deletion needs. While the deletion is held, these are only the counts, because other
        facts may change until it continues."""
        world = replace(world, custom_resource_counts=await self._counts(world, memory.custom_resource_counts))
        if world.deletion_hold:
            return world
        remaining = [key for key, entry in world.owned.items() if entry.deletion_timestamp is None]
        failed = memory.failed_deletions.items()
        return replace(
            await self._with_custom_resources(world, memory),
            webhooks_without_endpoints=await webhooks_without_endpoints(self.client, remaining),
            foreign_objects=memory.foreign_objects,
            undeletable=frozenset(uid for uid, times in failed if times >= MAX_FAILED_DELETIONS),
        )

    async def _with_custom_resources(self, world: World, memory: Memory) -> World:
        """The World with the custom resources that are deleted with its CRDs, of those CRDs that are not kept. They are listed in
        each pass until there are none."""
        if memory.has_no_custom_resources or world.deletion_policy != "Cascade":
            return replace(world, custom_resources=())
        found: list[CustomResource] = []
        client = Identities(self.client).of(world)
        for crd in installed_definitions(self.informers.crds, world.uid, world.name):
            kind = self.rest_mapper.storage_kind(crd.group_kind)
            definition = world.owned.get(ObjectKey(*CRD, "", crd.name))
            if kind is None or (definition is not None and world.is_kept(definition)):
                continue
            try:
                objects, _ = await client.list(kind, metadata_only=True)
            except NotFound:
                continue
            except ApiError as error:
                return replace(world, custom_resources=None, list_failure=ListFailure(crd, error))
            found += map(transforms.custom_resource, objects)
        return replace(world, custom_resources=tuple(found))


def _owner_of(bundle: Object) -> str:
    owners = controller_references(bundle)
    return described(owners[0]["name"]) if owners else "an unknown owner"
