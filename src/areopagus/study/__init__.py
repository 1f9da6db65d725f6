"""The human study: blinded packets, the pages people rate and write on, and the way back.

Names are resolved when they are first used: a server loads nothing of what planning needs.
"""

from __future__ import annotations

from ..lazy import lazy_imports

_HOME = {
    "CHANGE_KINDS": ".plain_form",
    "PACKET_KINDS": ".export",
    "Address": ".serving",
    "Assumed": ".measured",
    "Assumptions": ".measured",
    "BuiltStudy": ".build",
    "ChangeKind": ".plain_form",
    "Design": ".plan",
    "ExportedPackets": ".export",
    "Normalised": ".plain_form",
    "Packet": ".folder",
    "PacketKind": ".export",
    "PlanConfig": ".settings",
    "RatingSettings": ".settings",
    "StudyApp": ".app",
    "StudyCollection": ".collect",
    "StudyFile": ".folder",
    "StudyPlan": ".plan",
    "WritingSettings": ".settings",
    "assumptions_from": ".measured",
    "build_study": ".build",
    "build_writing": ".build",
    "collect_study": ".collect",
    "export_packets": ".export",
    "normalise": ".plain_form",
    "open_app": ".app",
    "plan_study": ".plan",
    "read_packets": ".folder",
    "read_study": ".folder",
    "renew_links": ".folder",
    "serve_study": ".serving",
}

__all__ = [
    "CHANGE_KINDS",
    "PACKET_KINDS",
    "Address",
    "Assumed",
    "Assumptions",
    "BuiltStudy",
    "ChangeKind",
    "Design",
    "ExportedPackets",
    "Normalised",
    "Packet",
    "PacketKind",
    "PlanConfig",
    "RatingSettings",
    "StudyApp",
    "StudyCollection",
    "StudyFile",
    "StudyPlan",
    "WritingSettings",
    "assumptions_from",
    "build_study",
    "build_writing",
    "collect_study",
    "export_packets",
    "normalise",
    "open_app",
    "plan_study",
    "read_packets",
    "read_study",
    "renew_links",
    "serve_study",
]

__getattr__, __dir__ = lazy_imports(__name__, _HOME)
