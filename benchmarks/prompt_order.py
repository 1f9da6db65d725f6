"""How much of a panel's input a prefix cache can serve, for the two places of the persona.

    python benchmarks/prompt_order.py [RESPONSES] [--limit N]

The cache modelled is the common one: it serves the longest prefix that an earlier request to the
same model began with, in steps of 128 tokens, from 1,024 tokens up. Requests come response by
response, persona by persona, as a panel sends them; nothing is evicted.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import get_args

from areopagus import Panel
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.prompt import Order, nonce_for
from areopagus.records.readers.responses import ResponseSource

STEP, LEAST = 128, 1024


def served(tokens: list[int], cache: set[bytes]) -> int:
    """Tokens of this request that the cache serves; the request enters the cache."""
    digest, cached, hit = hashlib.sha256(), 0, True
    for start in range(0, len(tokens) - STEP + 1, STEP):
        digest.update(repr(tokens[start : start + STEP]).encode())
        key = digest.digest()
        hit = hit and key in cache
        cached += STEP if hit else 0
        cache.add(key)
    return cached if cached >= LEAST else 0


def main() -> None:
    """Prints a line an order."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    examples = Path(__file__).parent.parent / "examples" / "responses.csv"
    parser.add_argument("responses", nargs="?", default=str(examples))
    parser.add_argument("--limit", type=int, default=50)
    arguments = parser.parse_args()
    encode = litellm_module().encode
    with ResponseSource(arguments.responses, limit=arguments.limit) as source:
        source.check()
        rows = list(source.rows())
    print(f"{len(rows)} responses x 10 personas on one model")
    print(f"{'order':16}{'tokens in':>12}{'cached':>12}{'share':>8}{'full price':>12}")
    for order in get_args(Order):
        panel = Panel(order=order)
        cache: set[bytes] = set()
        total = hits = 0
        for row in rows:
            nonce = nonce_for(b"benchmark", row.prompt_text, row.response_text)
            for persona in panel.personas:
                texts = [
                    message["content"]
                    for message in panel.spec.judge_prompt.messages(
                        persona, row.prompt_text, row.response_text, nonce
                    )
                ]
                tokens = [t for text in texts for t in encode(model="gpt-4o-mini", text=text)]
                total += len(tokens)
                hits += served(tokens, cache)
        print(f"{order:16}{total:12,}{hits:12,}{hits / total:8.1%}{total - hits:12,}")


if __name__ == "__main__":
    main()
