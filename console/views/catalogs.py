"""The Catalogs of the cluster, and one of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from console.links import page_url
from console.views.operator import Fact, condition_views
from console.views.parts import Badge, Button, ConditionView, Note, Tab, Tile, joined, tile, unless
from olmctl.questions.operator_state import condition, is_observed, is_terminating, part, text_at
from olmctl.questions.owners import change_refusal, deletion_refusal, owner_of
from olmkit.api import catalogs
from olmkit.api.meta import Object

_SOURCES = {"image": ("image", "ref"), "git": ("git", "repository"), "http": ("http", "url")}


@dataclass(frozen=True)
class CatalogRow:
    """One Catalog."""

    name: str
    href: str
    title: str
    tile: Tile
    badge: Badge
    message: str
    type: str
    source: str
    priority: int
    packages: str
    digest: str
    unpacked: str
    poll: str
    refresh: Button


@dataclass(frozen=True)
class CatalogsView:
    """The page of all Catalogs."""

    rows: tuple[CatalogRow, ...]
    notes: tuple[Note, ...]
    add: Button


@dataclass(frozen=True)
class SharedPackage:
    """A package that several catalogs have, and the one that counts."""

    name: str
    href: str
    wins: str
    others: str


@dataclass(frozen=True)
class CatalogDetailView:
    """The page of one Catalog."""

    row: CatalogRow
    tabs: tuple[Tab, ...]
    tab: str
    facts: tuple[Fact, ...]
    conditions: tuple[ConditionView, ...]
    problems: tuple[str, ...]
    problem_summary: str
    actions: tuple[Button, ...]
    shared: tuple[SharedPackage, ...]
    operators: tuple[tuple[str, str], ...]
    notes: tuple[Note, ...]
    yaml: str = ""


def catalogs_view(found: Sequence[Object], ns: str, refusal: str, create_refusal: str) -> CatalogsView:
    """The page of all Catalogs, those that count first. The refusals are "" where the user may do it."""
    ordered = sorted(found, key=lambda each: (-priority(each), text_at(each, "metadata", "name")))
    add = Button(
        "Add a catalog",
        page_url("catalogs", "new", ns=ns),
        icon="plus",
        kind="primary",
        reason=create_refusal,
        commands=("kubectl apply -f catalog.yaml",),
    )
    return CatalogsView(tuple(catalog_row(each, ns, refusal) for each in ordered), (), add)


def priority(catalog: Object) -> int:
    """spec.priority."""
    value = part(catalog, "spec", "priority")
    return value if isinstance(value, int) else 0


def catalog_row(catalog: Object, ns: str = "", refusal: str = "") -> CatalogRow:
    """The row of a Catalog."""
    name = text_at(catalog, "metadata", "name")
    type_, source = source_of(catalog)
    badge, message = catalog_state(catalog)
    digest = text_at(catalog, "status", "shortDigest") or text_at(catalog, "status", "contentDigest")[7:19]
    count = part(catalog, "status", "packageCount")
    return CatalogRow(
        name=name,
        href=page_url("catalogs", name, ns=ns),
        title=text_at(catalog, "spec", "displayName"),
        tile=tile(name),
        badge=badge,
        message=message,
        type=type_,
        source=source,
        priority=priority(catalog),
        packages=f"{count:,}" if isinstance(count, int) else "",
        digest=digest,
        unpacked=text_at(catalog, "status", "lastUnpacked"),
        poll=poll_text(catalog),
        refresh=Button(
            "Check now",
            page_url("catalogs", name, "refresh", ns=ns),
            icon="refresh",
            reason=refusal,
            commands=(f'kubectl annotate {_RESOURCE} {name} {catalogs.REFRESH_ANNOTATION}="$(date)" --overwrite',),
            is_post=True,
            about=name,
        ),
    )


_RESOURCE = f"{catalogs.KIND.plural}.{catalogs.KIND.group}"


def source_of(catalog: Object) -> tuple[str, str]:
    """The type of the source, and what it names."""
    type_ = text_at(catalog, "spec", "source", "type")
    if type_ in _SOURCES:
        return type_, text_at(catalog, "spec", "source", *_SOURCES[type_])
    maps = part(catalog, "spec", "source", "configMaps") or ()
    names = [text_at(each, "configMap", "name") or text_at(each, "name") for each in maps if isinstance(each, dict)]
    return type_, joined(list(filter(None, names)))


def poll_text(catalog: Object) -> str:
    """The interval of the checks of the source, in words."""
    type_ = text_at(catalog, "spec", "source", "type")
    interval = text_at(catalog, "spec", "source", type_, "pollInterval")
    _, source = source_of(catalog)
    is_fixed = "@sha256:" in source or bool(
        part(catalog, "spec", "source", type_, "ref", "commit") if type_ == "git" else ""
    )
    is_fixed = is_fixed or bool(text_at(catalog, "spec", "source", type_, "checksum"))
    if type_ == "configMaps":
        return "when they change"
    if is_fixed or interval in ("0", "0s"):
        return "never"
    return f"every {interval or '10m'}"


def catalog_state(catalog: Object) -> tuple[Badge, str]:
    """The state of a Catalog, and the message that explains it."""
    ready, serving, valid = (condition(catalog, each) for each in ("Ready", "Serving", "Valid"))
    message = text_at(ready, "message")
    if is_terminating(catalog):
        return Badge("warn", "Removing", "clock"), message
    if text_at(catalog, "spec", "availability") == "Unavailable":
        return Badge("", "Unavailable", "pause"), "spec.availability is Unavailable: nothing is served"
    if not is_observed(catalog):
        return Badge("info", "Pending", "clock"), "waiting for catalogd"
    if text_at(ready, "reason") == "ServingOldContent":
        return Badge("warn", "Older content", "alert"), message
    if text_at(serving, "status") != "True":
        is_bad = text_at(ready, "status") == "False" and text_at(condition(catalog, "Reconciling"), "status") != "True"
        is_bad = is_bad or text_at(condition(catalog, "Unpacked"), "reason") == "UnpackFailed"
        unpacked = text_at(condition(catalog, "Unpacked"), "message")
        return Badge("bad", "Not served", "alert") if is_bad else Badge(
            "info", "Unpacking", "clock"
        ), unpacked or message
    if text_at(valid, "status") == "False":
        return Badge("warn", "Problems", "alert"), text_at(valid, "message")
    if text_at(ready, "status") != "True":
        return Badge("info", text_at(ready, "reason") or "Pending", "clock"), message
    return Badge("ok", "Serving", "check"), ""


def catalog_note(catalog: Object, ns: str = "") -> Note | None:
    """The line above lists of packages about a Catalog that is not served as its source has it; None for others."""
    name = text_at(catalog, "metadata", "name")
    badge, message = catalog_state(catalog)
    titles = {
        "Older content": f"Catalog {name} serves older content.",
        "Not served": f"Catalog {name} is not served.",
        "Unpacking": f"Catalog {name} is being read.",
        "Pending": f"Catalog {name} is being read.",
    }
    if badge.text not in titles:
        return None
    kind = "info" if badge.kind == "info" else "warn"
    icon = "clock" if kind == "info" else "alert"
    return Note(kind, titles[badge.text], message, icon, page_url("catalogs", name, ns=ns), "See the catalog")


@dataclass(frozen=True)
class CatalogInput:
    """The input of the page of a Catalog. `packages` are the packages of each catalog."""

    catalog: Object
    all: Sequence[Object]
    operators: Sequence[Object]
    packages: dict[str, frozenset[str]]
    tab: str = ""
    ns: str = ""
    refusal: str = ""
    delete_refusal: str = ""


def catalog_detail_view(given: CatalogInput) -> CatalogDetailView:
    """The page of one Catalog."""
    catalog = given.catalog
    name = text_at(catalog, "metadata", "name")
    problems, summary = problems_of(catalog)
    users = sorted(
        text_at(each, "metadata", "name")
        for each in given.operators
        if text_at(each, "status", "installed", "catalog") == name
    )

    def path(*segments: str) -> str:
        return page_url("catalogs", name, *segments, ns=given.ns)

    return CatalogDetailView(
        row=catalog_row(catalog, given.ns, given.refusal),
        tabs=(
            Tab("Overview", path(), given.tab == ""),
            Tab("Problems", path("problems"), given.tab == "problems", str(len(problems)) if problems else ""),
        ),
        tab=given.tab,
        facts=tuple(each for each in _facts(catalog) if each.value),
        conditions=tuple(condition_views(catalog)),
        problems=problems,
        problem_summary=summary,
        actions=tuple(_actions(given)),
        shared=tuple(_shared(given)),
        operators=tuple((each, page_url("operators", each, ns=given.ns)) for each in users),
        notes=(),
    )


def _actions(given: CatalogInput) -> Iterable[Button]:
    catalog, name = given.catalog, text_at(given.catalog, "metadata", "name")
    path, command = page_url("catalogs", name, "edit", ns=given.ns), f"kubectl edit {_RESOURCE} {name}"
    yield unless(change_refusal(catalog), Button("Edit", path, reason=given.refusal, commands=(command,)))
    path, command = page_url("catalogs", name, "delete", ns=given.ns), f"kubectl delete {_RESOURCE} {name}"
    delete = Button("Delete", path, kind="danger", reason=given.delete_refusal, commands=(command,))
    yield unless(deletion_refusal(catalog), delete)


def problems_of(catalog: Object) -> tuple[tuple[str, ...], str]:
    """The problems that the condition Valid names, and its first words."""
    valid = condition(catalog, "Valid")
    message = text_at(valid, "message")
    if text_at(valid, "status") != "False":
        return (), message
    summary, colon, rest = message.partition(": ")
    found = tuple(filter(None, (each.strip() for each in rest.split("; "))))
    return (found, summary) if colon else ((message,), "")


def _facts(catalog: Object) -> Iterable[Fact]:
    name = text_at(catalog, "metadata", "name")
    type_, source = source_of(catalog)
    counts = [part(catalog, "status", each) for each in ("packageCount", "bundleCount")]
    selected = part(catalog, "spec", "packages") or ()
    yield Fact("Belongs to", str(owner_of(catalog) or ""))
    yield Fact("Source", f"{type_} {source}")
    yield Fact("Checked", poll_text(catalog))
    yield Fact("Priority", str(priority(catalog)))
    yield Fact("Publisher", text_at(catalog, "spec", "publisher"))
    if all(isinstance(each, int) for each in counts):
        yield Fact("Content", f"{counts[0]:,} packages, {counts[1]:,} bundles")
    yield Fact("Only these packages", joined([str(each) for each in selected], 10))
    yield Fact("Digest", text_at(catalog, "status", "contentDigest"))
    yield Fact("Unpacked", text_at(catalog, "status", "lastUnpacked"))
    yield Fact("Signed by", text_at(catalog, "status", "signedBy", "name"))
    yield Fact("Label for catalogSelector", f"olm.operatorframework.io/metadata.name: {name}")


def _shared(given: CatalogInput) -> Iterable[SharedPackage]:
    """The packages that another catalog has too, with the one that counts: the higher priority, then the name."""
    name = text_at(given.catalog, "metadata", "name")
    ranks = {
        text_at(each, "metadata", "name"): (-priority(each), text_at(each, "metadata", "name")) for each in given.all
    }
    for package in sorted(given.packages.get(name, frozenset())):
        holders = sorted(
            (each for each, names in given.packages.items() if package in names and each in ranks),
            key=ranks.__getitem__,
        )
        if len(holders) > 1:
            yield SharedPackage(
                package, page_url("catalog", holders[0], package, ns=given.ns), holders[0], joined(holders[1:])
            )
