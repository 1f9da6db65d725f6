"""The human study: blinded packets, the pages people rate and write on, and the way back."""

from .app import StudyApp, open_app
from .assumptions import Assumed, Assumptions, assumptions_from
from .build import BuiltStudy, build_study
from .build_writing import build_writing
from .checks import RaterCheck
from .collect import Collected, collect_study
from .export import PACKET_KINDS, ExportedPackets, PacketKind, export_packets
from .files import Packet, StudyFile, read_packets, read_study
from .normalise import CHANGE_KINDS, ChangeKind, Normalised, normalise
from .plan import GOALS, Goal, PlanCell, StudyPlan, plan_study
from .raters import renew_links
from .serving import Address, serve_study
from .settings import RatingSettings, WritingSettings

__all__ = [
    "CHANGE_KINDS",
    "GOALS",
    "PACKET_KINDS",
    "Address",
    "Assumed",
    "Assumptions",
    "BuiltStudy",
    "ChangeKind",
    "Collected",
    "ExportedPackets",
    "Goal",
    "Normalised",
    "Packet",
    "PacketKind",
    "PlanCell",
    "RaterCheck",
    "RatingSettings",
    "StudyApp",
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
