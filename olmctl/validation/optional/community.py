"""The validator community: a bundle with an API that Kubernetes 1.22 removed must not be offered to OpenShift 4.9 and newer.

Reads nothing but the Dockerfile that --optional-values names as index-path.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from olmctl.validation.finding import ERROR, WARNING, Finding, Level
from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.optional.csv_findings import Reporter, Values, text_of
from olmctl.validation.optional.removed_apis import removed_in_1_22, used_apis
from olmkit.gocompat.fields import field
from olmkit.gocompat.versions import BadVersion, Version, parse_tolerant_version

INDEX_VALUE: Final = "index-path"
_LABEL: Final = "com.redhat.openshift.versions"
_PROPERTIES, _MAXIMUM = "olm.properties", "olm.maxOpenShiftVersion"
_FIRST_WITHOUT: Final = Version(4, 9, 0)
"""The first version of OpenShift without these APIs."""
_REMOVED: Final = (
    "using APIs which were deprecated and removed in v1.22. More info: "
    "https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-22"
)
_EXAMPLE: Final = f"(e.g. LABEL {_LABEL}='4.6-4.8')"
_MAX_FILE_BYTES: Final = 4 * 1024**2
_ANNOTATION_HINT: Final = (
    f'Set the annotation {_PROPERTIES} to \'[{{"type": "{_MAXIMUM}", "value": "4.8"}}]\', or use v1 of the APIs.'
)
_LABEL_HINT: Final = f"Write LABEL {_LABEL}='4.6-4.8' into the Dockerfile, or use v1 of the APIs."

Problem = tuple[Level, str, str]
"""Level, rule, text."""


def community(bundle: LoadedBundle, values: Values) -> Iterator[Finding]:
    """The findings of community."""
    report, found = Reporter.of("community", bundle), removed_in_1_22(bundle)
    if report is None or not found:
        return
    used, file = used_apis(found), values.get(INDEX_VALUE, "")
    annotation = _annotation_problem(text_of(report.csv.annotations.get(_PROPERTIES)), used)
    errors = [each for each in (annotation,) if each and each[0] == ERROR]
    warnings = [each for each in (annotation,) if each and each[0] == WARNING]
    if file:
        errors += filter(None, [_file_problem(file, used)])
    else:  # upstream repeats the errors here, and loses the warnings
        warnings = [(WARNING, rule, text) for _, rule, text in errors]
        warnings.append((WARNING, "community-no-index", _no_index(used)))
    path = ("metadata", "annotations", _PROPERTIES)
    for level, rule, text in (*warnings, *errors):
        is_label = rule.startswith("community-index") or rule == "community-no-index"
        yield report.invalid(level, rule, text, () if is_label else path, _LABEL_HINT if is_label else _ANNOTATION_HINT)


def _no_index(used: str) -> str:
    return (
        "please, inform the path of its index image file via the the optional key values and the key index-path to allow this "
        f"validator check the labels configuration or migrate the API(s) for {used}. (e.g. "
        f"index-path=./mypath/bundle.Dockerfile). This bundle is {_REMOVED} "
    )


def _annotation_problem(properties: str, used: str) -> Problem | None:
    if not properties:
        return _max_error(
            f"csv.Annotations not specified {_MAXIMUM} for an OCP version < 4.9. This annotation is required to prevent the user "
            "from upgrading their OCP cluster before they have installed a version of their operator which is compatible with "
            f"4.9. This bundle is {_REMOVED} which are no longer supported on 4.9. Migrate the API(s) for {used} or use the "
            "annotation"
        )
    found = _read_properties(properties)
    if found is None:
        return _max_error(
            f"csv.Annotations has an invalid value specified for {_PROPERTIES}. Please, check the value  ({properties}) and "
            "ensure "
            f'that it is an array such as: "{_PROPERTIES}": \'[{{"type": "key name", "value": "key value"}}]\''
        )
    value = next((value for name, value in found if name == _MAXIMUM), None)
    if value is None:
        return _max_error(
            f"csv.Annotations.{_PROPERTIES} with the key `{_MAXIMUM}` and a value with an OCP version which is < 4.9 is required "
            f"for any operator bundle that is {_REMOVED}. Migrate the API(s) for {used} or use the annotation"
        )
    return _maximum_problem(value, used)


def _maximum_problem(value: str, used: str) -> Problem | None:
    """The problem of a version as the newest one of OpenShift."""
    try:
        version = parse_tolerant_version(value)
    except BadVersion as error:
        return _max_error(
            f"csv.Annotations.{_PROPERTIES} has an invalid value. Unable to parse ({value}) using semver : {error}"
        )
    short = Version(version.major, version.minor, 0)
    if version != short:
        text = (
            f"csv.Annotations.{_PROPERTIES} has an invalid value. {_MAXIMUM} must specify only major.minor versions, {version} "
            f"will be truncated to {short}"
        )
        return WARNING, "community-max-version", text
    if version >= _FIRST_WITHOUT:
        return _max_error(
            f"csv.Annotations.{_PROPERTIES} with the key and value for {_MAXIMUM} has the OCP version value {value} which is >= "
            f"of 4.9. This bundle is {_REMOVED}. Migrate the API(s) for {used} or inform in this property an OCP version which "
            "is < 4.9"
        )
    return None


def _max_error(text: str) -> Problem:
    return ERROR, "community-max-version", text


def _read_properties(text: str) -> list[tuple[str, str]] | None:
    """The types and values of a JSON list of properties whose values are texts; None if it is none."""
    try:
        document: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if document is None:
        return []
    if not isinstance(document, list):
        return None
    found: list[tuple[str, str]] = []
    for item in document:
        entry = {} if item is None else item
        if not isinstance(entry, dict):
            return None
        pair = field(entry, "type"), field(entry, "value")
        if not all(isinstance(each, str | None) for each in pair):
            return None
        found.append((pair[0] or "", pair[1] or ""))
    return found


def _file_problem(file: str, used: str) -> Problem | None:
    try:
        path = Path(file)
        path.stat()
        if path.is_dir():
            return _index_error(
                f"{_not_usable(file, 'is not file', 'its index image')} The value informed is a diretory and not a file"
            )
        with path.open("rb") as opened:
            content = opened.read(_MAX_FILE_BYTES).decode(errors="replace")
    except OSError as error:
        reason = f"Error : stat {file}: {(error.strerror or '').lower()}"
        return _index_error(f"{_not_usable(file, 'was not found', 'the bundle operator index image')} {reason}")
    line = next((line for line in content.split("\n") if _LABEL in line), None)
    if line is None:
        return _index_error(
            f"this bundle is {_REMOVED}. Migrate the APIs for {used} or provide compatible version(s) via the labels. {_EXAMPLE}"
        )
    return _label_problem(line, used)


def _not_usable(file: str, problem: str, meant: str) -> str:
    return (
        f"the index image in the path ({file}) {problem}. Please, inform the path of {meant} via the the optional key values and "
        "the key index-path. (e.g. index-path=./mypath/bundle.Dockerfile)."
    )


def _label_problem(line: str, used: str) -> Problem | None:
    """The problem of the line of a Dockerfile that has the label."""
    parts = line.split("=")
    if len(parts) == 1:
        return _index_error(f"invalid syntax ({line}) for ({_LABEL})")
    by_annotation = (
        f"by using the {_LABEL} annotation in `metadata/annotations.yaml` to ensure that the index image will be"
    )
    if len(parts) > 2 and parts[2]:
        return _version_problem(
            _clean(parts[2]),
            f"this bundle is {_REMOVED}. Migrate the API(s) for {used} or provide compatible version(s) {by_annotation} "
            f"geneared with its label. {_EXAMPLE}",
        )
    given = _clean(parts[1])
    if len(given.encode()) < 2:
        return _index_error(f"unable to get the range informed on {_LABEL}")
    if "-" not in given:
        return _index_error(
            f"this bundle is {_REMOVED} The {given} allows to distribute it on >= 4.9. Migrate the API(s) for {used} or provide "
            f"compatible version(s) {by_annotation} generated with its label. {_EXAMPLE}"
        )
    return _version_problem(
        given.split("-")[1],
        f"this bundle is {_REMOVED}. Upgrade the APIs from for {used} or provide compatible distribution version(s) "
        f"{by_annotation} generated with its label. {_EXAMPLE}",
    )


def _version_problem(text: str, too_new: str) -> Problem | None:
    try:
        version = parse_tolerant_version(text)
    except BadVersion:
        return _index_error(f"unable to parse the value ({text}) on ({_LABEL})")
    return _index_error(too_new) if version >= _FIRST_WITHOUT else None


def _clean(value: str) -> str:
    return value.replace("'", "").replace('"', "").replace("v", "")


def _index_error(text: str) -> Problem:
    return ERROR, "community-index", text
