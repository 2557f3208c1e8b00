"""The table of what catalogd serves over HTTP: paths, parameters, media types and answers. The one source of both.

catalogd.http.server registers a handler for each row, catalogd.http.openapi makes the document from it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.api.patterns import DIGEST

JSON, JSON_LINES, ANY_IMAGE = "application/json", "application/jsonl", "image/*"
DIGEST_PATTERN = rf"^{DIGEST}$"
PROVIDES_PATTERN = r"^$|^[^/]*/[^/]+$"


@dataclass(frozen=True)
class Parameter:
    """One query parameter: a text, given at most once."""

    name: str
    description: str
    is_required: bool = False
    pattern: str = ""


@dataclass(frozen=True)
class Route:
    """One path, for GET and HEAD.

    `of_catalog`: it begins with /catalogs/{catalog}, takes `digest`, names the digest it answers from, may be asked for in parts
    and under conditions, and is 503 while this replica has no content. `is_encoded`: gzip and zstd of it are made in advance.
    `absent`: when it is 404 besides a catalog or digest that is not there; "" for never. `also`: the media type of answers of
    another form.
    """

    operation: str
    path: str
    summary: str
    media_type: str
    parameters: tuple[Parameter, ...] = ()
    absent: str = ""
    is_encoded: bool = False
    of_catalog: bool = True
    also: str = ""

    @property
    def query(self) -> tuple[str, ...]:
        """The names of its query parameters, in the order of the document."""
        return tuple(parameter.name for parameter in self.parameters)


_DIGEST = Parameter(
    "digest",
    "Only this content of the catalog: the one that is served, or the one it replaced less than 10 minutes ago.",
    pattern=DIGEST_PATTERN,
)
_PACKAGE_OF_PATH = "the catalog has no such package, or it has no icon"

ROUTES: tuple[Route, ...] = (
    Route("getIndex", "/", "The paths that there are.", JSON, of_catalog=False),
    Route("getCatalogs", "/catalogs", "The catalogs that are served, sorted by name.", JSON, of_catalog=False),
    Route(
        "getCatalogFile",
        "/catalogs/{catalog}/all.json",
        "The whole catalog, one blob per line.",
        JSON,
        (_DIGEST,),
        is_encoded=True,
    ),
    Route(
        "getAll",
        "/catalogs/{catalog}/api/v1/all",
        "The whole catalog, one blob per line.",
        JSON_LINES,
        (_DIGEST,),
        is_encoded=True,
    ),
    Route(
        "getMetas",
        "/catalogs/{catalog}/api/v1/metas",
        "The blobs that match all parameters given, in the order of the catalog; none given is everything.",
        JSON_LINES,
        (
            Parameter("schema", "The blob's schema, such as olm.bundle. Empty asks nothing."),
            Parameter("package", "The package it belongs to; a package's own blob belongs to it. Empty asks nothing."),
            Parameter("name", "The blob's name. Empty asks nothing."),
            _DIGEST,
        ),
        is_encoded=True,
    ),
    Route(
        "getPackages",
        "/catalogs/{catalog}/api/v1/packages",
        "A summary of each package, sorted by name: what a list of packages shows.",
        JSON,
        (_DIGEST,),
        is_encoded=True,
    ),
    Route(
        "getIcon",
        "/catalogs/{catalog}/api/v1/packages/{package}/icon",
        "The icon of a package. SVG comes with a policy that runs no script; what is no image comes as bytes.",
        ANY_IMAGE,
        (_DIGEST,),
        absent=_PACKAGE_OF_PATH,
    ),
    Route(
        "getResolution",
        "/catalogs/{catalog}/api/v1/resolution",
        "What a resolver needs to know of a package: channels, entries, versions, deprecations, dependencies. The document of the"
        " package named, or those of all packages that match, one per line and sorted by name.",
        JSON,
        (
            Parameter("package", "The package. Empty asks nothing."),
            Parameter(
                "provides",
                "Packages of which a bundle provides the kind, as <group>/<kind>. Empty asks nothing.",
                pattern=PROVIDES_PATTERN,
            ),
            _DIGEST,
        ),
        absent="the catalog has no such package",
        also=JSON_LINES,
    ),
    Route("getOpenAPI", "/openapi.json", "This document.", JSON, of_catalog=False),
)
