"""CEL rules of ClusterCatalog and ClusterExtension v1, the messages that clients of OLM v1 know, and defaults of the API.

Part of olmkit.api.clustercatalogs and clusterextensions; olmkit.api.crd reads the defaults. Several rules of one field can fail
together: the API server returns their messages in the order of the rules, which is part of the API. The rules of image references
accept what OLM v1 accepts, also where that is surprising: they look at the text from the first colon, possibly that of a port.
Pure.
"""

from __future__ import annotations

from pydantic.config import JsonDict
from pydantic.types import JsonValue

from olmkit.api.patterns import DNS_LABEL, OBJECT_NAME

_SUBDOMAIN_TEXT = (
    "must be a valid DNS1123 subdomain. It must contain only lowercase alphanumeric characters, hyphens (-) or periods (.),"
    " start and end with an alphanumeric character, and be no longer than 253 characters"
)


API_DEFAULT = "x-api-default"


def api_default(value: JsonValue) -> JsonDict:
    """The part of the schema of a field that makes the API server write this value where the field is absent.

    The kinds of the suite have none in spec: what the API server adds is a difference for GitOps tools.
    """
    return {API_DEFAULT: value}


def rules(*pairs: tuple[str, str]) -> JsonDict:
    """The part of a schema with these CEL rules: (rule, message)."""
    return {"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in pairs]}


def _union(kind_field: str, kind: str, member: str, noun: str) -> JsonDict:
    """The rule that an object has a member for this value of its discriminator, and for no other."""
    return rules(
        (
            f"has(self.{kind_field}) && self.{kind_field} == '{kind}' ? has(self.{member}) : !has(self.{member})",
            f"{member} is required when {noun} is {kind}, and forbidden otherwise",
        )
    )


IMAGE_UNION = _union("type", "Image", "image", "source type")
CATALOG_UNION = _union("sourceType", "Catalog", "catalog", "sourceType")
INLINE_UNION = _union("configType", "Inline", "inline", "configType")

HAS_DIGEST = "@.*:"
"""Matches a reference by digest."""
_ENCODED = ":.*$"
"""The text from the first colon: the tag, or the hex digits of a digest, unless a port stands before it."""
_ALGORITHM = "[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*"


def _if_tag(rule: str) -> str:
    return f"self.matches('{HAS_DIGEST}') || !self.matches('{_ENCODED}') || {rule}"


def _if_digest(rule: str) -> str:
    return f"!self.matches('{HAS_DIGEST}') || {rule}"


_BEGINNING = (
    (
        r"self.matches(r'^[a-zA-Z0-9]+\b')",
        "must start with a valid domain. valid domains must be alphanumeric characters (lowercase and uppercase) separated by the"
        ' "." character.',
    ),
    (
        "self.matches('/[a-z0-9]')",
        'a valid name is required. valid names must contain lowercase alphanumeric characters separated only by the ".", "_",'
        ' "__", "-" characters.',
    ),
)
_DIGEST = (
    (
        _if_digest(f"self.matches('@{_ALGORITHM}:')"),
        "digest algorithm is not valid. valid algorithms must start with an uppercase or lowercase alpha character followed by"
        ' alphanumeric characters and may contain the "-", "_", "+", and "." characters.',
    ),
    (
        _if_digest("self.matches(':.{32,}$')"),
        "digest is not valid. the encoded string must be at least 32 characters",
    ),
    (
        _if_digest("self.matches(':[0-9A-Fa-f]*$')"),
        "digest is not valid. the encoded string must only contain hex characters (A-F, a-f, 0-9)",
    ),
)
REFERENCE = rules(
    *_BEGINNING,
    (f"self.matches('{HAS_DIGEST}') || self.matches('{_ENCODED}')", "must end with a digest or a tag"),
    (
        _if_tag("!self.matches(':.{128,}$')"),
        "tag is invalid. the tag must not be more than 127 characters",
    ),
    (
        _if_tag(r"self.matches(r':\w[\w.-]*$')"),
        'tag is invalid. valid tags must begin with a word character (alphanumeric + "_") followed by word characters or ".",'
        ' and "-" characters',
    ),
    *_DIGEST,
)
"""Rules of an image reference with a tag or a digest."""
REFERENCE_BY_DIGEST = rules(
    *_BEGINNING,
    (f"self.matches('{HAS_DIGEST}')", "must end with a digest"),
    *_DIGEST,
)
POLLED_BY_TAG = rules(
    (
        f"!self.ref.matches('{HAS_DIGEST}') || !has(self.pollIntervalMinutes)",
        "cannot specify pollIntervalMinutes while using digest-based image",
    )
)
BASE_URL = rules(
    ("isURL(self)", "must be a valid URL"),
    ("!isURL(self) || url(self).getScheme() in ['http', 'https']", "scheme must be either http or https"),
)

NAMESPACE = rules(
    ("self == oldSelf", "namespace is immutable"),
    (f"self.matches('^{DNS_LABEL}$')", "namespace must be a valid DNS1123 label"),
)
ACCOUNT_NAME = rules(
    ("self == oldSelf", "name is immutable once set but may be cleared"),
    (f"self.matches(r'{OBJECT_NAME}')", f"name {_SUBDOMAIN_TEXT}"),
)
PACKAGE_NAME = rules(
    ("self == oldSelf", "packageName is immutable"),
    (f"self.matches(r'{OBJECT_NAME}')", f"packageName {_SUBDOMAIN_TEXT}"),
)
CHANNEL = rules((f"self.matches(r'{OBJECT_NAME}')", "channels entries must be valid DNS1123 subdomains"))
PREFLIGHT = rules(("has(self.preflight)", "at least one of [preflight] are required when install is specified"))
CRD_UPGRADE_SAFETY = rules(
    ("has(self.crdUpgradeSafety)", "at least one of [crdUpgradeSafety] are required when preflight is specified")
)

_PART = r"(0|[1-9]\d*|[xX*])"
_IDENTIFIERS = r"[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*"
_BOUND = rf"(=|!=|>|<|>=|=>|<=|=<|~|~>|\^)?\s*v?{_PART}(\.{_PART}){{0,2}}(-{_IDENTIFIERS})?(\+{_IDENTIFIERS})?"
VERSION = rules((rf"self.matches(r'^\s*{_BOUND}(\s*(\s|,|\|\|)\s*{_BOUND})*\s*$')", "invalid version expression"))
"""Wider than that of an Operator: any white space, and prereleases that are no valid versions, which the status reports."""

BUNDLE_NAME = rules((f"self.matches(r'{OBJECT_NAME}')", f"name {_SUBDOMAIN_TEXT}"))
BUNDLE_VERSION_PATTERN = rf"^\d+(\.\d+){{0,2}}(-{_IDENTIFIERS})?(\+{_IDENTIFIERS})?$"
"""Matches the values of status.install.bundle.version: a status with any other text is refused as a whole."""
BUNDLE_VERSION = rules((f"self.matches(r'{BUNDLE_VERSION_PATTERN}')", "version must be well-formed semver"))
