"""SocioEval: forced choices between people of two social classes, in YAML that you can extend."""

from .audit import SocioEval, SocioEvalOptions

AUDIT = SocioEval()

__all__ = ["AUDIT", "SocioEval", "SocioEvalOptions"]
