"""Answers cross the pipe between the solver process and the Resolver."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from olmkit.jobs.codec import decode, encode
from operator_controller.resolve.answers.answer import (
    Answer,
    AnswerKind,
    Dependency,
    FollowedCatalog,
    Member,
    PackageToInstall,
    SelectedBundle,
    may_require,
)
from operator_controller.resolve.explain.statements import Statement, StatementKind
from operator_controller.resolve.snapshot.package_snapshot import CatalogState

WHOLE = Answer(
    operator="a",
    uid="u",
    digest="sha256:1",
    kind=AnswerKind.CHOSEN,
    is_resolved=True,
    message='resolved to "r/a:1"',
    text="1.0.0 of channel stable",
    bundle=SelectedBundle("a.v1", "1.0.0", "r/a:1", "registry+v1", "c", "stable", "[]", "old"),
    followed_catalog=FollowedCatalog("old", "new", "stable"),
    available_version="2.0.0",
    available_reason="2.0.0 awaits approval",
    dependencies=(Dependency("b", "1.0.0", "c", "b.v1", 'package "b" in range "1.0.0"'),),
    to_install=(PackageToInstall("b", "1.0.0", "c", ("a",)),),
    members=(Member("a", "a.v1", "1.0.0", requires=("b",), is_changed=True),),
    needed_by=("d",),
    clauses=tuple(
        Statement("a", kind, "a sentence")
        for kind in (
            StatementKind.REQUEST,
            StatementKind.INSTALLED,
            StatementKind.REQUIREMENT,
            StatementKind.EXCLUSION,
            StatementKind.OWNERSHIP,
        )
    ),
)


def test_an_answer_with_every_field_crosses_a_pipe() -> None:
    assert decode(Answer, orjson.loads(orjson.dumps(encode(WHOLE)))) == WHOLE


@pytest.mark.parametrize(
    ("kind", "state", "is_not_offered"),
    [
        pytest.param(AnswerKind.KEPT, CatalogState.SERVING, True, id="its catalog is known not to offer it"),
        pytest.param(AnswerKind.KEPT, CatalogState.UNREACHABLE, False, id="its catalog is away"),
        pytest.param(AnswerKind.KEPT, None, False, id="its catalog was deleted"),
        pytest.param(AnswerKind.UNDECIDED, CatalogState.SERVING, False, id="the budget is reached"),
        pytest.param(AnswerKind.DELETING, CatalogState.SERVING, False, id="its Operator is being deleted"),
        pytest.param(AnswerKind.UNNEEDED, CatalogState.SERVING, False, id="nothing needs it"),
    ],
)
def test_only_what_is_kept_can_be_not_offered(
    kind: AnswerKind, state: CatalogState | None, is_not_offered: bool
) -> None:
    answer = Answer("a", "u", "d", kind, is_resolved=True, message="", text="", catalog_state=state)
    assert answer.is_not_offered is is_not_offered


REFUSED = replace(WHOLE, kind=AnswerKind.CONFLICT, is_resolved=False)


@pytest.mark.parametrize(
    ("answer", "is_kept"),
    [
        pytest.param(WHOLE, False, id="what is chosen requires what it says"),
        pytest.param(REFUSED, False, id="a refusal that only a person can lift"),
        pytest.param(replace(REFUSED, kind=AnswerKind.UNDECIDED), True, id="nothing is decided"),
        pytest.param(replace(REFUSED, is_final=False), True, id="a refusal that waits for a catalog"),
        pytest.param(replace(REFUSED, awaited=("d is being deleted",)), True, id="a refusal that waits for others"),
        pytest.param(
            replace(REFUSED, awaited=("nothing requires c",), awaited_deletions=("c",)),
            False,
            id="a refusal that waits for its deletion",
        ),
        pytest.param(
            replace(REFUSED, awaited=("nothing requires d",), awaited_deletions=("d",)),
            True,
            id="a refusal that waits for the deletion of another one",
        ),
        pytest.param(replace(REFUSED, kind=AnswerKind.UNNEEDED), False, id="it is not required itself"),
        pytest.param(
            replace(REFUSED, kind=AnswerKind.DELETING, is_final=False), False, id="it is being deleted itself"
        ),
    ],
)
def test_a_dependency_is_not_deleted_while_another_operator_may_come_to_require_it(
    answer: Answer, is_kept: bool
) -> None:
    assert may_require(answer, "c") == is_kept
