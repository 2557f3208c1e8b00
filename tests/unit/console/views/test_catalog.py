"""The catalog as a function of what is offered, what is installed and the query."""

from typing import Any

import pytest

from console.views.catalog import (
    PAGE_SIZE,
    CatalogQuery,
    CatalogView,
    InstanceType,
    catalog_view,
    is_one_letter_off,
)
from console.views.fit import Cluster
from olmctl.questions.catalog import matching, suggestion
from olmctl.questions.packages import PackageEntry
from olmkit.api.meta import Kind, Object


def _entry(name: str, catalog: str = "community", **summary: Any) -> PackageEntry:
    return PackageEntry(name, catalog, {"metadata": {"annotations": {}}}, {"name": name, **summary})


ENTRIES = (
    _entry(
        "cert-manager", displayName="Certificates", provider="Jet", categories=["Security"], capability="Full Lifecycle"
    ),
    _entry("etcd", provider="CNCF", categories=["Database"], capability="Basic Install", keywords=["key-value"]),
    _entry("mariadb-operator", provider="Maria", categories=["Database"], deprecated="use another one"),
    _entry("etcd", "team"),
)
CERTIFICATE = InstanceType(
    Kind("cert-manager.io", "v1", "Certificate", "certificates", True), "Certificate", "cm", "cert-manager", "community"
)


def _operator(name: str, package: str, **status: Any) -> Object:
    ready = {"type": "Ready", "status": "True", "reason": "Succeeded", "message": ""}
    return {
        "metadata": {"name": name, "generation": 1},
        "spec": {"packageName": package},
        "status": {
            "observedGeneration": 1,
            "installed": {"version": "1.0.0", "catalog": "community"},
            "conditions": [ready],
            **status,
        },
    }


def _view(query: CatalogQuery, *operators: Object, types: tuple[InstanceType, ...] = (CERTIFICATE,)) -> CatalogView:
    by_package: dict[str, list[Object]] = {}
    for each in operators:
        by_package.setdefault(each["spec"]["packageName"], []).append(each)
    matched = matching(ENTRIES, query.q)
    return catalog_view(query, ENTRIES, by_package, types, matched=matched, hint=suggestion(query.q, {"etcd"}))


def _titles(view: CatalogView) -> list[str]:
    return [each.title for each in view.cards]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(
            CatalogQuery(), ["Certificates", "etcd", "mariadb-operator", "etcd", "Certificate"], id="all, with kinds"
        ),
        pytest.param(CatalogQuery("etcd"), ["etcd", "etcd"], id="a word in the name"),
        pytest.param(
            CatalogQuery("certificate"), ["Certificate", "Certificates"], id="a kind of that name comes first"
        ),
        pytest.param(CatalogQuery("cert-manager.io"), ["Certificate"], id="a group"),
        pytest.param(CatalogQuery("maraidb"), ["mariadb-operator"], id="two letters that are swapped"),
        pytest.param(CatalogQuery("nothing-like-it"), [], id="no hit"),
        pytest.param(CatalogQuery(chosen={"category": ("Database",)}), ["etcd", "mariadb-operator"], id="a category"),
        pytest.param(
            CatalogQuery(chosen={"category": ("Database", "Security")}),
            ["Certificates", "etcd", "mariadb-operator"],
            id="one of two categories",
        ),
        pytest.param(
            CatalogQuery(chosen={"category": ("Database",), "provider": ("CNCF",)}),
            ["etcd"],
            id="a category and a provider",
        ),
        pytest.param(CatalogQuery(chosen={"type": ("instances",)}), ["Certificate"], id="kinds of instances only"),
        pytest.param(CatalogQuery(chosen={"state": ("deprecated",)}), ["mariadb-operator"], id="deprecated packages"),
        pytest.param(CatalogQuery(chosen={"catalog": ("team",)}), ["etcd"], id="a catalog"),
        pytest.param(CatalogQuery(chosen={"catalog": ("gone",)}), [], id="a catalog that is not there"),
        pytest.param(
            CatalogQuery(sort="name"), ["Certificate", "Certificates", "etcd", "etcd", "mariadb-operator"], id="by name"
        ),
    ],
)
def test_the_cards_of_a_query(query: CatalogQuery, expected: list[str]) -> None:
    assert _titles(_view(query)) == expected


def test_a_facet_counts_under_the_other_filters_and_keeps_what_is_chosen() -> None:
    view = _view(CatalogQuery(chosen={"category": ("Database",), "provider": ("Gone",)}))

    counts = {facet.key: {each.value: each.count for each in facet.values} for facet in view.facets}
    assert counts["provider"] == {"CNCF": 1, "Gone": 0, "Maria": 1}
    assert counts["category"] == {"Database": 0}
    assert view.empty == "Nothing has all of these filters."
    assert [(chip.text, chip.href) for chip in view.chips] == [
        ("Database", "/catalog?provider=Gone"),
        ("Gone", "/catalog?category=Database"),
    ]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("etcd", "2 shown", id="what has the word"),
        pytest.param("etdc", "2 shown: nothing has etdc, these have etcd", id="two letters are swapped"),
        pytest.param("zookeeper", "0 shown", id="nothing is near"),
    ],
)
def test_a_mistake_in_a_word_that_is_forgiven_is_said(word: str, expected: str) -> None:
    assert catalog_view(CatalogQuery(word), ENTRIES, {}, (), matched=matching(ENTRIES, word)).shown == expected


ROUTED = (
    _entry(
        "routed", nativeAPIs=["route.openshift.io/v1/Route"], installModes=["AllNamespaces"], createdOn="2026-01-31"
    ),
    _entry("plain", installModes=["OwnNamespace"], createdOn="2025-12-01", kinds=["p.io/v1/Plan"]),
    PackageEntry("unread", "community", {}),
)
CLUSTER = Cluster("v1.34.0")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(CatalogQuery(), ["routed", "plain", "unread"], id="all"),
        pytest.param(CatalogQuery(chosen={"works": ("yes",)}), ["plain"], id="those that work on the cluster"),
        pytest.param(CatalogQuery(chosen={"works": ("no",)}), ["routed"], id="those that lack something"),
        pytest.param(CatalogQuery(chosen={"modes": ("all",)}), ["routed"], id="those that work in all namespaces"),
        pytest.param(CatalogQuery(chosen={"modes": ("some",)}), ["plain"], id="those that can be limited"),
        pytest.param(CatalogQuery("plan"), ["plain"], id="by a kind that is provided"),
        pytest.param(CatalogQuery(sort="created"), ["routed", "plain", "unread"], id="the newest version first"),
    ],
)
def test_what_packages_need_of_the_cluster_is_a_filter(query: CatalogQuery, expected: list[str]) -> None:
    view = catalog_view(query, ROUTED, {}, (), matched=matching(ROUTED, query.q), cluster=CLUSTER)

    assert _titles(view) == expected


def test_a_card_says_what_the_cluster_lacks_and_where_it_works() -> None:
    routed, plain, unread = catalog_view(CatalogQuery(), ROUTED, {}, (), cluster=CLUSTER).cards

    assert (routed.missing, routed.scope) == ("This cluster lacks Route.", "all namespaces")
    assert [each.text for each in routed.badges] == ["Does not work here"]
    assert (plain.missing, plain.scope, plain.badges) == ("", "its own namespace only", ())
    assert (unread.missing, unread.scope, unread.facets["works"]) == ("", "", ())


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        pytest.param(_operator("e", "etcd"), [("ok", "Installed")], id="installed"),
        pytest.param(_operator("e", "etcd", installed=None), [("info", "Installing")], id="being installed"),
        pytest.param(
            _operator("e", "etcd", available={"version": "2.0.0", "reason": "ApprovalRequired"}),
            [("warn", "2.0.0 waits")],
            id="an upgrade waits",
        ),
        pytest.param(
            _operator("e", "etcd", conditions=[{"type": "Ready", "status": "False", "reason": "Unhealthy"}]),
            [("bad", "Unhealthy")],
            id="unhealthy",
        ),
        pytest.param(
            _operator("e", "etcd", installed={"version": "1.0.0", "catalog": "team"}),
            [],
            id="installed from another catalog",
        ),
    ],
)
def test_a_card_shows_what_is_installed(operator: Object, expected: list[tuple[str, str]]) -> None:
    card = next(each for each in _view(CatalogQuery(), operator).cards if each.id == "community:etcd")

    assert [(each.kind, each.text) for each in card.badges] == expected


def test_no_package_and_no_kind_has_the_id_of_another() -> None:
    kind = InstanceType(Kind("b", "v1", "C", "kind"), "C", "o", "p", "a")
    names = [("a", "b-c"), ("a-b", "c"), ("a", "b:c"), ("kind", "b"), ("kind.b", "c"), ("kind", "b-kind")]
    view = catalog_view(CatalogQuery(), [_entry(name, catalog) for catalog, name in names], {}, (kind,))
    assert len({each.id for each in view.cards}) == len(names) + 1


def test_no_hit_has_the_words_of_the_command() -> None:
    view = _view(CatalogQuery("etc-d-operator"))

    assert view.empty.startswith("No package matches etc-d-operator: ")


def test_without_packages_the_reason_is_named() -> None:
    view = catalog_view(CatalogQuery(), (), {}, (), (), "there is no Catalog yet: create one")

    assert view.empty == "No packages found: there is no Catalog yet: create one."


def test_cards_come_in_pages_that_keep_the_query() -> None:
    entries = [_entry(f"p{at:03}") for at in range(PAGE_SIZE * 2 + 1)]
    query = CatalogQuery(chosen={"catalog": ("community",)}, page=2, ns="team-a")
    view = catalog_view(query, entries, {}, ())

    assert (len(view.cards), view.pager.first, view.pager.last, view.pager.total) == (
        PAGE_SIZE,
        PAGE_SIZE + 1,
        2 * PAGE_SIZE,
        2 * PAGE_SIZE + 1,
    )
    assert view.pager.previous == "/catalog?catalog=community&ns=team-a&page=1"
    assert view.pager.next == "/catalog?catalog=community&ns=team-a&page=3"
    assert view.cards[0].href == "/catalog/community/p048?ns=team-a"
    last = catalog_view(CatalogQuery(page=99), entries, {}, ())
    assert (len(last.cards), last.pager.next) == (1, "")
    everything = catalog_view(CatalogQuery(is_all=True), entries, {}, ())
    assert (len(everything.cards), everything.pager.all, everything.pager.next) == (len(entries), "", "")


def test_a_kind_of_instances_has_a_tag_and_leads_to_its_instances() -> None:
    card = _view(CatalogQuery(ns="team-a")).cards[-1]

    assert [(each.kind, each.text) for each in card.badges] == [("type", "Instance type")]
    assert card.href == "/instances/cert-manager.io/v1/certificates?ns=team-a"
    assert card.by == "cm · cert-manager.io/v1"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("maria", "maria", True),
        ("maria", "mari", True),
        ("maria", "mariia", True),
        ("maria", "naria", True),
        ("maria", "mraia", True),
        ("maria", "mrai", False),
        ("mar", "mat", False),
        ("maria", "mongo", False),
    ],
)
def test_words_that_differ_by_one_letter(one: str, other: str, *, expected: bool) -> None:
    assert is_one_letter_off(one, other) is expected


def test_hostile_summaries_are_text() -> None:
    hostile = '"><script>alert(1)</script>'
    entry = PackageEntry(
        "../../etc", hostile, {}, {"displayName": hostile, "provider": 7, "categories": "x", "icon": True}
    )
    card = catalog_view(CatalogQuery(), [entry], {}, ()).cards[0]

    assert card.title == hostile
    assert card.href == "/catalog/%22%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E/..%2F..%2Fetc"
    assert (card.facets["provider"], card.facets["category"]) == ((), ("x",))
