"""Every way in which an endpoint can fail to give a usable vote, by name."""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    """One thing that a `ProviderServer` can do wrong on purpose.

    A refused connection is `ProviderServer.stop()`; an endpoint that comes back is `start()`.
    """

    # Answered with an HTTP error, in the error body of the protocol that was spoken.
    RATE_LIMIT = "rate_limit"
    RATE_LIMIT_RETRY_AFTER = "rate_limit_retry_after"
    RATE_LIMIT_RETRY_AFTER_DATE = "rate_limit_retry_after_date"
    QUOTA = "quota"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    BAD_GATEWAY = "bad_gateway"
    UNAVAILABLE = "unavailable"
    GATEWAY_TIMEOUT = "gateway_timeout"
    UNAUTHORIZED_ECHOING_KEY = "unauthorized_echoing_key"
    FORBIDDEN = "forbidden"
    MODEL_NOT_FOUND = "model_not_found"
    CONTEXT_LENGTH = "context_length"
    CONTENT_POLICY = "content_policy"
    RESPONSE_FORMAT_UNSUPPORTED = "response_format_unsupported"
    TEMPERATURE_UNSUPPORTED = "temperature_unsupported"

    # The connection itself.
    RESET_BEFORE_ANSWER = "reset_before_answer"
    RESET_MID_BODY = "reset_mid_body"
    CLOSE_BEFORE_ANSWER = "close_before_answer"
    CLOSE_MID_BODY = "close_mid_body"
    HANG = "hang"
    TRICKLE = "trickle"

    # A status of 200 around a body that is not the protocol's.
    TRUNCATED_BODY = "truncated_body"
    WRONG_CONTENT_TYPE = "wrong_content_type"
    HTML_PAGE = "html_page"
    EMPTY_CHOICES = "empty_choices"
    TOOL_CALL = "tool_call"

    # A proper answer without a proper vote in it.
    CONTENT_NULL = "content_null"
    REFUSAL = "refusal"
    CUT_BY_LENGTH = "cut_by_length"
    CONTENT_FILTER = "content_filter"
    HUGE = "huge"
    FENCED = "fenced"
    PROSE_BEFORE = "prose_before"
    DUPLICATE_KEYS = "duplicate_keys"
    SCORE_AS_STRING = "score_as_string"
    SCORE_AS_FLOAT = "score_as_float"
    SCORE_AS_FRACTION = "score_as_fraction"
    SCORE_AS_BOOLEAN = "score_as_boolean"
    SCORE_NULL = "score_null"
    OUT_OF_RANGE = "out_of_range"
    MISSING_KEY = "missing_key"
    EXTRA_KEY = "extra_key"
    NOT_A_NUMBER = "not_a_number"
    DEEPLY_NESTED = "deeply_nested"
    OTHER_LANGUAGE = "other_language"


HTTP_FAULTS: frozenset[Fault] = frozenset(
    {
        Fault.RATE_LIMIT,
        Fault.RATE_LIMIT_RETRY_AFTER,
        Fault.RATE_LIMIT_RETRY_AFTER_DATE,
        Fault.QUOTA,
        Fault.OVERLOADED,
        Fault.SERVER_ERROR,
        Fault.BAD_GATEWAY,
        Fault.UNAVAILABLE,
        Fault.GATEWAY_TIMEOUT,
        Fault.UNAUTHORIZED_ECHOING_KEY,
        Fault.FORBIDDEN,
        Fault.MODEL_NOT_FOUND,
        Fault.CONTEXT_LENGTH,
        Fault.CONTENT_POLICY,
        Fault.RESPONSE_FORMAT_UNSUPPORTED,
        Fault.TEMPERATURE_UNSUPPORTED,
    }
)
"""Answered with a status other than 200."""

TRANSPORT_FAULTS: frozenset[Fault] = frozenset(
    {
        Fault.RESET_BEFORE_ANSWER,
        Fault.RESET_MID_BODY,
        Fault.CLOSE_BEFORE_ANSWER,
        Fault.CLOSE_MID_BODY,
        Fault.HANG,
        Fault.TRICKLE,
    }
)
"""The connection breaks, stalls or crawls."""

ENVELOPE_FAULTS: frozenset[Fault] = frozenset(
    {
        Fault.TRUNCATED_BODY,
        Fault.WRONG_CONTENT_TYPE,
        Fault.HTML_PAGE,
        Fault.EMPTY_CHOICES,
        Fault.TOOL_CALL,
    }
)
"""Status 200 around something that is not the answer asked for."""

TEXT_FAULTS: frozenset[Fault] = frozenset(Fault) - HTTP_FAULTS - TRANSPORT_FAULTS - ENVELOPE_FAULTS
"""The protocol is kept; what the model says is wrong."""

TRANSIENT_FAULTS: frozenset[Fault] = frozenset(
    {
        Fault.RATE_LIMIT,
        Fault.RATE_LIMIT_RETRY_AFTER,
        Fault.RATE_LIMIT_RETRY_AFTER_DATE,
        Fault.OVERLOADED,
        Fault.SERVER_ERROR,
        Fault.BAD_GATEWAY,
        Fault.UNAVAILABLE,
        Fault.GATEWAY_TIMEOUT,
        Fault.RESET_BEFORE_ANSWER,
        Fault.RESET_MID_BODY,
        Fault.CLOSE_BEFORE_ANSWER,
        Fault.CLOSE_MID_BODY,
        Fault.HANG,
        Fault.TRICKLE,
        Fault.TRUNCATED_BODY,
    }
)
"""Those after which the same call may well succeed."""
