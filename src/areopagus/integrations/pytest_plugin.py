"""pytest: a panel as a fixture, and assertions that hold on an interval's bound.

    def test_the_essay_thinks(panel):
        panel.assert_thinks_at_least(essay, "Should voting be compulsory?", 5)

Each assertion has three outcomes. It holds where the interval shows it, it fails where the interval
shows the opposite, and the test is skipped with the reason where neither is shown: what is
inconclusive never passes.

pytest reads this module at every start, whether or not it is used: everything else is imported by
the fixture.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..records.types import Verdict
    from ..run import Run
    from .evaluator import PanelEvaluator
    from .verdicts import CriterionScore

_KEPT = 5
"""Sessions whose folders stay in pytest's cache."""

_ROUNDING = 1e-9
"""What the same mean may differ by when it is added up in another order."""


# Options ------------------------------------------------------------------------------------------


def _amount(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"must be an amount of US dollars, 0 or more, got {text}")
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; what a project always wants stands in its ini file."""
    told = "who judges: a panel.yaml, or names of models with commas between them; the embedded"
    told += " text-feature baseline when left out"
    group = parser.getgroup("areopagus", "a panel of judges")
    group.addoption("--areopagus-panel", metavar="FILE|MODELS", help=told)
    group.addoption(
        "--areopagus-max-cost",
        metavar="USD",
        type=_amount,
        help="US dollars that the session does not pass; tests that do not fit are skipped",
    )
    group.addoption(
        "--areopagus-out",
        metavar="DIR",
        help="where runs and their reports are kept; a folder in pytest's cache when left out",
    )
    parser.addini("areopagus_panel", f"{told}; a path is one from the ini file's folder")


# The fixtures -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def areopagus_panel(pytestconfig: pytest.Config) -> Any:
    """Who judges, as of `PanelEvaluator`; define it anew to return a Panel made in Python."""
    given = pytestconfig.getoption("--areopagus-panel")
    base = Path()
    if given is None:
        given = pytestconfig.getini("areopagus_panel")
        base = pytestconfig.inipath.parent if pytestconfig.inipath else pytestconfig.rootpath
    if not given:
        return None
    if given.endswith((".yaml", ".yml")):
        return base / given
    return [name.strip() for name in given.split(",") if name.strip()]


@pytest.fixture(scope="session")
def panel(
    areopagus_panel: Any, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PanelChecks]:
    """The panel of the session: `score`, `assert_thinks_at_least`, `assert_not_worse`."""
    from .evaluator import PanelEvaluator

    session = pytestconfig.stash[_SESSION]
    cache = getattr(pytestconfig, "cache", None)
    if session.out is not None:
        folder = session.out
    elif cache is None:
        folder = tmp_path_factory.mktemp("areopagus")
    else:
        # Sessions may go on side by side: each has a folder of its own.
        sessions = Path(cache.mkdir("areopagus"))
        for earlier in sorted(sessions.iterdir())[:-_KEPT]:
            shutil.rmtree(earlier, ignore_errors=True)
        folder = sessions / session.name
    out = folder / session.worker
    with PanelEvaluator(areopagus_panel, out=out, max_cost=session.max_cost) as evaluator:
        checks = PanelChecks(evaluator)
        yield checks
        session.tallies.append(checks.tally())


class PanelChecks:
    """One panel over a session of pytest, and what may be asserted of responses and runs.

    Attributes:
        evaluator: the panel under the session's cap; `evaluator.out` is the run folder.
    """

    def __init__(self, evaluator: PanelEvaluator) -> None:
        """Takes the evaluator; nothing is asked."""
        self.evaluator = evaluator
        self._judgments: dict[str, tuple[int, int]] = {}

    def score(self, prompt: str, response: str) -> Verdict:
        """The panel's verdict on one response, which becomes a row of the session's run.

        Raises:
            InputError: an empty prompt, a missing key, an address at which nobody answers.
        """
        verdict = self.evaluator.score(prompt, response)
        self._judgments[verdict.response_id] = (verdict.n_scored, verdict.n_planned)
        return verdict

    def assert_thinks_at_least(
        self, response: str, prompt: str, bound: float, *, criterion: str = "composite"
    ) -> None:
        """Holds where the lower limit of the response's interval is at least the bound.

        It fails where the upper limit is below the bound. In between, and where there is no
        verdict or no interval, the test is skipped with the reason. Where all judges gave the same
        score, that score is both limits.

        Args:
            response, prompt: the texts.
            bound: on the rubric's scale.
            criterion: "composite" or a criterion of the rubric.

        Raises:
            AssertionError: the panel says that it is less.
            InputError: a bound outside the scale, no such criterion; as of `score`.
        """
        __tracebackhide__ = True
        from ..errors import InputError
        from ..formats import interval, number, words
        from .verdicts import COMPOSITE, scores_of

        names = (COMPOSITE, *self.evaluator.panel.criteria)
        if criterion not in names:
            raise InputError(f"criterion must be one of {', '.join(names)}, got {criterion!r}")
        scale = self.evaluator.panel.rubric.scale
        if not scale.low <= bound <= scale.high:
            raise InputError(f"bound must be from {scale.low} to {scale.high}, got {bound:g}")
        verdict = self.score(prompt, response)
        one = next(one for one in scores_of(verdict) if one.name == criterion)
        grounds = self._grounds(verdict)
        if one.value is None:
            pytest.skip(f"no score: {one.reason}")
        limits = _limits(one, verdict)
        if limits is None:
            why = verdict.interval_reason if criterion == COMPOSITE else None
            pytest.skip(f"no interval: {why or 'too few judgments'}; {grounds[0]}")
        low, high = limits
        shown = f"{words(criterion)} {number(one.value)}, 95% {interval(low, high)}"
        if low >= bound - _ROUNDING:
            return
        if high >= bound - _ROUNDING:
            pytest.skip(f"inconclusive: {shown} contains the bound {bound:g}; {grounds[0]}")
        raise AssertionError("\n".join([f"thinks less than {bound:g}: {shown}", *grounds]))

    def assert_not_worse(
        self,
        run: Run | str | Path,
        baseline: Run | str | Path,
        margin: float,
        *,
        criterion: str = "composite",
    ) -> None:
        """Holds where a run is not worse than an earlier one of the same panel; see `gate`.

        It holds where the lower limit of the difference, over prompts, is above minus the margin,
        and fails where it is not and the upper limit is below 0. In between the test is skipped
        with the reason. Nobody is asked: both runs are finished.

        Args:
            run: what is tested.
            baseline: what it is held against.
            margin: points that it may lose, above 0; declared before looking.
            criterion: "composite" or a criterion of the rubric.

        Raises:
            AssertionError: it is worse.
            InputError: other panels, no single pair of sides, no such criterion.
        """
        __tracebackhide__ = True
        from ..regression_gate import gate

        found = gate(run, baseline, margin=margin, criterion=criterion)
        if found.outcome == "undecided":
            pytest.skip(f"inconclusive: {found.sentence()}")
        if found.outcome == "worse":
            report = Path(run if isinstance(run, str | Path) else run.path) / "report.html"
            raise AssertionError(f"{found.sentence()}\nReport: {report}")

    def tally(self) -> Tally:
        """What was judged and spent in the session until now."""
        counts = self._judgments.values()
        return Tally(
            n_responses=len(counts),
            n_scored=sum(scored for scored, _ in counts),
            n_planned=sum(planned for _, planned in counts),
            spent_usd=self.evaluator.spent_usd,
            is_demonstration=self.evaluator.is_demonstration,
            report=str(self.evaluator.out / "report.html") if counts else None,
        )

    def _grounds(self, verdict: Verdict) -> list[str]:
        """How much of the panel says it, and where more stands."""
        from .verdicts import DEMONSTRATION, counted

        lines = [counted(verdict)]
        if self.evaluator.is_demonstration:
            lines.append(f"DEMONSTRATION: {DEMONSTRATION}")
        lines.append(f"Report, when the session has ended: {self.evaluator.out / 'report.html'}")
        lines.append(f"There it is {verdict.response_id}")
        return lines


def _limits(one: CriterionScore, verdict: Verdict) -> tuple[float, float] | None:
    """The interval of a score; of no width where all of several judges agree."""
    if one.interval is not None or one.value is None:
        return one.interval
    scored = [judgment for judgment in verdict.judgments if judgment.status == "scored"]
    if one.name in verdict.dimensions:
        agree = len({judgment.scores.get(one.name) for judgment in scored}) == 1
    else:
        agree = verdict.sd is not None and verdict.sd < _ROUNDING
    return (one.value, one.value) if agree and len(scored) > 1 else None


# The session --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tally:
    """What the panel of one process has judged.

    Attributes:
        n_responses: responses that were judged.
        n_scored, n_planned: judgments.
        spent_usd: what calls with a known price have cost.
        is_demonstration: whether an embedded stand-in judged.
        report: the path of the report; None where nothing was judged.
    """

    n_responses: int
    n_scored: int
    n_planned: int
    spent_usd: float
    is_demonstration: bool
    report: str | None


@dataclass
class _Session:
    """One session of pytest; of the workers of pytest-xdist each has its share of the cap."""

    max_cost: float | None
    out: Path | None
    name: str
    worker: str = ""
    tallies: list[Tally] = field(default_factory=list)
    n_shares: int = 0


_SESSION = pytest.StashKey[_Session]()


def pytest_configure(config: pytest.Config) -> None:
    """Settles the cap and where runs are kept; nothing is made before a test asks for a panel."""
    given: dict[str, Any] | None = getattr(config, "workerinput", {}).get("areopagus")
    out = config.getoption("--areopagus-out")
    session = _Session(
        max_cost=config.getoption("--areopagus-max-cost"),
        out=None if out is None else Path(out).absolute(),
        name=f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.urandom(3).hex()}",
    )
    config.stash[_SESSION] = session if given is None else replace(session, **given)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Gives a worker of pytest-xdist its folder, and its share of the cap.

    What a worker that crashed has spent is not known: the one in its place has no share.
    """
    session = node.config.stash[_SESSION]
    n_workers = int(node.workerinput["workercount"])
    share = session.max_cost
    if share is not None:
        share = share / n_workers if session.n_shares < n_workers else 0.0
    session.n_shares += 1
    worker = node.workerinput["workerid"]
    node.workerinput["areopagus"] = {"max_cost": share, "name": session.name, "worker": worker}


@pytest.hookimpl(trylast=True)  # after the fixtures have ended, also where a session is stopped
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hands what a worker has judged to the process that shows it."""
    told: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if told is not None:
        told["areopagus"] = [asdict(one) for one in session.config.stash[_SESSION].tallies]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes what a worker has judged."""
    told = getattr(node, "workeroutput", {}).get("areopagus", ())
    node.config.stash[_SESSION].tallies += [Tally(**one) for one in told]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What the panel has judged in the session, where it was asked."""
    session = config.stash[_SESSION]
    judged = (one for one in session.tallies if one.n_responses)
    tallies = sorted(judged, key=lambda one: one.report or "")
    if not tallies:
        return
    from ..formats import count, dollars, units
    from .verdicts import DEMONSTRATION

    scored, planned = (sum(getattr(one, n) for one in tallies) for n in ("n_scored", "n_planned"))
    responses = units(sum(one.n_responses for one in tallies), "response")
    spent = dollars(sum(one.spent_usd for one in tallies))
    cap = "" if session.max_cost is None else f" of {dollars(session.max_cost)}"
    terminalreporter.section("areopagus")
    terminalreporter.write_line(
        f"{count(scored)} scored of {count(planned)} planned judgments on {responses}; {spent}{cap}"
    )
    if any(one.is_demonstration for one in tallies):
        terminalreporter.write_line(f"DEMONSTRATION: {DEMONSTRATION}")
    for one in tallies:
        terminalreporter.write_line(f"Report: {os.path.relpath(one.report or '')}")
