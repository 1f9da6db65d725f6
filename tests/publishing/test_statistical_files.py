"""Files for SPSS and Stata: labels, codes by status, legal names, and nothing that is averaged."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scored_run import CRITERIA, score

from areopagus import InputError, Run
from areopagus.publishing import statistical
from areopagus.publishing.statistical import SPSS, STATA, cut_bytes, legal_names
from areopagus.publishing.tables import LETTERS, SpssCodes, run_table
from areopagus.records.export import export_run
from areopagus.records.readers.dispatch import read_rows
from areopagus.records.readers.statistical import MissingCode
from areopagus.records.tables import judgment_frame, score_frame

STATUS_CODES = {
    "abstained": -91,
    "refused": -92,
    "unreadable": -93,
    "failed": -94,
    "not_asked": -95,
}
KINDS = ("sav", "dta")


def read(path: Path, *, user_missing: bool) -> tuple[pd.DataFrame, Any]:
    reader = pyreadstat.read_dta if path.suffix == ".dta" else pyreadstat.read_sav
    found: tuple[pd.DataFrame, Any] = reader(str(path), user_missing=user_missing)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_judgment_without_a_vote_is_missing_by_its_status(
    run: Run, tmp_path: Path, kind: str
) -> None:
    done = export_run(run.path, kind, tmp_path / f"j.{kind}", table="judgments")
    ours = judgment_frame(run.path)
    assert (done.written, done.unit) == (len(ours), "judgment")
    frame, meta = read(done.path, user_missing=True)
    plain, _ = read(done.path, user_missing=False)
    is_vote = (ours["status"] == "scored").to_numpy()
    seen = set(ours["status"])
    assert {"abstained", "unreadable", "failed", "not_asked"} < seen
    code_of = STATUS_CODES if kind == "sav" else LETTERS
    for name in CRITERIA:
        assert frame[name][is_vote].tolist() == ours[name][is_vote].tolist()
        codes = [code_of[status] for status in ours["status"][~is_vote]]
        assert frame[name][~is_vote].tolist() == codes
        # What SPSS and Stata average: the votes alone, though abstained replies hold integers.
        assert plain[name].notna().tolist() == is_vote.tolist()
        assert plain[name].mean() == ours[name][is_vote].mean()
        labels = meta.variable_value_labels[name]
        assert {labels[code_of[one]] for one in STATUS_CODES} == {
            "abstained", "refused", "unreadable", "failed", "not asked"
        }  # fmt: skip
    assert ours[CRITERIA[0]][ours["status"] == "abstained"].notna().all()


@pytest.mark.parametrize("kind", KINDS)
def test_means_with_the_codes_left_out_are_those_of_the_run(
    run: Run, tmp_path: Path, kind: str
) -> None:
    done = export_run(run.path, kind, tmp_path / f"s.{kind}")
    assert (done.written, done.unit) == (24, "response")
    plain, meta = read(done.path, user_missing=False)
    ours = run.scores
    names = dict(zip(ours.columns, plain.columns, strict=True))
    n_compared = 0
    for column in ours.columns:
        if column in ("With", *CRITERIA) or column.startswith(
            ("composite", "persona_", "sd", "n_")
        ):
            wanted = pd.to_numeric(ours[column])
            assert plain[names[column]].isna().tolist() == wanted.isna().tolist()
            pd.testing.assert_series_equal(plain[names[column]], wanted.astype(float),
                                           check_names=False)  # fmt: skip
            n_compared += 1
    assert n_compared > 25
    coded, _ = read(done.path, user_missing=True)
    status = ours["status"]
    codes = {"inconclusive": (-96, "i"), "screened": (-97, "s")}
    for name, (number, letter) in codes.items():
        found = coded["composite"][status == name].tolist()
        assert found == [number if kind == "sav" else letter] * int((status == name).sum())
        assert found
    assert meta.column_names_to_labels["composite"] == "Composite score"
    assert meta.column_names_to_labels[names["thème du jour"]] == "thème du jour (of the input)"


@pytest.mark.parametrize("kind", KINDS)
def test_our_own_reader_reads_it_back(run: Run, tmp_path: Path, kind: str) -> None:
    done = export_run(run.path, kind, tmp_path / f"j.{kind}", table="judgments")
    ours = judgment_frame(run.path)
    rows = list(read_rows(done.path))
    assert [row.values["response_id"] for row in rows] == ours["response_id"].tolist()
    assert {row.values["respondent_id"] for row in rows} == {"ann", "bert", "Zoë & co"}
    for row, status, vote in zip(rows, ours["status"], ours[CRITERIA[0]], strict=True):
        cell = row.values[CRITERIA[0]]
        if status == "scored":
            assert cell == vote
        else:
            assert isinstance(cell, MissingCode)
            assert cell.code.endswith(f"({status.replace('_', ' ')})")


def test_who_judged_is_a_number_with_the_name_as_its_label(run: Run, tmp_path: Path) -> None:
    done = export_run(run.path, "sav", tmp_path / "j.sav", table="judgments")
    frame, meta = read(done.path, user_missing=True)
    labels = meta.variable_value_labels["persona"]
    assert labels[3] == "Academic Historian"
    ours = judgment_frame(run.path)["persona"]
    assert set(zip(ours, frame["persona"].map(labels), strict=True)) >= {
        ("historian", "Academic Historian"), ("ethicist", "Ethicist"),
    }  # fmt: skip
    assert meta.variable_measure["persona"] == "nominal"
    assert meta.variable_value_labels["status"][1] == "scored"


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_in_it_only_where_they_are_asked_for(tmp_path: Path, kind: str) -> None:
    long = {"ann-1": "Case 1 by ann: " + "ä" * 20_000}
    run = score(tmp_path / "run", long)
    bare = export_run(run.path, kind, tmp_path / f"bare.{kind}", table="judgments")
    frame, _ = read(bare.path, user_missing=True)
    assert not {"prompt_text", "response_text", "rationale", "detail"} & set(frame.columns)
    assert "Case 1 by ann" not in bare.path.read_bytes().decode("utf-8", "ignore")
    full = export_run(run.path, kind, tmp_path / f"full.{kind}", texts=True)
    frame, _ = read(full.path, user_missing=True)
    text = frame.loc[frame["response_id"] == "ann-1", "response_text"].item()
    told = [note for note in full.notes if "cut off" in note]
    if kind == "sav":
        assert len(text.encode()) <= 32_767
        assert text.endswith("ä … [cut off]")
        assert told == ["1 text of response_text cut off at 32,767 bytes, and marked so."]
    else:
        assert (text, told) == (long["ann-1"], [])


def test_a_demonstration_says_so_in_the_file(tmp_path: Path) -> None:
    from areopagus import Panel

    with Panel() as panel:
        panel.score_many(
            [{"response_id": "a", "prompt_text": "Why?", "response_text": "Because it binds us."}],
            tmp_path / "run",
        )
    for kind in KINDS:
        done = export_run(tmp_path / "run", kind)
        assert done.path == tmp_path / "run" / f"scores.{kind}"
        judgments = export_run(tmp_path / "run", kind, table="judgments")
        assert judgments.path == tmp_path / "run" / f"judgments.{kind}"
        _, meta = read(done.path, user_missing=True)
        assert meta.file_label.startswith("DEMONSTRATION, no findings. Areopagus ")
    _, meta = read(tmp_path / "run" / "scores.sav", user_missing=True)
    assert "no language model" in " ".join(meta.notes)


@pytest.mark.skipif(shutil.which("pspp") is None, reason="no PSPP on this machine")
def test_pspp_leaves_the_codes_out_of_its_means(run: Run, tmp_path: Path) -> None:
    export_run(run.path, "sav", tmp_path / "j.sav", table="judgments")
    name = CRITERIA[0]
    syntax = f"GET FILE='j.sav'.\nFREQUENCIES VARIABLES={name}.\nMEANS TABLES={name} BY persona.\n"
    (tmp_path / "s.sps").write_text(syntax)
    done = subprocess.run(
        ["pspp", "s.sps"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    ours = run.judgments
    votes = ours[ours["status"] == "scored"]
    assert re.search(rf"Mean\W+{votes[name].mean():.2f}\W", done.stdout)
    for status, n in ours["status"].value_counts().items():
        if status != "scored":
            label = str(status).replace("_", " ")
            assert re.search(rf"\|(Missing| +) ?{label} *\| +{n}\|", done.stdout)
    historian = votes[votes["persona"] == "historian"][name]
    found = re.search(r"Academic Historian *\| *([\d.]+)\| *(\d+)\|", done.stdout)
    assert found is not None
    assert float(found[1]) == pytest.approx(historian.mean(), abs=0.01)
    assert int(found[2]) == len(historian)


def test_codes_stand_below_every_number(run: Run) -> None:
    table = run_table(run.path, "judgments")
    codes = SpssCodes(table)
    assert codes.codes() == {**STATUS_CODES, "inconclusive": -96, "screened": -97,
                             "not_measured": -98}  # fmt: skip
    # The end of an interval from two models may lie that low.
    frame = pd.DataFrame({one.name: [-90.5] for one in table.variables if one.reasons})
    codes.add(frame)
    assert codes.codes()["abstained"] == -991


WORDS = st.lists(st.text(min_size=1, max_size=90), min_size=1, max_size=12)


@given(WORDS)
def test_names_are_legal_and_each_is_there_once(names: list[str]) -> None:
    for form in (SPSS, STATA):
        found = legal_names(names, form)
        assert len({name.lower() for name in found}) == len(names)
        for name in found:
            assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
            assert len(name) <= form.name_length
            assert name.lower() not in form.reserved


def test_names_stay_readable() -> None:
    given = ["With", "thème du jour", "a/b", "a_b", "2nd", "日本", "str8", "int"]
    assert legal_names(given, SPSS) == [
        "With_v", "theme_du_jour", "a_b", "a_b_2", "v_2nd", "v6", "str8_v", "int",
    ]  # fmt: skip
    assert legal_names(given, STATA)[-1] == "int_v"
    long = ["persona_conservative_social_theorist", "persona_conservative_social_theory"]
    assert legal_names(long, STATA) == [
        "persona_conservative_social",
        "persona_conservative_socia_2",
    ]


@given(st.text(), st.integers(min_value=3, max_value=40))
def test_a_text_is_cut_between_characters(text: str, most: int) -> None:
    cut = cut_bytes(text, most)
    assert len(cut.encode()) <= most
    assert cut == text.encode("utf-8", "replace").decode() or cut.endswith("…")


def test_what_the_form_does_not_take_and_what_is_missing_are_said(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="is no option of sav"):
        export_run(run.path, "sav", tmp_path / "x.sav", verbatim=True)
    with pytest.raises(InputError, match="must be one of scores, judgments"):
        export_run(run.path, "dta", tmp_path / "x.dta", table="verdicts")
    monkeypatch.setattr(statistical, "MOST_ROWS", 100)
    with pytest.raises(InputError, match="at most 100 rows; export as parquet"):
        export_run(run.path, "sav", tmp_path / "x.sav", table="judgments")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(InputError, match=r"pip install \"areopagus\[stata\]\""):
        export_run(run.path, "sav", tmp_path / "x.sav")
    assert not list(tmp_path.iterdir())
    assert len(score_frame(run.path)) == 24
