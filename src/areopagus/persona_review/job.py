"""`review_persona`: where personas depart from people, and a draft of a next version, as a job.

Without a draft it asks nobody. With one, a named model is shown half of the prompts and no other;
the draft judges the responses to the other half on the run's models, and is compared there with the
present version. It is written beside the report and used by nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregation.estimate import Estimate
from ..async_runner import run_async
from ..calibration.dataset import stand_ins_of, targets_of, with_unique_ids
from ..calibration.matched import add_matched
from ..calibration.panel_scores import ALONE, panel_of_run
from ..calibration.reading import panel_dataset, read_people, run_named, texts_of
from ..environment import home
from ..errors import InputError, InputFault
from ..experiment.backends import backends_from, checked_models, settings_of
from ..experiment.config import takes_options
from ..experiment.dry_run import CallCounter, DryRun, StageCost, estimate_scoring
from ..experiment.job import Job, run_job
from ..experiment.score import score_within
from ..formats import units
from ..judges.factory import backend_of
from ..judges.structured import complete
from ..personas import Persona, load_persona
from ..progress import READING, OnProgress, doing
from ..records.estimates import Estimates
from ..records.readers.responses import ResponseSource
from ..records.run_folder import RUN_FILE, RunFolder, read_run_file, replaced
from ..records.tables import judgment_frame, read_scores, read_texts
from ..rubrics import Rubric, load_rubric
from ..run import Run
from . import draft as drafting
from .config import ReviewConfig
from .departures import (
    DepartingResponse,
    add_departures,
    add_prompts,
    add_responses,
    departing,
    largest,
)
from .response_table import write_departures
from .run import PANEL_FOLDER, ReviewRun
from .wording import wording_of

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..judges.models.backend import Backend
    from ..judges.models.client import Client
    from ..panel import Panel
    from ..records.humans import HumanReading, HumanTable, JudgmentReading
    from ..records.ledger import Ledger

_MOST_PROMPTS_NAMED = 3
"""Prompts of a persona beside which its lines are set."""


@takes_options(ReviewConfig)
def review_persona(
    run: Run | JudgmentReading | str | Path,
    human: HumanReading | HumanTable | str | Path,
    *,
    persona_folders: Sequence[str | Path] = (),
    panel: Panel | None = None,
    ledger: str | Path | Ledger | None = None,
    scale: tuple[float, float] | None = None,
    on_progress: OnProgress = None,
    **options: Any,
) -> ReviewRun:
    """Says where personas depart from people, and may have a next version drafted and checked.

    Args:
        run: a run or its folder; or stored judgments of any tool, or their file (no draft then).
        human: people's ratings: a reading, a table, or a file in any layout.
        persona_folders: where the personas' files are looked for first.
        panel: the panel of the run, where it cannot be set up from run.json alone: models with
            keys under other names, or that are objects; a rubric, a template or personas from
            files.
        ledger: as of `Panel`; the panel's where one is given.
        scale: lowest and highest score, where neither side says.
        on_progress: as of `Panel.score_many`.
        options: the fields of `ReviewConfig`.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored.
    """
    config = ReviewConfig.checked(**options)
    return run_job(
        ReviewJob(
            run, human, config, persona_folders=persona_folders, panel=panel, ledger=ledger,
            scale=scale, on_progress=on_progress,
        )
    )  # fmt: skip


@takes_options(ReviewConfig)
async def areview_persona(
    run: Run | JudgmentReading | str | Path,
    human: HumanReading | HumanTable | str | Path,
    *,
    persona_folders: Sequence[str | Path] = (),
    panel: Panel | None = None,
    ledger: str | Path | Ledger | None = None,
    scale: tuple[float, float] | None = None,
    on_progress: OnProgress = None,
    **options: Any,
) -> ReviewRun:
    """The asynchronous twin of `review_persona`."""
    job = ReviewJob(
        run, human, ReviewConfig.checked(**options), persona_folders=persona_folders,
        panel=panel, ledger=ledger, scale=scale, on_progress=on_progress,
    )  # fmt: skip
    return await run_async(job.run())


class ReviewJob(Job[ReviewRun]):
    """A review of personas; see `review_persona`."""

    kind = ReviewRun.kind
    run_type = ReviewRun

    def __init__(
        self,
        run: Run | JudgmentReading | str | Path,
        human: HumanReading | HumanTable | str | Path,
        config: ReviewConfig | None = None,
        *,
        persona_folders: Sequence[str | Path] = (),
        panel: Panel | None = None,
        ledger: str | Path | Ledger | None = None,
        scale: tuple[float, float] | None = None,
        on_progress: OnProgress = None,
    ) -> None:
        """Reads run and ratings, and checks everything that can be checked offline.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        config = config or ReviewConfig()
        self.review = config
        doing(READING)
        self.run_folder = _folder_of(run)
        self.dataset, self.reading, panel_identity = panel_dataset(
            run, human, texts=texts_of(None, run), scale=scale
        )
        if self.dataset.panel is None:  # pragma: no cover - a run and stored judgments have one
            raise InputError("there are no judgments")
        self.scores = self.dataset.panel
        self.targets = targets_of(self.dataset)
        self.chosen = self._chosen(config.personas)
        self.found = departing(self.dataset, self.targets)
        _, table, _ = read_people(human if self.reading is None else self.reading)
        self.people_table = table if self.run_folder else with_unique_ids(table)[0]
        self.record_of_run = {} if self.run_folder is None else Run(self.run_folder).record
        self.rubric = self._rubric(persona_folders, panel)
        self.files, self.without_file = self._files(persona_folders, panel)
        self.panel: PanelSpec | None = None
        self._own_panel: Panel | None = None
        self.writer: Backend | None = None
        self.halves: drafting.Halves | None = None
        self.draft: dict[str, Any] | None = None
        self.stages: tuple[str, ...] = ()
        if config.draft or config.model:
            self._prepare_draft(config, panel, ledger)
            self.stages = ("draft", "score")
        named = run_named(run)
        identity = {
            "kind": self.kind,
            "run": None if named is None else named["identity_sha256"],
            "panel": panel_identity,
            "people_sha256": self._fingerprint(),
            "personas": list(self.chosen),
            "plan": {"draft": config.draft, "level": config.level, "seed": config.seed},
            "drafters": {} if self.writer is None else settings_of([self.writer]),
        }
        if config.out is None:
            inside = self.run_folder or Path("runs") / "personas"
            config = config.model_copy(update={"out": inside / self.kind})
        super().__init__(
            config, identity=identity, name="review", on_progress=on_progress,
            ledger=self.panel.ledger if self.panel is not None else ledger,
        )  # fmt: skip
        if config.draft:
            self._refuse_adopting(persona_folders)

    # What is reviewed

    def _chosen(self, wanted: Sequence[str]) -> tuple[str, ...]:
        names = self.scores.personas
        if names == (ALONE,):
            raise InputError("the judgments name no persona: there is none to review")
        if not self.targets:
            raise InputError("people rated nothing that the panel scored: see areopagus calibrate")
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise InputError(
                [InputFault("personas", f"the run has no persona {name}") for name in unknown],
                hint=f"It has: {', '.join(names)}.",
            )
        return tuple(name for name in names if not wanted or name in wanted)

    def _rubric(self, folders: Sequence[str | Path], panel: Panel | None) -> Rubric | None:
        named = self.record_of_run.get("identity", {}).get("rubric")
        if not named:
            return None
        if panel is not None and panel.rubric.sha256 == named["sha256"]:
            return panel.rubric
        try:
            rubric = load_rubric(named["id"], folders)
        except InputError:
            return None
        return rubric if rubric.sha256 == named["sha256"] else None

    def _files(
        self, folders: Sequence[str | Path], panel: Panel | None
    ) -> tuple[dict[str, Persona], dict[str, str]]:
        """The personas' files as the run had them, and why there is none for the others."""
        given = {} if panel is None else {persona.id: persona for persona in panel.personas}
        hashes = self.record_of_run.get("identity", {}).get("personas", {})
        found: dict[str, Persona] = {}
        why: dict[str, str] = {}
        for name in self.chosen:
            try:
                one = given.get(name) or load_persona(name, folders)
            except InputError:
                why[name] = "its file was not found"
                continue
            if hashes.get(name) == one.sha256:
                found[name] = one
            else:
                why[name] = f"version {one.version} of the file is not the one of the run"
                if not hashes:
                    why[name] = "stored judgments do not say which file it was"
        return found, why

    def _fingerprint(self) -> str:
        digest = hashlib.sha256(json.dumps(self.dataset.rater_ids).encode())
        for one in self.dataset.ratings:
            digest.update(one.name.encode())
            for column in (one.rater, one.response, one.value):
                digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()

    # The draft

    def _prepare_draft(
        self, config: ReviewConfig, panel: Panel | None, ledger: str | Path | Ledger | None
    ) -> None:
        faults: list[InputFault] = []
        if not config.draft:
            faults.append(InputFault("model", "is for a draft: give `draft` too"))
        models = checked_models(config.model) if config.model else ()
        if len(models) != 1:
            faults.append(InputFault("model", f"one must be named to draft, got {len(models)}"))
        if len(config.personas) != 1:
            told = f"a draft is of one persona: name it, got {len(config.personas)}"
            faults.append(InputFault("personas", told))
        if self.run_folder is None:
            faults.append(InputFault("draft", "needs the folder of a run, not stored judgments"))
        for name, why in self.without_file.items():
            told = f"{why}: a draft begins with the file of the run"
            faults.append(InputFault(name, f"{told} (`persona_folders`)"))
        if self.run_folder is not None and self.rubric is None:
            faults.append(InputFault("rubric", "the file of the run's rubric was not found"))
        if faults:
            raise InputError(faults)
        assert self.run_folder is not None and self.rubric is not None  # noqa: S101, PT018
        self.persona = self.files[self.chosen[0]]
        (self.writer,) = backends_from(models, backend_of)
        if self.writer.spec.is_offline:
            told = "no embedded model drafts a persona: name a language model"
            raise InputError([InputFault(self.writer.spec.name, told)])
        p = self.scores.personas.index(self.persona.id)
        self.halves = drafting.halves_of(self.found[0], p, config.seed)
        if not self.halves.training.any():
            raise InputError("a draft needs two prompts that people rated: one to learn, one held")
        self.texts = read_texts(self.run_folder, self.dataset.responses.ids)
        if not self.texts:
            raise InputError([InputFault(str(self.run_folder), "keeps no texts to draft from")])
        self.panel = self._panel(panel, ledger)
        self.training = departing(self.dataset, self.targets, prompts=self.halves.training)
        self.examples = drafting.shown_examples(
            self.training, self.scores.personas, self.persona.id
        )

    def _panel(self, given: Panel | None, ledger: str | Path | Ledger | None) -> PanelSpec:
        """The run's panel, with the one persona."""
        if given is None:
            from ..panel import Panel

            assert self.run_folder is not None  # noqa: S101  a draft needs the run's texts
            rubric: dict[str, Any] = {} if self.rubric is None else {"rubric": self.rubric}
            given = self._own_panel = Panel.of_run(
                self.run_folder, personas=[self.persona], ledger=ledger, **rubric
            )
        of_run, now = self.record_of_run["identity"], given.spec.identity()
        differs = [
            name for name in now if name != "personas" and name in of_run
            and now[name] != of_run[name]
        ]  # fmt: skip
        if differs:
            raise InputError(
                [InputFault("panel", "is not that of the run", name) for name in differs],
                hint="Give the settings of the run as `panel`: the draft has to be asked as the "
                "present version was.",
            )
        if all(backend.spec.is_offline for backend in given.backends):
            raise InputError(
                "the run's judges are embedded ones, which read a persona's lexicon and not its "
                "description: a draft of the description would change nothing"
            )
        return _with_persona(given.spec, self.persona)

    def _refuse_adopting(self, folders: Sequence[str | Path]) -> None:
        used = [home() / "personas", *map(Path, folders)]
        if any(self.path.resolve() == folder.expanduser().resolve() for folder in used):
            raise InputError(
                [InputFault(str(self.path), "is a folder whose personas are used")],
                hint="Name another one as `out`: a draft is adopted by nobody but you.",
            )

    @property
    def provenance(self) -> str:
        """What a draft says of where it comes from."""
        assert self.writer is not None and self.halves is not None  # noqa: S101, PT018
        learnt = units(int(self.halves.training.sum()), "prompt")
        return (
            f"Drafted by {self.writer.spec.name} from version {self.persona.version}, where that "
            f"departs from people on {learnt}; a draft, to be read and changed by people. Version "
            f"{self.persona.version}: {self.persona.provenance}"
        )[:4000]

    def _question(self) -> Any:
        assert self.rubric is not None and self.panel is not None  # noqa: S101, PT018
        told = drafting.departures_told(
            self.training, self.scores.personas, self.persona.id, self.review.level
        )
        said = self._said(self.persona.id, [row.response for row in self.examples])
        return drafting.draft_question(
            self.persona, self.rubric, told, [(row, said[row.response]) for row in self.examples],
            provenance=self.provenance, secret=self.panel.ledger.secret,
        )  # fmt: skip

    def _held_out_rows(self) -> Iterator[dict[str, Any]]:
        """The responses to prompts held out that people rated, for the panel."""
        assert self.run_folder is not None and self.halves is not None  # noqa: S101, PT018
        responses = self.dataset.responses
        main = self.found[0]
        p = self.scores.personas.index(self.persona.id)
        wanted = self.halves.held_out[responses.prompt] & np.isfinite(main.scores[:, p])
        wanted &= np.any([np.isfinite(one.human) for one in self.found], axis=0)
        stated = {row["response_id"]: row for row in read_scores(self.run_folder)}
        for place in np.flatnonzero(wanted).tolist():
            name = responses.ids[place]
            if name in self.texts:
                prompt, response = self.texts[name]
                row = stated[name]
                yield {
                    "response_id": name, "prompt_id": row["prompt_id"], "prompt_text": prompt,
                    "response_text": response, "respondent_id": row["respondent_id"],
                }  # fmt: skip

    # The job

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The model that drafts, and the run's models; nobody without a draft."""
        if self.panel is None or self.writer is None:
            return ()
        return (self.writer, *self.panel.backends)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        told = list(self.panel.notices) if self.panel is not None else []
        if self.halves is not None:
            told.append(
                f"prompts: {int(self.halves.training.sum())} to draft from, "
                f"{int(self.halves.held_out.sum())} held out"
            )
        return tuple(told)

    async def dry_run(self) -> DryRun:
        """Calls and cost of the draft, and of its judgments on the prompts held out."""
        if self.panel is None or self.writer is None:
            return DryRun(())
        stage = StageCost("draft", self.writer.spec.name)
        stored = CallCounter(self.panel.ledger).complete(
            stage, self.writer, self._question(), output_tokens=drafting.OUTPUT_TOKENS
        )
        assumed = "The draft is assumed to be as long as the present version."
        # Another text than the present one, whose judgments are paid for.
        new = self.persona.model_copy(update={"description": f"{self.persona.description} (draft)"})
        if stored is not None and stored.value is not None:
            assumed = "The draft is in the ledger."
            new = drafting.drafted(
                self.persona, stored.value["description"], provenance=self.provenance
            )
        judging = estimate_scoring(
            _with_persona(self.panel, new), ResponseSource(self._held_out_rows())
        )
        whole = DryRun((stage,), (assumed,)).followed_by(judging)
        # Tokens are counted of the judges alone: a dry run of several stages shows none.
        bare = (replace(one, input_tokens=None, output_tokens=None) for one in whole.stages)
        return replace(whole, stages=tuple(bare))

    async def run_stages(self, client: Client) -> Estimates:
        """Estimates, and has the draft written and checked."""
        out = Estimates()
        self.matched = add_matched(out, self.dataset, self.reading, self.targets[0])
        names, responses = self.scores.personas, self.dataset.responses
        doing("comparing personas with people")
        add_departures(
            out, self.found, names, self.chosen, responses.respondent, level=self.review.level
        )
        rows: list[DepartingResponse] = []
        worst: dict[str, list[int]] = {}
        for name in self.chosen:
            worst[name] = add_prompts(out, self.found[0], names, name, responses.prompt_ids)
            rows += largest(self.found, names, name)
        add_responses(out, rows, responses.ids)
        self.result["wording"] = self._wording(out, worst)
        self._write_rows(rows)
        if self.panel is not None:
            await self._draft(client, out)
        return out

    async def _draft(self, client: Client, out: Estimates) -> None:
        assert self.writer and self.halves and self.panel  # noqa: S101, PT018
        self.begin("draft", total=1, unit="drafts")
        done = await complete(client, self.writer, self._question())
        self.step(is_troubled=done.status != "read")
        self.outcome["draft"] = {"planned": 1, done.status: 1}
        self.draft = {
            "persona": self.persona.id, "model": self.writer.spec.name, "status": done.status,
            "reason": done.detail or done.reason,
            "n_training": int(self.halves.training.sum()),
            "n_held_out": int(self.halves.held_out.sum()),
            "shown": [self.dataset.responses.ids[row.response] for row in self.examples],
        }  # fmt: skip
        if done.status == "not_asked" and not client.stopped:
            self.over_budget = True
        if done.value is None:
            return
        new = drafting.drafted(self.persona, done.value["description"], provenance=self.provenance)
        file = self.path / f"{new.id}.yaml"
        apart = drafting.difference(self.persona, new)
        for path, text in ((file, drafting.persona_yaml(new)), (file.with_suffix(".diff"), apart)):
            with replaced(path) as part:
                part.write_text(text, encoding="utf-8")
        read = load_persona(file)  # as whoever adopts it will have it read
        self.draft |= {
            "version": read.version, "sha256": read.sha256, "file": file.name,
            "changes": done.value["changes"], "diff": apart,
        }  # fmt: skip
        folder = await score_within(
            self, "score", _with_persona(self.panel, read), self._held_out_rows(), PANEL_FOLDER
        )
        if folder is None:
            return
        scored = panel_of_run(
            folder, {name: k for k, name in enumerate(self.dataset.responses.ids)},
            quorum=self.scores.quorum, axis_of={},
        )  # fmt: skip
        held = departing(self.dataset, self.targets, prompts=self.halves.held_out)
        found: Estimate | None = drafting.add_check(
            out, held, self.scores, scored, self.persona.id, level=self.review.level
        )
        self.draft["verdict"] = None if found is None else found.verdict

    # What is written beside the figures

    def _wording(self, out: Estimates, worst: Mapping[str, list[int]]) -> dict[str, Any]:
        """The lines of each persona beside what it departs on."""
        frame = out.frame()
        named = frame[
            (frame["table"] == "departures")
            & (frame["measure"] == "order")
            & (frame["verdict"] == "lower")
        ]
        of_rubric = {
            d.id: f"{d.label} {d.definition} {d.question}"
            for d in (self.rubric.dimensions if self.rubric else ())
        }
        prompt_of = self._prompts_told()
        with_lexicon = any(name.startswith("offline/") for name in self.scores.models)
        told: dict[str, Any] = {}
        for name in self.chosen:
            criteria = list(dict.fromkeys(named[named["persona"] == name]["criterion"]))
            if not criteria:
                continue
            if name not in self.files:
                told[name] = {"why_not": self.without_file[name]}
                continue
            subjects = [(c, of_rubric[c]) for c in criteria if c in of_rubric]
            subjects += [
                (self.dataset.responses.prompt_ids[code], prompt_of[code])
                for code in worst[name][:_MOST_PROMPTS_NAMED] if code in prompt_of
            ]  # fmt: skip
            lines = wording_of(self.files[name], subjects, with_lexicon=with_lexicon)
            # Prompts have subjects of their own; that no line names one is no news.
            told[name] = {
                "lines": [one for one in lines if one["lines"] or one["about"] in criteria]
            }
        return told

    def _prompts_told(self) -> dict[int, str]:
        if self.run_folder is None:
            return {}
        responses = self.dataset.responses
        _, first = np.unique(responses.prompt, return_index=True)
        ids = {responses.ids[r]: int(responses.prompt[r]) for r in first.tolist()}
        found = read_texts(self.run_folder, ids)
        return {ids[name]: prompt for name, (prompt, _) in found.items()}

    def _write_rows(self, rows: Sequence[DepartingResponse]) -> None:
        said = {
            name: self._said(name, [row.response for row in rows if row.persona == name])
            for name in self.chosen
        }
        responses = self.dataset.responses
        write_departures(
            self.path,
            [
                {
                    "persona": row.persona,
                    "response_id": responses.ids[row.response],
                    "prompt_id": responses.prompt_ids[responses.prompt[row.response]],
                    "respondent_id": responses.respondent[row.response] or "",
                    "criterion": row.keys["criterion"], "kind": row.keys["detail"],
                    "score": row.score, "others": row.others, "people": row.people,
                    "gap": row.gap, **asdict(said[row.persona][row.response]),
                }
                for row in rows
            ],
        )  # fmt: skip

    def _said(self, persona: str, places: Iterable[int]) -> dict[int, drafting.Said]:
        """Texts, the persona's reasons and people's comments of responses, by place."""
        ids = {self.dataset.responses.ids[r]: r for r in places}
        texts: Mapping[str, tuple[str, str]] = {}
        reasons: dict[str, list[tuple[str, str]]] = {}
        if self.run_folder is not None and ids:
            texts = read_texts(self.run_folder, ids)
            frame = judgment_frame(
                self.run_folder, ["response_id", "persona", "model", "rationale"]
            )
            mine = frame[(frame["persona"] == persona) & frame["response_id"].isin(list(ids))]
            for row in mine[mine["rationale"].notna()].to_dict("records"):
                if str(row["rationale"]).strip():
                    reasons.setdefault(str(row["response_id"]), []).append(
                        (str(row["model"]), str(row["rationale"]).strip())
                    )
        comments = self._comments(ids)
        return {
            place: drafting.Said(
                *texts.get(name, ("", "")),
                tuple(reasons.get(name, ())),
                tuple(comments.get(name, ())),
            )
            for name, place in ids.items()
        }

    def _comments(self, ids: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
        table = self.people_table
        mine = table.select(table.comment.codes >= 0)
        wanted = set(ids)
        found: dict[str, list[tuple[str, str]]] = {}
        columns = (mine.response_id.texts(), mine.rater_id.texts(), mine.comment.texts())
        for name, rater, comment in zip(*(one.tolist() for one in columns), strict=True):
            said = (rater, comment.strip())
            if name in wanted and said[1] and said not in found.setdefault(name, []):
                found[name].append(said)
        return found

    def describe(self) -> dict[str, Any]:
        """What run.json says of a review."""
        return {
            "demonstration": bool(stand_ins_of(self.dataset)),
            "stand_ins": list(stand_ins_of(self.dataset)),
            "notices": list(self.panel.notices) if self.panel is not None else [],
            "run": run_named(self.run_folder) if self.run_folder else None,
            "matched": getattr(self, "matched", None),
            "personas": list(self.chosen),
            "panel_personas": list(self.scores.personas),
            "models": list(self.scores.models),
            "criteria": [one.keys for one in self.found],
            "scale": list(self.dataset.scale) if self.dataset.scale else None,
            "draft": self.draft,
            **({} if self.panel is None else {"panel": self.panel.describe()}),
            "effective_parameters": {}
            if self.writer is None
            else {self.writer.spec.name: self.writer.effective_parameters()},
        }

    def open_folder(self) -> RunFolder | None:
        """The folder; an earlier review in it gives way: what it paid for is in the ledger."""
        is_review = (self.path / RUN_FILE).is_file() and (
            read_run_file(self.path).get("kind") == self.kind
        )
        return RunFolder.open(
            self.path, self.identity, must_exist=self.config.resume, replaces_other=is_review
        )

    async def close(self) -> None:
        """Closes the panel that was made for the draft too."""
        await super().close()
        if self._own_panel is not None:
            await self._own_panel.aclose()


def _folder_of(run: Any) -> Path | None:
    if isinstance(run, Run):
        return run.path
    if isinstance(run, str | Path):
        path = Path(run)
        if path.name == RUN_FILE:
            return path.parent
        return path if path.is_dir() else None
    return None


def _with_persona(spec: PanelSpec, persona: Persona) -> PanelSpec:
    """The panel with one persona in the place of its own."""
    first = spec.personas[0].id
    judges = [
        replace(judge, persona=persona)
        for judge in spec.judges.values() if judge.persona.id == first
    ]  # fmt: skip
    return replace(spec, judges={judge.id: judge for judge in judges})
