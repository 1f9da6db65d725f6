"""The prefix caches that the loopback provider can play, counted by hand."""

from __future__ import annotations

from typing import Any

from prefix_cached import prefix_cached

from areopagus.testing import ServedReply, ServedRequest

# 4 characters a token: 8,192 characters are 2,048 tokens.
SHARED = "abcd" * 2048


def served(
    protocol: Any, content: Any, *, at: float, model: str = "m", system: Any = None
) -> ServedRequest:
    params = {"messages": [{"role": "user", "content": content}]}
    if system is not None:
        params["system"] = system
    return ServedRequest(
        protocol=protocol,
        path="/",
        model=model,
        messages=(),
        params=params,
        headers={},
        schema=None,
        structured=None,
        forced_tool=None,
        n=1,
        attempt=1,
        key="k",
        time=at,
    )


def usage(reply: ServedReply) -> tuple[int, int, int]:
    """Input tokens, and those read from and written to the cache."""
    assert reply.usage is not None
    return reply.usage[0], reply.usage[2], reply.cache_written


def judge(**settings: Any) -> Any:
    return prefix_cached(lambda request: ServedReply("seven!!!"), answered_after_s=1.0, **settings)


def test_openais_kind_serves_whole_steps_of_what_has_been_answered() -> None:
    ask = judge()
    own = "x" * 400
    assert usage(ask(served("openai", SHARED + own, at=0.0))) == (2148, 0, 0)
    # Before the first is answered nothing is known; afterwards 2,048 tokens are.
    assert usage(ask(served("openai", SHARED + "y" * 400, at=0.5))) == (2148, 0, 0)
    assert usage(ask(served("openai", SHARED + "z" * 400, at=1.0))) == (2148, 2048, 0)
    # The whole of the first: 2,148 tokens are 16 steps of 128 and a rest.
    assert usage(ask(served("openai", SHARED + own, at=2.0))) == (2148, 2048, 0)
    assert usage(ask(served("openai", SHARED + own, at=2.0, model="other"))) == (2148, 0, 0)
    for at in (0.0, 5.0):  # short prompts never are
        assert usage(ask(served("openai", "wxyz" * 1000, at=at))) == (1000, 0, 0)


def test_anthropics_kind_keeps_what_is_marked_and_tells_what_it_wrote() -> None:
    ask = judge()

    def content(own: str, *, mark: bool = True) -> list[dict[str, Any]]:
        kept = {"cache_control": {"type": "ephemeral"}} if mark else {}
        return [{"type": "text", "text": SHARED, **kept}, {"type": "text", "text": own}]

    assert usage(ask(served("anthropic", content("x" * 400, mark=False), at=0.0))) == (2148, 0, 0)
    assert usage(ask(served("anthropic", content("x" * 400), at=2.0))) == (2148, 0, 2048)
    assert usage(ask(served("anthropic", content("y" * 400), at=4.0))) == (2148, 2048, 0)


def test_a_marked_system_message_is_shared_where_the_rest_is_not() -> None:
    ask = judge()
    kept = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": SHARED, **kept}]
    for at, text, expected in ((0.0, "a", (3072, 0, 3072)), (2.0, "b", (3072, 2048, 1024))):
        content = [{"type": "text", "text": text * 4096, **kept}]
        assert usage(ask(served("anthropic", content, at=at, system=system))) == expected


def test_ollama_and_replies_that_say_what_they_used_are_left_alone() -> None:
    ask = judge()
    for at in (0.0, 2.0):
        assert usage(ask(served("ollama", SHARED, at=at))) == (2048, 0, 0)
    told = prefix_cached(lambda request: ServedReply("x", usage=(7, 1, 3)), answered_after_s=1.0)
    assert told(served("openai", SHARED, at=0.0)).usage == (7, 1, 3)
