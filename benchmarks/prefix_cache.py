"""How much of a panel's input a provider's prefix cache serves, and what that saves.

    python benchmarks/prefix_cache.py [RESPONSES] [--limit N] [--delay S]

A provider on loopback counts as OpenAI (whole steps of 128 tokens) and
Anthropic (marked blocks) count: a prompt enters the cache once it has been answered, from 1,024
tokens up, a token being four characters. Ten personas judge each response through the whole panel.
Prompts are sent as they are: those below the minimum are counted apart, never made longer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from areopagus import Panel
from areopagus.records.tables import read_judgments
from areopagus.testing import ProviderServer, by_hash

LEAST = 1024
MODELS = {"openai/gpt-4o-mini": "openai", "anthropic/claude-sonnet-4-5": "anthropic"}


def score(model: str, base: str, source: str, limit: int, **settings: Any) -> list[dict[str, Any]]:
    """The judgments of ten personas on one model."""
    order = settings.pop("order", "response_first")
    with tempfile.TemporaryDirectory() as folder:
        spec = {"model": model, "api_base": base, "structured": "json_schema", **settings}
        with Panel(spec, order=order, ledger=Path(folder) / "ledger.sqlite") as panel:
            run = panel.score_many(source, Path(folder) / "run", limit=limit)
            return list(read_judgments(run.path))


def line(name: str, judgments: list[dict[str, Any]]) -> str:
    """Tokens and dollars of a run, for prompts long enough and for the others."""
    asked = [j for j in judgments if j["input_tokens"]]
    long = [j for j in asked if j["input_tokens"] >= LEAST]
    total = sum(j["input_tokens"] for j in long)
    cached = sum(j["cached_input_tokens"] or 0 for j in long)
    cost = sum(j["cost_usd"] or 0.0 for j in asked)
    share = cached / total if total else float("nan")
    return (
        f"{name:44}{len(long):7}{len(asked) - len(long):7}{total:12,}{cached:12,}"
        f"{share:8.1%}{cost:10.4f}"
    )


def main() -> None:
    """Prints a line a way of asking."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    examples = Path(__file__).parent.parent / "examples" / "responses.csv"
    parser.add_argument("responses", nargs="?", default=str(examples))
    parser.add_argument("--limit", type=int, default=50)
    parser.add_argument("--delay", type=float, default=0.1, help="seconds to an answer")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from prefix_cached import prefix_cached

    print(f"{'':44}{'long':>7}{'short':>7}{'tokens in':>12}{'cached':>12}{'share':>8}{'USD':>10}")
    for model, protocol in MODELS.items():
        for order in ("response_first", "persona_first"):
            for wish in ("auto", "off") if order == "response_first" else ("auto",):
                # Each with a cache that knows nothing yet.
                judge = prefix_cached(by_hash(1, 10), answered_after_s=options.delay, least=LEAST)
                with ProviderServer(judge, delay_s=options.delay, record=False) as server:
                    found = score(
                        model,
                        server.bases[protocol],
                        options.responses,
                        options.limit,
                        order=order,
                        prefix_first=wish,
                    )
                print(line(f"{model} {order} {wish}", found), flush=True)


if __name__ == "__main__":
    main()
