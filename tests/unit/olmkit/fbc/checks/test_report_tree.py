"""The tree of errors as opm prints it."""

from __future__ import annotations

from olmkit.fbc.checks.report_tree import Branch

TREE = Branch("top", ["one", Branch("two", ["three", Branch("four", ["five"])]), Branch("six", ["seven"]), "eight"])


def test_branches_are_drawn_to_the_last_one_of_each_level() -> None:
    assert TREE.text().splitlines() == [
        "top:",
        "├── one",
        "├── two:",
        "│   ├── three",
        "│   └── four:",
        "│       └── five",
        "├── six:",
        "│   └── seven",
        "└── eight",
    ]


def test_leaves_are_counted_and_listed_with_their_path() -> None:
    assert TREE.count == 5
    assert list(TREE.sentences()) == [
        "top: one",
        "top: two: three",
        "top: two: four: five",
        "top: six: seven",
        "top: eight",
    ]
