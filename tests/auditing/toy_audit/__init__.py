"""An audit of a user's own, as a folder: does a model prefer heads, or what is named first?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from areopagus.aggregation import wilson
from areopagus.aggregation.estimate import Estimate
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

from .words import WARNING


class CoinOptions(AuditOptions):
    """Options of the toy audit."""

    coins: int = Field(default=3, description="how many coins")
    shout: bool = Field(default=False, description="ask loudly")


@dataclass(frozen=True, slots=True)
class CoinFigures:
    """Share of heads by target."""

    heads: dict[str, Estimate]
    n_votes: int


class Coin(Audit[CoinOptions]):
    """Heads or tails, in both orders."""

    name = "toy"
    title = "Coin audit"
    about = "whether a model prefers heads"
    warning = WARNING
    options_model = CoinOptions
    item_columns: ClassVar = {"coin": "integer", "first": "text"}
    value_columns: ClassVar = {"side": "text"}
    unit_name = "coin"
    takes_judges = True

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

    def estimate(self, table: AnswersTable, options: CoinOptions) -> CoinFigures:
        heads: Counter[str] = Counter()
        planned: Counter[str] = Counter()
        for row in table.rows("target", "status", "side"):
            if row["status"] == "classified":
                planned[row["target"]] += 1
                heads[row["target"]] += row["side"] == "heads"
        return CoinFigures(
            {
                name: wilson(heads[name], planned[name], unit="answer").of("share")
                for name in table.targets
            },
            sum(1 for _ in table.votes("slot")),
        )

    def lines(self, figures: CoinFigures, options: CoinOptions) -> list[str]:
        return ["", *(f"heads, {name}: {item.value:.3f}" for name, item in figures.heads.items())]

    def draw(self, folder: Path, figures: Any, options: CoinOptions) -> list[tuple[str, str]]:
        from areopagus.reports.chart_style import new_figure, save

        figure = new_figure(3.0, 2.0)
        figure.subplots().bar([0], [1])
        save(figure, folder / "heads")
        return [("heads", "Heads. By target.")]


AUDIT = Coin()
