"""The options that are fields of an Operator."""

from __future__ import annotations

import click
import pytest

from olmctl.operators.field_options import check_exact_version


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        pytest.param("v0.3.0", ": write 0.3.0", id="a tag"),
        pytest.param("v1", ", such as 1.2.3", id="a tag of another form"),
        pytest.param(">=1.0.0", ", such as 1.2.3", id="a range"),
    ],
)
def test_what_is_not_one_exact_version(text: str, hint: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        check_exact_version(text)
    assert str(caught.value) == f"{text!r} is not one exact version{hint}"


def test_one_exact_version() -> None:
    check_exact_version("1.16.5-rc.1+2")
