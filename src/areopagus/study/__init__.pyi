from .app import StudyApp as StudyApp
from .app import open_app as open_app
from .build import BuiltStudy as BuiltStudy
from .build import build_study as build_study
from .build import build_writing as build_writing
from .collect import StudyCollection as StudyCollection
from .collect import collect_study as collect_study
from .export import PACKET_KINDS as PACKET_KINDS
from .export import ExportedPackets as ExportedPackets
from .export import PacketKind as PacketKind
from .export import export_packets as export_packets
from .folder import Packet as Packet
from .folder import StudyFile as StudyFile
from .folder import read_packets as read_packets
from .folder import read_study as read_study
from .folder import renew_links as renew_links
from .measured import Assumed as Assumed
from .measured import Assumptions as Assumptions
from .measured import assumptions_from as assumptions_from
from .plain_form import CHANGE_KINDS as CHANGE_KINDS
from .plain_form import ChangeKind as ChangeKind
from .plain_form import Normalised as Normalised
from .plain_form import normalise as normalise
from .plan import Design as Design
from .plan import StudyPlan as StudyPlan
from .plan import plan_study as plan_study
from .serving import Address as Address
from .serving import serve_study as serve_study
from .settings import PlanConfig as PlanConfig
from .settings import RatingSettings as RatingSettings
from .settings import WritingSettings as WritingSettings

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
