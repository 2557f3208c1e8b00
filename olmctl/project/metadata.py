"""metadata/annotations.yaml and bundle.Dockerfile of a bundle (sdk 2.3). Pure.

What this command writes is written anew, in upstream's order. Annotations, labels and instructions of somebody else stay. A
label is one line of a Dockerfile: an annotation of which that cannot be made is none of its labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import indent
from typing import Any, Final

import yaml

from olmctl.authoring.yaml_writer import yaml_document

_PREFIX: Final = "operators.operatorframework.io."
_CORE_ANNOTATIONS, _TEST_ANNOTATIONS = "# Core bundle annotations.", "# Annotations for testing."
_CORE_LABELS, _TEST_LABELS, _COPY = (
    "# Core bundle labels.",
    "# Labels for testing.",
    "# Copy files to locations specified by labels.",
)
_CHANNELS: Final = f"{_PREFIX}bundle.channels.v1"
SCORECARD_DIRECTORY: Final = "tests/scorecard"
_OWN_KEYS: Final = frozenset(
    _PREFIX + name
    for name in (
        *(
            f"bundle.{each}.v1"
            for each in ("mediatype", "manifests", "metadata", "package", "channels", "channel.default")
        ),
        *("metrics.builder", "metrics.mediatype.v1", "metrics.project_layout"),
        *("test.mediatype.v1", "test.config.v1"),
    )
)
_OWN_COMMENTS: Final = frozenset((_CORE_ANNOTATIONS, _TEST_ANNOTATIONS, _CORE_LABELS, _TEST_LABELS, _COPY))
_LABEL: Final = re.compile(r"\s*LABEL\s+(?P<key>[^\s=\"]+)=(?P<value>.*)", re.IGNORECASE)
_COPIED: Final = r"(?:manifests|metadata|tests/scorecard)/"
_COPIES: Final = re.compile(rf'\s*COPY\s+(?:\S+/{_COPIED}?\s+/{_COPIED}|\[".*/{_COPIED}?", "/{_COPIED}"\])\s*')
_PLAIN_LABEL: Final = re.compile(r"[A-Za-z0-9_.,:/@+*=<>~^|!-]*")
_LABEL_KEY: Final = re.compile(r"[^\s\"'\\$=#]+")
_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9_./@+-]+")


@dataclass(frozen=True)
class Metadata:
    """The facts about a bundle that its annotations and labels say."""

    package: str
    channels: str
    default_channel: str
    builder: str
    layout: str
    has_scorecard: bool

    def core(self) -> dict[str, str]:
        """The annotations of every bundle, in order."""
        found = {
            "bundle.mediatype.v1": "registry+v1",
            "bundle.manifests.v1": "manifests/",
            "bundle.metadata.v1": "metadata/",
            "bundle.package.v1": self.package,
            "bundle.channels.v1": self.channels,
            "bundle.channel.default.v1": self.default_channel,
            "metrics.builder": self.builder,
            "metrics.mediatype.v1": "metrics+v1",
            "metrics.project_layout": self.layout,
        }
        return {_PREFIX + name: value for name, value in found.items() if value or name != "bundle.channel.default.v1"}

    def test(self) -> dict[str, str]:
        """The annotations of a bundle with a configuration of the scorecard."""
        found = {"test.mediatype.v1": "scorecard+v1", "test.config.v1": f"{SCORECARD_DIRECTORY}/"}
        return {_PREFIX + name: value for name, value in found.items()} if self.has_scorecard else {}


def annotations_file(metadata: Metadata, existing: str) -> str:
    """annotations.yaml, with the foreign annotations of the existing file."""
    lines = ["annotations:", f"  {_CORE_ANNOTATIONS}", *_yaml_lines(metadata.core())]
    if metadata.has_scorecard:
        lines += ["", f"  {_TEST_ANNOTATIONS}", *_yaml_lines(metadata.test())]
    if foreign := _foreign_lines(existing):
        lines += ["", *foreign]
    return "\n".join(lines) + "\n"


def _yaml_lines(annotations: Mapping[str, str]) -> Iterator[str]:
    for key, value in annotations.items():
        yield indent(yaml_document({key: value}).removeprefix("---\n").rstrip(), "  ")


def _foreign_lines(existing: str) -> list[str]:
    """The annotations that are not written here, with the comments before them, as they are written."""
    annotations = _node(existing)
    if annotations is None:
        return []
    lines, found, after = existing.split("\n"), list[str](), annotations.start_mark.line
    for key, value in annotations.value:
        first, last = key.start_mark.line, max(value.end_mark.line - (value.end_mark.column == 0), key.start_mark.line)
        if key.value not in _OWN_KEYS:
            if annotations.flow_style or annotations.start_mark.column != 2:
                found += _yaml_lines({key.value: str(value.value)})
            else:
                comments = [each for each in lines[after:first] if each.strip().startswith("#")]
                found += [each for each in comments if each.strip() not in _OWN_COMMENTS]
                found += [each.rstrip() for each in lines[first : last + 1] if each.strip()]
        after = last + 1
    return found


def _node(text: str) -> Any:
    """The mapping of annotations; None if there is none."""
    root = yaml.compose(text, Loader=yaml.CSafeLoader) if text.strip() else None
    if not isinstance(root, yaml.MappingNode):
        return None
    return next(
        (value for key, value in root.value if key.value == "annotations" and isinstance(value, yaml.MappingNode)), None
    )


def foreign_annotations(existing: str) -> dict[str, str]:
    """The annotations that are not written here."""
    node = _node(existing)
    pairs = node.value if node is not None else ()
    return {
        key.value: value.value for key, value in pairs if key.value not in _OWN_KEYS and isinstance(value.value, str)
    }


def channels_of(existing: str) -> str:
    """The channels of the existing annotations.yaml; "" if it names none."""
    node = _node(existing)
    pairs = node.value if node is not None else ()
    return next((str(value.value) for key, value in pairs if key.value == _CHANNELS), "")


def dockerfile(metadata: Metadata, directory: str, foreign: Mapping[str, str], existing: str) -> str:
    """bundle.Dockerfile for the bundle in `directory`, with the foreign annotations as labels, and what others have added to the
    existing file.
    """
    lines = ["FROM scratch", "", _CORE_LABELS, *_labels(metadata.core())]
    if metadata.has_scorecard:
        lines += ["", _TEST_LABELS, *_labels(metadata.test())]
    kept = [each for each in existing.split("\n") if _is_foreign(each, foreign)]
    others = [*_labels(foreign), *kept]
    if others:
        lines += ["", *others]
    copied = ("manifests", "metadata", *([SCORECARD_DIRECTORY] if metadata.has_scorecard else []))
    lines += ["", _COPY, *(_copy(f"{directory}/{each}", f"/{each}/") for each in copied)]
    return "\n".join(lines) + "\n"


def _copy(source: str, target: str) -> str:
    if _PLAIN_PATH.fullmatch(source):
        return f"COPY {source} {target}"
    return f"COPY {json.dumps([source, target], ensure_ascii=False)}"


def label_problem(key: str, value: str) -> str:
    """Explain why no label of a Dockerfile can be made of an annotation; "" if one can."""
    if not _LABEL_KEY.fullmatch(key) or not key.isprintable():
        return "its key has a blank, a quote or another character that no label of a Dockerfile can have"
    if not value.isprintable():
        return "its value has a line break or another character that no label of a Dockerfile can have"
    return ""


def _labels(annotations: Mapping[str, str]) -> Iterator[str]:
    for key, value in annotations.items():
        if not label_problem(key, value):
            yield f"LABEL {key}={value if _PLAIN_LABEL.fullmatch(value) else _quoted(value)}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'


def _is_foreign(line: str, annotations: Mapping[str, str]) -> bool:
    """Report whether a line of the Dockerfile is not written here."""
    text = line.strip()
    if not text or text in _OWN_COMMENTS or text.upper() == "FROM SCRATCH" or _COPIES.fullmatch(text):
        return False
    label = _LABEL.fullmatch(text)
    return label is None or (label["key"] not in _OWN_KEYS and label["key"] not in annotations)
