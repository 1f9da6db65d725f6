"""SilverSpoon, third part: in which light stories show somebody of a name, in a city."""

from .audit import SilverSpoonNarratives, SilverSpoonNarrativesOptions

AUDIT = SilverSpoonNarratives()

__all__ = ["AUDIT", "SilverSpoonNarratives", "SilverSpoonNarrativesOptions"]
