"""The report of a panel run: what it says, what it escapes, what it costs."""

from __future__ import annotations

import base64
import gzip
import hashlib
import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import report_runs
from report_runs import (
    CRITERIA,
    HOSTILE,
    MODELS,
    judgment,
    make_run,
    panel_votes,
    plain_verdicts,
    record,
    respondent,
    unscored,
    verdict,
    write_texts,
)

from areopagus.any_report import write_any_report as write_report
from areopagus.errors import InputError
from areopagus.panel_estimates import effective_judges
from areopagus.records.estimates import select
from areopagus.records.judgments import read_judgment_table
from areopagus.records.types import STATUSES
from areopagus.reports.visible import visible, visible_plain
from areopagus.run import Run


class Parsed(HTMLParser):
    """Tags, attributes and text of a page, and that its elements are closed in order.

    The text is that of a wide screen.
    """

    VOID = frozenset(("meta", "br", "img", "link", "wbr"))

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.narrow: list[bool] = []
        self.misplaced: list[str] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
            self.narrow.append(dict(attrs).get("class") == "narrow-only")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or (self.open.pop(), self.narrow.pop())[0] != tag:
            self.misplaced.append(tag)

    def handle_data(self, data: str) -> None:
        if not any(self.narrow) and (not self.open or self.open[-1] not in ("style", "script")):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def by_response(votes: list[Any]) -> list[Any]:
    """Verdicts from judgments that stand response by response."""
    ids = dict.fromkeys(vote.response_id for vote in votes)
    return [verdict([v for v in votes if v.response_id == name]) for name in ids]


def page_of(run: Path) -> Parsed:
    return Parsed(write_report(run, figures=False).read_text(encoding="utf-8"))


def unpacked(source: str, name: str) -> Any:
    """What a data element of the page holds."""
    match = re.search(rf'<script type="text/plain" id="{name}">([A-Za-z0-9+/=]*)</script>', source)
    assert match is not None, name
    return json.loads(gzip.decompress(base64.b64decode(match[1])))


def column(table: dict[str, Any], title: str) -> list[Any]:
    return next(one["values"] for one in table["columns"] if one["title"] == title)


def test_report_is_one_well_formed_file_that_loads_nothing(hostile_report: Path) -> None:
    path = hostile_report
    source = path.read_text(encoding="utf-8")
    page = Parsed(source)
    assert path.name == "report.html"
    assert not page.open
    assert not page.misplaced
    assert not {tag for tag, _ in page.tags} & {"img", "link", "iframe", "object", "base", "form"}
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert str(attributes.get("href", "#")).startswith(("#", "data:image/png;base64,"))
        assert "src" not in attributes
        assert tag != "use" or str(attributes["href"]).startswith("#")
    assert "@import" not in source
    assert set(re.findall(r"url\((.)", source)) <= {"#"}


def test_policy_names_the_style_and_the_script_by_their_hashes(plain_run: Path) -> None:
    source = write_report(plain_run, figures=False).read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', source)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in policy[1]
    for kind, tag in (("style-src", "style"), ("script-src", "script")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", source, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"


def test_hostile_text_stays_text_and_hidden_characters_are_shown(hostile_run: Path) -> None:
    source = write_report(hostile_run, figures=False).read_text(encoding="utf-8")
    page = Parsed(source)
    assert HOSTILE[0] in page.text
    assert "{{ 7 * 7 }}{% for %}" in page.text
    assert '<span class="code" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>' in source
    assert "U+0007" in page.text
    assert "U+200B" in page.text
    assert "140 characters" in page.text  # of the id with 300, 160 are shown
    hidden = re.findall("[\u202a-\u202e\u2066-\u2069\u200b\x00-\x08\x0b-\x1f\x7f]", source)
    assert hidden == []
    # Data are base64: nothing in them can end the element that holds them.
    assert source.count("</script>") == len([tag for tag, _ in page.tags if tag == "script"])


def test_texts_scores_and_rationales_are_in_the_page(hostile_run: Path) -> None:
    source = write_report(hostile_run, figures=False).read_text(encoding="utf-8")
    table = unpacked(source, "responses-table")
    ids = column(table, "response")
    assert ids[0] == f"0 {HOSTILE[0]}"
    assert table["kept"] == {"scores": 9, "texts": 9, "rationales": 9}
    texts = unpacked(source, "responses-texts-0")
    assert texts[3] == [f"asked: {HOSTILE[3]}", f"</script>{HOSTILE[3]}{HOSTILE[3]}"]
    judges = table["view"]["judges"]
    assert judges[0] == ["historian", "disciplinary", MODELS[0]]
    assert len(judges) == 6
    scores, remarks = unpacked(source, "responses-scores-0")[0]
    # Six judges of two scores; the first model's second persona failed.
    assert scores[:2] == [5, 5]
    assert [scores[4:6], remarks] == [[None, None], {"2": f"failed: {HOSTILE[0]}"}]
    assert unpacked(source, "responses-rationales-0")[0] == {"0": HOSTILE[0]}


def test_texts_that_are_not_stored_are_said_to_be_missing(plain_run: Path) -> None:
    page = page_of(plain_run)
    assert "texts of prompts and responses are not stored in this folder" in page.text
    source = (plain_run / "report.html").read_text(encoding="utf-8")
    assert unpacked(source, "responses-table")["kept"]["texts"] == 0


def test_without_script_the_page_says_where_the_rows_are(plain_run: Path) -> None:
    text = page_of(plain_run).text
    assert "These 8 rows are drawn by the page's own script" in text
    assert "mean composite" in text


def test_tables_have_captions_and_scopes_and_scroll_by_keyboard(plain_run: Path) -> None:
    page = page_of(plain_run)
    tables = [tag for tag, _ in page.tags if tag == "table"]
    assert len([tag for tag, _ in page.tags if tag == "caption"]) == len(tables) > 8
    assert all(a.get("scope") in ("col", "row") for tag, a in page.tags if tag == "th")
    regions = [a for tag, a in page.tags if tag == "div" and a.get("class") == "scroll"]
    assert len(regions) == len(tables)
    assert all(a["tabindex"] == "0" and a["aria-label"] for a in regions)
    ids = [a["id"] for _, a in page.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    links = {str(a["href"])[1:] for tag, a in page.tags if tag == "a"}
    assert {link for link in links if "/" not in link} <= set(ids)
    headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(headings))


def test_figures_stand_in_the_page_and_in_the_folder(plain_run: Path) -> None:
    page = Parsed(write_report(plain_run).read_text(encoding="utf-8"))
    drawn = [a for tag, a in page.tags if tag == "svg"]
    assert [a["class"] for a in drawn] == ["wide roomy", "phone"] * 4
    assert all(a["role"] == "img" and len(str(a["aria-label"])) > 20 for a in drawn)
    names = {"scorecard", "distribution", "axes", "agreement"}
    files = {path.name for path in (plain_run / "figures").iterdir()}
    assert files == {f"{name}.svg" for name in names}


def test_without_figures_the_tables_stand_and_nothing_is_drawn(plain_run: Path) -> None:
    page = Parsed(write_report(plain_run, figures=False).read_text(encoding="utf-8"))
    assert not (plain_run / "figures").exists()
    assert "svg" not in {tag for tag, _ in page.tags}
    assert "Mean rank" in page.text
    assert "no picture; the tables hold the same numbers" in page.text


def test_demonstration_is_headed_as_one_and_others_are_not(
    plain_run: Path, hostile_run: Path
) -> None:
    assert "DEMONSTRATION" in page_of(hostile_run).text
    assert "DEMONSTRATION" not in page_of(plain_run).text


def test_counts_stand_with_every_status_and_fault(hostile_run: Path) -> None:
    text = page_of(hostile_run).text
    # 9 responses x 6 judges; 7 x 5 scored, 7 failed, 6 unreadable, 6 not asked
    assert "35 scored of 54 planned" in text
    again = "(asked again by the same command)"
    assert f"6 unreadable, 7 failed {again}, 6 not asked" in text
    assert "unreadable not json 6" in text
    assert "not asked screened 6" in text


def test_unknown_cost_is_said_apart_and_is_not_nothing(hostile_run: Path, tmp_path: Path) -> None:
    assert (
        "What the replies behind these tables cost is unknown: 6 judgments."
        in page_of(hostile_run).text
    )
    mixed = make_run(
        tmp_path / "mixed",
        list(plain_verdicts(2)),
        cost={"replies_usd": 0.5, "judgments_with_unknown_price": 3, "note": ""},
    )
    told = "cost $0.5000 where the price is known; 3 judgments have no known price"
    assert told in page_of(mixed).text


def test_undefined_is_carried_with_its_reason(hostile_run: Path) -> None:
    source = write_report(hostile_run, figures=False).read_text(encoding="utf-8")
    text = Parsed(source).text
    assert "fewer than 6 prompts" in text
    table = unpacked(source, "responses-table")
    row = column(table, "response").index("blank")
    undefined = [one["title"] for one in table["columns"] if one["values"][row] is None]
    assert undefined == [
        "composite",
        "95% from",
        "95% to",
        "conceptual clarity",
        "evidential grounding",
        "SD",
        "disciplinary personas",
        "ideological personas",
        "median",
        "trimmed mean",
    ]
    assert column(table, "why undefined")[row] == "no letters"


def test_machine_folders_do_not_leave_with_the_report(plain_run: Path) -> None:
    source = write_report(plain_run, figures=False).read_text(encoding="utf-8")
    assert "secret-folder" not in source
    assert "responses.csv" in source


def test_a_persona_that_scored_nothing_has_no_mean(tmp_path: Path) -> None:
    verdicts = []
    for item in plain_verdicts(3):
        votes = [
            unscored(v, "refused", "content_policy") if v.persona == "libertarian" else v
            for v in item.judgments
        ]
        verdicts.append(verdict(votes))
    source = write_report(make_run(tmp_path / "run", verdicts), figures=False).read_text(
        encoding="utf-8"
    )
    line = next(row for row in source.split("<tr>") if "Libertarian (ideological)" in row)
    assert '<td class="n">–</td>' in line
    # of six planned judgments none was scored
    assert '<td class="n" data-v="0">0</td>' in line
    assert '<td class="n" data-v="6">6</td>' in line
    assert "6 refused" in line


def test_abstained_numbers_enter_no_mean(tmp_path: Path) -> None:
    votes = [judgment("r", "p", "m"), judgment("r", "p", "m", persona="x", status="abstained")]
    run = make_run(tmp_path / "run", by_response(votes))
    table = read_judgment_table(run, CRITERIA)
    assert table.faults == {}
    means = select(Run(run).estimate_stored().frame(), "judges", factor="persona")
    of_x = means[(means["group"] == "x") & (means["measure"] == "mean")]
    assert of_x["value"].isna().all()
    assert set(of_x["reason"]) == {"nothing scored"}
    source = write_report(run, figures=False).read_text(encoding="utf-8")
    scores, remarks = unpacked(source, "responses-scores-0")[0]
    assert scores == [5, 5, 5, 5]  # what it said is shown, and said to be out of the means
    assert remarks == {"1": "abstained"}


@pytest.mark.parametrize("n_scored", [1, 2, 3, 8])
def test_a_run_of_which_nearly_nothing_was_scored_has_a_report(
    tmp_path: Path, n_scored: int
) -> None:
    # A backend that closes after its first answers, say.
    seats = [(r, p, m) for r in ("r0", "r1") for p in ("historian", "ethicist") for m in MODELS]
    votes = [judgment(r, "p" + r, "m", persona=p, model=m) for r, p, m in seats]
    failed = [unscored(vote, "failed", "not_found") for vote in votes[n_scored:]]
    run = make_run(tmp_path / "run", by_response([*votes[:n_scored], *failed]))
    table = read_judgment_table(run, CRITERIA)
    found = effective_judges(table, ["pr0", "pr1"])
    assert not found.is_defined
    assert found.reason
    assert found.reason in write_report(run, figures=False).read_text(encoding="utf-8")


def test_responses_farthest_apart_are_listed_first_and_open_their_view(tmp_path: Path) -> None:
    verdicts = [
        verdict(
            panel_votes(f"r{k}", f"p{k}", "m", 5),
            disagreement="split",
            by_axis={"disciplinary": 5.0 + k % 3, "ideological": 5.0},
        )
        for k in range(4)
    ]
    source = write_report(make_run(tmp_path / "run", verdicts), figures=False).read_text("utf-8")
    part = source[source.index("Responses that split the panel") :]
    assert re.findall(r'<a href="#responses/(\d)">', part)[:4] == ["2", "1", "0", "3"]


def test_more_responses_than_are_shown_are_counted(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("areopagus.reports.panel_responses.MOST_ROWS", 5)
    run = make_run(tmp_path / "run", list(plain_verdicts(8)))
    source = write_report(run, figures=False).read_text("utf-8")
    assert "The first 5 of 8 rows; 3 are left out here." in Parsed(source).text
    assert column(unpacked(source, "responses-table"), "response") == [f"r{k}" for k in range(5)]


def test_texts_that_would_make_the_page_too_large_are_counted(
    plain_run: Path, monkeypatch: Any
) -> None:
    rng = np.random.default_rng(3)
    noise = ["".join(chr(33 + c) for c in rng.integers(0, 90, 3000)) for _ in range(8)]
    write_texts(plain_run, {f"r{k}": ("p", noise[k]) for k in range(8)})
    monkeypatch.setattr("areopagus.reports.packing.CHUNK_CHARS", 2500)
    monkeypatch.setattr("areopagus.reports.html.MOST_PACKED_CHARS", 12_000)
    source = write_report(plain_run, figures=False).read_text("utf-8")
    kept = unpacked(source, "responses-table")["kept"]
    assert kept["scores"] == 8
    assert 0 < kept["texts"] < 8
    assert f"Texts of the first {kept['texts']} rows are in this page" in Parsed(source).text


def test_one_criterion_is_shown_once(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(report_runs, "CRITERIA", ("overall",))
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
    assert "mean composite" in page.text
    assert page.text.count("overall") > 3
    assert "conceptual clarity" not in page.text


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
    assert "The run was begun and not ended" in text
    assert "run.json counts 0 judgments of 12 planned, judgments.parquet holds 12" in text
    assert "run.json holds no means by respondent" in text


def test_a_run_without_a_single_response_has_a_report(tmp_path: Path) -> None:
    nothing = respondent("run", composite=None, interval=None, n_scored=0, n_prompts=0)
    run = make_run(
        tmp_path / "run",
        [],
        respondents=[],
        total=nothing | {"reason": "no response was scored", "dimensions": {}},
        responses={"n": 0, "prompts": 0, "respondents": 0},
    )
    text = Parsed(write_report(run).read_text(encoding="utf-8")).text
    assert "0 scored of 0 planned" in text
    assert "No response has a score" in text


def test_folders_that_hold_no_panel_run_are_refused(tmp_path: Path, plain_run: Path) -> None:
    with pytest.raises(InputError, match="is not a run folder"):
        write_report(tmp_path)
    (plain_run / "scores.csv").unlink()
    with pytest.raises(InputError, match=r"scores\.csv"):
        write_report(plain_run)
    torn = make_run(tmp_path / "torn", list(plain_verdicts(1)), versions=None, sessions=[])
    before = (torn / "report.html").exists()
    with pytest.raises(InputError, match="do not fit together"):
        write_report(torn)
    assert not before
    assert not (torn / "report.html").exists()


def test_same_run_gives_the_same_report(plain_run: Path) -> None:
    first = write_report(plain_run).read_bytes()
    assert write_report(plain_run).read_bytes() == first


@pytest.mark.slow
def test_ten_thousand_responses_by_thirty_judges_stay_below_25_megabytes(
    large_report: Path,
) -> None:
    assert large_report.stat().st_size < 25_000_000
    source = large_report.read_text(encoding="utf-8")
    kept = unpacked(source, "responses-table")["kept"]
    assert kept == {"scores": 10_000, "texts": 10_000, "rationales": 0}


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
