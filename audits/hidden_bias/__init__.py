"""Hidden bias: concept pairs hidden in scenes, identities hidden in descriptors."""

from .audit import HiddenBias, HiddenBiasOptions

AUDIT = HiddenBias()

__all__ = ["AUDIT", "HiddenBias", "HiddenBiasOptions"]
