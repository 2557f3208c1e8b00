"""Whether a BundleDeployment applied an object."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.ownership import is_applied_by

OURS = {OWNER_UID_LABEL: "uid-1"}
OWNED: dict[str, Any] = {"f:metadata": {"f:labels": {f"f:{OWNER_UID_LABEL}": {}}}}
APPLY = {"manager": "rukpak:web", "operation": "Apply", "time": "2026-01-01T12:00:00Z", "fieldsV1": OWNED}
OF_A_USER = {"manager": "kubectl", "operation": "Apply"}


@pytest.mark.parametrize(
    ("labels", "entries", "is_ours"),
    [
        pytest.param(OURS, [APPLY], True, id="label and entry: applied"),
        pytest.param(OURS, [OF_A_USER, APPLY], True, id="others applied fields too: still applied"),
        pytest.param(OURS, [OF_A_USER], False, id="the label was copied"),
        pytest.param(OURS, None, False, id="the entries were removed"),
        pytest.param(OURS, [{}], False, id="an empty entry"),
        pytest.param(OURS, [{**APPLY, "operation": "Update"}], False, id="another kind of write under the same name"),
        pytest.param(OURS, [{**APPLY, "subresource": "status"}], False, id="an apply of the status alone"),
        pytest.param(OURS, [{**APPLY, "manager": "rukpak:web2"}], False, id="another BundleDeployment applied it"),
        pytest.param({OWNER_UID_LABEL: "uid-0"}, [APPLY], False, id="an earlier BundleDeployment of the same name"),
        pytest.param(None, [APPLY], False, id="it was released: the label is gone"),
        pytest.param(OURS, [{**APPLY, "time": "2026-01-02T12:00:00Z"}], True, id="it was applied again"),
        pytest.param(OURS, [{**APPLY, "time": "2026-01-01T11:59:59Z"}], True, id="the entry is made before the object"),
        pytest.param(
            OURS, [{**APPLY, "time": "2026-01-01T11:54:59Z"}], False, id="a copy with the entries of its original"
        ),
        pytest.param(OURS, [{**APPLY, "time": None}], False, id="an entry without a time"),
        pytest.param(
            OURS,
            [{**APPLY, "fieldsV1": {"f:spec": {"f:strategy": {}}}}],
            False,
            id="a copy with what its creator does not own of the entry of its original",
        ),
    ],
)
def test_an_object_is_applied_if_it_has_both_the_label_and_the_entry(
    labels: dict[str, str] | None, entries: list[dict[str, Any]] | None, is_ours: bool
) -> None:
    created = "2026-01-01T12:00:00Z"
    metadata = {"name": "one", "creationTimestamp": created, "labels": labels, "managedFields": entries}
    assert is_applied_by({"metadata": metadata}, "uid-1", "web") is is_ours
