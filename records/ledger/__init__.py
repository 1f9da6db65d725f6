"""The ledger: a store of the calls already paid, in an SQLite file or on a PostgreSQL server."""

from .ledger import Ledger, PendingCall

__all__ = ["Ledger", "PendingCall"]
