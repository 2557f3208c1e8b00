"""The instructions for a cluster without the suite."""

from console.views.setup_help import setup_view


def test_it_has_the_commands_in_their_order() -> None:
    view = setup_view("prod-eu", "0.1.0", "prod", "", "", None)

    assert [step.command.splitlines()[0] for step in view.steps] == [
        "pipx install 'olm-suite[console]'",
        "olm suite install --image REGISTRY/olm-suite:v0.1.0 --context prod",
        "kubectl apply --context prod -f - <<'EOF'",
    ]
    assert (view.cluster, view.notes) == ("prod-eu", ())


def test_it_names_what_is_in_the_way() -> None:
    view = setup_view("", "0.1.0", "", "You may not create it.", "kubectl auth can-i create it", 6)

    assert [(note.title, note.command) for note in view.notes] == [
        ("You may not create it.", "kubectl auth can-i create it"),
        ("OLM v0 is here.", ""),
    ]
    assert "with 6 Subscriptions" in view.notes[1].text
