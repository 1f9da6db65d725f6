"""An address of a ledger is read strictly; whatever it looks like, its password is not shown."""

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


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGUSER", "me")
    monkeypatch.delenv("PGPORT", raising=False)


def test_what_is_wrong_with_an_address_is_told_without_its_password() -> None:
    for address in FAULTY:
        with pytest.raises(InputError) as caught:
            PostgresAddress.parse(address)
        assert "SECRET" not in str(caught.value)
        assert "SECRET" not in without_password(address)
        assert without_password(address).startswith("postgresql://u")


def test_an_address_without_its_password_opens_the_same(tmp_path: Path) -> None:
    (tmp_path / "a@b.pem").touch()
    for pair in GOOD:
        address, shown = (text.replace("FOLDER", str(tmp_path)) for text in pair)
        assert without_password(address) == shown
        read, again = (PostgresAddress.parse(text) for text in (address, shown))
        assert read.shown == again.shown


def test_the_same_command_is_shown_without_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in [*FAULTY, *(address for address, _ in GOOD)]:
        for given in (f"--ledger={address}", address, address.replace("postgresql", "POSTGRES")):
            arguments = ["score", "a b.csv", "--ledger", given, "--limit", "3"]
            monkeypatch.setattr(sys, "argv", ["areopagus", *arguments])
            again = shlex.split(same_command())
            assert "SECRET" not in " ".join(again)
            assert again[:4] == ["areopagus", "score", "a b.csv", "--ledger"]
            assert again[5:] == ["--limit", "3"]


def test_arguments_that_are_no_address_stay_as_they_are() -> None:
    for argument in ("--column", "a:b@c", "http://h:1/x@y?password=z", "", "postgres"):
        assert without_password(argument) == argument


FAULTS = [
    ("postgresql://u:secret@h/d?pool=3", "pool: is no option"),
    ("postgresql://u:secret@h/d?sslmode=prefer", "sslmode: must be one of"),
    ("postgresql://u:secret@h/d?sslmode=require&sslmode=disable", "is given twice"),
    ("postgresql://u:secret@h/", "must name one database"),
    ("postgresql://u:secret@h/d#x", "after #"),
    ("postgresql://u:se/secret@h/d", "must be postgresql://"),
    ("postgresql://u:secret@h:port/d", "must be postgresql://"),
    ("postgresql://u@h/d?password=secret", "password: is no option"),
    ("postgresql://u:secret@h/d?schema=a;drop", "schema: must be a name"),
    ("postgresql://u:secret@h/d?schema=pg_x", "schema: must be a name"),
    ("postgresql://u:secret@h/d?connect_timeout=soon", "connect_timeout: must be seconds"),
    ("postgresql://u:secret@h/d?sslrootcert=/nowhere.pem", "sslrootcert: is not a file"),
    ("postgresql://u:secret@h/d?host=/run", "host: must be the folder"),
]


def test_every_fault_of_an_address_is_told_and_all_come_together() -> None:
    for address, words in FAULTS:
        with pytest.raises(InputError) as caught:
            PostgresAddress.parse(address)
        assert words in str(caught.value)
        assert "secret" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        PostgresAddress.parse("postgresql://h/?pool=3&sslmode=x")
    assert len(caught.value.faults) == 3


FORMS = [
    ("postgres://u:p%40ss@127.0.0.1/d", "postgresql://u@127.0.0.1:5432/d", "disable"),
    ("postgresql://u@[::1]:6/d", "postgresql://u@[::1]:6/d", "disable"),
    ("postgresql://u@db.example:6/d", "postgresql://u@db.example:6/d", "verify-full"),
    ("postgresql:///d?host=/run/pg", "postgresql://me@:5432/d?host=/run/pg", "disable"),
    (
        "postgresql://u@db.example/d?sslmode=require&schema=x&connect_timeout=5",
        "postgresql://u@db.example:5432/d?schema=x&sslmode=require&connect_timeout=5",
        "require",
    ),
]


def test_an_address_is_shown_in_one_form_that_opens_the_same() -> None:
    for address, shown, mode in FORMS:
        read = PostgresAddress.parse(address)
        assert (read.shown, read.sslmode) == (shown, mode)
        again = PostgresAddress.parse(shown)
        assert again.shown == shown
        assert "p@ss" not in repr(read)
