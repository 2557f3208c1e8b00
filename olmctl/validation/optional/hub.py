"""The validators operatorhubv2 and operatorhub: what operatorhub.io requires of a ClusterServiceVersion. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from olmctl.validation.finding import ERROR, WARNING, Finding, detailed
from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.optional.annotations import capability_findings, category_findings
from olmctl.validation.optional.csv_findings import Reporter, Values, text_of
from olmctl.validation.optional.removed_apis import removed_api_findings
from olmkit.gocompat.mail_address import address_error
from olmkit.gocompat.request_uri import request_uri_error
from olmkit.gocompat.versions import BadVersion, parse_tolerant_version, parse_version
from rukpak.format.objects import mapping, mappings

_MEDIA_TYPES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/svg+xml"})
_NO_MINIMUM: Final = (
    "csv.Spec.minKubeVersion is not informed. It is recommended you provide this information. Otherwise, it would mean that "
    "your operator project can be distributed and installed in any cluster version available, which is not necessarily the case "
    "for all projects."
)
_DEPRECATED: Final = (
    'The "operatorhub" validator is deprecated; for equivalent validation use "operatorhub/v2", "standardcapabilities" and '
    '"standardcategories" validators'
)


def operatorhubv2(bundle: LoadedBundle, values: Values) -> Iterator[Finding]:
    """The findings of operatorhubv2."""
    if report := Reporter.of("operatorhubv2", bundle):
        yield from _spec_findings(report)
        yield from removed_api_findings(report, bundle, values)


def operatorhub(bundle: LoadedBundle, values: Values) -> Iterator[Finding]:
    """The findings of operatorhub, which is deprecated: those of operatorhubv2, capabilities and categories."""
    if report := Reporter.of("operatorhub", bundle):
        yield from _spec_findings(report)
        yield from capability_findings(report)
        yield from category_findings(report)
        yield from removed_api_findings(report, bundle, values)
    text = detailed(WARNING, _DEPRECATED, value="")
    hint = "Select operatorhubv2, capabilities and categories instead."
    yield Finding(WARNING, text, "operatorhub", "DeprecatedValidator", rule="hub-deprecated", hint=hint)


def _spec_findings(report: Reporter) -> Iterator[Finding]:
    spec = report.csv.spec
    if not text_of(mapping(spec.get("provider")).get("name")).strip():
        text, hint = "csv.Spec.Provider.Name not specified", "Name the provider in spec.provider.name."
        yield report.invalid(ERROR, "hub-provider", text, ("spec", "provider"), hint)
    yield from _maintainer_findings(report, spec)
    yield from _link_findings(report, spec)
    if _is_zero(text_of(spec.get("version"))):
        text, hint = "csv.Spec.Version must be set", "Set spec.version to the version of the operator, such as 1.2.3."
        yield report.invalid(ERROR, "hub-version", text, ("spec", "version"), hint)
    yield from _icon_findings(report, spec)
    yield from _minimum_findings(report, text_of(spec.get("minKubeVersion")))


def _maintainer_findings(report: Reporter, spec: Mapping[str, Any]) -> Iterator[Finding]:
    for index, maintainer in enumerate(_entries(spec.get("maintainers"))):
        path = ("spec", "maintainers", index)
        name, email = text_of(maintainer.get("name")), text_of(maintainer.get("email"))
        if not (name and email):
            text = "csv.Spec.Maintainers elements should contain both name and email"
            yield report.invalid(ERROR, "hub-maintainer", text, path, "Give each maintainer a name and an email.")
        if email and (error := address_error(email)):
            text = f"csv.Spec.Maintainers email {email} is invalid: {error}"
            hint = "Write one address, such as ada@example.com."
            yield report.invalid(ERROR, "hub-maintainer-email", text, (*path, "email"), hint)


def _link_findings(report: Reporter, spec: Mapping[str, Any]) -> Iterator[Finding]:
    for index, link in enumerate(_entries(spec.get("links"))):
        path = ("spec", "links", index)
        name, url = text_of(link.get("name")), text_of(link.get("url"))
        if not (name and url):
            text = "csv.Spec.Links elements should contain both name and url"
            yield report.invalid(ERROR, "hub-link", text, path, "Give each link a name and a url.")
        if url and (error := request_uri_error(url)):
            text = f"csv.Spec.Links url {url} is invalid: {error}"
            yield report.invalid(
                ERROR, "hub-link-url", text, (*path, "url"), "Write a URL, such as https://example.com."
            )


def _icon_findings(report: Reporter, spec: Mapping[str, Any]) -> Iterator[Finding]:
    path, icons = ("spec", "icon"), spec.get("icon")
    if not isinstance(icons, list):
        text = "csv.Spec.Icon not specified"
        yield report.invalid(
            WARNING, "hub-icon", text, path, "Add an icon to spec.icon, with base64data and mediatype."
        )
        return
    if len(icons) != 1:
        text = "csv.Spec.Icon should only have one element"
        yield report.invalid(ERROR, "hub-icon-count", text, path, "Keep one icon in spec.icon.")
    if not icons:
        return
    icon = mapping(icons[0])
    data, media_type = text_of(icon.get("base64data")), text_of(icon.get("mediatype"))
    if not (data and media_type):
        text = "csv.Spec.Icon elements should contain both data and mediatype"
        yield report.invalid(ERROR, "hub-icon-parts", text, (*path, 0), "Give the icon base64data and mediatype.")
    if media_type and media_type not in _MEDIA_TYPES:
        text = f"csv.Spec.Icon {media_type} does not have a valid mediatype"
        hint = f"Use one of {', '.join(sorted(_MEDIA_TYPES))}."
        yield report.invalid(ERROR, "hub-icon-mediatype", text, (*path, 0, "mediatype"), hint)


def _minimum_findings(report: Reporter, minimum: str) -> Iterator[Finding]:
    path = ("spec", "minKubeVersion")
    if not minimum.strip():
        hint = "Set spec.minKubeVersion to the oldest version of Kubernetes that the operator supports, such as 1.28.0."
        yield report.invalid(WARNING, "min-kube-version-missing", _NO_MINIMUM, path, hint)
        return
    try:
        parse_version(minimum)
    except BadVersion:
        text = f"csv.Spec.MinKubeVersion has an invalid value: {minimum}"
        yield report.invalid(ERROR, "min-kube-version", text, path, "Write three numbers, such as 1.28.0.")


def _entries(value: Any) -> Iterator[Mapping[str, Any]]:
    """The mappings of a list; null stands for an empty one, as Go reads it."""
    return mappings([{} if each is None else each for each in value]) if isinstance(value, list) else iter(())


def _is_zero(version: str) -> bool:
    """Report whether a version is 0.0.0, which it also is when it is missing."""
    if not version:
        return True
    try:
        found = parse_tolerant_version(version)
    except BadVersion:
        return False
    return (found.major, found.minor, found.patch, found.prerelease) == (0, 0, 0, ())
