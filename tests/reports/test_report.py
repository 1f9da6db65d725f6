"""The report of a panel run: what it says, what it escapes, what it costs."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import InputError
from areopagus.records.judgment import STATUSES, Judgment
from areopagus.records.run_folder import RUN_FORMAT, RunFolder
from areopagus.records.run_tables import TableWriter
from areopagus.records.verdict import Verdict, count_statuses
from areopagus.reports import write_report
from areopagus.reports.numbers import dollars, shown
from areopagus.reports.scorecard import axis_of, respondent_rows
from areopagus.reports.tally import Tally
from areopagus.reports.visible import visible, visible_plain

CRITERIA = ("conceptual_clarity", "evidential_grounding")
PERSONAS = {"historian": "disciplinary", "ethicist": "disciplinary", "libertarian": "ideological"}
MODELS = ("openai/one", "ollama_chat/two")
HOSTILE = (
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(2)>",
    "</title></table>{{ 7 * 7 }}{% for %}",
    '" onmouseover="alert(3)',
    "evil\u202egnp.exe",
    "zero\u200bwidth\x07bell\nline",
    "i" * 300,
)


def judgment(response: str, prompt: str, respondent: str, **changes: Any) -> Judgment:
    plain = Judgment(
        response_id=response,
        prompt_id=prompt,
        respondent_id=respondent,
        persona="historian",
        axis="disciplinary",
        model=MODELS[0],
        repeat=0,
        status="scored",
        scores=dict.fromkeys(CRITERIA, 5.0),
        calls=1,
        cost_usd=0.001,
    )
    return replace(plain, **changes)


def unscored(given: Judgment, status: Any, reason: str) -> Judgment:
    return replace(given, status=status, reason=reason, scores={}, cost_usd=None)


def verdict(judgments: Sequence[Judgment], **changes: Any) -> Verdict:
    """A verdict with the means of its judgments; intervals stand in as mean ± 1."""
    scored = [j for j in judgments if j.status == "scored"]
    enough = 3 * len(scored) >= 2 * len(judgments)
    means = {
        name: sum(j.scores[name] for j in scored) / len(scored) if enough else None
        for name in CRITERIA
    }
    known = [value for value in means.values() if value is not None]
    composite = sum(known) / len(known) if known else None
    first = judgments[0]
    plain = Verdict(
        response_id=first.response_id,
        prompt_id=first.prompt_id,
        respondent_id=first.respondent_id,
        status="scored" if enough else "inconclusive",
        reason=None if enough else "below the quorum",
        composite=composite,
        dimensions=means,
        interval=None if composite is None else (composite - 1, composite + 1),
        interval_method="personas and models as random facets",
        interval_reason=None if enough else "below the quorum",
        dimension_intervals=dict.fromkeys(CRITERIA),
        median=composite,
        trimmed_mean=composite,
        sd=0.5 if enough else None,
        by_persona={},
        by_model={},
        by_axis={"disciplinary": composite, "ideological": composite},
        disagreement="low" if enough else "undefined",
        share_abstained=0.0,
        n_scored=len(scored),
        n_planned=len(judgments),
        counts=count_statuses(tuple(judgments)),
        judgments=tuple(judgments),
    )
    return replace(plain, **changes)


def panel_votes(response: str, prompt: str, respondent: str, level: float) -> list[Judgment]:
    """Every persona on every model; the second model is one point milder."""
    return [
        judgment(
            response,
            prompt,
            respondent,
            persona=persona,
            axis=axis,
            model=model,
            scores={"conceptual_clarity": level + milder, "evidential_grounding": level},
        )
        for milder, model in enumerate(MODELS)
        for persona, axis in PERSONAS.items()
    ]


def respondent(name: str, **changes: Any) -> dict[str, Any]:
    plain = {
        "respondent_id": name,
        "n_responses": 8,
        "n_scored": 8,
        "n_prompts": 8,
        "composite": 6.25,
        "interval": [5.5, 7.0],
        "unit": "prompt",
        "method": "t interval over prompt means, 95%",
        "reason": None,
        "dimensions": dict(zip(CRITERIA, ([6.5, 5.75, 7.25], [6.0, None, None]), strict=False)),
    }
    return plain | changes


def record(counted: Mapping[str, int], **changes: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "format": RUN_FORMAT,
        "kind": "panel",
        "state": "complete",
        "demonstration": False,
        "identity": {
            "rubric": {"id": "critical_thinking", "sha256": "ab" * 32},
            "personas": dict.fromkeys(PERSONAS, "cd" * 32),
            "models": {
                name: {"model": name, "api_base": None, "score_mode": "integer"} for name in MODELS
            },
            "mode": "dimensions",
            "order": "response_first",
            "rationale": "none",
            "anchors": True,
            "repeats": 1,
            "template": "1",
            "criteria": list(CRITERIA),
            "scale": [1, 10],
        },
        "versions": {"areopagus": "0.1.0"},
        "source": "/home/somebody/secret-folder/responses.csv",
        "notices": [],
        "responses": {"n": 8, "prompts": 8, "respondents": 1},
        "panel": {
            "personas": [
                {"id": name, "label": name.title(), "axis": axis, "version": "1"}
                for name, axis in PERSONAS.items()
            ],
            "rubric": {"id": "critical_thinking", "label": "Critical thinking"},
            "quorum": 2 / 3,
            "models": [
                {
                    "name": name,
                    "requested": {"max_tokens": 2048, "temperature": 0.0},
                    "effective": {"max_completion_tokens": 2048},
                    "structured": "json_schema",
                }
                for name in MODELS
            ],
        },
        "ledger": "/home/somebody/secret-folder/ledger.sqlite",
        "n_planned": sum(counted.values()),
        "counts": dict(counted),
        "verdicts": {},
        "faults": {},
        "flags": {},
        "cost": {"replies_usd": 0.048, "judgments_with_unknown_price": 0, "note": ""},
        "respondents": [respondent("model-a")],
        "total": respondent("run"),
        "sessions": [
            {
                "started": "2026-01-02T03:04:05+00:00",
                "ended": "2026-01-02T03:05:05+00:00",
                "state": "complete",
                "calls": {"sent": 48, "from_ledger": 0, "failed": 0},
                "spent_usd": 0.048,
                "possibly_spent_usd": 0.0,
                "calls_with_unknown_price": 0,
                "max_cost_usd": None,
            }
        ],
    }
    return plain | changes


def make_run(path: Path, verdicts: Sequence[Verdict], **changes: Any) -> Path:
    folder = RunFolder.open(path, {})
    try:
        writer = TableWriter(
            path,
            criteria=CRITERIA,
            personas=list(PERSONAS),
            models=MODELS,
            axes=sorted(set(PERSONAS.values())),
        )
        counts = dict.fromkeys(STATUSES, 0)
        for item in verdicts:
            writer.add(item)
            for status, number in item.counts.items():
                counts[status] += number
        writer.close()
        folder.write_run_file(record(counts, **changes))
    finally:
        folder.close()
    return path


def plain_verdicts(n: int) -> Iterator[Verdict]:
    for k in range(n):
        yield verdict(panel_votes(f"r{k}", f"p{k}", "model-a", 4 + k % 3))


@pytest.fixture
def plain_run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "plain", list(plain_verdicts(8)))


@pytest.fixture
def hostile_run(tmp_path: Path) -> Path:
    """Everything that a model or a user can name holds an attack."""
    verdicts = []
    for k, text in enumerate(HOSTILE):
        votes = panel_votes(f"{k} {text}", text, text, 5)
        votes[1] = unscored(votes[1], "failed", text)
        verdicts.append(verdict(votes, flags=("bidi_controls", f"x{text}".split()[0])))
    asked_of = panel_votes("unsure", "p", "model-a", 5)
    few = [unscored(vote, "unreadable", "not_json") for vote in asked_of]
    verdicts.append(verdict(few, reason=HOSTILE[0]))
    none = [unscored(vote, "not_asked", "screened") for vote in asked_of]
    screened = [replace(vote, response_id="blank") for vote in none]
    verdicts.append(
        verdict(screened, status="screened", reason="no_letters", flags=("no_letters",))
    )
    return make_run(
        tmp_path / "hostile",
        verdicts,
        demonstration=True,
        source=HOSTILE[1],
        notices=[HOSTILE[0], HOSTILE[4]],
        respondents=[
            respondent(HOSTILE[0]),
            respondent(HOSTILE[1], interval=None, reason="fewer than 6 prompts"),
            respondent(HOSTILE[4]),
            respondent(HOSTILE[6]),
            respondent("nobody", composite=None, interval=None, reason=HOSTILE[2], n_scored=0)
            | {"dimensions": {name: [None, None, None] for name in CRITERIA}},
        ],
        cost={"replies_usd": 0.0, "judgments_with_unknown_price": 6, "note": ""},
    )


class Page(HTMLParser):
    """Tags, attributes and text of a page, and that its elements are closed in order."""

    VOID = frozenset(("meta", "br", "line", "circle", "img", "link"))

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.misplaced: list[str] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.misplaced.append(tag)

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def page_of(run: Path) -> Page:
    return Page(write_report(run).read_text(encoding="utf-8"))


def test_report_is_one_well_formed_file_that_loads_nothing(hostile_run: Path) -> None:
    path = write_report(hostile_run)
    source = path.read_text(encoding="utf-8")
    page = Page(source)
    assert path == hostile_run / "report.html"
    assert not page.open
    assert not page.misplaced
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert policy in source
    assert not {tag for tag, _ in page.tags} & {"script", "img", "link", "iframe", "object", "base"}
    for _, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert str(attributes.get("href", "#")).startswith("#")
        assert "src" not in attributes
    assert "url(" not in source
    assert "@import" not in source


def test_hostile_text_stays_text_and_hidden_characters_are_shown(hostile_run: Path) -> None:
    source = write_report(hostile_run).read_text(encoding="utf-8")
    page = Page(source)
    assert HOSTILE[0] in page.text
    assert "{{ 7 * 7 }}{% for %}" in page.text
    assert '<span class="code" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>' in source
    assert "U+0007" in page.text
    assert "U+200B" in page.text
    assert "140 characters" in page.text  # of the id with 300, 160 are shown
    hidden = re.findall("[\u202a-\u202e\u2066-\u2069\u200b\x00-\x08\x0b-\x1f\x7f]", source)
    assert hidden == []


def test_tables_have_captions_and_scopes_and_scroll_by_keyboard(plain_run: Path) -> None:
    page = page_of(plain_run)
    tables = [tag for tag, _ in page.tags if tag == "table"]
    assert len([tag for tag, _ in page.tags if tag == "caption"]) == len(tables) > 8
    assert all(a.get("scope") in ("col", "row") for tag, a in page.tags if tag == "th")
    regions = [a for tag, a in page.tags if tag == "div" and a.get("class") == "scroll"]
    assert len(regions) == len(tables)
    assert all(a["tabindex"] == "0" and a["aria-label"] for a in regions)
    targets = {a["id"] for _, a in page.tags if a.get("id")}
    assert {str(a["href"])[1:] for tag, a in page.tags if tag == "a"} <= targets
    labels = [a["aria-labelledby"] for tag, a in page.tags if tag == "svg"]
    assert len(labels) == 3  # the composite and two criteria
    assert set(labels) <= targets


def test_demonstration_is_headed_as_one_and_others_are_not(
    plain_run: Path, hostile_run: Path
) -> None:
    assert "DEMONSTRATION" in page_of(hostile_run).text
    assert "DEMONSTRATION" not in page_of(plain_run).text


def test_counts_stand_with_every_status_and_fault(hostile_run: Path) -> None:
    text = page_of(hostile_run).text
    # 9 responses x 6 judges; 7 x 5 scored, 7 failed, 6 unreadable, 6 not asked
    assert "35 scored of 54 planned" in text
    assert "0 abstained, 0 refused, 6 unreadable, 7 failed, 6 not asked" in text
    assert "unreadable not_json 6" in text
    assert "not asked screened 6" in text


def test_unknown_cost_is_said_apart_and_is_not_nothing(hostile_run: Path, tmp_path: Path) -> None:
    text = page_of(hostile_run).text
    assert "cost of the replies unknown 6 judgments without a known price" in text
    mixed = make_run(
        tmp_path / "mixed",
        list(plain_verdicts(2)),
        cost={"replies_usd": 0.5, "judgments_with_unknown_price": 3, "note": ""},
    )
    assert "US$ 0.5 and 3 judgments at an unknown price" in page_of(mixed).text


def test_undefined_is_a_dash_with_its_reason(hostile_run: Path) -> None:
    source = write_report(hostile_run).read_text(encoding="utf-8")
    text = Page(source).text
    assert "fewer than 6 prompts" in text
    assert "below the quorum" in text or HOSTILE[0] in text
    row = re.search(
        r'<bdi class="text">blank</bdi></th>.*?</tr>', source[source.index("All resp") :]
    )
    assert row is not None
    assert row[0].count("–") == 7  # composite, interval, median, trimmed mean, SD, two criteria
    assert "no letters" in row[0]
    assert "0.00" not in row[0]


def test_criterion_without_interval_gets_its_own_reason() -> None:
    (row,) = respondent_rows([respondent("a")], CRITERIA)
    assert [estimate.reason for estimate in row.estimates] == [
        None,
        None,
        "the prompt means do not vary",
    ]
    assert row.why == "evidential grounding: the prompt means do not vary"


def test_machine_folders_do_not_leave_with_the_report(plain_run: Path) -> None:
    source = write_report(plain_run).read_text(encoding="utf-8")
    assert "secret-folder" not in source
    assert "responses.csv" in source


def test_means_by_group_weigh_every_response_the_same() -> None:
    # r1: historian on model one scores 2 and, asked again, 4: its mean is 3.
    # r2: historian 9 on model one, 5 on model two: its mean is 7.
    # Over responses: (3 + 7) / 2 = 5, not (2 + 4 + 9 + 5) / 4 = 5 by chance of equal n;
    # so r3 adds one vote of 2 on model one: (3 + 7 + 2) / 3 = 4, over judgments 22 / 5 = 4.4.
    votes = [
        judgment("r1", "p", "m", scores=dict.fromkeys(CRITERIA, 2.0)),
        judgment("r1", "p", "m", repeat=1, scores=dict.fromkeys(CRITERIA, 4.0)),
        judgment("r2", "p", "m", scores=dict.fromkeys(CRITERIA, 9.0)),
        judgment("r2", "p", "m", model=MODELS[1], scores=dict.fromkeys(CRITERIA, 5.0)),
        judgment("r3", "p", "m", scores={CRITERIA[0]: 1.0, CRITERIA[1]: 3.0}),
        unscored(judgment("r4", "p", "m"), "refused", "policy"),
    ]
    tally = Tally(CRITERIA)
    tally.add_all({**vote.to_json(), **vote.scores} for vote in votes)
    persona = tally.by_persona["historian"]
    assert [mean.value for mean in persona.means] == [
        4.0,
        pytest.approx(11 / 3),
        pytest.approx(13 / 3),
    ]
    assert persona.means[0].n == 3
    # model one: (3 + 9 + 2) / 3
    assert tally.cells["historian", MODELS[0]].value == pytest.approx(14 / 3)
    assert tally.cells["historian", MODELS[1]].n == 1
    assert tally.faults == {("refused", "policy"): 1}
    assert tally.n_responses == 4


def test_a_persona_that_scored_nothing_has_no_mean(tmp_path: Path) -> None:
    verdicts = []
    for item in plain_verdicts(3):
        votes = [
            unscored(v, "refused", "content_policy") if v.persona == "libertarian" else v
            for v in item.judgments
        ]
        verdicts.append(verdict(votes))
    source = write_report(make_run(tmp_path / "run", verdicts)).read_text(encoding="utf-8")
    line = next(row for row in source.split("<tr>") if "Libertarian (ideological)" in row)
    assert '<td class="n">–<small>nothing scored</small></td>' in line
    assert "0 of 6" in line


def test_abstained_numbers_enter_no_mean() -> None:
    tally = Tally(CRITERIA)
    votes = [judgment("r", "p", "m"), judgment("r", "p", "m", persona="x", status="abstained")]
    tally.add_all({**vote.to_json(), **vote.scores} for vote in votes)
    assert tally.by_persona["x"].means[0].value is None
    assert tally.by_model[MODELS[0]].means[0].value == 5.0
    assert tally.faults == {}


def test_more_responses_than_are_shown_are_counted(tmp_path: Path, monkeypatch: Any) -> None:
    import areopagus.reports.responses as responses

    monkeypatch.setattr(responses, "MOST_ROWS", 5)
    text = page_of(make_run(tmp_path / "run", list(plain_verdicts(8)))).text
    assert "The first 5 of 8 responses; 3 are left out here. scores.csv holds all of them." in text
    assert "r4" in text
    assert "r5" not in text


def test_one_criterion_is_shown_once(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(f"{__name__}.CRITERIA", ("overall",))
    votes = [judgment(f"r{k}", f"p{k}", "model-a", scores={"overall": 3.0}) for k in range(3)]
    changes = record({})["identity"] | {"criteria": ["overall"]}
    item = respondent("model-a", dimensions={"overall": [6.25, 5.5, 7.0]})
    run = make_run(
        tmp_path / "run",
        [verdict([vote]) for vote in votes],
        identity=changes,
        respondents=[item],
        total=item,
    )
    page = page_of(run)
    assert len([tag for tag, _ in page.tags if tag == "svg"]) == 1
    assert "composite of the run" in page.text


def test_unfinished_run_is_said_to_be_unfinished(tmp_path: Path) -> None:
    nothing = respondent("run", composite=None, interval=None, n_scored=0, n_prompts=0)
    run = make_run(
        tmp_path / "run",
        list(plain_verdicts(2)),
        state="running",
        counts=dict.fromkeys(STATUSES, 0),
        respondents=[],
        total=nothing | {"reason": "no response was scored", "dimensions": {}},
    )
    text = page_of(run).text
    assert "begun and not ended" in text
    assert "run.json counts 0 judgments of 12 planned, judgments.parquet holds 12" in text
    assert "run.json holds no means by respondent" in text


def test_folders_that_hold_no_panel_run_are_refused(tmp_path: Path, plain_run: Path) -> None:
    with pytest.raises(InputError, match="is not a run folder"):
        write_report(tmp_path)
    (plain_run / "scores.csv").unlink()
    with pytest.raises(InputError, match=r"scores\.csv"):
        write_report(plain_run)
    other = make_run(tmp_path / "other", list(plain_verdicts(1)), kind="stress")
    with pytest.raises(InputError, match="must be 'panel', got 'stress'"):
        write_report(other)
    torn = make_run(tmp_path / "torn", list(plain_verdicts(1)), versions=None, sessions=[])
    before = (torn / "report.html").exists()
    with pytest.raises(InputError, match="do not fit together"):
        write_report(torn)
    assert not before
    assert not (torn / "report.html").exists()


def test_same_run_gives_the_same_report(plain_run: Path) -> None:
    first = write_report(plain_run).read_bytes()
    assert write_report(plain_run).read_bytes() == first


def test_tally_does_not_grow_with_the_number_of_responses() -> None:
    rows = [{**vote.to_json(), **vote.scores} for vote in panel_votes("r", "p", "model-a", 5)]

    def peak(n: int) -> int:
        tally = Tally(CRITERIA)
        tracemalloc.start()
        tally.add_all({**row, "response_id": k} for k in range(n) for row in rows)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert peak(2000) < 1.2 * peak(100) + 4096


def test_thirty_thousand_judgments_take_a_few_seconds(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", list(plain_verdicts(5000)))
    began = time.monotonic()
    path = write_report(run)
    assert time.monotonic() - began < 20  # measured: about 2 s; other work may share the machine
    assert path.stat().st_size < 5_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<b", "a&lt;b"),
        ("naïve – 解", "naïve – 解"),
        ("e\u0301", "e\u0301"),
        ("a\u00a0b", 'a<span class="code" title="NO-BREAK SPACE">U+00A0</span>b'),
        (" a", '<span class="code" title="SPACE">U+0020</span>a'),
        ("\ue000", '<span class="code" title="control character">U+E000</span>'),
        ("\u3164", '<span class="code" title="HANGUL FILLER">U+3164</span>'),
    ],
)
def test_hidden_characters_become_codes_and_others_stay(text: str, expected: str) -> None:
    assert visible(text) == f'<bdi class="text">{expected}</bdi>'


def test_stacked_marks_are_taken_apart() -> None:
    assert visible("e" + "\u0301" * 6).count("U+0301") == 6


def test_plain_text_for_drawings_has_codes_in_brackets() -> None:
    assert visible_plain("a\u202eb", most=20) == "a⟨U+202E⟩b"
    assert visible_plain("abcdefghijklmnop", most=8) == "abcde…op"
    assert visible_plain(None, most=8) == ""


def test_axis_of_the_figures_is_round_and_not_narrow() -> None:
    # 5.5 to 7.25 lies between the round figures 5 and 8, three of nine: a third of the scale.
    axis = axis_of(respondent_rows([respondent("a")], CRITERIA), (1, 10))
    assert (axis.low, axis.high, axis.ticks) == (5.0, 8.0, (5.0, 6.0, 7.0, 8.0))
    wide = respondent("a", interval=[-1.0, 11.0])
    axis = axis_of(respondent_rows([wide], CRITERIA), (1, 10))
    assert (axis.low, axis.high) == (1.0, 10.0)
    assert axis.share(-1.0) == 0.0
    empty = axis_of([], (0, 100))
    assert (empty.low, empty.high) == (0.0, 100.0)


def test_numbers_are_written_plainly() -> None:
    assert [shown(None), shown(float("nan")), shown(0.0), shown(-1.234)] == [
        "–",
        "–",
        "0.00",
        "−1.23",
    ]
    assert [dollars(None), dollars(0.0), dollars(0.00001), dollars(0.0123), dollars(1234.5)] == [
        "–",
        "US$ 0.00",
        "below US$ 0.0001",
        "US$ 0.0123",
        "US$ 1,234.50",
    ]


@pytest.mark.slow
def test_chromium_opens_the_report_without_complaint(hostile_run: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    path = write_report(hostile_run)
    done = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in done.stderr
    assert "DEMONSTRATION" in done.stdout
    assert "<script" not in done.stdout
