"""Arguments of `olm suite install` that are refused before it connects to a cluster."""

from __future__ import annotations

import pytest

from olmctl.main import main


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(("--image", "Bad Image"), "Invalid value for '--image': ", id="capitals in the image"),
        pytest.param(("--image", "a b"), "Invalid value for '--image': ", id="blanks in the image"),
        pytest.param(("--image", "{{ .Values }}"), "Invalid value for '--image': ", id="a template as the image"),
        pytest.param(("--image", "example.com/suite:v1:v2"), "Invalid value for '--image': ", id="two tags"),
        pytest.param(("--image", ""), "Invalid value for '--image': ", id="an empty image"),
        pytest.param(
            ("--system-namespace", "olm-suite-keys"),
            "--system-namespace is olm-suite-keys, the namespace of the keys",
            id="the namespace of the keys",
        ),
    ],
)
def test_wrong_usage(flags: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["suite", "install", "--export", *flags])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert not out
    assert message in " ".join(err.split())
