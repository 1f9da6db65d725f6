"""Audits as jobs: asked, read, classified, estimated, reported."""

from .api import aaudit, audit
from .job import AuditJob
from .run import AuditRun

__all__ = ["AuditJob", "AuditRun", "aaudit", "audit"]
