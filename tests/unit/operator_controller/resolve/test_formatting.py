"""Lists and sentences of messages, shortened."""

from operator_controller.resolve.formatting import join_sentences


def test_sentences_that_do_not_fit_are_left_out_whole() -> None:
    assert join_sentences(["first", "second", "third"], 13) == "first; second"


def test_what_follows_a_sentence_that_does_not_fit_is_left_out_too() -> None:
    assert join_sentences(["first", "a very long sentence", "b"], 12) == "first"


def test_a_first_sentence_that_does_not_fit_is_cut() -> None:
    assert join_sentences(["a very long sentence", "b"], 10).endswith("…")
