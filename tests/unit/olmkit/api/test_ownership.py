"""Whether a BundleDeployment applied an object."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.ownership import is_applied_by

OURS = {OWNER_UID_LABEL: "uid-1"}
APPLY = {"manager": "rukpak:web", "operation": "Apply"}
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
    ],
)
def test_an_object_is_applied_if_it_has_both_the_label_and_the_entry(
    labels: dict[str, str] | None, entries: list[dict[str, Any]] | None, is_ours: bool
) -> None:
    metadata = {"name": "one", "labels": labels, "managedFields": entries}
    assert is_applied_by({"metadata": metadata}, "uid-1", "web") is is_ours
