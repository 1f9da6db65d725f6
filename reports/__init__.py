"""Reports of runs for reading: one self-contained HTML file each."""

from __future__ import annotations

from .write import write_report

__all__ = ["write_report"]
