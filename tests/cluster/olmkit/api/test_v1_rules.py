"""The rules of the kinds of OLM v1 on the real API server: whole lists of messages, in their order, and defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

import pytest

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster

GROUP = "/apis/olm.operatorframework.io/v1"
SUBDOMAIN = (
    "must be a valid DNS1123 subdomain. It must contain only lowercase alphanumeric characters, hyphens (-) or periods (.),"
    " start and end with an alphanumeric character, and be no longer than 253 characters"
)
DOMAIN = (
    "must start with a valid domain. valid domains must be alphanumeric characters (lowercase and uppercase) separated by the"
    ' "." character.'
)
NAME = (
    'a valid name is required. valid names must contain lowercase alphanumeric characters separated only by the ".", "_", "__",'
    ' "-" characters.'
)
END = "must end with a digest or a tag"
DIGEST_END = "must end with a digest"
TAG_LENGTH = "tag is invalid. the tag must not be more than 127 characters"
TAG = (
    'tag is invalid. valid tags must begin with a word character (alphanumeric + "_") followed by word characters or ".", and "-"'
    " characters"
)
ALGORITHM = (
    "digest algorithm is not valid. valid algorithms must start with an uppercase or lowercase alpha character followed by"
    ' alphanumeric characters and may contain the "-", "_", "+", and "." characters.'
)
SHORT = "digest is not valid. the encoded string must be at least 32 characters"
HEX = "digest is not valid. the encoded string must only contain hex characters (A-F, a-f, 0-9)"
IMAGE = "image is required when source type is Image, and forbidden otherwise"
TAGGED, DIGEST = "quay.io/org/catalog:v1", f"quay.io/org/catalog@sha256:{'a' * 64}"

REFERENCES: Mapping[str, tuple[str, ...]] = {
    TAGGED: (),
    DIGEST: (),
    f"quay.io/org/catalog:v1@sha256:{'a' * 64}": (),
    "localhost:5000/repo:v1": (),
    "127.0.0.1:5000/repo:v1": (),
    "host/a_b__c-d.e/f:v1": (),
    "quay.io/A/b:v1": (),
    f"quay.io/a@md5:{'f' * 32}": (),
    f"quay.io/a@a+b.c-d_e:{'F' * 32}": (),
    f"host/a:{'t' * 127}": (),
    "host/a:_v-1.x": (),
    "": (DOMAIN, NAME, END),
    "-host/a:v1": (DOMAIN,),
    "a_b/c:v1": (DOMAIN,),
    ".host/a:v1": (DOMAIN,),
    "catalog:v1": (NAME,),
    "host/A:v1": (NAME,),
    "host/a": (END,),
    "host": (NAME, END),
    f"host/a:{'t' * 128}": (TAG_LENGTH,),
    f"localhost:5000/a:{'t' * 120}": (),
    f"localhost:5000/a:{'t' * 121}": (TAG_LENGTH,),
    "host/a:-v1": (TAG,),
    "host/a:": (TAG,),
    "host/a:v 1": (TAG,),
    "host:5000/repo": (TAG,),
    f"host/a:-{'t' * 127}": (TAG_LENGTH, TAG),
    f"host/a@1sha:{'a' * 64}": (ALGORITHM,),
    f"host/a@sha256-:{'a' * 64}": (ALGORITHM,),
    f"host/a@sha256:{'a' * 31}": (SHORT,),
    f"host/a@sha256:{'g' * 32}": (HEX,),
    "host/a@sha256:": (SHORT,),
    "host/a@:xyz": (ALGORITHM, SHORT, HEX),
    "h" * 1001: ("Too long: may not be more than 1000 bytes",),
}
"""Image reference -> the messages about it."""
RESOLVED: Mapping[str, tuple[str, ...]] = {
    DIGEST: (),
    TAGGED: (DIGEST_END,),
    "-": (DOMAIN, NAME, DIGEST_END),
    "host/a@1:xyz": (ALGORITHM, SHORT, HEX),
}
VERSIONS = "1.2.3 v1.2.3 =1.2.3 !=1.2.3 >1 <1.2 =>1 <=1 =<1 ~1.2 ~>1.2 ^1 1.x 1.X * 1.2.* x >=1,<2 1||2 1.2.3-rc.1+b.5"
BLANKS = (">= 1.2.3", ">=1.2.0 <2.0.0", "1 || 2", " 1.2.3 ", ">=1\t<2")
NO_VERSIONS = "==1 01.2.3 1.2.3.4 latest 1, ||1 1.2.3- 1.2.3+ 1;2 > 1.2.3_"
NO_BLANKS = ("", " ", "1.2.3 - 2.0.0")


def catalog(image: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A ClusterCatalog with an image of these fields."""
    source = {"type": "Image", "image": {"ref": TAGGED} if image is None else image}
    return _body("ClusterCatalog", {"source": source, **spec})


def extension(of_catalog: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A ClusterExtension with these fields of spec.source.catalog and of spec."""
    source = {"sourceType": "Catalog", "catalog": {"packageName": "p", **(of_catalog or {})}}
    return _body("ClusterExtension", {"namespace": "n", "source": source, **spec})


def _body(kind: str, spec: Mapping[str, Any], name: str = "x") -> dict[str, Any]:
    return {"apiVersion": "olm.operatorframework.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def named(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**body, "metadata": {"name": name}}


def path_of(body: Mapping[str, Any]) -> str:
    return f"{GROUP}/{body['kind'].lower()}s"


def problems(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(field, message) of each cause, without the value that the API server quotes, in their order. A cause without a field says
    only that rules were not checked because of the others."""
    causes = [each for each in answer["details"]["causes"] if each["field"] != "<nil>"]
    quoted = re.compile(r'^Invalid value: ("(\\.|[^"\\])*"|[^:]*): ')
    found = [(each["field"], quoted.sub("", each["message"])) for each in causes]
    return [(field, text.removeprefix(f"{field} in body ")) for field, text in found]


PREFLIGHT = "spec.install.preflight"
REFUSED: Mapping[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "a digest that is polled": (
        catalog({"ref": DIGEST, "pollIntervalMinutes": 1}),
        [("spec.source.image", "cannot specify pollIntervalMinutes while using digest-based image")],
    ),
    "polled never, as a number": (
        catalog({"ref": TAGGED, "pollIntervalMinutes": 0}),
        [("spec.source.image.pollIntervalMinutes", "should be greater than or equal to 1")],
    ),
    "no image": (_body("ClusterCatalog", {"source": {"type": "Image"}}), [("spec.source", IMAGE)]),
    "no source": (_body("ClusterCatalog", {}), [("spec.source", "Required value")]),
    "no reference": (catalog({}), [("spec.source.image.ref", "Required value")]),
    "another type of source": (
        _body("ClusterCatalog", {"source": {"type": "Git"}}),
        [("spec.source.type", 'Unsupported value: "Git": supported values: "Image"')],
    ),
    "a priority of more than 32 bits": (
        catalog(priority=2**31),
        [("spec.priority", "should be less than or equal to 2147483647")],
    ),
    "an unknown mode": (
        catalog(availabilityMode="Maybe"),
        [("spec.availabilityMode", 'Unsupported value: "Maybe": supported values: "Available", "Unavailable"')],
    ),
    "a catalog's name of 64 characters": (
        named(catalog(), "n" * 64),
        [("metadata.name", "Too long: may not be more than 63 bytes")],
    ),
    "a namespace that is no label": (
        extension(namespace="a.b"),
        [("spec.namespace", "namespace must be a valid DNS1123 label")],
    ),
    "an empty namespace": (extension(namespace=""), [("spec.namespace", "namespace must be a valid DNS1123 label")]),
    "a namespace of 64 characters": (
        extension(namespace="n" * 64),
        [("spec.namespace", "Too long: may not be more than 63 bytes")],
    ),
    "an empty service account": (
        extension(serviceAccount={}),
        [("spec.serviceAccount", "should have at least 1 properties")],
    ),
    "a service account that is no name": (
        extension(serviceAccount={"name": "A"}),
        [("spec.serviceAccount.name", f"name {SUBDOMAIN}")],
    ),
    "an empty name of a service account": (
        extension(serviceAccount={"name": ""}),
        [
            ("spec.serviceAccount.name", "should be at least 1 chars long"),
            ("spec.serviceAccount.name", f"name {SUBDOMAIN}"),
        ],
    ),
    "no catalog": (
        _body("ClusterExtension", {"namespace": "n", "source": {"sourceType": "Catalog"}}),
        [("spec.source", "catalog is required when sourceType is Catalog, and forbidden otherwise")],
    ),
    "another type of source of an extension": (
        _body("ClusterExtension", {"namespace": "n", "source": {"sourceType": "Git"}}),
        [("spec.source.sourceType", 'Unsupported value: "Git": supported values: "Catalog"')],
    ),
    "a package that is no name": (
        extension({"packageName": "P"}),
        [("spec.source.catalog.packageName", f"packageName {SUBDOMAIN}")],
    ),
    "a package of 254 characters": (
        extension({"packageName": "p" * 254}),
        [("spec.source.catalog.packageName", "Too long: may not be more than 253 bytes")],
    ),
    "a version of 65 characters": (
        extension({"version": "1" * 65}),
        [("spec.source.catalog.version", "Too long: may not be more than 64 bytes")],
    ),
    "a channel that is no name": (
        extension({"channels": ["a", "*"]}),
        [("spec.source.catalog.channels[1]", "channels entries must be valid DNS1123 subdomains")],
    ),
    "257 channels": (
        extension({"channels": ["a"] * 257}),
        [("spec.source.catalog.channels", "Too many: 257: must have at most 256 items")],
    ),
    "an unknown policy": (
        extension({"upgradeConstraintPolicy": "Enforce"}),
        [
            (
                "spec.source.catalog.upgradeConstraintPolicy",
                'Unsupported value: "Enforce": supported values: "CatalogProvided", "SelfCertified"',
            )
        ],
    ),
    "install without preflight": (
        extension(install={}),
        [("spec.install", "at least one of [preflight] are required when install is specified")],
    ),
    "preflight without a check": (
        extension(install={"preflight": {}}),
        [(f"{PREFLIGHT}.crdUpgradeSafety", "Required value")],
    ),
    "a check without its enforcement": (
        extension(install={"preflight": {"crdUpgradeSafety": {}}}),
        [(f"{PREFLIGHT}.crdUpgradeSafety.enforcement", "Required value")],
    ),
    "an unknown enforcement": (
        extension(install={"preflight": {"crdUpgradeSafety": {"enforcement": "Maybe"}}}),
        [
            (
                f"{PREFLIGHT}.crdUpgradeSafety.enforcement",
                'Unsupported value: "Maybe": supported values: "None", "Strict"',
            )
        ],
    ),
    "a configuration without its text": (
        extension(config={"configType": "Inline"}),
        [("spec.config", "inline is required when configType is Inline, and forbidden otherwise")],
    ),
    "an empty configuration": (
        extension(config={"configType": "Inline", "inline": {}}),
        [("spec.config.inline", "should have at least 1 properties")],
    ),
    "a deadline of 9 minutes": (
        extension(progressDeadlineMinutes=9),
        [("spec.progressDeadlineMinutes", "should be greater than or equal to 10")],
    ),
    "a deadline of 721 minutes": (
        extension(progressDeadlineMinutes=721),
        [("spec.progressDeadlineMinutes", "should be less than or equal to 720")],
    ),
}
ACCEPTED: Mapping[str, dict[str, Any]] = {
    "a catalog that is polled": catalog({"ref": TAGGED, "pollIntervalMinutes": 1}),
    "a priority below zero": catalog(priority=-(2**31)),
    "a catalog's name of 63 characters": named(catalog(), "n" * 63),
    "an extension's name of 253 characters": named(extension(), "a." * 126 + "b"),
    "a package with a dot": extension({"packageName": "p." + "q" * 251}),
    "the namespace default": extension(namespace="default"),
    "a service account": extension(serviceAccount={"name": "a.b"}),
    "channels": extension({"channels": ["stable-1.2", "c" * 253]}),
    "a selector that selects nothing": extension(
        {"selector": {"matchExpressions": [{"key": "a b", "operator": "Near"}]}}
    ),
    "a check": extension(install={"preflight": {"crdUpgradeSafety": {"enforcement": "None"}}}),
    "a deadline": extension(progressDeadlineMinutes=720),
}


def asked(cluster: Cluster, body: Mapping[str, Any]) -> tuple[int, Any]:
    """Ask the API server to create an object, and to store nothing."""
    return cluster.api.request("POST", f"{path_of(body)}?dryRun=All&fieldValidation=Strict", body)


def refusals(cluster: Cluster, body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The problems of an object that is refused; none if it is accepted."""
    status, answer = asked(cluster, body)
    assert status in (HTTPStatus.CREATED, HTTPStatus.UNPROCESSABLE_ENTITY), answer
    return [] if status == HTTPStatus.CREATED else problems(answer)


def test_image_references(definitions: Cluster) -> None:
    found = {ref: refusals(definitions, catalog({"ref": ref})) for ref in REFERENCES}
    assert found == {ref: [("spec.source.image.ref", each) for each in texts] for ref, texts in REFERENCES.items()}


def test_versions(definitions: Cluster) -> None:
    accepted, refused = (*VERSIONS.split(), *BLANKS), (*NO_VERSIONS.split(), *NO_BLANKS)
    found = {each: refusals(definitions, extension({"version": each})) for each in (*accepted, *refused)}
    problem = ("spec.source.catalog.version", "invalid version expression")
    assert found == {each: [] for each in accepted} | {each: [problem] for each in refused}


def test_what_is_refused(definitions: Cluster) -> None:
    found = {case: refusals(definitions, body) for case, (body, _) in REFUSED.items()}
    assert found == {case: expected for case, (_, expected) in REFUSED.items()}


def test_what_is_accepted(definitions: Cluster) -> None:
    assert {case: refusals(definitions, body) for case, body in ACCEPTED.items()} == {case: [] for case in ACCEPTED}


def test_the_api_server_writes_three_defaults(definitions: Cluster) -> None:
    given = (
        catalog(),
        extension(config={"configType": "Inline", "inline": {"watchNamespace": None, "more": {"a": [1]}}}),
    )
    catalog_spec, extension_spec = (asked(definitions, body)[1]["spec"] for body in given)
    assert catalog_spec == {**given[0]["spec"], "priority": 0, "availabilityMode": "Available"}
    source = given[1]["spec"]["source"]
    completed = {**source, "catalog": {**source["catalog"], "upgradeConstraintPolicy": "CatalogProvided"}}
    assert extension_spec == {**given[1]["spec"], "source": completed}


@pytest.fixture
def stored(definitions: Cluster) -> Iterator[Cluster]:
    """The cluster with one object of each kind, of the name x."""
    bodies = catalog(), extension(serviceAccount={"name": "a"})
    for body in bodies:
        created = definitions.api.call("POST", path_of(body), body)
        assert "status" not in created
    yield definitions
    for body in bodies:
        definitions.api.call("DELETE", f"{path_of(body)}/x")


CHANGES: Mapping[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "another namespace": ({"namespace": "m"}, [("spec.namespace", "namespace is immutable")]),
    "a wrong namespace": (
        {"namespace": "M"},
        [("spec.namespace", "namespace is immutable"), ("spec.namespace", "namespace must be a valid DNS1123 label")],
    ),
    "another package": (
        {"source": {"catalog": {"packageName": "q"}}},
        [("spec.source.catalog.packageName", "packageName is immutable")],
    ),
    "another service account": (
        {"serviceAccount": {"name": "b"}},
        [("spec.serviceAccount.name", "name is immutable once set but may be cleared")],
    ),
    "no service account": ({"serviceAccount": None}, []),
    "another version and channel": ({"source": {"catalog": {"version": "1", "channels": ["b"]}}}, []),
}
BUNDLE = "status.install.bundle"


def installed(name: str, version: str) -> dict[str, Any]:
    return {"install": {"bundle": {"name": name, "version": version}}}


def resolved(ref: str) -> dict[str, Any]:
    return {"resolvedSource": {"type": "Image", "image": {"ref": ref}}}


STATUSES: Mapping[str, tuple[str, dict[str, Any], list[tuple[str, str]]]] = {
    **{
        f"resolved {ref}": ("catalog", resolved(ref), [("status.resolvedSource.image.ref", each) for each in texts])
        for ref, texts in RESOLVED.items()
    },
    "an address": ("catalog", {"urls": {"base": "https://c.olmv1-system.svc/catalogs/x"}}, []),
    "no address": (
        "catalog",
        {"urls": {"base": "catalogs/x"}},
        [("status.urls.base", "must be a valid URL")],
    ),
    "another scheme": (
        "catalog",
        {"urls": {"base": "ftp://host/x"}},
        [("status.urls.base", "scheme must be either http or https")],
    ),
    "a bundle": ("extension", installed("p.v1.2.3", "1.2.3-rc.1+b"), []),
    "a bundle that is no name": ("extension", installed("P", "1"), [(f"{BUNDLE}.name", f"name {SUBDOMAIN}")]),
    "a version that is none": (
        "extension",
        installed("p", "latest"),
        [(f"{BUNDLE}.version", "version must be well-formed semver")],
    ),
}


def patched(cluster: Cluster, path: str, body: Mapping[str, Any]) -> list[tuple[str, str]]:
    status, answer = cluster.api.request("PATCH", f"{GROUP}/{path}?dryRun=All", body, MERGE)
    return [] if status == HTTPStatus.OK else problems(answer)


def test_changes_and_statuses(stored: Cluster) -> None:
    found = {case: patched(stored, "clusterextensions/x", {"spec": spec}) for case, (spec, _) in CHANGES.items()}
    assert found == {case: expected for case, (_, expected) in CHANGES.items()}
    found = {
        case: patched(stored, f"cluster{kind}s/x/status", {"status": status})
        for case, (kind, status, _) in STATUSES.items()
    }
    assert found == {case: expected for case, (_, _, expected) in STATUSES.items()}
