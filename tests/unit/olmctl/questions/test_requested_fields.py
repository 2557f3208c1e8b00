"""The fields of spec that are asked for: channels."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.questions.requested_fields import channel_fields, channels_text, field_problems


@pytest.mark.parametrize(
    ("channels", "spec", "text"),
    [
        pytest.param((), {}, "", id="none"),
        pytest.param(("",), {}, "", id="an empty one"),
        pytest.param(("stable",), {"channel": "stable"}, "channel stable", id="one"),
        pytest.param(("stable", "stable"), {"channel": "stable"}, "channel stable", id="one, twice"),
        pytest.param(("stable", "beta"), {"channels": ["stable", "beta"]}, "channels beta and stable", id="two"),
        pytest.param(("*",), {"channels": ["*"]}, "every channel", id="every one"),
    ],
)
def test_the_field_of_channels(channels: tuple[str, ...], spec: dict[str, Any], text: str) -> None:
    assert channel_fields(channels) == spec
    assert channels_text(spec) == text
    assert field_problems(spec) == {}


@pytest.mark.parametrize(
    ("channels", "problem"),
    [
        pytest.param(["*", "a"], "'*' means every channel: it has to be the only one", id="every one and another"),
        pytest.param(["a", "B"], "'B' is no name of a channel", id="one is no name"),
        pytest.param(["a", "b" * 254], "is longer than the 253 characters", id="one is too long"),
        pytest.param([f"c{each}" for each in range(257)], "257 channels are more than the 256", id="too many"),
    ],
)
def test_channels_that_the_api_server_would_refuse(channels: list[str], problem: str) -> None:
    assert problem in field_problems({"channels": channels})["channels"]
