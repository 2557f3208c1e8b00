"""The configuration of the scorecard: stages of tests, from the config.yaml of a bundle.

Pure. The text may be somebody else's: for any text the result is a value or BadConfiguration, which names the place.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from olmkit.api.names import is_dns1123_subdomain
from olmkit.gocompat.go_yaml import GoYamlError, first_document
from olmkit.gocompat.go_yaml import load as load_yaml
from olmkit.gocompat.label_selectors import Selector
from olmkit.gocompat.text import quoted
from olmkit.gocompat.yaml_composer import ReadOptions

API_VERSION, KIND = "scorecard.operatorframework.io/v1alpha3", "Configuration"
DIRECTORY_LABEL = "operators.operatorframework.io.test.config.v1"
DEFAULT_DIRECTORY = "tests/scorecard"
FILE = "config.yaml"
MAX_TESTS = 1000
MAX_LISTED_LABELS = 10
_OPTIONS: Final = ReadOptions(max_bytes=4 * 1024**2, max_depth=50, exact_numbers=False)
_ENTRYPOINT = "scorecard-test"


class BadConfiguration(ValueError):
    """The configuration cannot be read; the message follows the path of the file."""


@dataclass(frozen=True)
class TestSpec:
    """One test. `mount_path` is where it stores files; empty: the one of the configuration."""

    image: str
    entrypoint: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    mount_path: str = ""

    __test__ = False

    @property
    def builtin(self) -> str:
        """The name of the built-in test that it is, as its command; empty for a test of another image."""
        if len(self.entrypoint) == 2 and self.entrypoint[0] == _ENTRYPOINT:
            return self.entrypoint[1]
        return ""

    @property
    def name(self) -> str:
        """Its name for people: its label `test`, else its image."""
        return self.labels.get("test") or self.image


@dataclass(frozen=True)
class Stage:
    """Tests of one stage, which run one after the other, or all at once if it is parallel."""

    tests: tuple[TestSpec, ...]
    is_parallel: bool = False


@dataclass(frozen=True)
class Configuration:
    """The stages, which follow one another. `service_account`: the account of the pods, or empty."""

    stages: tuple[Stage, ...]
    service_account: str = ""
    mount_path: str = ""

    def selected(self, selector: Selector) -> Configuration:
        """The configuration with the tests whose labels are selected."""
        stages = (
            Stage(tuple(test for test in stage.tests if selector.matches(test.labels)), stage.is_parallel)
            for stage in self.stages
        )
        return Configuration(tuple(each for each in stages if each.tests), self.service_account, self.mount_path)

    def unmatched(self, selector: str) -> str:
        """The sentence about a selector that selects no test: it names the labels that the tests have."""
        labels = sorted({f"{key}={value}" for test in self.tests for key, value in test.labels.items()})
        if not self.tests:
            return "the configuration has no tests"
        more = f" and {len(labels) - MAX_LISTED_LABELS} more" if len(labels) > MAX_LISTED_LABELS else ""
        listed = ", ".join(labels[:MAX_LISTED_LABELS])
        return f"no test matches --selector {selector}: {f'there are {listed}{more}' if labels else 'none has labels'}"

    @property
    def tests(self) -> tuple[TestSpec, ...]:
        """All tests in their order."""
        return tuple(test for stage in self.stages for test in stage.tests)


def configuration_file(annotations: Mapping[str, str | None]) -> str:
    """The path of the configuration in a bundle with these annotations. Raises BadConfiguration for one outside."""
    named = annotations.get(DIRECTORY_LABEL) or DEFAULT_DIRECTORY
    path = posixpath.normpath(named.strip("/"))
    if path.startswith(".."):
        raise BadConfiguration(f"the annotation {DIRECTORY_LABEL} names {quoted(named)}, which is outside the bundle")
    return f"{path}/{FILE}" if path != "." else FILE


def read_configuration(data: bytes) -> Configuration:
    """The configuration in the content of a file. Raises BadConfiguration."""
    try:
        value = load_yaml(first_document(data), _OPTIONS)
    except GoYamlError as error:
        raise BadConfiguration(str(error)) from error
    document = _mapping(value, "it")
    if (found := document.get("apiVersion")) != API_VERSION or document.get("kind") != KIND:
        text = f"it is {quoted(str(document.get('kind')))} of {quoted(str(found))}, and not {KIND} of {API_VERSION}"
        raise BadConfiguration(text)
    stages = tuple(_stages(_list(document, "stages", "stages")))
    if sum(len(stage.tests) for stage in stages) > MAX_TESTS:
        raise BadConfiguration(f"it has more than {MAX_TESTS} tests")
    account = _text(document, "serviceaccount", "serviceaccount")
    if account and not is_dns1123_subdomain(account):
        raise BadConfiguration(f"serviceaccount: {quoted(account)} is no name of a ServiceAccount")
    return Configuration(stages, account, _mount_path(document, "storage"))


def _stages(values: Sequence[Any]) -> Iterator[Stage]:
    for number, value in enumerate(values):
        place = f"stages[{number}]"
        stage = _mapping(value, place)
        is_parallel = stage.get("parallel") or False
        if not isinstance(is_parallel, bool):
            raise BadConfiguration(f"{place}.parallel is neither true nor false")
        listed = _list(stage, "tests", f"{place}.tests")
        yield Stage(tuple(_test(each, f"{place}.tests[{index}]") for index, each in enumerate(listed)), is_parallel)


def _test(value: Any, place: str) -> TestSpec:
    test = _mapping(value, place)
    image = _text(test, "image", f"{place}.image")
    if not image:
        raise BadConfiguration(f"{place} has no image")
    entrypoint = _list(test, "entrypoint", f"{place}.entrypoint")
    labels = _mapping(test.get("labels") or {}, f"{place}.labels")
    if not all(isinstance(each, str) for each in entrypoint):
        raise BadConfiguration(f"{place}.entrypoint is no list of strings")
    if not all(isinstance(each, str) for each in labels.values()):
        raise BadConfiguration(f"{place}.labels has a value that is no string: write it in quotes")
    return TestSpec(image, tuple(entrypoint), dict(labels), _mount_path(test, f"{place}.storage"))


def _mount_path(owner: Mapping[str, Any], place: str) -> str:
    """storage.spec.mountPath.path, where a test stores files."""
    value: Any = owner.get("storage")
    for key in ("spec", "mountPath"):
        value = _mapping(value or {}, place).get(key)
    path = _text(_mapping(value or {}, place), "path", f"{place}.spec.mountPath.path")
    if path and (not path.startswith("/") or ":" in path or path.strip("/") in ("", "bundle")):
        raise BadConfiguration(f"{place}.spec.mountPath.path: {quoted(path)} is no directory for files of a test")
    return path


def _mapping(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadConfiguration(f"{place} is no mapping")
    return value


def _list(owner: Mapping[str, Any], key: str, place: str) -> Sequence[Any]:
    value = owner.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadConfiguration(f"{place} is no list")
    return value


def _text(owner: Mapping[str, Any], key: str, place: str) -> str:
    value = owner.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadConfiguration(f"{place} is no string")
    return value
