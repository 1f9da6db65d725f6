"""The tables of a ledger on a PostgreSQL server: made, recognised, and brought up to date.

They are those of the SQLite ledger (see `ledger_sqlite`), with these differences:

    meta        also `application` and `version`, which mark the schema as a ledger
    sessions    `batch`: number of the last commit of this session
"""

from __future__ import annotations

import secrets
import time

from ..errors import StoreError
from .ledger_postgres_address import PostgresAddress
from .ledger_postgres_link import Link, ServerGoneError
from .ledger_store import SCHEMA_VERSION

APPLICATION = b"areopagus ledger"
_TABLES = {"meta", "sessions", "intents", "calls", "failures", "capabilities"}
_SINCE_2 = 'CREATE TABLE requests(name text COLLATE "C" PRIMARY KEY, description text NOT NULL)'
_SCHEMA = """
CREATE TABLE meta(name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE sessions(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, host text NOT NULL, pid bigint NOT NULL,
    process_started text NOT NULL, started_at float8 NOT NULL, heartbeat_at float8 NOT NULL,
    ended_at float8, batch bigint NOT NULL DEFAULT 0);
CREATE TABLE intents(
    id bigint PRIMARY KEY, key text COLLATE "C" NOT NULL, backend text NOT NULL,
    begun_at float8 NOT NULL);
CREATE INDEX intents_by_key ON intents(key);
CREATE TABLE calls(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text COLLATE "C" NOT NULL UNIQUE,
    backend text NOT NULL, endpoint text NOT NULL, purpose text NOT NULL, session bigint NOT NULL,
    created_at float8 NOT NULL, input_tokens bigint, output_tokens bigint, cost_usd float8,
    finish_reason text, answered_by text, repeats bigint NOT NULL,
    duplicates bigint NOT NULL DEFAULT 0, duplicate_cost_usd float8,
    request text NOT NULL, reply bytea NOT NULL);
CREATE TABLE failures(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL, backend text NOT NULL,
    session bigint NOT NULL, failed_at float8 NOT NULL, fault text NOT NULL, detail text NOT NULL,
    status bigint, attempts bigint NOT NULL, may_be_billed bigint NOT NULL);
CREATE TABLE capabilities(
    backend text PRIMARY KEY, rung text NOT NULL, learned_at float8 NOT NULL);
"""


def version_of(link: Link, address: PostgresAddress) -> int:
    """The version of the schema's ledger; 0 where it is empty or missing.

    Raises:
        StoreError: it holds something else, a ledger of a newer version, or a damaged one.
    """
    tables = {
        name
        for (name,) in link.run(
            "SELECT tablename FROM pg_tables WHERE schemaname = :name", name=address.schema
        )
    }
    if not tables:
        return 0
    if "meta" not in tables:
        raise StoreError(
            f"{address.shown}: the schema {address.schema} holds tables that are no ledger, and "
            "was left as it is: name another with ?schema="
        )
    meta = dict(link.run("SELECT name, value FROM meta"))
    if meta.get("application") != APPLICATION:
        raise StoreError(
            f"{address.shown}: the schema {address.schema} is not a ledger and was left as it is: "
            "name another with ?schema="
        )
    version = int(meta.get("version", b"0"))
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{address.shown}: this ledger was written by a newer version of areopagus (ledger "
            f"version {version}, this one knows {SCHEMA_VERSION}) and was left as it is: upgrade "
            "areopagus, or name another schema with ?schema="
        )
    if version < 1 or not tables >= (_TABLES if version == 1 else {*_TABLES, "requests"}):
        raise StoreError(
            f"{address.shown}: this ledger is damaged (tables are missing): put back a copy"
        )
    return version


def bring_up_to_date(link: Link, address: PostgresAddress) -> None:
    """Makes schema and tables that are missing, once, whoever else is about to.

    Raises:
        StoreError: as `version_of`, or the database's encoding cannot hold every reply.
    """
    ((encoding,),) = link.run("SELECT current_setting('server_encoding')")
    if encoding != "UTF8":
        raise StoreError(
            f"{address.shown}: the database's encoding is {encoding}, which cannot hold every "
            "reply: make one with createdb --encoding=UTF8 --template=template0"
        )
    link.run("BEGIN")
    try:
        link.run("SELECT pg_advisory_xact_lock(hashtext('areopagus ledger'))")
        version = version_of(link, address)  # another process may have been first
        if version == 0:
            known = link.run(
                "SELECT 1 FROM pg_namespace WHERE nspname = :name", name=address.schema
            )
            if not known:
                link.run(f"CREATE SCHEMA {address.schema_quoted}")
                # Replies and the secret are nobody's business but the owner's.
                link.run(f"REVOKE ALL ON SCHEMA {address.schema_quoted} FROM PUBLIC")
            for statement in (_SINCE_2, *_SCHEMA.split(";\n")):
                if statement.strip():
                    link.run(statement)
            for name, value in (
                ("application", APPLICATION),
                ("version", str(SCHEMA_VERSION).encode()),
                ("secret", secrets.token_bytes(32)),
                ("created_at", str(time.time()).encode()),
            ):
                link.run("INSERT INTO meta VALUES (:name, :value)", name=name, value=value)
        elif version == 1:
            link.run(_SINCE_2)
            link.run(
                "UPDATE meta SET value = :value WHERE name = 'version'",
                value=str(SCHEMA_VERSION).encode(),
            )
        link.run("COMMIT")
    except ServerGoneError:
        raise
    except BaseException:
        link.run("ROLLBACK")
        raise
