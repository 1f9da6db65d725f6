"""A search against one's own panel: a model rewords attack texts, and the panel's scores choose.

    texts of a family → scored on some prompts → best → reworded N times → scored → best → …
    best text of the search, and the text it began with → scored on prompts held out → report

The best of many texts looks better than it is on the prompts that chose it. What is reported was
scored on other prompts, once, after the search had ended.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..aggregation.effects import mean_over_prompts
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import MIN_UNITS
from ..errors import InputError
from ..experiment.ask import Protocol, targets_from
from ..experiment.backends import settings_of
from ..experiment.dry_run import CallCounter, DryRun, StageCost, estimate_scoring
from ..experiment.score import score_within
from ..formats import units
from ..graphs.generate import draw, together
from ..graphs.panel_spec import PanelSpec
from ..graphs.prompt_template import load_prompt_template
from ..judges.models.backend import OFFLINE_REWRITER, Backend
from ..judges.models.client import Client
from ..judges.offline.writers import REWRITER_VERSION
from ..judges.schema import TEXT, object_schema
from ..judges.structured import Question, complete
from ..progress import OnProgress
from ..records.estimates import Estimates
from ..records.readers.responses import ResponseSource
from ..records.run_folder import replaced
from .config import AttackConfig
from .effects import Design, by_same_judges, family_effects
from .families import STATUS_OF, AttackFamily, texts_of
from .job import AttackJob
from .outcomes import differences_over_prompts
from .scores import Floats, Scores, read_panel_scores
from .strings import MOST_CHARACTERS
from .trials import response_rows, trials, values_of

SEARCH_FILE: Final = "search.json"
WRITER_TOKENS: Final = 4_000
_LIKELY_TEXT_TOKENS: Final = 70
_STAND_INS: Final = 6
_NO_BETTER: Final = "no rewording scored higher than the text it began with"


@dataclass(frozen=True, slots=True)
class Tried:
    """One text of a search.

    Attributes:
        round: 0 for the family's own.
        text: as it was put into responses, before it is hidden.
        effect: mean over the search's prompts by the family's demand, in points or as share of
            judgments; None where too few judges scored both sides.
    """

    round: int
    text: str
    effect: float | None


@dataclass(slots=True)
class Searched:
    """The search of one family.

    Attributes:
        tried: its texts, in order.
        missing: why rewordings are missing, to how many requests.
    """

    tried: list[Tried] = field(default_factory=list)
    missing: Counter[str] = field(default_factory=Counter)

    def best(self, seed: int, rounds: int | None = None) -> Tried | None:
        """The text with the largest effect; of equal ones, one by the seed.

        Args:
            seed: of the draw.
            rounds: only of the first so many rounds; 1 = the family's own texts.
        """
        known = [
            one
            for one in self.tried
            if one.effect is not None and (rounds is None or one.round < rounds)
        ]
        return max(known, key=lambda one: (one.effect or 0.0, draw(seed, one.text)), default=None)


class SearchJob(AttackJob):
    """An attack whose texts are searched for first; see `attack`."""

    stages = ("search", "score")

    def __init__(
        self,
        panel: PanelSpec,
        responses: Any = None,
        config: AttackConfig | None = None,
        *,
        on_progress: OnProgress = None,
    ) -> None:
        """As of an attack; the prompts are divided into those that are searched on and the rest.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        config = config or AttackConfig()
        named = config.search_model or OFFLINE_REWRITER
        models = list(named) if isinstance(named, list | tuple) else [named]
        if len(models) > 1:
            raise InputError(f"search_model: must name one model, got {len(models)}")
        self.writers = targets_from(models, Protocol(max_tokens=WRITER_TOKENS), "rewriter")
        super().__init__(panel, responses, config, on_progress=on_progress)
        rows = self.dataset.rows
        of = [base.prompt for base in rows]
        chosen = _searched_on(list(dict.fromkeys(of)), config)
        self.searched_on = tuple(b for b, text in zip(rows, of, strict=True) if text in chosen)
        held_out = tuple(b for b, text in zip(rows, of, strict=True) if text not in chosen)
        self.dataset = replace(self.dataset, rows=held_out)
        self.n_searched_on, self.n_held_out = len(chosen), len(set(of) - chosen)
        if self.n_held_out < MIN_UNITS:
            told = f"{units(self.n_held_out, 'prompt')} held out: a test needs {MIN_UNITS}"
            self._notices = (*self._notices, told)
        # One place: what was chosen for a place is tested there.
        self.families = tuple(
            family.model_copy(update={"placements": _place(family, config)})
            for family in self.families
        )
        self.searches: dict[str, Searched] = {}
        self._rebuild(self.families)

    def more_identity(self) -> dict[str, Any]:
        """Who rewords the texts."""
        return {"search_model": settings_of(self.writers)}

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The writer, and the judges."""
        return (*self.writers, *self.panel.backends)

    async def dry_run(self) -> DryRun:
        """Calls and cost of the rewordings, of scoring them, and of the held-out prompts.

        Rewordings are taken to be as long as the texts they come from. Less is asked where they
        repeat each other.
        """
        config, (writer,) = self.attack_config, self.writers
        counter, cost = CallCounter(self.ledger), StageCost("search", writer.spec.name)
        rows: list[dict[str, Any]] = []
        for turn in range(config.search_rounds + 1):
            for family in self.families:
                for text in self._own_texts(family)[:1] if turn else ():
                    question = self._question(family, text, turn - 1)
                    tokens = _LIKELY_TEXT_TOKENS * config.search_texts
                    counter.complete(cost, writer, question, output_tokens=tokens)
            wanted = {
                family.id: self._own_texts(family)
                if not turn
                else [
                    f"{self._own_texts(family)[0]} ({turn}.{at})"
                    for at in range(config.search_texts)
                ]
                for family in self.families
            }
            made = tuple(self._trials_of(wanted))
            rows += [
                row | {"response_id": f"{turn}-{row['response_id']}"}
                for row in response_rows(made, self.searched_on)
            ]
        scoring = estimate_scoring(self.panel, ResponseSource(rows))
        stages = [cost, *(replace(one, stage="search") for one in scoring.stages)]
        search = DryRun(tuple(stages), scoring.assumptions, (), scoring.n_responses)
        # The held-out prompts see two texts a family: the one found, and the one it began with.
        found = [f"{self._own_texts(family)[0]} (found)" for family in self.families]
        self._rebuild([*self.families, *map(_found_family, self.families, found)])
        last = await super().dry_run()
        whole = search.followed_by(replace(last, assumptions=()))
        return replace(whole, n_responses=search.n_responses + last.n_responses)

    async def run_stages(self, client: Client) -> Estimates | None:  # type: ignore[override]
        """Searches, unless the folder holds the end of it, and scores on the held-out prompts.

        None where the search did not come to its end: the same command goes on with it.
        """
        if not self._read() and not await self._search(client):
            return None
        tested: list[AttackFamily] = []
        for family in self.families:
            began, found = self._ends(family.id)
            if began is None or found is None:
                continue
            tested.append(family.model_copy(update={"texts": (began.text,), "verbatim": True}))
            if found.text != began.text:
                tested.append(_found_family(family, found.text))
        self._rebuild(tested)
        self.write_record("running")
        return await super().run_stages(client)

    def estimate_scores(self, folder: Path | None) -> Estimates:
        """The figures of the attack on the held-out prompts, and what the search is worth."""
        found = super().estimate_scores(folder)
        assert folder is not None  # noqa: S101  an attack without a response is refused
        self._add_search(found, folder)
        return found

    def describe(self) -> dict[str, Any]:
        """What run.json says of an attack, and of the search before it."""
        told: dict[str, Any] = {
            "model": self.writers[0].spec.name,
            "rounds": self.attack_config.search_rounds,
            "texts_a_round": self.attack_config.search_texts,
            "prompts": {
                "searched_on": self.n_searched_on,
                "held_out": self.n_held_out,
            },
            "found": {},
            "missing": {},
        }
        for family, one in self.searches.items():
            _, best = self._ends(family)
            if best is not None:
                told["found"][family] = best.text
            if one.missing:
                told["missing"][family] = dict(one.missing)
        return {**super().describe(), "search": told}

    # The search

    async def _search(self, client: Client) -> bool:
        """Searches; whether it came to its end."""
        config = self.attack_config
        self.searches = {family.id: Searched() for family in self.families}
        wanted = {family.id: list(self._own_texts(family)) for family in self.families}
        counts: Counter[str] = Counter()
        asked: Counter[tuple[str, str]] = Counter()
        for turn in range(config.search_rounds + 1):
            if turn:
                wanted = await self._reworded(client, asked)
            if self._is_cut_short(client):
                return False
            wanted = {family: texts for family, texts in wanted.items() if texts}
            if not wanted:
                break
            await self._score(turn, wanted)
            counts.update(self.outcome["search"]["counts"])
            if self._is_cut_short(client):
                return False
        self.outcome["search"] = {"rounds": config.search_rounds, "counts": dict(counts)}
        found = {
            name: {"tried": list(map(asdict, one.tried)), "missing": dict(one.missing)}
            for name, one in self.searches.items()
        }
        with replaced(self.path / SEARCH_FILE) as path:
            path.write_text(json.dumps(found, indent=1), encoding="utf-8")
        return True

    def _is_cut_short(self, client: Client) -> bool:
        return client.stopped or self.over_budget

    def _read(self) -> bool:
        """Takes the end of an earlier search from the folder; whether there is one."""
        path = self.path / SEARCH_FILE
        if not path.is_file():
            return False
        stored = json.loads(path.read_text(encoding="utf-8"))
        self.searches = {
            name: Searched([Tried(**tried) for tried in one["tried"]], Counter(one["missing"]))
            for name, one in stored.items()
        }
        return True

    async def _reworded(
        self, client: Client, asked: Counter[tuple[str, str]]
    ) -> dict[str, list[str]]:
        """New texts of each family, made of its best so far."""
        (writer,) = self.writers
        questions: list[tuple[str, Question[dict[str, Any]]]] = []
        for family in self.families:
            best = self.searches[family.id].best(self.attack_config.seed)
            if best is not None:
                # The same text is reworded anew where nothing better was found.
                repeat = asked[family.id, best.text]
                asked[family.id, best.text] += 1
                questions.append((family.id, self._question(family, best.text, repeat)))
        replies = await together([complete(client, writer, one) for _, one in questions])
        found: dict[str, list[str]] = {}
        for (family_id, _), reply in zip(questions, replies, strict=True):
            search = self.searches[family_id]
            if reply.value is None:
                self.over_budget |= reply.reason == "budget"
                search.missing[reply.reason or reply.status] += 1
                continue
            known = {one.text for one in search.tried}
            texts = (str(text).strip() for text in reply.value.values())
            new = [text for text in dict.fromkeys(texts) if text and text not in known]
            found[family_id] = [text for text in new if len(text) <= MOST_CHARACTERS]
        return found

    def _question(self, family: AttackFamily, text: str, repeat: int) -> Question[dict[str, Any]]:
        template, n = load_prompt_template("paraphrase"), self.attack_config.search_texts
        names = [f"text_{at + 1}" for at in range(n)]
        frames = {
            name: [template.texts[f"stand_in_{at % _STAND_INS + 1}"]]
            for at, name in enumerate(names)
        }
        return template.question(
            {"PROMPT": text},
            object_schema(dict.fromkeys(names, TEXT)),
            secret=self.ledger.secret,
            purpose="generate",
            values={"n": str(n), "aim": template.texts[family.asks]},
            repeat=repeat,
            labels={"family": family.id},
            stand_in={"version": REWRITER_VERSION, "framings": frames},
        )

    async def _score(self, turn: int, wanted: Mapping[str, Sequence[str]]) -> None:
        """Has the panel score these texts on the search's prompts."""
        made = tuple(self._trials_of(wanted))
        digest = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()[:8]
        rows = response_rows(made, self.searched_on)
        folder = await score_within(
            self, "search", self.panel, rows, f"search/round-{turn}-{digest}"
        )
        assert folder is not None  # noqa: S101  there is a clean response at least
        ids = [trial.response_id for trial in made]
        scores = read_panel_scores(folder, ids, self.panel.criteria)
        schema = self.panel.judge_prompt.schema
        asks = {family.id: family.asks for family in self.families if family.id in wanted}
        design = Design.of(
            made, self.searched_on, asks, self.attack_config, (schema.low, schema.high),
            self.panel.quorum,
        )  # fmt: skip
        for family, aim in asks.items():
            rows_of, found = family_effects(design, family, aim, scores)
            of_text = np.asarray([made[row].text for row in rows_of.tolist()])
            for at, text in enumerate(wanted[family]):
                mine = of_text == at
                means = design.by_prompt(rows_of[mine], found[mine])
                known = means[~np.isnan(means)]
                effect = float(known.mean()) if known.size else None
                self.searches[family].tried.append(Tried(turn, text, effect))

    def _trials_of(self, wanted: Mapping[str, Sequence[str]]) -> Iterator[Any]:
        families = [
            family.model_copy(update={"texts": tuple(wanted[family.id]), "verbatim": True})
            for family in self.families
            if family.id in wanted
        ]
        config = self.attack_config.model_copy(update={"texts": None, "neutralise": False})
        return trials(
            self.searched_on, families, config, self.panel.judge_prompt.schema, self.panel.wording
        )

    def _own_texts(self, family: AttackFamily) -> tuple[str, ...]:
        """A family's texts, filled in and not yet hidden."""
        plain = family.model_copy(update={"written_as": "plain", "carrier": None, "blank_lines": 0})
        values = values_of(family, self.panel.judge_prompt.schema)
        return texts_of(plain, values)[: self.attack_config.texts]

    def _ends(self, family: str) -> tuple[Tried | None, Tried | None]:
        """The family's own best text, and the best of all."""
        search, seed = self.searches[family], self.attack_config.seed
        began, found = search.best(seed, rounds=1), search.best(seed)
        if began is not None and found is not None and found.effect == began.effect:
            found = began
        return began, found

    def _rebuild(self, families: Sequence[AttackFamily]) -> None:
        """Takes these families to the held-out prompts."""
        self.tested_families = tuple(families)
        self.trials = tuple(
            trials(
                self.dataset.rows,
                families,
                self.attack_config,
                self.panel.judge_prompt.schema,
                self.panel.wording,
            )
        )

    def _add_search(self, found: Estimates, folder: Path) -> None:
        """`search`: by family what its search tried, what it saw, and what is left of it.

        in search: on the prompts that chose the text, which is too high. began with, held out:
        effect of the family's own best text and of the text found on the held-out prompts, by the
        judges that have both. gain: their difference, tested, Holm over the families.
        """
        schema, config = self.panel.judge_prompt.schema, self.attack_config
        ids = [trial.response_id for trial in self.trials]
        scores = read_panel_scores(folder, ids, self.panel.criteria)
        asks = {family.id: family.asks for family in self.tested_families}
        design = Design.of(
            self.trials, self.dataset.rows, asks, config, (schema.low, schema.high),
            self.panel.quorum,
        )  # fmt: skip
        names = [family.id for family in self.families if family.id in asks]
        sides = [_held_out(design, name, asks, scores) for name in names]
        gains = [found_text - began for began, found_text in sides]
        tested = differences_over_prompts(
            gains, what="text found − text it began with", family="families searched",
            alpha=config.alpha, level=config.level,
        )  # fmt: skip
        for name, (began, found_text), gain in zip(names, sides, tested, strict=True):
            _, best = self._ends(name)
            status = STATUS_OF.get(asks[name])
            keys = {"group": name, "detail": "points" if status is None else f"share {status}"}
            assert best is not None  # noqa: S101  it was tested
            told = "it was chosen by this very figure"
            seen = Estimate(
                math.nan if best.effect is None else best.effect, level=math.nan,
                n=self.n_searched_on, unit="prompt",
                method="mean over the prompts of the search", reason=told,
            )  # fmt: skip
            found.add("search", "texts", len(self.searches[name].tried), **keys)
            found.add("search", "in search", seen, **keys)
            is_same = _found_id(name) not in asks
            held_out = began if is_same else found_text
            for measure, values in (("began with", began), ("held out", held_out)):
                mean = mean_over_prompts(values, level=config.level, what=f"effect, {measure}")
                found.add("search", measure, design.within_reach(mean, asks[name]), **keys)
            if is_same:
                none = undefined(_NO_BETTER, method=gain.method)
                found.add("search", "gain", none, **keys)
            else:
                found.add("search", "gain", design.within_reach(gain, asks[name]), **keys)


def _searched_on(prompts: Sequence[str], config: AttackConfig) -> set[str]:
    """The prompts that the search may look at; at least six are held out where there are so many.

    Raises:
        InputError: none would be held out.
    """
    n = config.search_prompts or max(1, min(len(prompts) - MIN_UNITS, len(prompts) // 3))
    if n >= len(prompts):
        raise InputError(
            f"`search`: of {units(len(prompts), 'prompt')} {n} would be searched on and none held "
            "out; what the search finds is reported on prompts that it did not see"
        )
    return set(sorted(prompts, key=lambda text: draw(config.seed, text))[:n])


def _held_out(
    design: Design, family: str, asks: Mapping[str, str], scores: Scores
) -> tuple[Floats, Floats]:
    """What the text a search began with does, and the one it found, one value a prompt.

    Both by the same judges on the same responses: a model that one of the texts has refused would
    make a gain of who is left. Where nothing better was found, of the second nothing is known.
    """
    (rows, began), *more = (
        family_effects(design, name, asks[name], scores)
        for name in (family, _found_id(family))
        if name in asks
    )
    if not more:
        return design.by_prompt(rows, began), np.full(design.n_prompts, np.nan)
    ((other, found),) = more
    # Each text stands once in a response.
    bases = np.asarray([trial.base for trial in design.trials])
    _, mine, its = np.intersect1d(bases[rows], bases[other], return_indices=True)
    both = by_same_judges([began[mine], found[its]], scores.models)
    one, two = (design.by_prompt(rows[mine], side) for side in both)
    return one, two


def _place(family: AttackFamily, config: AttackConfig) -> tuple[str]:
    return (next(place for place in family.placements if place in config.placements),)


def _found_id(family: str) -> str:
    return f"{family[:31].rstrip('_')}_searched"


def _found_family(family: AttackFamily, text: str) -> AttackFamily:
    return family.model_copy(
        update={
            "id": _found_id(family.id),
            "label": f"The best text of a search that began with {family.id}",
            "texts": (text,),
            "verbatim": True,
        }
    )
