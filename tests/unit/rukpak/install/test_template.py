"""The Bundle that a template asks for. Its body is tested with the decision to make it."""

from rukpak.install.template import bundle_name


def test_the_name_of_a_bundle_hashes_the_spec_and_not_the_order_of_its_fields() -> None:
    one = {"provisionerClassName": "p", "source": {"type": "image", "image": {"ref": "a"}}}
    two = {"source": {"image": {"ref": "a"}, "type": "image"}, "provisionerClassName": "p"}
    assert bundle_name("x", one) == bundle_name("x", two)
    assert bundle_name("x", one) != bundle_name("x", {**one, "provisionerClassName": "q"})
    assert len(bundle_name("x" * 45, one)) == 52
