"""Upstream's default checks: olm finds in each real and each faulty bundle what they find, with their messages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from olmctl.validation.checks import Options, validated
from olmctl.validation.file_tree import read_tree
from olmctl.validation.result import Result
from tests.corpus.sample import at_least
from tests.corpus.validation.refused_faults import REFUSED
from tests.corpus.validation.verdicts import Messages, Verdict, faulty, messages_of, real

pytestmark = pytest.mark.corpus


def found(verdict: Verdict) -> Result:
    return result_of(verdict.directory)


@cache
def result_of(directory: Path) -> Result:
    return validated(read_tree(directory), str(directory), Options(upstream=True))


def differences(verdicts: Iterable[Verdict]) -> dict[str, tuple[Messages, Messages]]:
    """Bundle -> what only upstream finds, and what only olm finds."""
    differing = {}
    for verdict in verdicts:
        expected, result = verdict.messages(), found(verdict)
        messages = messages_of(result.findings)
        assert not any(each.extra for each in result.findings)
        if messages != expected:
            differing[verdict.bundle] = (expected - messages, messages - expected)
    return differing


def test_real_bundles_have_the_findings_of_upstream(verdicts: Path, corpus: Path) -> None:
    known = list(real(verdicts, corpus))
    assert len(known) > at_least(200)
    assert differences(known) == {}


def test_faulty_bundles_have_the_findings_of_upstream(verdicts: Path) -> None:
    known = list(faulty(verdicts))
    assert len(known) > 150
    assert differences(each for each in known if each.bundle not in REFUSED) == {}


def test_each_refused_fault_is_one(verdicts: Path) -> None:
    assert differences(each for each in faulty(verdicts) if each.bundle in REFUSED).keys() == REFUSED.keys()


def test_the_exit_status_is_that_of_upstream(verdicts: Path, corpus: Path) -> None:
    for verdict in (*real(verdicts, corpus), *faulty(verdicts)):
        if verdict.bundle not in REFUSED and verdict.exits.get("") in (0, 1):
            assert found(verdict).passed == (verdict.exits[""] == 0), verdict.bundle


def test_each_finding_has_a_rule_and_says_how_to_correct_it(verdicts: Path) -> None:
    for verdict in faulty(verdicts):
        for each in found(verdict).findings:
            assert each.rule, each
            assert each.hint, each
            assert bool(each.file) == bool(each.line) or each.rule == "load", each
