"""The built-in tests of the scorecard have the verdicts of operator-sdk, for each real and each faulty bundle."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from olmctl.scorecard.bundle_tests import load_bundle, run_builtin
from olmctl.scorecard.results import State
from olmctl.validation.file_tree import read_tree
from olmctl.validation.load_faults import LoadFault
from tests.corpus.sample import at_least, is_sampled
from tests.corpus.validation.refused_faults import REFUSED
from tests.corpus.validation.verdicts import comparable

pytestmark = pytest.mark.corpus

OTHERWISE = {
    "manifest-dangling-link": "upstream says three times that the file does not exist, and olm twice",
}
"""Bundles with another text here, and why."""
_FORMAT = "Bundle validation errors: "


def verdicts_of(verdicts: Path, corpus: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The directories of the real bundles of this run, and of all faulty ones, with their verdicts."""
    for file, bundles in (("verdicts.jsonl", corpus / "bundles"), ("faulty/verdicts.jsonl", verdicts / "faulty")):
        for line in (verdicts / file).read_text().splitlines():
            found = json.loads(line)
            if file != "verdicts.jsonl" or is_sampled(found["bundle"]):
                yield bundles / found["bundle"], found


def texts(found: Iterable[str] | None, directory: Path) -> Counter[str]:
    """The texts without what may differ; faults of the format, which are joined, one by one."""
    named = (text.replace("{bundle}", str(directory)) for text in found or ())
    return Counter(
        part
        for text in named
        for part in (text.removeprefix(_FORMAT).split(",") if text.startswith(_FORMAT) else [comparable(text)])
    )


def expected(verdict: Mapping[str, Any], directory: Path) -> tuple[str, Counter[str], Counter[str]]:
    return verdict["state"], texts(verdict.get("errors"), directory), texts(verdict.get("suggestions"), directory)


def test_each_verdict_is_that_of_operator_sdk(verdicts: Path, corpus: Path) -> None:
    differing: dict[str, object] = {}
    count = crashes = 0
    for directory, verdict in verdicts_of(verdicts, corpus):
        name, fatal = verdict["bundle"], (verdict.get("scorecardFatal") or "").replace("{bundle}", str(directory))
        try:
            bundle = load_bundle(read_tree(directory), str(directory))
        except LoadFault as fault:
            if fault.text != fatal:
                differing[name] = (fault.text, fatal)
            continue
        assert not fatal, name
        for test, wanted in verdict["scorecard"].items():
            count += 1
            result = run_builtin(test, bundle)
            found = (str(result.state), texts(result.errors, directory), texts(result.suggestions, directory))
            if found != expected(wanted, directory) and name not in REFUSED:
                differing[f"{name} {test}"] = (found, expected(wanted, directory))
        for test in (each for each in verdict.get("crash") or () if each.startswith("olm-")):
            crashes += 1
            assert run_builtin(test, bundle).state in (State.ERROR, State.PASS), name
    assert differing.keys() == OTHERWISE.keys(), differing
    assert count > at_least(2000)
    assert crashes == 3
