"""Custom resources are checked against a schema in a child process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from olmkit.crd_safety.evidence import Check, Evidence
from olmkit.crd_safety.problem import InvalidObject
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import Task
from olmkit.jobs.worker import Worker
from rukpak.bundledeployment.crd_upgrade.existing_objects import LIMITS
from rukpak.bundledeployment.crd_upgrade.validate_request import VALIDATE, ValidateRequest, ValidateResult


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    made = Worker(ForkServerClient([VALIDATE.module]), limits=LIMITS)
    yield made
    await made.close()


def boat(name: str = "dinghy", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Boat",
        "metadata": {"name": name, "namespace": "harbour"},
        "spec": spec,
    }


async def found(worker: Worker, size: dict[str, Any], *objects: dict[str, Any], **spec: Any) -> Evidence:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": size}, **spec}}}
    check = Check(schema, {}, watched=("spec.size",))
    task: Task[ValidateRequest, ValidateResult] = Task(VALIDATE, ValidateRequest([check], list(objects)))
    (evidence,) = (await worker.run(task)).evidence
    return evidence


async def test_the_objects_that_are_not_valid_are_named_with_their_field_and_without_their_values(
    worker: Worker,
) -> None:
    size = {"type": "array", "items": {"type": "string", "maxLength": 3}}
    result = await found(worker, size, boat("ark", size=["a", "secret"]), boat("raft", size=[]), boat("tub", size=3))
    named = (
        InvalidObject("harbour", "ark", "spec.size[1]: maxLength"),
        InvalidObject("harbour", "tub", "spec.size: type"),
    )
    assert result == Evidence(3, invalid=named, invalid_count=2, present=frozenset({"spec.size"}))


async def test_a_missing_field_is_named_unless_it_has_a_default(worker: Worker) -> None:
    result = await found(worker, {"type": "string"}, boat(), required=["size"])
    assert [entry.problem for entry in result.invalid] == ["spec: required size"]
    result = await found(worker, {"type": "string", "default": "small"}, boat(), required=["size"])
    assert result.invalid == ()


async def test_what_kubernetes_adds_to_schemas_is_understood(worker: Worker) -> None:
    either = {"x-kubernetes-int-or-string": True}
    result = await found(worker, either, boat(size=3), boat(size="50%"), boat("ark", size=True))
    assert [entry.name for entry in result.invalid] == ["ark"]
    result = await found(worker, {"type": "string", "nullable": True}, boat(size=None))
    assert result.invalid == ()


async def test_a_pattern_that_takes_exponential_time_elsewhere_is_evaluated_at_once(worker: Worker) -> None:
    size = {"type": "string", "pattern": "^(a+)+$"}
    result = await found(worker, size, boat("ark", size="a" * 5000 + "b"), boat("raft", size="a" * 5000))
    assert [entry.name for entry in result.invalid] == ["ark"]


async def test_a_schema_that_cannot_be_evaluated_is_an_error(worker: Worker) -> None:
    result = await found(worker, {"type": "length"}, boat())
    assert result.unknown == "the schema cannot be evaluated: ValidationError"
