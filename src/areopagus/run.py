"""`JobRun`: the folder of a finished or interrupted job, read; `Run`, that of a panel."""

from __future__ import annotations

import shutil
import textwrap
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from .errors import InputError, InputFault
from .progress import ESTIMATING, WRITING, doing, heard
from .records.estimates import ESTIMATES_FILE, Estimates, read_estimates, write_estimates
from .records.run_folder import FIGURES_FOLDER, REPORT_FILE, read_run_file, replaced
from .records.tables import judgment_frame, read_scores, score_frame
from .shown import Shown

if TYPE_CHECKING:
    import pandas as pd

    from .comparison import Comparison
    from .records.readings import Readings
    from .reports.document import Document

TEXT_FILE = "report.txt"
"""The whole document as text, beside the page."""
_MOST_HEAD = 4096
_MOST_TOLD = 120
"""Characters of the report that are looked at for its first sentence, and of that sentence."""


class JobRun(Shown, ABC):
    """A folder of results: run.json, the tables of estimates, and what is shown of them.

    Attributes:
        kind: of the run, in run.json.
        path: the folder.
        record: the content of run.json.
    """

    kind: ClassVar[str]
    command: ClassVar[str] = ""
    """The command that makes such a folder, where it is not called like the kind."""

    def __init__(self, path: str | Path) -> None:
        """Reads run.json; the tables are read when asked for.

        Raises:
            InputError: the folder holds no run of this kind.
        """
        self.path = Path(path)
        self.record: dict[str, Any] = read_run_file(self.path, kind=self.kind)

    @property
    def state(self) -> str:
        """`complete`, `interrupted`, `budget` (the cost cap stopped it) or `running`."""
        return str(self.record["state"])

    @property
    def estimates(self) -> pd.DataFrame:
        """Every figure with its interval, unit, method and reason; see `records.estimates`.

        Raises:
            InputError: the job has not come so far, or the file cannot be read.
        """
        return read_estimates(self.path)

    def require_estimates(self) -> None:
        """Checks that the folder has its estimates.

        Raises:
            InputError: it has none, because the job stopped before they were written.
        """
        if not (self.path / ESTIMATES_FILE).is_file():
            raise InputError(
                [InputFault(str(self.path), f"has no {ESTIMATES_FILE}, from which it is shown")],
                hint=f"Give the command areopagus {self.command or self.kind} … --out {self.path} "
                "again: it goes on where it stopped, and nothing is paid twice.",
            )

    # Readings that people check

    def readings(self) -> tuple[Readings, ...]:
        """What models, or rules, have put into categories in it; nothing where nothing was.

        Raises:
            InputError: a table of the folder cannot be read.
        """
        return ()

    def draw_for_people(self, n: int) -> list[Path]:
        """Draws so many texts a sheet for people to label, and returns the sheets' paths.

        Raises:
            InputError: nothing was put into categories here.
            StoreError: the folder cannot be written.
        """
        from .records.readings import draw_sheets

        return draw_sheets(self.path, self._require_readings(), n, self._seed)

    def check_readings(self, *labels: str | Path) -> Self:
        """Takes what people say of the sheet's texts into the estimates and the report.

        The labels are kept in the folder, in the place of earlier ones.

        Args:
            labels: files of labels; see `records.readings.read_labels`.

        Raises:
            InputError: nothing was put into categories here, or labels that cannot be read.
            StoreError: the folder cannot be written.
        """
        from .records.readings import read_labels, write_labels

        readings = self._require_readings()
        self.require_estimates()
        write_labels(self.path, read_labels(labels, readings))
        self.take_checks()
        self.write_report()
        return self

    def take_checks(self) -> None:
        """Makes the table `checks` of the labels that the folder keeps; none without them."""
        from .records.readings import drawn_items, kept_labels

        readings = self.readings()
        given = kept_labels(self.path, readings)
        if given is None:
            return
        import pandas as pd

        from .checked import check_estimates, without_checks

        doing(ESTIMATING)
        drawn = [drawn_items(self.path, one) for one in readings]
        checks = check_estimates(readings, given, drawn).frame()
        rows = [without_checks(self.estimates), checks]
        write_estimates(self.path, pd.concat(rows, ignore_index=True))

    def checked(self, document: Document) -> Document:
        """The document, with what people say of the readings, or that nobody asked them."""
        from .checked import with_checks

        return with_checks(document, self.estimates, self.readings(), self.path, self._seed)

    def checks_document(self) -> Document:
        """What is shown of people's checks alone.

        Raises:
            InputError: the job has not come so far.
        """
        from .checked import checks_document

        return checks_document(self.estimates, self._seed, self.document().title)

    @property
    def _seed(self) -> int:
        return int(self.record.get("config", {}).get("seed", 0))

    def _require_readings(self) -> tuple[Readings, ...]:
        found = self.readings()
        if not found:
            fault = "has no reading that people could check: nothing is put into categories here"
            raise InputError([InputFault(str(self.path), fault)])
        return found

    @abstractmethod
    def document(self) -> Document:
        """What is shown of the result, made of run.json and the estimates alone.

        Raises:
            InputError: the job has not come so far.
        """

    @property
    def text(self) -> str:
        """The whole document as text of 80 columns.

        Raises:
            InputError: the job has not come so far.
        """
        from .reports.text import render_text

        return "\n".join(render_text(self.document(), full=True))

    def write_report(self, out: str | Path | None = None, *, figures: bool = True) -> Path:
        """Writes the page, and the text beside it, and returns the page's path.

        Args:
            out: the file of the page; report.html in the folder when left out.
            figures: whether charts are drawn, for the page and into the folder's figures/.

        Raises:
            InputError: the job has not come so far.
            StoreError: they cannot be written; what was there before stays.
        """
        from .reports.html import write_html
        from .reports.text import render_text

        doing(WRITING)
        document = self.document()
        page = Path(out) if out is not None else self.path / REPORT_FILE
        write_html(page, document, charts=self.path / FIGURES_FOLDER if figures else None)
        with replaced(self.path / TEXT_FILE) as part:
            part.write_text("\n".join(render_text(document, full=True)) + "\n", encoding="utf-8")
        return page

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside."""
        return 4 if self.state == "budget" else 0

    def __repr__(self) -> str:
        told = " ".join(filter(None, (self._told(), self._answer())))
        return f"{type(self).__name__}({str(self.path)!r}, {told})"

    def _told(self) -> str:
        """What its record says of it, in a word or two, with its stop."""
        return f"{self.state}."

    def _answer(self) -> str:
        """The first sentence of its report, which is quickly read; "" where there is none."""
        try:
            with (self.path / TEXT_FILE).open(encoding="utf-8") as file:
                text = file.read(_MOST_HEAD)
        except (OSError, ValueError):
            return ""
        paragraphs = [" ".join(one.split()) for one in text.split("\n\n")]
        first = next((one for one in paragraphs if not one.startswith("DEMONSTRATION")), "")
        return textwrap.shorten(first, _MOST_TOLD, placeholder=" …")


@dataclass(frozen=True, slots=True)
class RespondentMean:
    """Means of one respondent, with prompts as the unit.

    Attributes:
        respondent_id: who wrote the responses; "run" for all of them together.
        n_responses, n_scored, n_prompts: responses, those with a composite, and prompts behind
            the mean: the n of the interval.
        composite: mean over prompts; None where nothing was scored.
        interval: 95% t interval over prompts, cut at the ends of the scale, or None.
        reason: why there is no interval, or None.
        dimensions: criterion to (mean, low, high), each None where undefined.
        moved: what freeing the composite from which judges were missing has added to it.
        n_unbalanced: responses of which a model scored fewer judgments than the quorum demands.
    """

    respondent_id: str
    n_responses: int
    n_scored: int
    n_prompts: int
    composite: float | None
    interval: tuple[float, float] | None
    reason: str | None
    dimensions: Mapping[str, tuple[float | None, float | None, float | None]] = field(
        default_factory=dict
    )
    moved: float | None = 0.0
    n_unbalanced: int = 0

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON-like values."""
        return {
            **asdict(self),
            "unit": "prompt",
            "method": "95% t interval over prompt means, cut at the ends of the scale",
        }


class Run(JobRun):
    """The folder of a panel's run, read."""

    kind = "panel"
    command = "score"

    @classmethod
    def from_judgments(cls, judgments: str | Path, out: str | Path, **reading: Any) -> Run:
        """The run that stored judgments of any tool make, written to a folder.

        Args:
            judgments: a file with a row a judge and response.
            out: the folder.
            reading: `responses`, `columns`, `criteria`, `scale`; see `imported.import_judgments`.

        Raises:
            InputError: everything wrong with the files, or a folder that holds another run.
            StoreError: the folder cannot be written.
        """
        # By name: what writes runs stands above their reader, which knows none of it otherwise.
        run: Run = import_module(".imported", __package__).import_judgments(
            judgments, out, **reading
        )
        return run

    @property
    def counts(self) -> dict[str, int]:
        """Status to number of judgments."""
        return dict(self.record["counts"])

    @property
    def n_scored(self) -> int:
        """Judgments scored."""
        return self.counts.get("scored", 0)

    @property
    def n_planned(self) -> int:
        """Judgments planned: the sum of all statuses."""
        return int(self.record["n_planned"])

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside."""
        if self.state == "budget":
            return 4
        troubled = sum(self.counts.get(s, 0) for s in ("refused", "unreadable", "failed"))
        # Where models were asked for the responses in the same run.
        answers = self.record.get("answers", {}).get("counts", {})
        troubled += sum(answers.get(s, 0) for s in ("refused", "empty", "failed"))
        return 3 if troubled else 0

    @property
    def respondents(self) -> tuple[RespondentMean, ...]:
        """Means by respondent."""
        return _means_of(self.record["respondents"])

    @property
    def total(self) -> RespondentMean:
        """Means of the whole run."""
        (total,) = _means_of([self.record["total"]])
        return total

    @property
    def judgments(self) -> pd.DataFrame:
        """Every planned judgment, a row each, as judgments.parquet holds them; read anew each time.

        A long run has millions: `records.tables.judgment_frame` takes the columns that are
        wanted, and `read_judgments` goes through the rows.
        """
        return judgment_frame(self.path)

    @property
    def scores(self) -> pd.DataFrame:
        """Every response, a row each, as scores.csv holds them, numbers as numbers."""
        return score_frame(self.path)

    def to_pandas(
        self, table: Literal["scores", "judgments", "estimates"] = "scores"
    ) -> pd.DataFrame:
        """`scores`, `judgments` or `estimates`, by name.

        Raises:
            ValueError: no such table.
        """
        if table not in ("scores", "judgments", "estimates"):
            raise ValueError(f"table must be 'scores', 'judgments' or 'estimates', got {table!r}")
        found: pd.DataFrame = getattr(self, table)
        return found

    def estimate_stored(self) -> Estimates:
        """Every figure, made of the tables at the end of a run.

        Of more than 50,000 responses or 1.5 million judgments, what is said of judges and of
        disagreement is of whole prompts drawn from them; means and counts are those of all.

        Raises:
            InputError: a table of the folder cannot be read.
        """
        from .panel_estimates import panel_estimates

        doing(ESTIMATING)
        return panel_estimates(self.tables_folder, self.record, self.score_rows)

    def require_estimates(self) -> None:
        """Makes the estimates of the tables where the folder has none.

        Raises:
            InputError: a table of the folder cannot be read.
        """
        if not (self.path / ESTIMATES_FILE).is_file():
            write_estimates(self.path, self.estimate_stored())

    def document(self) -> Document:
        """What is shown of the run: means by respondent, judges, disagreement, every response.

        Raises:
            InputError: a table of the folder cannot be read, or has no estimates yet.
        """
        from .calibrated import people_sentence
        from .reports.panel import panel_document

        return panel_document(
            self.record,
            self.estimates,
            self.score_rows,
            self.tables_folder,
            part=self.part,
            people=people_sentence(self.path),
        )

    def write_results(self, *, figures: bool = True) -> Self:
        """Makes every figure of the tables, writes estimates and report, and returns the run.

        Args:
            figures: whether the report has pictures.

        Raises:
            InputError: a table of the folder cannot be read.
            StoreError: they cannot be written.
        """
        write_estimates(self.path, self.estimate_stored())
        self.write_report(figures=figures)
        return self

    def compare(
        self,
        *others: Run | str | Path,
        by: str | None = None,
        baseline: str | None = None,
        margin: float | None = None,
    ) -> Comparison:
        """Who scores higher and by how much, in this run or between it and others.

        See `areopagus.compare` for the arguments and what is raised.
        """
        return compare(self, *others, by=by, baseline=baseline, margin=margin)

    def report(self) -> Path:
        """Writes report.html anew and returns its path."""
        with heard():
            self.require_estimates()
            return self.write_report()

    @property
    def tables_folder(self) -> Path:
        """The folder whose tables are read: this one, or an excerpt of a very long run."""
        return self._tables[0]

    @property
    def part(self) -> str | None:
        """What the tables of `tables_folder` hold of a very long run; None where it is all."""
        return self._tables[1]

    @property
    def score_rows(self) -> list[dict[str, str]]:
        """The rows of scores.csv, in `tables_folder`."""
        return self._scores

    @cached_property
    def _tables(self) -> tuple[Path, str | None]:
        from .reports.excerpt import excerpt_step, write_excerpt

        step = excerpt_step(self.record)
        if step == 1:
            return self.path, None
        # Kept as long as this object: a page reads some of it only while it is written.
        excerpt = Path(mkdtemp(prefix="areopagus-report-"))
        weakref.finalize(self, shutil.rmtree, excerpt, ignore_errors=True)
        return excerpt, write_excerpt(self.path, excerpt, step=step)

    @cached_property
    def _scores(self) -> list[dict[str, str]]:
        return read_scores(self.tables_folder)

    def _told(self) -> str:
        return f"{self.state}, {self.n_scored} scored of {self.n_planned} planned."

    @property
    def report_path(self) -> Path:
        """Where the report is written."""
        return self.path / REPORT_FILE


def compare(
    run: Run | str | Path,
    *others: Run | str | Path,
    by: str | None = None,
    baseline: str | None = None,
    margin: float | None = None,
) -> Comparison:
    """Compares the sides of a run, or runs with each other, paired by prompt.

    On each prompt only judges count who scored both sides. Differences are in points of the scale,
    with 95% intervals over prompts, for this panel and for judges like these; those that hold for
    all pairs at once decide. Runs of different panels are compared as instruments, by response.

    Args:
        run: a panel run or its folder.
        others: more of them.
        by: what the sides are: "respondent", "run", "model", "persona", or a column that the input
            carried. Left out: respondents of one run; of several, runs that share respondents,
            else all their respondents.
        baseline: the side that the others are held against, and no other pair is then tested. Left
            out: every pair is, and the best side is the baseline; of several runs, the first.
        margin: points inside which a difference does not matter: what lies within is alike.

    Raises:
        InputError: a folder holds no panel run, no such side or column, or fewer than two sides.
    """
    from .comparison import Comparison

    runs = [one if isinstance(one, Run) else Run(one) for one in (run, *others)]
    return Comparison(runs, by=by, baseline=baseline, margin=margin)


class RunInterrupted(KeyboardInterrupt):
    """A job was stopped by hand; everything paid for is in the ledger, its results are written.

    Attributes:
        run: the run as it stands, with what was not asked counted as such.
    """

    def __init__(self, run: Any) -> None:
        super().__init__(f"interrupted; run the same command again to go on ({run.path})")
        self.run = run


def _means_of(stored: Any) -> tuple[RespondentMean, ...]:
    from pydantic import TypeAdapter

    return TypeAdapter(tuple[RespondentMean, ...]).validate_python(stored)
