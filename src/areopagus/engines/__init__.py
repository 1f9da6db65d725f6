"""What does the work of a scoring job: this process, or the nodes of a Ray cluster."""

from ..experiment.engine import Engine, LocalEngine
from .ray import RayEngine

__all__ = ["Engine", "LocalEngine", "RayEngine"]
