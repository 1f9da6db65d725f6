"""An audit of a user's own, as a folder: does a model prefer heads, or what is named first?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pydantic import Field

from areopagus.audits import (
    AnswersTable,
    Audit,
    AuditItem,
    AuditOptions,
    JudgeQuestion,
    Reading,
    lettered,
    one_of,
    read_option,
)
from areopagus.experiment.ask import ModelAnswer
from areopagus.records.estimates import Estimates


class CoinOptions(AuditOptions):
    """Options of the toy audit."""

    coins: int = Field(default=3, description="how many coins")
    shout: bool = Field(default=False, description="ask loudly")


class Coin(Audit[CoinOptions]):
    """Heads or tails, in both orders."""

    options_model = CoinOptions

    def items(self, options: CoinOptions) -> Iterator[AuditItem]:
        for coin in range(options.coins):
            for order in (("heads", "tails"), ("tails", "heads")):
                prompt = f"Coin {coin}: name a side.\n\n{lettered(order)}\n\n{one_of('A', 'B')}"
                yield AuditItem(
                    f"{coin}|{order[0]}",
                    prompt.upper() if options.shout else prompt,
                    {"coin": coin, "first": order[0]},
                    unit=f"coin {coin}",
                )

    def read(self, item: AuditItem, answer: ModelAnswer, options: CoinOptions) -> Reading:
        other = {"heads": "tails", "tails": "heads"}
        first = str(item.fields["first"])
        return read_option(answer.text, ("A", "B")).as_reading(
            "side", {"A": first, "B": other[first]}
        )

    def question(
        self, item: AuditItem, answer: str, reading: Reading, options: CoinOptions
    ) -> JudgeQuestion:
        return JudgeQuestion(
            template="toy-1",
            task="Say which side of the coin the response names.",
            texts={"PROMPT": item.prompt, "RESPONSE": answer},
            fields={"reasoning": "string", "side": "string"},
            decides=("side",),
            choices={"side": ("heads", "tails")},
        )

    def own_estimates(self, answers: AnswersTable, options: CoinOptions) -> Estimates:
        found = Estimates()
        heads = Counter(
            row["coin"] for row in answers.rows("coin", "side") if row["side"] == "heads"
        )
        for coin, n in sorted(heads.items()):
            found.add("coins", "heads", n, item=str(coin))
        return found


AUDIT = Coin()
