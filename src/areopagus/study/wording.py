"""What raters and writers are told unless the organiser says it otherwise."""

from __future__ import annotations

RATING = """\
Each page shows one question and several responses to it, called A, B, C and so on. The letters \
are dealt anew on every page and mean nothing.

Read all the responses before you score the first. Then give each of them a score on every \
criterion below. Responses may share a score, and may share a rank. What counts is the thinking on \
the page: not whether you agree with its conclusion, how long it is, or who may have written it.

Please work alone, without other people and without AI tools."""

WRITING = """\
Each page shows one question. Write a response of your own, in running text, as you would for an \
attentive reader who is no specialist.

Please work alone and without AI tools. Other sources are welcome as far as they are in your \
head."""
