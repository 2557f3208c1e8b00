"""The Operator that a Subscription of OLM v0 becomes, or the reasons why it becomes none. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmctl.migration.catalog_sources import CatalogPlan, plan_catalogs
from olmctl.migration.marks import MARK, REMOVING
from olmctl.migration.v0 import ALL_NAMESPACES, SUCCEEDED, TARGETS_ANNOTATION, OlmV0, is_copy, properties
from olmctl.migration.values import at, full_name, items, name_of, namespace_of, text, texts
from olmctl.questions.install import operator_name
from olmkit.api import operators
from olmkit.api.catalogs import NAME_LABEL
from olmkit.api.install_settings import MAX_WATCHED_NAMESPACES
from olmkit.api.meta import Object
from olmkit.api.names import is_kubernetes_namespace, pluralize
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION
from olmkit.gocompat.versions import BadVersion, parse_tolerant_version, parse_version

CONFIG_FIELDS = (
    "env", "envFrom", "volumes", "volumeMounts", "nodeSelector", "tolerations", "resources", "affinity", "annotations",
)  # fmt: skip
"""The fields of a Subscription's spec.config that config of an Operator has too."""
PACKAGE_SERVER = "packageserver"
_MANUAL = "Manual"


@dataclass(frozen=True)
class PackagePlan:
    """The result for one Subscription."""

    subscription: Object = field(repr=False)
    version: Object | None = field(default=None, repr=False)
    """The ClusterServiceVersion that is installed; None if there is none."""
    catalog: CatalogPlan | None = field(default=None, repr=False)
    operator: Object | None = field(default=None, repr=False)
    """The Operator; None if it cannot be written."""
    problems: tuple[str, ...] = ()
    """The reasons why it is not migrated now; empty: it can be."""
    notes: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    """Packages of other Subscriptions that provide what it requires: they are migrated before."""

    @property
    def package(self) -> str:
        """The name of the package."""
        return text(self.subscription, "spec", "name")

    @property
    def has_begun(self) -> bool:
        """True if its migration has begun, and can be continued or undone."""
        return MARK in (at(self.version, "metadata", "labels") or {})

    @property
    def namespace(self) -> str:
        """The namespace that it is installed into."""
        return namespace_of(self.subscription)

    @property
    def name(self) -> str:
        """The name of the Operator."""
        return operator_name(self.package)


@dataclass(frozen=True)
class MigrationPlan:
    """The result for everything that OLM v0 has."""

    catalogs: Mapping[str, CatalogPlan]
    packages: tuple[PackagePlan, ...]
    """By package, then namespace; what is required comes first."""
    rest: tuple[tuple[str, str], ...] = ()
    """Other objects, and why nothing becomes of them."""

    def named(self, package: str) -> list[PackagePlan]:
        """The plans of the Subscriptions of a package."""
        return [each for each in self.packages if each.package == package]


def make_plan(found: OlmV0, chosen: Mapping[str, str]) -> MigrationPlan:
    """The plan for everything. `chosen`: namespace/name of a CatalogSource -> the Catalog that takes its place."""
    catalogs = plan_catalogs(found, chosen)
    providers = _providers(found)
    plans = [_plan(found, each, catalogs, chosen, providers) for each in found.subscriptions]
    plans.sort(key=lambda plan: (plan.package, plan.namespace, name_of(plan.subscription)))
    return MigrationPlan(catalogs, tuple(_ordered(plans)), tuple(_rest(found)))


def _ordered(plans: Sequence[PackagePlan]) -> Iterator[PackagePlan]:
    """The plans, each after those that it requires; a circle is cut."""
    done: set[int] = set()

    def visit(plan: PackagePlan, above: frozenset[str]) -> Iterator[PackagePlan]:
        if id(plan) in done:
            return
        for other in plans:
            if other.package in plan.requires and other.package not in above:
                yield from visit(other, above | {plan.package})
        if id(plan) not in done:
            done.add(id(plan))
            yield plan

    for plan in plans:
        yield from visit(plan, frozenset({plan.package}))


def _plan(
    found: OlmV0,
    subscription: Object,
    catalogs: Mapping[str, CatalogPlan],
    chosen: Mapping[str, str],
    providers: Mapping[str, frozenset[str]],
) -> PackagePlan:
    namespace = namespace_of(subscription)
    source = f"{text(subscription, 'spec', 'sourceNamespace')}/{text(subscription, 'spec', 'source')}"
    catalog = catalogs.get(source) or (CatalogPlan(source, chosen[source]) if source in chosen else None)
    installed = text(subscription, "status", "installedCSV")
    version = found.version(namespace, installed) if installed else None
    migrated = _migrated_operator(found, subscription)
    if installed and version is None and migrated is not None:
        version = gone_version(migrated, installed, source)
    problems = [*_problems(found, subscription, version), *_catalog_problems(found, subscription, catalog, source)]
    group = next(iter(found.groups_in(namespace)), None)
    operator = _operator(subscription, version, group, catalog) if version is not None else None
    notes = tuple(_notes(found, subscription, version, group)) if version is not None else ()
    requires = _requires(subscription, version, providers) if version is not None else ()
    return PackagePlan(subscription, version, catalog, operator, tuple(problems), notes, requires)


def migrated_operators(found: OlmV0) -> dict[tuple[str, str], Object]:
    """Package and namespace -> the Operator that a migration has created for it: only administrators can."""
    marked = [each for each in found.operators if text(each, "metadata", "labels", MARK)]
    return {
        (text(each, "metadata", "labels", MARK), text(each, "spec", "install", "namespace")): each for each in marked
    }


def _migrated_operator(found: OlmV0, subscription: Object) -> Object | None:
    return migrated_operators(found).get((text(subscription, "spec", "name"), namespace_of(subscription)))


def gone_version(operator: Object, name: str = "", source: str = "") -> Object:
    """A stand-in for a ClusterServiceVersion that somebody has deleted when the Operator had taken over: nothing can be
    given back to it, and the deletion of what OLM v0 has continues. `name`: "" if nothing names it any more."""
    metadata = {
        "name": name,
        "namespace": text(operator, "spec", "install", "namespace"),
        "uid": "",
        "labels": {MARK: text(operator, "metadata", "labels", MARK)},
        "annotations": {MARK: f"{REMOVING} {source}"},
    }
    return {
        "metadata": metadata,
        "spec": {"version": text(operator, "spec", "version")},
        "status": {"phase": SUCCEEDED},
    }


def changes_since(plan: PackagePlan, found: OlmV0) -> Iterator[str]:
    """The reasons why a plan is not that of OLM v0 as it is."""
    name = full_name(plan.subscription)
    subscription = next((each for each in found.subscriptions if full_name(each) == name), None)
    if subscription is None or _uid(subscription) != _uid(plan.subscription):
        yield f"Subscription {name} is gone"
        return
    installed, before = (text(each, "status", "installedCSV") for each in (subscription, plan.subscription))
    if installed != before:
        yield f"Subscription {name} has {installed or 'nothing'} installed, and not {before}"
        return
    if at(subscription, "spec") != at(plan.subscription, "spec"):
        yield f"Subscription {name} has another spec"
    version = found.version(plan.namespace, installed)
    if version is None or _uid(version) != _uid(plan.version or {}):
        yield f"ClusterServiceVersion {plan.namespace}/{installed} is gone"
        return
    if at(version, "spec") != at(plan.version, "spec"):
        yield f"ClusterServiceVersion {full_name(version)} has another spec"
    yield from _state_problems(found, subscription, version)


def _uid(obj: Object) -> str:
    return text(obj, "metadata", "uid")


def version_of(version: Object) -> str:
    """The version of a ClusterServiceVersion: that of its bundle in the catalog; "" if it has none."""
    for kind, value in properties(version):
        if kind == "olm.package" and text(value, "version"):
            return text(value, "version")
    given = text(version, "spec", "version")
    try:
        return str(parse_tolerant_version(given)) if given else ""
    except ValueError:
        return ""


def is_later_version(installed: str, before: str) -> bool:
    """Report whether the first of two versions is the later one."""
    try:
        return parse_version(installed) > parse_version(before)
    except BadVersion:
        return False


def targets_of(version: Object, group: Object | None) -> list[str]:
    """The namespaces that an installation watches; [""] is all of them."""
    annotations = at(version, "metadata", "annotations") or {}
    if isinstance(annotations.get(TARGETS_ANNOTATION), str):
        return sorted(set(annotations[TARGETS_ANNOTATION].split(",")))
    given = texts(group, "status", "namespaces") or texts(group, "spec", "targetNamespaces")
    return sorted(set(given)) or [ALL_NAMESPACES]


def _operator(subscription: Object, version: Object, group: Object | None, catalog: CatalogPlan | None) -> Object:
    number, channel = version_of(version), text(subscription, "spec", "channel")
    spec: dict[str, Any] = {"packageName": text(subscription, "spec", "name")}
    if channel:
        spec["channel"] = channel
    spec["version"] = number
    if catalog is not None and catalog.name:
        spec["catalogSelector"] = {"matchLabels": {NAME_LABEL: catalog.name}}
    metadata: dict[str, Any] = {"name": operator_name(spec["packageName"])}
    if text(subscription, "spec", "installPlanApproval") == _MANUAL:
        spec["approval"] = _MANUAL
        metadata["annotations"] = {APPROVED_VERSION_ANNOTATION: number}
    install: dict[str, Any] = {
        "namespace": namespace_of(subscription),
        "watchNamespaces": targets_of(version, group),
        "adoptionPolicy": "IfUnowned",
        "deletionPolicy": "KeepCRDs",
    }
    given = at(subscription, "spec", "config")
    config = {name: given[name] for name in CONFIG_FIELDS if isinstance(given, Mapping) and given.get(name) is not None}
    if config:
        install["config"] = config
    if text(group, "spec", "serviceAccountName"):
        install["serviceAccount"] = {"name": text(group, "spec", "serviceAccountName")}
    spec["install"] = install
    return {
        "apiVersion": operators.KIND.api_version,
        "kind": operators.KIND.kind,
        "metadata": metadata,
        "spec": spec,
    }


def _remedy(found: OlmV0, subscription: Object) -> str:
    """The end of the sentence about a ClusterServiceVersion that is gone, if an Operator that no migration has created has the
    package: nothing of OLM v0 is left but the Subscription."""
    wanted = (text(subscription, "spec", "name"), namespace_of(subscription))
    for each in found.operators:
        if (text(each, "spec", "packageName"), text(each, "spec", "install", "namespace")) == wanted:
            rest = f"delete Subscription {full_name(subscription)}, and run the command again"
            return f": Operator {name_of(each)} has the package, {rest}"
    return ""


def _problems(found: OlmV0, subscription: Object, version: Object | None) -> Iterator[str]:
    yield from _name_problems(subscription)
    namespace, package = namespace_of(subscription), text(subscription, "spec", "name")
    same = sorted(full_name(each) for each in found.subscriptions if text(each, "spec", "name") == package)
    if same[1:]:
        yield (
            f"the package is installed by {len(same)} Subscriptions ({', '.join(same)}), and an Operator is for the whole "
            "cluster: have OLM v0 remove all but one"
        )
    installed = text(subscription, "status", "installedCSV")
    if not installed:
        yield f"nothing is installed{_reason(subscription)}"
        return
    if version is None:
        yield f"its ClusterServiceVersion {namespace}/{installed} does not exist{_remedy(found, subscription)}"
        return
    yield from _state_problems(found, subscription, version)
    groups = found.groups_in(namespace)
    if len(groups) > 1:
        yield f"namespace {namespace} has {len(groups)} OperatorGroups ({', '.join(sorted(map(name_of, groups)))})"
    targets = targets_of(version, groups[0] if groups else None)
    if len(targets) > MAX_WATCHED_NAMESPACES:
        yield f"it watches {len(targets)} namespaces, and an Operator at most {MAX_WATCHED_NAMESPACES}: watch all of them"
    if not version_of(version):
        yield f'its ClusterServiceVersion has the version "{text(version, "spec", "version")}", which is none'


def _name_problems(subscription: Object) -> Iterator[str]:
    package, channel = text(subscription, "spec", "name"), text(subscription, "spec", "channel")
    if len(package) > operators.MAX_PACKAGE_NAME_LENGTH or not re.search(operators.PACKAGE_PATTERN, package):
        most = operators.MAX_PACKAGE_NAME_LENGTH
        yield f'"{package}" is no name that the spec of an Operator can have: small letters, digits, - and ., at most {most}'
    if channel and (len(channel) > operators.MAX_CHANNEL_LENGTH or not re.search(operators.CHANNEL_PATTERN, channel)):
        yield f'its channel "{channel}" is none that the spec of an Operator can have'
    namespace = namespace_of(subscription)
    if is_kubernetes_namespace(namespace):
        yield f"it is installed into namespace {namespace}, which belongs to Kubernetes"


def _reason(subscription: Object) -> str:
    """The reason why OLM v0 has not installed it, in its words."""
    wrong = ("BundleUnpackFailed", "ResolutionFailed", "InstallPlanFailed")
    for each in items(subscription, "status", "conditions"):
        if text(each, "type") in wrong and text(each, "status") == "True":
            message = text(each, "message") or text(each, "reason")
            return f": {text(each, 'type')}: {message}" if message else f": {text(each, 'type')}"
    return ""


def _state_problems(found: OlmV0, subscription: Object, version: Object) -> Iterator[str]:
    """The changes that are under way. While OLM v0 makes one, nothing is taken from it."""
    name, phase = full_name(version), text(version, "status", "phase")
    if phase != SUCCEEDED:
        why = f" ({text(version, 'status', 'message')})" if text(version, "status", "message") else ""
        yield f'ClusterServiceVersion {name} is in phase "{phase}"{why}: wait until it is {SUCCEEDED}'
    for other in found.originals():
        if namespace_of(other) == namespace_of(version) and text(other, "spec", "replaces") == name_of(version):
            yield f"ClusterServiceVersion {full_name(other)} is replacing it: wait until the upgrade has ended"
    current = text(subscription, "status", "currentCSV")
    is_pending = current not in ("", name_of(version))
    if is_pending and text(subscription, "spec", "installPlanApproval") != _MANUAL:
        yield f"an upgrade to {current} is under way: wait until it has ended"
    is_deleted = at(version, "metadata", "deletionTimestamp") and _migrated_operator(found, subscription) is None
    if is_deleted or at(subscription, "metadata", "deletionTimestamp"):
        yield "it is being deleted"


def _catalog_problems(found: OlmV0, subscription: Object, catalog: CatalogPlan | None, source: str) -> Iterator[str]:
    if catalog is not None and not catalog.problem:
        return
    what = catalog.problem if catalog is not None else "it does not exist: create a Catalog, and name it with --catalog"
    image = found.bundle_image(namespace_of(subscription), text(subscription, "status", "installedCSV"))
    known = (
        f"the image of its bundle is {image}" if image else "no InstallPlan is left that names the image of its bundle"
    )
    yield f"CatalogSource {source} cannot be carried over: {what} ({known})"


def _notes(found: OlmV0, subscription: Object, version: Object, group: Object | None) -> Iterator[str]:
    spec = at(subscription, "spec") or {}
    given = at(spec, "config")
    left = sorted(given.keys() - {*CONFIG_FIELDS, "selector"}) if isinstance(given, Mapping) else []
    if left:
        yield f"config.{', config.'.join(left)} is not carried over: config of an Operator has no such field"
    if not text(spec, "channel"):
        yield "it follows no channel: the default channel of the package counts, after the version is unpinned"
    if text(group, "spec", "serviceAccountName"):
        yield (
            f"OLM v0 installs as ServiceAccount {text(group, 'spec', 'serviceAccountName')} of the OperatorGroup, and so does "
            "the Operator: it may lack permissions that only rukpak needs"
        )
    if at(group, "spec", "selector") and targets_of(version, group) != [ALL_NAMESPACES]:
        yield "the OperatorGroup selects namespaces by labels: those that it selects today are watched, later ones are not"
    if text(group, "spec", "upgradeStrategy") not in ("", "Default"):
        yield f"upgradeStrategy {text(group, 'spec', 'upgradeStrategy')} of the OperatorGroup is not carried over"
    current = text(subscription, "status", "currentCSV")
    if current not in ("", name_of(version)):
        yield f"OLM v0 waits for the approval of {current}: `olm approve` approves it afterwards"
    parts = (text(spec, "name"), text(spec, "channel"), text(spec, "source"), text(spec, "sourceNamespace"))
    if name_of(subscription) == "-".join(parts):
        yield "OLM v0 has generated the Subscription for a dependency: its Operator stays if nothing requires it"
    if at(version, "spec", "cleanup", "enabled"):
        yield "spec.cleanup of its bundle is not carried over: custom resources are never deleted with the Operator"
    copies = [each for each in found.versions if is_copy(each) and name_of(each) == name_of(version)]
    if copies:
        places = pluralize(len(copies), "other namespace")
        yield f"the copies of its ClusterServiceVersion in {places} are not needed, and are deleted"


def _providers(found: OlmV0) -> dict[str, frozenset[str]]:
    """Package -> what its installed bundle provides: names of CRDs, `kind.version.group`, and the package itself."""
    provided: dict[str, frozenset[str]] = {}
    for subscription in found.subscriptions:
        package = text(subscription, "spec", "name")
        version = found.version(namespace_of(subscription), text(subscription, "status", "installedCSV"))
        owned = at(version, "spec") or {}
        names = [text(each, "name") for each in items(owned, "customresourcedefinitions", "owned")]
        apis = [_api(each) for each in items(owned, "apiservicedefinitions", "owned")]
        apis += [_api(value) for kind, value in (properties(version) if version else ()) if kind == "olm.gvk"]
        provided[package] = provided.get(package, frozenset()) | {f"package {package}", *filter(None, [*names, *apis])}
    return provided


def _api(value: Any) -> str:
    return ".".join(text(value, part) for part in ("kind", "version", "group"))


def _requires(subscription: Object, version: Object, providers: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    needs = {text(each, "name") for each in items(version, "spec", "customresourcedefinitions", "required")}
    needs |= {_api(each) for each in items(version, "spec", "apiservicedefinitions", "required")}
    for kind, value in properties(version):
        if kind == "olm.gvk.required":
            needs.add(_api(value))
        elif kind == "olm.package.required":
            needs.add(f"package {text(value, 'packageName')}")
    own = text(subscription, "spec", "name")
    return tuple(sorted(package for package, given in providers.items() if package != own and needs & set(given)))


def _rest(found: OlmV0) -> Iterator[tuple[str, str]]:
    """The ClusterServiceVersions that no Subscription explains."""
    installed = {
        (namespace_of(each), text(each, "status", name))
        for each in found.subscriptions
        for name in ("installedCSV", "currentCSV")
    }
    for version in sorted(found.originals(), key=full_name):
        if (namespace_of(version), name_of(version)) in installed:
            continue
        if name_of(version) == PACKAGE_SERVER:
            why = "it is a part of OLM v0"
        else:
            why = "it has no Subscription, so that neither its channel nor its catalog is known: `olm install` the package"
        yield f"ClusterServiceVersion {full_name(version)}", why
