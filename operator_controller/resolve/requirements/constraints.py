"""Constraints of a bundle on other bundles: their values, for which bundles they hold, and how messages name them.

A constraint holds for one bundle at a time, as in OLM: the properties of two bundles never count together. What a bundle
requires of the cluster itself is a version of Kubernetes (minKubeVersion) and kinds (nativeAPIs); what is not known of the
cluster excludes nothing. rukpak checks minKubeVersion again before it installs (rukpak/render/preflight.py). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from olmkit.gocompat.text import truncate
from olmkit.gocompat.versions import BadVersion, BlangRange, Version, parse_tolerant_version
from operator_controller.resolve.formatting import MAX_VALUE_BYTES, join_names, plain_value, quoted_value
from operator_controller.resolve.package.package_content import Bundle, GroupKind, GroupVersionKind
from operator_controller.resolve.requirements import cel
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts


@dataclass(frozen=True, slots=True)
class PackageConstraint:
    """Holds for a bundle of the package whose version, without its release, is in the range."""

    package: str
    versions: BlangRange
    failure_message: str = ""

    @property
    def exact_version(self) -> Version | None:
        """The version, if the range is exactly one."""
        match self.versions.groups:
            case ((("=", version),),):
                return version
        return None


@dataclass(frozen=True, slots=True)
class KindConstraint:
    """Holds for a bundle that provides the kind."""

    kind: GroupVersionKind
    failure_message: str = ""


@dataclass(frozen=True, slots=True)
class AllConstraint:
    """Holds for a bundle for which every constraint holds."""

    constraints: tuple[Constraint, ...]
    failure_message: str = ""


@dataclass(frozen=True, slots=True)
class AnyConstraint:
    """Holds for a bundle for which at least one constraint holds."""

    constraints: tuple[Constraint, ...]
    failure_message: str = ""


@dataclass(frozen=True, slots=True)
class NotConstraint:
    """Holds for a bundle for which no constraint holds."""

    constraints: tuple[Constraint, ...]
    failure_message: str = ""


@dataclass(frozen=True, slots=True)
class CelConstraint:
    """Holds for a bundle whose properties satisfy a rule of the Common Expression Language."""

    rule: str
    failure_message: str = ""


Constraint = PackageConstraint | KindConstraint | AllConstraint | AnyConstraint | NotConstraint | CelConstraint


@dataclass(frozen=True, slots=True)
class ConstraintScope:
    """The bundles that a constraint may hold for: those of `packages`, providers of `kinds`, or bundles of any package."""

    packages: frozenset[str] = frozenset()
    kinds: frozenset[GroupKind] = frozenset()
    any_package: bool = False


def named_packages(constraint: Constraint) -> frozenset[str] | None:
    """The packages whose bundles the constraint may hold for; None unless it names them all."""
    match constraint:
        case PackageConstraint(package=package):
            return frozenset({package})
        case AllConstraint(constraints=children):
            named = [names for child in children if (names := named_packages(child)) is not None]
            return frozenset.intersection(*named) if named else None
        case AnyConstraint(constraints=children):
            every = [named_packages(child) for child in children]
            known = [names for names in every if names is not None]
            return frozenset[str]().union(*known) if len(known) == len(every) else None
    return None


def scope_of(constraints: Iterable[Constraint]) -> ConstraintScope:
    """The bundles that any of the constraints may hold for."""
    scopes = [_scope(each) for each in constraints]
    return ConstraintScope(
        frozenset[str]().union(*(each.packages for each in scopes)),
        frozenset[GroupKind]().union(*(each.kinds for each in scopes)),
        any(each.any_package for each in scopes),
    )


def _scope(constraint: Constraint) -> ConstraintScope:
    match constraint:
        case PackageConstraint(package=package):
            return ConstraintScope(packages=frozenset({package}))
        case KindConstraint(kind=kind):
            return ConstraintScope(kinds=frozenset({kind.group_kind}))
        case AnyConstraint(constraints=children):
            return scope_of(children)
        case AllConstraint(constraints=children) if (
            children
        ):  # the bundle is in the scope of each child: the narrowest will do
            scopes = [_scope(child) for child in children]
            return min(scopes, key=lambda each: (each.any_package, bool(each.kinds), len(each.packages)))
    return ConstraintScope(any_package=True)


RuleHolds = Callable[[str, str, Bundle], bool]
"""A function that reports whether a rule in CEL holds for a bundle of a package."""


def _rule_holds(rule: str, package: str, bundle: Bundle) -> bool:
    return cel.rule_holds(rule, cel.rule_input(bundle.rule_properties(package)))


def holds(constraint: Constraint, package: str, bundle: Bundle, rule_holds: RuleHolds = _rule_holds) -> bool:
    """Report whether the constraint holds for this bundle of the package. Raises what `rule_holds` raises, which may count its
    costs."""
    match constraint:
        case PackageConstraint(package=name, versions=versions):
            return name == package and bundle.version is not None and versions.matches(bundle.version)
        case KindConstraint(kind=kind):
            return kind in bundle.provided_kinds
        case AllConstraint(constraints=children):
            return all(holds(child, package, bundle, rule_holds) for child in children)
        case AnyConstraint(constraints=children):
            return any(holds(child, package, bundle, rule_holds) for child in children)
        case NotConstraint(constraints=children):
            return not any(holds(child, package, bundle, rule_holds) for child in children)
        case CelConstraint(rule=rule):
            return rule_holds(rule, package, bundle)


def rules_of(constraints: Iterable[Constraint]) -> Iterator[str]:
    """The rules in CEL that may have to be evaluated for constraints."""
    for each in constraints:
        match each:
            case CelConstraint(rule=rule):
                yield rule
            case AllConstraint(constraints=children) | AnyConstraint(constraints=children):
                yield from rules_of(children)
            case NotConstraint(constraints=children):
                yield from rules_of(children)


def describe(constraint: Constraint) -> str:
    """The constraint as the object of "requires": `C v0.1.0`, `C ">=1.0.0 <2.0.0"`, `a provider of example.com/v1 Widget`.

    The author's failureMessage follows in quotes.
    """
    text = _describe(constraint)
    return f"{text} ({quoted_value(constraint.failure_message)})" if constraint.failure_message else text


def _describe(constraint: Constraint) -> str:
    match constraint:
        case PackageConstraint(package=package, versions=versions):
            exact = constraint.exact_version
            return f"{plain_value(package)} {quoted_value(versions.text) if exact is None else f'v{exact}'}"
        case KindConstraint(kind=kind):
            return f"a provider of {plain_value(str(kind))}"
        case AllConstraint(constraints=children):
            return f"one bundle that is all of: {_join(children, 'and')}"
        case AnyConstraint(constraints=children):
            return _join(children, "or") or "one of no constraints"
        case NotConstraint(constraints=children):
            return f"none of: {_join(children, 'or')}"
        case CelConstraint(rule=rule):
            return f"a bundle that satisfies the rule {quoted_value(rule)}"


def _join(constraints: tuple[Constraint, ...], last: str) -> str:
    """The constraints as a list; one that is a list itself stands in brackets."""
    return join_names([_bracketed(each) for each in constraints], last)


def _bracketed(constraint: Constraint) -> str:
    is_list = isinstance(constraint, AllConstraint | AnyConstraint | NotConstraint) and len(constraint.constraints) > 1
    return f"({describe(constraint)})" if is_list else describe(constraint)


@dataclass(frozen=True)
class KnownCluster:
    """The parsed facts of a cluster. None: not known."""

    kube_version: Version | None = None
    """The version of its API server, without what follows the first `-`: distributions write their own revision there."""
    native_kinds: frozenset[GroupVersionKind] | None = None
    """Every kind that it serves."""


def known_cluster(facts: ClusterFacts) -> KnownCluster:
    """Parses the facts. A version that cannot be read is not known."""
    try:
        version = parse_tolerant_version(facts.kube_version.partition("-")[0])
    except BadVersion:
        version = None
    if facts.native_kinds is None:
        return KnownCluster(version)
    kinds = (text.split("/") for text in facts.native_kinds)
    return KnownCluster(version, frozenset(GroupVersionKind(*parts) for parts in kinds if len(parts) == 3))


def unmet_cluster_requirement(bundle: Bundle, cluster: KnownCluster) -> str:
    """The first requirement that the cluster does not meet, as the end of a sentence about the bundle; "" if it meets all."""
    if bundle.min_kube_version.strip():
        try:
            needed = parse_tolerant_version(bundle.min_kube_version)
        except BadVersion as error:
            reason = truncate(str(error), MAX_VALUE_BYTES)
            return f"its minKubeVersion {quoted_value(bundle.min_kube_version)} is not a version: {reason}"
        if cluster.kube_version is not None and cluster.kube_version.precedence < needed.precedence:
            return f"it requires Kubernetes {needed} or newer, and the cluster runs {cluster.kube_version}"
    if cluster.native_kinds is not None:
        for kind in bundle.native_apis:
            if kind not in cluster.native_kinds:
                return f"it requires the native API {plain_value(kind)}, which the cluster does not serve"
    return ""
