"""What messages say about catalogs that are waited for. Which ones are is in tests/cases/components/waiting.yaml."""

import pytest

from operator_controller.resolve.explain.unread_catalogs import MAX_CATALOGS_SHOWN, unread_note, waiting_notes
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource
from operator_controller.resolve.snapshot.package_snapshot import CatalogState


@pytest.mark.parametrize(
    ("state", "note"),
    [
        pytest.param(CatalogState.SERVING, "", id="one that is served is not mentioned"),
        pytest.param(CatalogState.TOO_LARGE, "", id="nor one that only other content helps"),
        pytest.param(CatalogState.PENDING, 'catalog "c" is not served yet: why', id="one that was never served"),
        pytest.param(
            CatalogState.CACHED, 'catalog "c" cannot be read, its last content is used: why', id="one that is away"
        ),
        pytest.param(
            CatalogState.UNREACHABLE, 'catalog "c" has a and b, but cannot be read: why', id="one that is lost"
        ),
    ],
)
def test_the_note_about_a_catalog(state: CatalogState, note: str) -> None:
    assert unread_note(state, "c", "why", ["a", "b"]) == note


def test_of_many_catalogs_the_first_are_named_and_the_others_counted() -> None:
    catalogs = [CatalogSource(f"c{number}", state=CatalogState.PENDING, message="m") for number in range(5)]
    notes = waiting_notes(catalogs, ["a"])
    assert len(notes) == MAX_CATALOGS_SHOWN + 1
    assert notes[-1] == "2 more catalogs are waited for"


def test_only_the_packages_in_question_are_named() -> None:
    source = CatalogSource("c", state=CatalogState.UNREACHABLE, message="m", package_names=("a", "x"))
    assert waiting_notes([source], ["a", "b"]) == ['catalog "c" has a, but cannot be read: m']
