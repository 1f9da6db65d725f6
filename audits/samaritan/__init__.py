"""Biased Samaritan: how likely a person is to help, by race, gender and age, in extensible YAML."""

from .audit import Samaritan, SamaritanOptions

AUDIT = Samaritan()

__all__ = ["AUDIT", "Samaritan", "SamaritanOptions"]
