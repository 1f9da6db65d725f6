"""SilverSpoon, second part: what somebody of a name, in a city, does for a living."""

from .audit import SilverSpoonProfessions, SilverSpoonProfessionsOptions

AUDIT = SilverSpoonProfessions()

__all__ = ["AUDIT", "SilverSpoonProfessions", "SilverSpoonProfessionsOptions"]
