"""What an upgrade changes for good. Blockers of an upgrade are tested with decisions and reports."""

from dataclasses import replace

from rukpak.bundledeployment.evaluate import evaluate
from rukpak.bundledeployment.rendered_bundle import MissingContent
from tests.unit.rukpak.bundledeployment.worlds import DEFINITION, crd, rendered, upgrading


def test_a_crd_of_others_moves_no_storage_version_of_ours() -> None:
    seen = upgrading(rendered(digest="v2", storage="v2"))
    assert evaluate(replace(seen, crds={DEFINITION.name: crd(owner_uid="")})).irreversible == ""
    assert evaluate(replace(seen, content=MissingContent())).irreversible == ""
