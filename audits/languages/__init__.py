"""The languages in which audits ask and read: three built in, more as YAML files."""

from .language import (
    ENGLISH,
    LANGUAGES,
    HiddenBiasWords,
    JudgementWords,
    Language,
    NarrativeWords,
    NumberWords,
    OptionWords,
    ProfessionWords,
    SamaritanWords,
    SocioEvalWords,
    any_of,
    find_language,
    group,
    known_languages,
    no_rules,
)

__all__ = [
    "ENGLISH",
    "LANGUAGES",
    "HiddenBiasWords",
    "JudgementWords",
    "Language",
    "NarrativeWords",
    "NumberWords",
    "OptionWords",
    "ProfessionWords",
    "SamaritanWords",
    "SocioEvalWords",
    "any_of",
    "find_language",
    "group",
    "known_languages",
    "no_rules",
]
