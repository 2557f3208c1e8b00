"""Upstream's optional validators: olm finds in each real and each faulty bundle what they find, with their messages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from olmctl.validation.file_tree import read_tree
from olmctl.validation.load import load
from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.optional.registry import VALIDATORS, selected
from tests.corpus.sample import at_least
from tests.corpus.validation.refused_faults import REFUSED
from tests.corpus.validation.verdicts import Messages, Verdict, faulty, messages_of, real

pytestmark = pytest.mark.corpus

ALWAYS = tuple(validator for validator in VALIDATORS if validator.name != "multiarch")


def loaded(verdict: Verdict) -> LoadedBundle:
    return load(read_tree(verdict.directory), str(verdict.directory), str(verdict.directory))


def differences(verdicts: Iterable[Verdict]) -> dict[tuple[str, str], tuple[Messages, Messages]]:
    """Bundle and validator -> what only upstream finds, and what only olm finds."""
    differing = {}
    for verdict in verdicts:
        if verdict.fatal or verdict.bundle in REFUSED:
            continue
        bundle = loaded(verdict)
        for validator in ALWAYS:
            if verdict.exits.get(f"name={validator.name}") == 2:
                continue  # a crash
            expected = verdict.messages([validator.name])
            messages = messages_of(validator.run(bundle, verdict.values))
            if messages != expected:
                differing[verdict.bundle, validator.name] = (expected - messages, messages - expected)
    return differing


def test_real_bundles_have_the_findings_of_upstream(verdicts: Path, corpus: Path) -> None:
    known = list(real(verdicts, corpus))
    assert len(known) > at_least(200)
    assert differences(known) == {}


def test_faulty_bundles_have_the_findings_of_upstream(verdicts: Path) -> None:
    known = list(faulty(verdicts))
    assert len(known) > 150
    assert differences(known) == {}


def test_platforms_are_those_that_a_tool_reports(verdicts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (multiarch,) = selected("name=multiarch")
    monkeypatch.setenv("PATH", f"{verdicts / 'multiarch'}:/usr/bin:/bin")
    known = [verdict for verdict in faulty(verdicts) if "name=multiarch" in verdict.exits]
    assert len(known) > 10
    for verdict in known:
        found = messages_of(multiarch.run(loaded(verdict), verdict.values))
        assert found == verdict.messages([multiarch.name]), verdict.bundle
