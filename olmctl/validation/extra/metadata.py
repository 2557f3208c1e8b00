"""The files beside the objects: annotations, dependencies, properties, the configuration of the scorecard. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from olmctl.validation.extra.report import Checked, Place, found_in, shown
from olmctl.validation.finding import ERROR, WARNING, Finding, Level
from olmctl.validation.optional.good_practices import CHANNELS, DEFAULT_CHANNEL
from olmkit.api.names import is_dns1123_label
from olmkit.gocompat import documents
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.versions import BadRange, BadVersion, BlangRange, parse_version
from rukpak.format.files import ANNOTATIONS_FILE, PACKAGE_ANNOTATION, PROPERTIES_FILE

_PREFIX: Final = "operators.operatorframework.io."
_FOLDERS: Final = {f"{_PREFIX}bundle.manifests.v1": "manifests", f"{_PREFIX}bundle.metadata.v1": "metadata"}
"""Annotation -> the directory that rukpak and OLM read, whatever the annotation says."""
_SCORECARD: Final = f"{_PREFIX}test.config.v1"
_TEXT, _MAPPING = "text", "a mapping"
_GVK: Final = {"group": _TEXT, "version": _TEXT, "kind": _TEXT}
_VALUES: Final[Mapping[str, Mapping[str, str] | str]] = {
    "olm.package": {"packageName": _TEXT, "version": _TEXT},
    "olm.package.required": {"packageName": _TEXT, "versionRange": _TEXT},
    "olm.gvk": _GVK,
    "olm.gvk.required": _GVK,
    "olm.constraint": _MAPPING,
    "olm.maxOpenShiftVersion": _TEXT,
}
"""Type of a property -> the fields of its value, or what it is."""


def metadata_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about the files of metadata and about the configuration of the scorecard."""
    yield from _annotation_files(checked)
    yield from _annotations(checked)
    yield from _dependencies(checked)
    yield from _properties(checked)
    yield from _scorecard(checked)


def _annotation_files(checked: Checked) -> Iterator[Finding]:
    named = [name for name in sorted(checked.files) if name.startswith("metadata/") and _has_annotations(checked, name)]
    used = checked.annotations_file
    if used and used != ANNOTATIONS_FILE and used.startswith("metadata/"):
        text = f"the annotations of the bundle are in {used}, and are read only from {ANNOTATIONS_FILE} when it is installed"
        yield found_in(ERROR, "annotations-file-name", text, Place(used), f"Rename the file to {ANNOTATIONS_FILE}.")
    for name in named:
        if used and name != used:
            text = f"has annotations too, which are not read: those of {used} count"
            hint = f"Keep the annotations in {ANNOTATIONS_FILE} alone."
            yield found_in(ERROR, "annotations-files", text, Place(name), hint)


def _has_annotations(checked: Checked, name: str) -> bool:
    first = checked.files[name].first
    return isinstance(first, dict) and isinstance(first.get("annotations"), dict) and bool(first["annotations"])


def _annotations(checked: Checked) -> Iterator[Finding]:
    file, annotations = checked.annotations_file, checked.annotations
    if not file:
        return
    data = checked.bundle.files.get(file, b"")

    def found(rule: str, key: str, text: str, hint: str, level: Level = ERROR) -> Finding:
        return found_in(level, rule, text, Place(file, data, ("annotations", key)), hint)

    yield from _not_text(checked, file)
    for key, folder in _FOLDERS.items():
        value = str(annotations.get(key) or "")
        clean = posixpath.normpath(value.strip("/") or ".") if value else ""
        if value and (clean != folder or value.startswith("/")):
            leaves = clean.startswith("..") or value.startswith("/")
            text = f"names the directory {shown(value)}{', which is outside of the bundle' if leaves else ''}; it is {folder}/"
            yield found("bundle-directory", key, text, f"Write {folder}/.")
    package = str(annotations.get(PACKAGE_ANNOTATION) or "")
    if PACKAGE_ANNOTATION in annotations and not is_dns1123_label(package):
        hint = "Use lower-case letters, digits and dashes, at most 63."
        yield found(
            "package-name", PACKAGE_ANNOTATION, f"names the package {shown(package)}, which is no name for one", hint
        )
    channels = str(annotations.get(CHANNELS) or "").split(",")
    if annotations.get(CHANNELS):
        for channel in channels:
            if not channel or channel != "".join(channel.split()):
                text = (
                    "has an empty channel" if not channel.strip() else f"has the channel {shown(channel)} with blanks"
                )
                hint = "Write the channels with commas and without blanks: stable,fast."
                yield found("channels", CHANNELS, text, hint)
    default = str(annotations.get(DEFAULT_CHANNEL) or "")
    if default and annotations.get(CHANNELS) and default not in [each.strip() for each in channels]:
        text = f"names the default channel {shown(default)}, which is none of the channels {', '.join(channels)}"
        hint = "Correct the name, unless the package has this channel, with other bundles."
        yield found("default-channel", DEFAULT_CHANNEL, text, hint, WARNING)


def _not_text(checked: Checked, file: str) -> Iterator[Finding]:
    """Annotations that are not text, which rukpak leaves out."""
    parsed = checked.files.get(file)
    first = parsed.first if parsed else None
    annotations = first.get("annotations") if isinstance(first, dict) else None
    for key, value in annotations.items() if isinstance(annotations, dict) else ():
        if value is not None and not isinstance(value, str):
            data = checked.bundle.files.get(file, b"")
            text = f"is {shown(value)}, which is no text"
            place = Place(file, data, ("annotations", key))
            yield found_in(WARNING, "annotation-text", text, place, "Write it in quotes.")


def _dependencies(checked: Checked) -> Iterator[Finding]:
    name = next(
        (each for each in ("metadata/dependencies.yaml", "metadata/dependencies.yml") if each in checked.files), ""
    )
    if not name:
        return
    parsed = checked.files[name]
    hint = "Write `dependencies:` and a list of {type, value}, or remove the file."
    if parsed.error is not None:
        yield _unreadable(name, parsed.error, "dependencies-file")
    elif not isinstance(parsed.first, dict) or not isinstance(parsed.first.get("dependencies"), list):
        text = "has no list `dependencies`, so that none of it counts"
        yield found_in(ERROR, "dependencies-file", text, Place(name), hint)


def _unreadable(name: str, error: ParseError, rule: str) -> Finding:
    return found_in(
        ERROR, rule, f"cannot be read: {error.text}", Place(name, line=error.line), "Correct the YAML of this line."
    )


def _properties(checked: Checked) -> Iterator[Finding]:
    parsed, name = checked.files.get(PROPERTIES_FILE), PROPERTIES_FILE
    if parsed is None:
        return
    if parsed.error is not None:
        yield _unreadable(name, parsed.error, "properties-file")
        return
    items = parsed.first.get("properties") if isinstance(parsed.first, dict) else None
    if not isinstance(items, list):
        if parsed.first is not None:
            text, hint = "has no list `properties`", "Write `properties:` and a list of {type, value}."
            yield found_in(ERROR, "properties-file", text, Place(name), hint)
        return
    data = checked.bundle.files[name]
    for index, item in enumerate(items):
        if problem := _property_problem(item):
            path = ("properties", index)
            yield found_in(
                ERROR, "property", problem, Place(name, data, path), "Write type, and value as this type has it."
            )


def _property_problem(item: Any) -> str:
    if not isinstance(item, dict) or not isinstance(item.get("type"), str) or not item["type"]:
        return "is no property: it has no type"
    if item.get("value") is None:
        return f"the property {shown(item['type'])} has no value"
    wanted, value = _VALUES.get(item["type"]), item["value"]
    if isinstance(wanted, str):
        is_right = isinstance(value, str if wanted == _TEXT else dict)
        return "" if is_right else f"the value of {item['type']} must be {wanted}"
    if wanted is None:
        return ""
    if not isinstance(value, dict):
        return f"the value of {item['type']} must be a mapping with {', '.join(wanted)}"
    for key in wanted:
        if not isinstance(value.get(key), str) or (not value[key] and key != "group"):
            return f"the value of {item['type']} needs {key}, which is text"
    return _version_problem(item["type"], value)


def _version_problem(kind: str, value: Mapping[str, Any]) -> str:
    readers: dict[str, tuple[str, Callable[[str], object]]] = {
        "olm.package": ("version", parse_version),
        "olm.package.required": ("versionRange", BlangRange.parse),
    }
    if kind not in readers:
        return ""
    key, read = readers[kind]
    try:
        read(value[key])
    except (BadVersion, BadRange) as error:
        return f"{key} {shown(value[key])} of {kind} cannot be read: {error}"
    return ""


def _scorecard(checked: Checked) -> Iterator[Finding]:
    folder = posixpath.normpath(str(checked.annotations.get(_SCORECARD) or "tests/scorecard").strip("/"))
    name = f"{folder}/config.yaml"
    data = checked.bundle.files.get(name)
    if data is None:
        return
    try:
        read = documents.read(data)
    except ParseError as error:
        yield _unreadable(name, error, "scorecard-config")
        return
    first = read[0] if read else None
    if not isinstance(first, dict) or not isinstance(first.get("stages"), list):
        text = "is no configuration of the scorecard: it has no list `stages`"
        yield found_in(ERROR, "scorecard-config", text, Place(name), "Write kind Configuration with stages and tests.")
