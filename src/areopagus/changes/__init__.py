"""Two runs of one kind, before and after: what has changed, paired by item, and what is shown."""

from .run import ChangeRun, Changes, compare

__all__ = ["ChangeRun", "Changes", "compare"]
