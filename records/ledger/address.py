"""The address of a PostgreSQL ledger: read strictly, and shown without its password."""

from __future__ import annotations

import os
import re
import ssl
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ...errors import InputError, InputFault

DEFAULT_SCHEMA = "areopagus"
DEFAULT_TIMEOUT_S = 10.0
_MODES = ("disable", "require", "verify-ca", "verify-full")
_OPTIONS = ("connect_timeout", "host", "schema", "sslmode", "sslrootcert")
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SCHEME = re.compile(r"postgres(?:ql)?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where a PostgreSQL ledger is.

    Attributes:
        host, port: the server; a host that begins with a slash is the folder of its socket.
        database, user: on it.
        password: "" where the address has none, and that of PGPASSWORD counts.
        schema: the ledger's tables stand in this schema, which holds nothing else.
        sslmode: disable, require (encrypted, the server unchecked), verify-ca or verify-full.
        sslrootcert: certificates that the server is checked against; the system's where "".
        connect_timeout: seconds.
    """

    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)
    schema: str
    sslmode: str
    sslrootcert: str
    connect_timeout: float

    @classmethod
    def parse(cls, address: str) -> PostgresAddress:
        """Reads `postgresql://[user[:password]@][host][:port]/database[?option=value&…]`.

        Options: schema, sslmode, sslrootcert, connect_timeout, and host=/FOLDER for a socket.
        What is left out comes from PGUSER and PGPORT, as with PostgreSQL's own programs. Without
        `sslmode`, a server on this machine is spoken to in the clear, and any other encrypted and
        with its certificate checked against its name.

        Raises:
            InputError: with everything that is wrong; the password is not repeated.
        """
        shown = _beginning(address)
        faults: list[InputFault] = []

        def fault(message: str, part: str | None = None) -> None:
            faults.append(InputFault(shown, message, part))

        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError:
            raise InputError(
                [InputFault(shown, "must be postgresql://user@host:port/database")]
            ) from None
        options: dict[str, str] = {}
        may_be_password = "@" in parts.query  # or the rest of one with a ? in it
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            if name not in _OPTIONS:
                fault(
                    f"is no option of a ledger's address; there are {', '.join(_OPTIONS)}",
                    None if may_be_password else name,
                )
                may_be_password = True  # the next may be the rest of its value, with an & in it
            elif name in options:
                fault("is given twice", name)
            options[name] = value
        if parts.fragment:
            fault("must not have a part after #; in a password # is written %23")
        database = unquote(parts.path.removeprefix("/"))
        if not database or "/" in database:
            fault("must name one database after the host: postgresql://user@host:port/database")
        if "@" in parts.path:  # rather the end of a password with a slash in it
            fault("must have no @ in the database's name; there @ is written %40, and / %2F")
        host = options.get("host") or unquote(parts.hostname or "") or "localhost"
        if "host" in options and (parts.hostname or not host.startswith("/")):
            fault("must be the folder of the server's socket, in an address without a host", "host")
        schema = options.get("schema", DEFAULT_SCHEMA)
        if not _SCHEMA_NAME.fullmatch(schema) or schema.startswith("pg_"):
            fault("must be a name of small letters, digits and _", "schema")
        mode = options.get("sslmode") or ("disable" if _is_local(host) else "verify-full")
        if mode not in _MODES:
            fault(f"must be one of {', '.join(_MODES)}", "sslmode")
        certificates = options.get("sslrootcert", "")
        if certificates and not Path(certificates).is_file():
            fault("is not a file", "sslrootcert")
        timeout = _seconds(options.get("connect_timeout"))
        if timeout is None:
            fault("must be seconds from 1 to 600", "connect_timeout")
        if port is None:
            named = os.environ.get("PGPORT", "")
            port = int(named) if named.isdecimal() else 5432
        if faults:
            raise InputError(faults)
        return cls(
            host=host,
            port=port,
            database=database,
            user=unquote(parts.username or "") or os.environ.get("PGUSER") or _own_name(),
            password=unquote(parts.password or ""),
            schema=schema,
            sslmode=mode,
            sslrootcert=certificates,
            connect_timeout=timeout or DEFAULT_TIMEOUT_S,
        )

    @property
    def shown(self) -> str:
        """The address without its password, which opens the same ledger."""
        socket = self.host.startswith("/")
        host = "" if socket else f"[{self.host}]" if ":" in self.host else self.host
        options = [f"host={quote(self.host)}"] if socket else []
        if self.schema != DEFAULT_SCHEMA:
            options.append(f"schema={self.schema}")
        if self.sslmode != ("disable" if _is_local(self.host) else "verify-full"):
            options.append(f"sslmode={self.sslmode}")
        if self.sslrootcert:
            options.append(f"sslrootcert={quote(self.sslrootcert)}")
        if self.connect_timeout != DEFAULT_TIMEOUT_S:
            options.append(f"connect_timeout={self.connect_timeout:g}")
        user, database = quote(self.user, safe=""), quote(self.database, safe="")
        tail = f"?{'&'.join(options)}" if options else ""
        return f"postgresql://{user}@{host}:{self.port}/{database}{tail}"

    @property
    def schema_quoted(self) -> str:
        """The schema as it stands in a statement: `user` and others are words of SQL.

        Quotes keep capitals, which PostgreSQL would else make small; a schema here has none.
        """
        return f'"{self.schema}"'

    def ssl_context(self) -> ssl.SSLContext | bool:
        """How the server is spoken to; False = in the clear."""
        if self.sslmode == "disable" or self.host.startswith("/"):
            return False
        context = ssl.create_default_context(cafile=self.sslrootcert or None)
        if self.sslmode != "verify-full":
            context.check_hostname = False
        if self.sslmode == "require":
            context.verify_mode = ssl.CERT_NONE
        return context


def without_password(argument: str) -> str:
    """The argument of a command, or the address, with a PostgreSQL address's password taken out.

    What is left of an address that can be read opens the same ledger. Of any other, only the
    beginning is left.
    """
    scheme = _SCHEME.search(argument)
    if scheme is None:
        return argument
    before, address = argument[: scheme.start()], argument[scheme.start() :]
    start = scheme.end() - scheme.start()
    place = re.split("[/?#]", address[start:], maxsplit=1)[0]
    after = address[start + len(place) :]
    try:
        PostgresAddress.parse(address)
    except InputError:
        return before + _beginning(address)
    user_info, at, host = place.rpartition("@")
    return f"{before}{address[:start]}{user_info.partition(':')[0]}{at}{host}{after}"


def _beginning(address: str) -> str:
    """An address that cannot be read, as far as it surely holds no password: user or host.

    In a password that was not escaped anything may stand, and nobody can tell where it ends.
    """
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{re.split('[:/?#]', rest, maxsplit=1)[0]}…"


def _is_local(host: str) -> bool:
    if host.startswith("/") or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _seconds(text: str | None) -> float | None:
    if text is None:
        return DEFAULT_TIMEOUT_S
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 1.0 <= value <= 600.0 else None


def _own_name() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "postgres"
