"""Whatever an address of a ledger looks like, the password in it is not shown."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from areopagus.cli.display import same_command
from areopagus.errors import InputError
from areopagus.records.ledger.address import PostgresAddress, without_password

GOOD = [
    ("postgresql://u:SECRET@h/d", "postgresql://u@h/d"),
    ("postgresql://user@server:SECRET@h:6/d", "postgresql://user@server@h:6/d"),
    ("postgresql://user@server:a SECRET @h/d", "postgresql://user@server@h/d"),
    ("postgresql://u:a SECRET@h/d?schema=x", "postgresql://u@h/d?schema=x"),
    ("postgresql://u:SEC:SECRET@SECRET@[::1]:6/d", "postgresql://u@[::1]:6/d"),
    ("postgresql://:SECRET@h/d", "postgresql://@h/d"),
    ("postgresql://u:\nSECRET@h/d", "postgresql://u@h/d"),
    ("postgresql://h:6/d", "postgresql://h:6/d"),
    ("postgresql://u@h/d", "postgresql://u@h/d"),
    ("postgresql:///d?host=/run/pg", "postgresql:///d?host=/run/pg"),
    ("postgresql://u@h:6/d?sslrootcert=FOLDER/a@b.pem", "postgresql://u@h:6/d?sslrootcert=FOLDER/a@b.pem"),
]  # fmt: skip
"""Addresses that can be read, and the same without a password."""

FAULTY = [
    "postgresql://user@server:SECRET@127.0.0.1:1/db?ssl=1",
    "postgresql://user@server:SECRET@h/d?sslmode=prefer",
    "postgresql://u:a SECRET@h/d?sslmode=prefer",
    "postgresql://u:a/SECRET@h/d",
    "postgresql://user@server:12/SECRET@h",
    "postgresql://u:12?SECRET@h/d",
    "postgresql://u:12?SECRET=1@h/d",
    "postgresql://u:12#SECRET@h/d",
    "postgresql://u:[SECRET@h/d",
    "postgresql://u:SECRET@h:port/d",
    "postgresql://user@server:SECRET/d",
    "postgresql://user@server:SECRET/SECRET/d",
    "postgresql://user:SECRET",
    "postgresql://user:1234567890SECRET/d",
    f"postgresql://user:{'1' * 5000}/SECRET",
    "postgresql://u@h/d?password=SECRET",
    "postgresql://u@h/d?password=a SECRET",
    "postgresql://u@h/d?password=a&SECRET&SECRET=1",
    "postgresql://u@h/d?password=SECRET@SECRET",
    "postgresql://u@h/d?pass%77ord=SECRET",
    "postgresql://u@h/d?sslpassword=SECRET",
]
"""Addresses that are refused."""


@pytest.mark.parametrize("address", FAULTY)
def test_what_is_wrong_with_an_address_is_told_without_its_password(address: str) -> None:
    with pytest.raises(InputError) as caught:
        PostgresAddress.parse(address, environment={})
    assert "SECRET" not in str(caught.value)
    assert "SECRET" not in without_password(address)
    assert without_password(address).startswith("postgresql://u")


@pytest.mark.parametrize(("address", "shown"), GOOD)
def test_an_address_without_its_password_opens_the_same(
    address: str, shown: str, tmp_path: Path
) -> None:
    (tmp_path / "a@b.pem").touch()
    address, shown = (text.replace("FOLDER", str(tmp_path)) for text in (address, shown))
    assert without_password(address) == shown
    read, again = (PostgresAddress.parse(text) for text in (address, shown))
    assert read.shown == again.shown


@pytest.mark.parametrize("address", [*FAULTY, *(address for address, _ in GOOD)])
@pytest.mark.parametrize("form", ["--ledger={}", "{}", "POSTGRES"])
def test_the_same_command_is_shown_without_the_password(
    address: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = address.replace("postgresql", "POSTGRES") if form == "POSTGRES" else address
    given = "{}" if form == "POSTGRES" else form
    arguments = ["score", "a b.csv", "--ledger", given.format(address), "--limit", "3"]
    monkeypatch.setattr(sys, "argv", ["areopagus", *arguments])
    again = shlex.split(same_command())
    assert "SECRET" not in " ".join(again)
    assert again[:4] == ["areopagus", "score", "a b.csv", "--ledger"]
    assert again[5:] == ["--limit", "3"]


def test_arguments_that_are_no_address_stay_as_they_are() -> None:
    for argument in ("--column", "a:b@c", "http://h:1/x@y?password=z", "", "postgres"):
        assert without_password(argument) == argument
