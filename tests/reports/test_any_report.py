"""`areopagus report`: every kind of folder, one page each, from what the folder holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hostile_pages import (
    attack_page,
    hostile_calibration,
    rescore_page,
    stress_page,
)
from report_runs import make_run, panel_votes, plain_verdicts, verdict

from areopagus import audit
from areopagus.any_report import write_any_report
from areopagus.cli.main import cli
from areopagus.errors import InputError
from areopagus.records.run_folder import RUN_FORMAT


def run_of(path: Path, shift: float) -> Path:
    return make_run(
        path,
        [verdict(panel_votes(f"r{k}", f"p{k}", "model-a", 4 + k % 3 + shift)) for k in range(8)],
    )


def test_one_run_is_written_into_its_folder_or_where_it_is_wanted(plain_run: Path) -> None:
    done = CliRunner().invoke(cli, ["report", str(plain_run), "--no-figures"])
    assert done.exit_code == 0, done.output
    assert not (plain_run / "figures").exists()
    source = (plain_run / "report.html").read_text(encoding="utf-8")
    assert "<figure>" not in source
    elsewhere = plain_run / "elsewhere.html"
    done = CliRunner().invoke(
        cli, ["report", str(plain_run), "--no-figures", "--out", str(elsewhere)]
    )
    assert done.exit_code == 0, done.output
    assert elsewhere.read_text(encoding="utf-8") == source


def test_several_runs_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [str(run_of(tmp_path / f"run{k}", k / 10)) for k in range(3)]
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["report", *names, "--no-figures"])
    assert done.exit_code == 0, done.output
    source = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert "Difference from run0" in source
    assert "<figure>" not in source
    printed = " ".join(done.output.split())
    assert printed.startswith(
        "By this panel, run1 (by 0.10) and run2 (0.20) score higher than run0; "
    )


def test_twelve_runs_have_all_their_differences_drawn(tmp_path: Path) -> None:
    names = [str(run_of(tmp_path / f"run{k}", k / 10)) for k in range(12)]
    done = CliRunner().invoke(cli, ["report", *names, "--out", str(tmp_path / "many.html")])
    assert done.exit_code == 0, done.output
    drawn = sorted(path.name for path in (tmp_path / "many_figures").glob("*.svg"))
    assert drawn == ["differences.svg"]
    page = (tmp_path / "many.html").read_text(encoding="utf-8")
    assert all(f">run{k}<" in page for k in range(1, 12))


def run_file(folder: Path, kind: str, **content: Any) -> None:
    plain = {"format": RUN_FORMAT, "kind": kind, **content}
    (folder / "run.json").write_text(json.dumps(plain), encoding="utf-8")


def test_jobs_are_written_anew_from_their_estimates(tmp_path: Path) -> None:
    for name, page in (("a", attack_page), ("b", rescore_page), ("c", stress_page)):
        folder = tmp_path / name
        folder.mkdir()
        first = page(folder).read_text(encoding="utf-8")
        assert write_any_report(folder).read_text(encoding="utf-8") == first


def test_a_calibration_is_written_again_from_its_folder_alone(tmp_path: Path) -> None:
    run = hostile_calibration(tmp_path).write(tmp_path / "out")
    first = (run.path / "report.html").read_bytes()
    assert write_any_report(run.path).read_bytes() == first
    bare = write_any_report(run.path, out=tmp_path / "bare.html", figures=False)
    assert b"<svg" in first
    assert b"<svg" not in bare.read_bytes()


def test_the_report_of_an_audit_is_made_of_its_estimates(tmp_path: Path) -> None:
    run = audit("socioeval", limit=12, ledger=tmp_path / "ledger", out=tmp_path / "run")
    first = (run.path / "report.html").read_bytes()
    assert write_any_report(run.path).read_bytes() == first
    page = first.decode()
    assert "answers may hold demeaning stereotypes.</bdi>" in page  # a notice is a sentence
    version = f"areopagus {run.record['versions']['areopagus']}"
    paid = "Paid by the sessions in this folder"
    for told in (paid, "max_tokens 4000", version, "options, reasons"):
        assert told in page


def test_what_has_no_report_is_told(tmp_path: Path, plain_run: Path) -> None:
    other = make_run(tmp_path / "other", list(plain_verdicts(1)), kind="respond")
    with pytest.raises(InputError, match="'respond', which has no report"):
        write_any_report(other)
    with pytest.raises(InputError, match="is not a run folder"):
        write_any_report(tmp_path / "nothing")
    torn = make_run(tmp_path / "torn", list(plain_verdicts(1)), kind="stress")
    with pytest.raises(InputError, match=r"Give the command areopagus stress … --out .* again"):
        write_any_report(torn)
    assert not (torn / "report.html").exists()
