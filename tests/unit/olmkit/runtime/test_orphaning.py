"""Objects that are deleted without their dependents."""

from __future__ import annotations

from olmkit.api.meta import ORPHAN_FINALIZER, Object
from olmkit.runtime.informer import Change
from olmkit.runtime.orphaning import OrphaningObjects


def one(*finalizers: str, deleting: bool = False) -> Object:
    deletion = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
    return {"metadata": {"name": "alpha", "uid": "uid-alpha", "finalizers": list(finalizers), **deletion}}


def test_an_object_that_is_deleted_without_its_dependents_is_remembered_until_it_is_gone() -> None:
    remembered = OrphaningObjects()
    alive, plain = one(ORPHAN_FINALIZER), one(deleting=True)
    orphaning = one(ORPHAN_FINALIZER, deleting=True)
    for change, is_remembered in (
        (Change(None, alive), False),
        (Change(alive, plain), False),
        (Change(alive, orphaning), True),
        (Change(orphaning, plain), True),
        (Change(plain, None), False),
    ):
        remembered.record(change)
        assert ("uid-alpha" in remembered) is is_remembered
