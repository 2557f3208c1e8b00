"""Quantities of memory in flags, and the help of flags."""

from __future__ import annotations

import pytest

from olmkit.runtime.flags import add_jobs_memory, make_parser, parse_settings, quantity

MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize(
    ("text", "size"), [("1024", 1024), ("1Ki", 1024), ("1536Mi", 1536 * MEBIBYTE), ("3Gi", 3 << 30)], ids=str
)
def test_quantity(text: str, size: int) -> None:
    assert quantity(text) == size


@pytest.mark.parametrize("text", ["", "-1", "1.5Gi", "3G", "Gi", "1 Gi", "max"])
def test_an_invalid_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a number of bytes"):
        quantity(text)


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(["--system-namespace=a", "--keys-namespace=a"], id="both given"),
        pytest.param(["--system-namespace=olm-suite-keys"], id="the default of the other"),
    ],
)
def test_keys_have_a_namespace_of_their_own(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        parse_settings(make_parser("catalogd"), flags)
    assert raised.value.code == 2
    assert "--keys-namespace and --system-namespace are the same namespace: keys need one of their own" in (
        capsys.readouterr().err
    )


def test_the_help_of_a_flag_names_one_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    parser = make_parser("catalogd")
    add_jobs_memory(parser)
    parser.add_argument("--pull-secret", default="", help="a Secret")
    text = " ".join(parser.format_help().split())
    assert "namespace of the leases, and of the Secrets and ConfigMaps" in text
    assert "(default: olm-suite-system)" in text
    for wrong in ("None)", "[])", "(default: )"):
        assert wrong not in text
