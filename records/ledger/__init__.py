"""The ledger: a store of the calls already paid, in an SQLite file or on a PostgreSQL server."""

from .ledger import Ledger, PendingCall, default_path

__all__ = ["Ledger", "PendingCall", "default_path"]
