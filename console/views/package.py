"""One package of one catalog: what it is, what it needs, what it provides, and in which versions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup

from console.links import page_url
from console.views.catalog import package_card
from console.views.description import MAX_LISTED, Description, ProvidedKind
from console.views.fit import Cluster, available_in, is_at_least
from console.views.inputs import PackageEntry
from console.views.kind_schema import KindSchema
from console.views.parts import Badge, Button, Note, Tab, Tile, joined
from console.views.states import state_badge, upgrade_waits
from olmctl.diff.risks import RiskGroup
from olmctl.questions.operator_state import available_version, installed, text_at
from olmkit.api.meta import Object
from olmkit.crd_safety.compare import version_priority
from olmkit.fbc.schemas import GVK
from olmkit.gocompat.versions import BadVersion, Version, parse_version

CAPABILITIES = ("Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot")
_GVK_KEYS = ("group", "version", "kind")
_HINTS = 12
"""Versions that the page names if the one that is asked for is not there."""


@dataclass(frozen=True)
class VersionRow:
    """One version."""

    bundle: str
    version: str
    channels: tuple[str, ...]
    heads: tuple[str, ...]
    upgrades_from: str
    deprecation: str
    problem: str
    is_installed: bool
    href: str
    install: str
    created: str = ""
    """The day on which it was made; "" if the catalog does not say."""


@dataclass(frozen=True)
class Requirement:
    """One thing that a bundle needs. `is_met` is None if that is not known."""

    text: str
    is_met: bool | None
    detail: str = ""


@dataclass(frozen=True)
class InstalledOperator:
    """An Operator of the package on the cluster."""

    name: str
    href: str
    text: str
    badge: Badge


@dataclass(frozen=True)
class PermissionRow:
    """Permissions of one account: the riskiest come first."""

    badge: Badge
    text: str
    detail: str


_RISKS = {
    1: Badge("bad", "Control", "alert"),
    2: Badge("warn", "Writes", "shield"),
    3: Badge("info", "Reads", "search"),
    4: Badge("", "Limited", "check"),
}
MAX_SENTENCES = 200


def permission_texts(sentences: Iterable[str]) -> tuple[str, ...]:
    """Sentences about permissions with words for the verb `*`, which begins a line like a mark."""
    return tuple(f"every verb on {each[2:]}" if each.startswith("* ") else each for each in sentences)


def permission_rows(groups: Iterable[RiskGroup]) -> tuple[PermissionRow, ...]:
    """The permissions of a bundle by account and risk."""
    return tuple(
        PermissionRow(
            _RISKS.get(int(each.risk), _RISKS[1]),
            f"{each.title}.",
            "; ".join(permission_texts(each.sentences[:MAX_SENTENCES])),
        )
        for each in groups
    )


@dataclass(frozen=True)
class PackageView:
    """The page."""

    name: str
    catalog: str
    title: str
    short: str
    provider: str
    tile: Tile
    badges: tuple[Badge, ...]
    tabs: tuple[Tab, ...]
    tab: str
    version: VersionRow
    versions: tuple[VersionRow, ...]
    channels: tuple[tuple[str, str], ...]
    """Names with what marks them."""
    channel: str
    default_channel: str
    about: Markup
    described: Description
    capability: str
    available_in: str
    requirements: tuple[Requirement, ...]
    kinds: tuple[ProvidedKind, ...]
    operators: tuple[InstalledOperator, ...]
    install: Button
    command: str
    notes: tuple[Note, ...]
    others: tuple[tuple[str, str], ...]
    """The same package in other catalogs: name and path."""
    created: str = ""
    permissions: tuple[PermissionRow, ...] | None = None
    """None if they are not known."""
    permissions_text: str = ""
    asked_kind: str = ""
    """The kind whose fields are shown, as `<group>/<kind>`."""
    schema: KindSchema | None = None


@dataclass(frozen=True)
class PackageInput:
    """The input of the page. `document` is the resolution document, {} if catalogd could not be read."""

    entry: PackageEntry
    document: Object
    described: Description
    operators: Sequence[Object]
    cluster: Cluster
    others: Sequence[str] = ()
    tab: str = ""
    channel: str = ""
    version: str = ""
    ns: str = ""
    refusal: str = ""
    about: Markup = field(default_factory=Markup)
    notes: tuple[Note, ...] = ()
    permissions: tuple[PermissionRow, ...] | None = None
    permissions_text: str = ""
    asked_kind: str = ""
    schema: KindSchema | None = None


class NoSuchVersion(Exception):
    """The version, or the channel, is not there; the message says what is."""


def package_view(given: PackageInput) -> PackageView:
    """The page. Raises NoSuchVersion."""
    entry, described = given.entry, given.described
    rows = version_rows(entry, given.document, given.operators, given.ns)
    chosen = chosen_version(rows, entry, given.channel, given.version)
    card = package_card(entry, given.operators, given.ns)
    channels = _channel_names(entry, given.document)
    default = text_at(entry.obj, "spec", "defaultChannel") or text_at(given.document, "defaultChannel")
    capability = described.capability or text_at(entry.summary, "capability")
    kinds = provided_kinds(described, given.document, chosen.bundle)
    return PackageView(
        name=entry.name,
        catalog=entry.catalog,
        title=described.title or card.title,
        short=described.short or entry.description,
        provider=described.provider or text_at(entry.summary, "provider"),
        tile=card.tile,
        badges=card.badges or (Badge("", "Not installed"),),
        tabs=_tabs(given, len(rows), len(kinds)),
        tab=given.tab,
        version=chosen,
        versions=tuple(each for each in rows if not given.channel or given.channel in each.channels),
        channels=_marked(channels, default, rows),
        channel=given.channel,
        default_channel=default,
        about=given.about,
        described=described,
        capability=_capability(capability),
        available_in=available_in(described.install_modes),
        requirements=tuple(requirements(described, _bundle(given.document, chosen.bundle), given.cluster)),
        kinds=kinds,
        operators=tuple(_operators(given.operators, given.ns)),
        install=_install(given, chosen),
        command=f"olm install {entry.name}" + (f" --version {chosen.version}" if given.version else ""),
        notes=(*given.notes, *_notes(given, chosen)),
        others=_others(given),
        created=described.created[:10],
        permissions=given.permissions,
        permissions_text=given.permissions_text,
        asked_kind=given.asked_kind,
        schema=given.schema,
    )


def _others(given: PackageInput) -> tuple[tuple[str, str], ...]:
    return tuple((each, page_url("catalog", each, given.entry.name, ns=given.ns)) for each in given.others)


def _marked(channels: Sequence[str], default: str, rows: Sequence[VersionRow]) -> tuple[tuple[str, str], ...]:
    """The names of the channels, the default one first, with their heads and what marks the default one."""
    heads = {name: row.version for row in reversed(rows) for name in row.heads}
    ordered = sorted(channels, key=lambda name: name != default)
    return tuple(
        (each, (f" {heads[each]}" if each in heads else "") + (" (default)" if each == default else ""))
        for each in ordered
    )


def _install(given: PackageInput, chosen: VersionRow) -> Button:
    name = given.entry.name
    if given.operators:
        managing = text_at(given.operators[0], "metadata", "name")
        return Button(f"Open Operator {managing}", page_url("operators", managing, ns=given.ns), kind="primary")
    newest = page_url("catalog", given.entry.catalog, name, "install", ns=given.ns, channel=given.channel)
    return Button(
        f"Install {chosen.version}",
        chosen.install if given.version else newest,
        kind="primary",
        reason=given.refusal or chosen.problem,
        commands=(f"olm install {name}",),
    )


def _tabs(given: PackageInput, versions: int, kinds: int) -> tuple[Tab, ...]:
    names = {
        "": ("Overview", ""),
        "versions": ("Versions", str(versions)),
        "permissions": ("Permissions", ""),
        "requirements": ("Requirements", ""),
        "apis": ("Instance types", str(kinds) if kinds else ""),
    }
    return tuple(
        Tab(
            text,
            page_url(
                "catalog",
                given.entry.catalog,
                given.entry.name,
                *([key] if key else []),
                ns=given.ns,
                version=given.version,
                channel=given.channel,
            ),
            key == given.tab,
            count,
            "v" if key == "versions" else "",
        )
        for key, (text, count) in names.items()
    )


def version_rows(
    entry: PackageEntry, document: Object, operators: Sequence[Object] = (), ns: str = ""
) -> tuple[VersionRow, ...]:
    """All versions, the newest first: of the resolution document, else those that the Package object names."""
    channels = document.get("channels") or (entry.obj.get("spec") or {}).get("channels") or []
    bundles = {text_at(each, "name"): each for each in document.get("bundles") or ()}
    running = {text_at(each, "status", "installed", "name") for each in operators}
    deprecated = {
        text_at(each, "reference", "name"): text_at(each, "message")
        for each in document.get("deprecations") or ()
        if text_at(each, "reference", "schema") == "olm.bundle"
    }
    in_channels: dict[str, list[tuple[str, Object]]] = {}
    replaced: dict[str, set[str]] = {}
    for channel in channels:
        name = text_at(channel, "name")
        for each in channel.get("entries") or ():
            in_channels.setdefault(text_at(each, "name"), []).append((name, each))
            replaced.setdefault(name, set()).update([text_at(each, "replaces"), *(each.get("skips") or ())])
    made = []
    for bundle, found in in_channels.items():
        if bundles and bundle not in bundles:
            continue
        version = text_at(bundles.get(bundle), "version") or _version_of_name(bundle, entry)
        names = tuple(name for name, _ in found)
        base = page_url("catalog", entry.catalog, entry.name, ns=ns, version=version)
        made.append(
            VersionRow(
                bundle,
                version,
                names,
                tuple(name for name in names if bundle not in replaced[name]),
                _upgrades_from(each for _, each in found),
                deprecated.get(bundle, ""),
                text_at(bundles.get(bundle), "problem"),
                bundle in running,
                base,
                page_url("catalog", entry.catalog, entry.name, "install", ns=ns, version=version),
                text_at(bundles.get(bundle), "createdOn"),
            )
        )
    return tuple(sorted(made, key=lambda row: (_parsed(row.version), row.bundle), reverse=True))


def _version_of_name(bundle: str, entry: PackageEntry) -> str:
    """The version in the usual name of a bundle, such as etcd.v0.9.4; else its name."""
    text = bundle.removeprefix(f"{entry.name}.")
    return text.removeprefix("v") if text != bundle else bundle


def _parsed(text: str) -> Version:
    try:
        return parse_version(text)
    except BadVersion:
        return parse_version("0.0.0")


def _upgrades_from(entries: Iterable[Object]) -> str:
    texts: dict[str, None] = {}
    for each in entries:
        if replaces := text_at(each, "replaces"):
            texts[replaces] = None
        if skip_range := text_at(each, "skipRange"):
            texts[skip_range] = None
        if skips := len(each.get("skips") or ()):
            texts[f"skips {skips}"] = None
    return joined(list(texts), 3)


def chosen_version(rows: Sequence[VersionRow], entry: PackageEntry, channel: str, version: str) -> VersionRow:
    """The version that the page is about: the one asked for, else the head of the channel. Raises NoSuchVersion."""
    offered = [row for row in rows if not channel or channel in row.channels]
    if channel and not offered and rows:
        names = sorted({name for row in rows for name in row.channels})
        raise NoSuchVersion(f"package {entry.name} has no channel {channel}: it has {', '.join(names)}")
    if version:
        for row in offered:
            if version in (row.version, row.bundle):
                return row
        others = [row for row in rows if version in (row.version, row.bundle)]
        if others:
            raise NoSuchVersion(f"channel {channel} has no version {version}: it is in {', '.join(others[0].channels)}")
        raise NoSuchVersion(
            f"package {entry.name} has no version {version}: it has {joined([row.version for row in rows], _HINTS)}"
        )
    default = channel or text_at(entry.obj, "spec", "defaultChannel")
    heads = [row for row in offered if default in row.heads]
    if found := next(iter(heads or offered), None):
        return found
    install = page_url("catalog", entry.catalog, entry.name, "install")
    page = page_url("catalog", entry.catalog, entry.name)
    return VersionRow("", entry.latest, (), (), "", "", "", False, page, install)


def _bundle(document: Object, name: str) -> Object:
    return next((each for each in document.get("bundles") or () if text_at(each, "name") == name), {})


def provided_kinds(described: Description, document: Object, bundle: str) -> tuple[ProvidedKind, ...]:
    """The kinds that a bundle provides: those that its publisher describes, and those that its properties name."""
    named: dict[tuple[str, str], set[str]] = {}
    for each in _bundle(document, bundle).get("properties") or ():
        value = each.get("value") if text_at(each, "type") == GVK else None
        group, version, kind = (text_at(value, key) if isinstance(value, Mapping) else "" for key in _GVK_KEYS)
        if kind:
            named.setdefault((group, kind), set()).add(version)
    for each in described.kinds:
        named.get((each.group, each.kind), set()).discard(each.version)
    words = [
        replace(each, other_versions=_newest_first(named.pop((each.group, each.kind), ()))) for each in described.kinds
    ]
    plain = []
    for (group, kind), versions in [*named.items()][:MAX_LISTED]:
        newest, *others = _newest_first(versions)
        plain.append(ProvidedKind(group, newest, kind, kind, "", False, (), tuple(others)))
    return (*words, *plain)


def _newest_first(versions: Iterable[str]) -> tuple[str, ...]:
    """The versions of a kind that are shown."""
    return tuple(sorted(versions, key=version_priority, reverse=True))[:MAX_LISTED]


def _channel_names(entry: PackageEntry, document: Object) -> list[str]:
    channels = document.get("channels") or (entry.obj.get("spec") or {}).get("channels") or []
    return sorted(filter(None, (text_at(each, "name") for each in channels)))


def _capability(name: str) -> str:
    """The level in words; other words of a publisher as they are."""
    if name in CAPABILITIES:
        return f"Level {CAPABILITIES.index(name) + 1} of {len(CAPABILITIES)}: {name}"
    return name


def requirements(described: Description, bundle: Object, cluster: Cluster) -> Iterable[Requirement]:
    """The requirements of the bundle, and whether the cluster meets them."""
    minimum = described.min_kube_version or text_at(bundle, "minKubeVersion")
    if minimum:
        is_met = is_at_least(cluster.version, minimum)
        detail = (
            f"this cluster has {cluster.version}" if cluster.version else "the version of this cluster is not known"
        )
        yield Requirement(f"Kubernetes {minimum} or later", is_met, detail)
    for group, version, kind in described.native_apis:
        is_met = (group, version, kind) in cluster.versions if cluster.is_known else None
        yield Requirement(f"the API {kind} of {group or 'core'}/{version}", is_met, "" if is_met else _absent(is_met))
    for each in bundle.get("properties") or ():
        yield from _property(text_at(each, "type"), each.get("value"), cluster)


def _property(type_: str, value: Any, cluster: Cluster) -> Iterable[Requirement]:
    if not isinstance(value, Mapping):
        return
    match type_:
        case "olm.gvk.required":
            group, kind = text_at(value, "group"), text_at(value, "kind")
            is_met = (group, kind) in cluster.kinds if cluster.is_known else None
            text = f"the kind {kind} of {group}/{text_at(value, 'version')}"
            yield Requirement(text, is_met, "" if is_met else "a package that provides it is installed too")
        case "olm.package.required":
            package = text_at(value, "packageName")
            is_met = package in cluster.packages
            detail = "an Operator has it installed" if is_met else "it is installed too"
            yield Requirement(f"the package {package} {text_at(value, 'versionRange')}".rstrip(), is_met, detail)
        case "olm.constraint":
            text = text_at(value, "failureMessage") or "a rule of its publisher"
            yield Requirement(text, None, "operator-controller checks it when it is installed")


def _absent(is_met: bool | None) -> str:
    return "this cluster does not serve it" if is_met is False else "the kinds of this cluster are not known"


def _operators(operators: Sequence[Object], ns: str) -> Iterable[InstalledOperator]:
    for each in operators:
        name = text_at(each, "metadata", "name")
        text = installed(each) or "nothing is installed yet"
        badge = state_badge(each)
        if installed(each) and badge.kind == "ok":
            waiting = available_version(each) if upgrade_waits(each) else ""
            badge = Badge("warn", f"{waiting} waits", "clock") if waiting else Badge("ok", "Installed", "check")
        yield InstalledOperator(name, page_url("operators", name, ns=ns), text, badge)


def _notes(given: PackageInput, chosen: VersionRow) -> Iterable[Note]:
    if given.entry.deprecation:
        yield Note("warn", "This package is deprecated.", given.entry.deprecation, "alert")
    for each in given.document.get("deprecations") or ():
        schema, name = text_at(each, "reference", "schema"), text_at(each, "reference", "name")
        if schema == "olm.channel" and name in (given.channel or text_at(given.entry.obj, "spec", "defaultChannel"),):
            yield Note("warn", f"Channel {name} is deprecated.", text_at(each, "message"), "alert")
    if chosen.deprecation:
        yield Note("warn", f"Version {chosen.version} is deprecated.", chosen.deprecation, "alert")
    if chosen.problem:
        yield Note("bad", f"{chosen.version} cannot be installed.", chosen.problem, "alert")
    if too_large := text_at(given.document, "tooLarge"):
        yield Note("bad", "This package cannot be installed.", too_large, "alert")
