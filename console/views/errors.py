"""The value of the page that says why another one cannot be shown. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorView:
    """`command` is what a person can run about it. `similar` are (path, name) of what may be meant. `id` is in the log."""

    title: str
    message: str
    command: str = ""
    similar: tuple[tuple[str, str], ...] = ()
    id: str = ""


@dataclass(frozen=True)
class LoginView:
    """`error` is why the last attempt failed. `back` is the path to return to. `is_by_command`: only `olm console` opens
    sessions. `is_by_proxy`: a proxy in front of the console does."""

    error: str = ""
    back: str = "/"
    is_by_command: bool = False
    is_by_proxy: bool = False
