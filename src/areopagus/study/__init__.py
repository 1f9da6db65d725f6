"""The human study: blinded packets, the pages people rate and write on, and the way back."""

from .app import StudyApp, open_app
from .build import BuiltStudy, build_study, build_writing
from .collect import StudyCollection, collect_study
from .export import PACKET_KINDS, ExportedPackets, PacketKind, export_packets
from .folder import Packet, StudyFile, read_packets, read_study, renew_links
from .measured import Assumed, Assumptions, assumptions_from
from .plain_form import CHANGE_KINDS, ChangeKind, Normalised, normalise
from .plan import Design, PlanConfig, StudyPlan, plan_study
from .serving import Address, serve_study
from .settings import RatingSettings, WritingSettings

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
