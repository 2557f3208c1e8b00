"""Which session gives way when there are as many as there may be."""

from __future__ import annotations

import time

import pytest

from console import users
from console.page import User
from console.user_client import UserClient
from console.users import TooManySessions, Users, UserSession


@pytest.mark.parametrize(
    ("there", "streams", "new", "left"),
    [
        pytest.param("aabb", 0b1011, "c", 1, id="one without a stream, whoever it is of"),
        pytest.param("baaa", 0b1111, "c", 1, id="the oldest of who has the most"),
        pytest.param("baaa", 0b1111, "b", 1, id="the oldest of who has more than the new one would be"),
        pytest.param("bbaa", 0b1111, "b", None, id="none for somebody who has as many as others"),
        pytest.param("aaaa", 0b1111, "a", None, id="none for who has them all"),
        pytest.param("abcd", 0b1111, "e", None, id="none if each has one"),
    ],
)
def test_the_session_that_gives_way(
    monkeypatch: pytest.MonkeyPatch, there: str, streams: int, new: str, left: int | None
) -> None:
    monkeypatch.setattr(users, "MAX_SESSIONS", len(there))
    client, ended = UserClient(None), list[str]()
    found = Users(client, "system")

    def session(identity: str, user: str) -> UserSession:
        made = UserSession(identity, User(user), client, identity, time.time() + 60)
        made.on_end = lambda: ended.append(identity)
        return made

    for number, user in enumerate(there):
        found.add(session(str(number), user)).streams = streams >> (len(there) - 1 - number) & 1
    if left is None:
        with pytest.raises(TooManySessions):
            found.add(session("new", new))
    else:
        found.add(session("new", new))
    assert ended == ([] if left is None else [str(left)])
    assert len(found) == len(there)


def test_the_sessions_of_one_user_share_a_rate() -> None:
    client = UserClient(None)
    found = Users(client, "system")
    made = [
        found.add(UserSession(f"{number}", User(user), client, "", time.time() + 60))
        for number, user in enumerate("aab")
    ]
    while made[0].rate_of_user.take():
        pass
    assert [each.take() for each in made] == [False, False, True]
