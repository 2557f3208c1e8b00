"""The routes of catalogd's HTTP API: paths, parameters, media types and responses.

catalogd.http.server registers a handler for each, catalogd.http.openapi generates the document from them. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.api.patterns import DIGEST

JSON, JSON_LINES, ANY_IMAGE = "application/json", "application/jsonl", "image/*"
DIGEST_PATTERN = rf"^{DIGEST}$"
ALL_PATTERN = r"^(true|false)?$"
PROVIDES_PATTERN = r"^$|^[^/]*/[^/]+$"


@dataclass(frozen=True)
class Parameter:
    """One query parameter: a string, given at most once."""

    name: str
    description: str
    is_required: bool = False
    pattern: str = ""


@dataclass(frozen=True)
class Route:
    """One path, for GET and HEAD.

    `of_catalog`: the path starts with /catalogs/{catalog}, accepts `digest`, sends the digest of its content, supports ranges and
    conditions, and is 503 while this replica has no content. `is_encoded`: gzip and zstd are made in advance. `absent`: when
    it is 404 for another reason than an unknown catalog or digest; "" for never. `also`: the media type of responses with several
    documents. `is_selected`: spec.packages of the Catalog limits it. `is_made`: it is made on request, so it may be 202 and 429.
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
    is_selected: bool = False
    is_made: bool = False

    @property
    def query(self) -> tuple[str, ...]:
        """The names of the query parameters, in the order of the document."""
        return tuple(parameter.name for parameter in self.parameters)


_DIGEST = Parameter(
    "digest",
    "Only this content of the catalog: the current one, or one that was replaced less than 10 minutes ago.",
    pattern=DIGEST_PATTERN,
)
NO_PACKAGE = "the catalog has no such package"
NO_ICON = f"{NO_PACKAGE}, or it has no icon"
NO_BUNDLE = "the catalog has no such bundle"
NO_SUMMARY = "its image cannot be read, or --bundle-summaries is Never"
NOT_SELECTED = "spec.packages of the Catalog does not name the package"

ROUTES: tuple[Route, ...] = (
    Route("getIndex", "/", "The paths of this API.", JSON, of_catalog=False),
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
        "The blobs that match all given parameters, in the order of the catalog; without parameters, all blobs.",
        JSON_LINES,
        (
            Parameter("schema", "The blob's schema, such as olm.bundle. Empty matches everything."),
            Parameter(
                "package", "The package of the blob; a package's own blob belongs to it. Empty matches everything."
            ),
            Parameter("name", "The blob's name. Empty matches everything."),
            _DIGEST,
        ),
        is_encoded=True,
    ),
    Route(
        "getPackages",
        "/catalogs/{catalog}/api/v1/packages",
        "A summary of each package for lists, sorted by name. Only the packages that spec.packages of the Catalog names, if it"
        " has a list.",
        JSON,
        (_DIGEST,),
        is_encoded=True,
        is_selected=True,
    ),
    Route(
        "getIcon",
        "/catalogs/{catalog}/api/v1/packages/{package}/icon",
        "The icon of a package. SVG is sent with a policy that prevents scripts; anything but an image is sent as a download.",
        ANY_IMAGE,
        (_DIGEST,),
        absent=f"{NO_ICON}; or {NOT_SELECTED}",
        is_selected=True,
    ),
    Route(
        "getResolution",
        "/catalogs/{catalog}/api/v1/resolution",
        "What a resolver needs to know about a package: channels, entries, versions, deprecations, dependencies. The document of"
        " the given package, or those of all packages that match, one per line and sorted by name. Only the packages that"
        " spec.packages of the Catalog names, if it has a list.",
        JSON,
        (
            Parameter("package", "The package. Empty matches everything."),
            Parameter(
                "provides",
                "Packages with a bundle that provides this kind, as <group>/<kind>. Empty matches everything.",
                pattern=PROVIDES_PATTERN,
            ),
            Parameter(
                "all", "true: also the packages that spec.packages of the Catalog does not name.", pattern=ALL_PATTERN
            ),
            _DIGEST,
        ),
        absent=f"{NO_PACKAGE}; or {NOT_SELECTED}",
        is_encoded=True,
        is_selected=True,
        also=JSON_LINES,
    ),
    Route(
        "getBundleSummary",
        "/catalogs/{catalog}/api/v1/bundles/{bundle}/summary",
        "The files of a bundle, reduced to what permissions and definitions depend on, made of its image when it is requested.",
        JSON,
        (Parameter("package", "The package of the bundle, where several packages have one of this name."), _DIGEST),
        absent=f"{NO_BUNDLE}; or {NO_SUMMARY}; or {NOT_SELECTED}",
        is_selected=True,
        is_made=True,
    ),
    Route("getOpenAPI", "/openapi.json", "This document.", JSON, of_catalog=False),
)
