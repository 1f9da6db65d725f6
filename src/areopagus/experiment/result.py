"""Where `JobRun` is looked for until its users are moved."""

from ..run import TEXT_FILE, JobRun

__all__ = ["TEXT_FILE", "JobRun"]
