"""The result for each ClusterCatalog and ClusterExtension of OLM v1, and the reasons why nothing can be moved yet. Pure.

All of them are moved together: one controller serves a kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import ValidationError

from olmctl.migration.v1.objects import MARK, OlmV1, condition, installed_bundle, is_owned_by
from olmctl.migration.values import at, name_of, text
from olmkit.api import clustercatalogs, clusterextensions, operators
from olmkit.api.clusterextensions import ClusterExtension, operator_name
from olmkit.api.meta import Object

NOT_READ = "it has values that this API does not know: use the olm of the suite's version"
_UNSETTLED = ("pending-install", "pending-upgrade", "pending-rollback", "uninstalling")
"""States of a release that the controller of OLM v1 is changing."""
_CERTIFICATES = ("cert-manager.io", "Certificate")


@dataclass(frozen=True)
class ExtensionPlan:
    """The result for one ClusterExtension."""

    extension: Object = field(repr=False)
    bundle: str = ""
    """The name of the installed bundle; "" if nothing is installed."""
    version: str = ""
    objects: int = 0
    is_begun: bool = False
    """True if something of it is taken from OLM v1 already."""
    is_moved: bool = False
    """True if its Operator has what was installed."""
    has_certificates: bool = False
    """True if cert-manager issues the certificates of its webhooks: it goes on doing so."""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the ClusterExtension."""
        return name_of(self.extension)

    @property
    def operator(self) -> str:
        """The name of its Operator."""
        return operator_name(self.name)

    @property
    def package(self) -> str:
        """The package that it names."""
        return text(self.extension, "spec", "source", "catalog", "packageName")

    @property
    def is_installed(self) -> bool:
        """True if OLM v1 has installed a bundle for it."""
        return bool(self.bundle)


@dataclass(frozen=True)
class CatalogPlan:
    """The result for one ClusterCatalog."""

    catalog: Object = field(repr=False)
    problems: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name, and that of its Catalog."""
        return name_of(self.catalog)


@dataclass(frozen=True)
class MigrationPlan:
    """The result for everything that OLM v1 has."""

    catalogs: tuple[CatalogPlan, ...]
    extensions: tuple[ExtensionPlan, ...]
    problems: tuple[str, ...] = ()
    """Problems of the whole."""

    @property
    def all_problems(self) -> list[tuple[str, str]]:
        """Every problem, after what has it."""
        catalogs = [(f"ClusterCatalog {one.name}", each) for one in self.catalogs for each in one.problems]
        extensions = [(f"ClusterExtension {one.name}", each) for one in self.extensions for each in one.problems]
        return [*(("OLM v1", each) for each in self.problems), *catalogs, *extensions]

    @property
    def facts(self) -> dict[str, tuple[str, str, str]]:
        """Name of each ClusterExtension -> its uid, and the bundle that is installed."""
        return {
            each.name: (text(each.extension, "metadata", "uid"), each.bundle, each.version) for each in self.extensions
        }

    @property
    def is_begun(self) -> bool:
        """True if something is taken from OLM v1 already."""
        return any(each.is_begun for each in self.extensions)


def make_plan(found: OlmV1) -> MigrationPlan:
    """The plan for everything."""
    catalogs = tuple(CatalogPlan(each, tuple(_catalog_problems(found, each))) for each in found.catalogs)
    extensions = tuple(_extension_plan(found, each) for each in found.extensions)
    return MigrationPlan(catalogs, extensions, tuple(_problems(found)))


def changes_between(before: MigrationPlan, now: MigrationPlan) -> list[str]:
    """The reasons why a plan that was made before the controllers stopped is not that of now."""
    old, new = before.facts, now.facts
    changes = [
        f"ClusterExtension {name} is {'new' if name not in old else 'gone'}" for name in sorted(old ^ new.keys())
    ]
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            changes.append(
                f"ClusterExtension {name} has {new[name][1] or 'nothing'} installed, and not {old[name][1] or 'nothing'}"
            )
    return changes


def _problems(found: OlmV1) -> Iterator[str]:
    if found.system_namespace in found.namespaces:
        yield (
            f"the suite is in namespace {found.system_namespace}, where OLM v1 is, and they have objects of one name: install "
            "the suite into another namespace"
        )


def _catalog_problems(found: OlmV1, catalog: Object) -> Iterator[str]:
    name = name_of(catalog)
    if at(catalog, "metadata", "deletionTimestamp"):
        yield "it is being deleted: wait until it is gone"
    for each in found.own_catalogs:
        annotated = text(each, "metadata", "annotations", clustercatalogs.ADOPT_ANNOTATION)
        if name_of(each) == name and not is_owned_by(each, catalog) and annotated != name:
            command = f"kubectl annotate catalogs.catalogd.operatorframework.io {name}"
            way = f"`{command} {clustercatalogs.ADOPT_ANNOTATION}={name}` hands it over"
            yield f"Catalog {name} exists and does not belong to it: delete it, or {way}"


def _extension_plan(found: OlmV1, extension: Object) -> ExtensionPlan:
    name = name_of(extension)
    operator, objects = found.operator(operator_name(name)), found.objects.get(name, ())
    own = operator is not None and is_owned_by(operator, extension)
    bundle, version = installed_bundle(extension)
    mark = text(operator, "metadata", "annotations", MARK) if own else ""
    if mark:  # what the ClusterExtension reports may be newer
        bundle, _, version = mark.partition(" ")
    marked = [each for each in objects if MARK in (at(each.obj, "metadata", "labels") or {})]
    plan = ExtensionPlan(
        extension,
        bundle,
        version,
        len(objects),
        is_begun=bool(mark or marked),
        is_moved=own and bool(text(operator, "status", "installed", "name")),
        has_certificates=any(each.kind.group_kind == _CERTIFICATES for each in objects),
    )
    problems = (
        *_spec_problems(found, plan),
        *_state_problems(found, plan, has_operator=bool(mark)),
        *_operator_problems(found, plan),
    )
    return ExtensionPlan(**{**vars(plan), "problems": problems, "notes": tuple(_notes(plan))})


def loaded(extension: Object) -> ClusterExtension:
    """A ClusterExtension without its status, which is OLM v1's. Raises ValidationError."""
    found: ClusterExtension = ClusterExtension.load({**extension, "status": {}})
    return found


def _spec_problems(found: OlmV1, plan: ExtensionPlan) -> Iterator[str]:
    try:
        loaded(plan.extension)
    except ValidationError:
        yield NOT_READ
    namespace = text(plan.extension, "spec", "namespace")
    if namespace and namespace == found.system_namespace:
        yield f"it is installed into namespace {namespace}, which is the suite's"


def _state_problems(found: OlmV1, plan: ExtensionPlan, *, has_operator: bool) -> Iterator[str]:
    """The reasons why it cannot be moved as it is. With an Operator that has taken over, what OLM v1 has counts no more."""
    if has_operator or plan.is_moved:
        return
    if at(plan.extension, "metadata", "deletionTimestamp"):
        yield (
            "it is being deleted, and some of its objects are taken already: --undo gives them back, and it ends"
            if plan.is_begun
            else "it is being deleted: wait until it is gone; with its controllers stopped, --undo starts them again"
        )
    sets = sorted(name_of(each) for each in found.object_sets if is_owned_by(each, plan.extension))
    if sets:
        yield f"it is installed by ClusterObjectSet {sets[-1]} (BoxcutterRuntime), which this command does not take over"
    releases = found.releases_of(plan.extension)
    state = text(releases[-1], "metadata", "labels", "status") if releases else ""
    if state in _UNSETTLED:
        yield f"its release is {state}: wait until the controller of OLM v1 has finished"
    is_known = text(condition(plan.extension, "Installed"), "status") == "True"
    if not (plan.is_installed and is_known) and (releases or plan.objects):
        yield "something is installed, and its status does not say which bundle: wait until Installed is True"


def _operator_problems(found: OlmV1, plan: ExtensionPlan) -> Iterator[str]:
    for each in found.operators:
        if is_owned_by(each, plan.extension):
            continue
        if name_of(each) == plan.operator:
            command = f"kubectl annotate {operators.KIND.plural}.{operators.KIND.group} {plan.operator}"
            way = "" if plan.is_installed else _or_hand_over(command, plan.name)
            yield f"Operator {plan.operator} exists and does not belong to it: delete it{way}"
        elif plan.is_installed and text(each, "spec", "packageName") == plan.package:
            yield f"Operator {name_of(each)} has the package {plan.package}: delete it"


def _or_hand_over(command: str, name: str) -> str:
    return f", or hand it over: `{command} {clusterextensions.ADOPT_FOR_ANNOTATION}={name}`"


def _notes(plan: ExtensionPlan) -> Iterator[str]:
    if plan.is_begun:
        yield "its migration has begun: `olm migrate v1 --all` continues it, and --undo gives it back to OLM v1"
    elif not plan.is_installed:
        yield "nothing is installed: the suite serves it from its spec"
    if text(condition(plan.extension, "Progressing"), "status") == "False":
        reason = text(condition(plan.extension, "Progressing"), "reason")
        yield f"its Progressing is False ({reason}): what is installed is moved, and the same problem may be reported"
    if plan.has_certificates:
        yield "cert-manager goes on issuing the certificates of its webhooks (certificates: CertManager)"
