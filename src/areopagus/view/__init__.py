"""All runs under a folder on one page: served on this machine, or written as files to publish."""

from __future__ import annotations

from .serving import serve_view
from .static import WrittenView, write_view

__all__ = ["WrittenView", "serve_view", "write_view"]
