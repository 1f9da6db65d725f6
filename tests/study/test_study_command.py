"""`areopagus study`: what it prints, in 80 columns, and what it never prints."""

from __future__ import annotations

import json
import signal
import stat
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from processes import Command, until
from study_data import read_csv, secrets_of, study_rows, write_csv

from areopagus.cli.study import study
from areopagus.errors import InputError
from areopagus.study import read_packets, read_study
from areopagus.study.store import Save, Store

EXAMPLE = Path(__file__).parents[2] / "examples" / "study"


def run(*words: Any) -> Result:
    """The command's result; its errors are raised."""
    found = CliRunner().invoke(study, [str(word) for word in words])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert all(len(line) <= 80 for line in found.stdout.splitlines() if "/" not in line)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example study."""
    out = tmp_path / "study"
    found = run("build", EXAMPLE / "responses.csv", "--raters", EXAMPLE / "raters.csv",
                "--per-packet", 4, "--humans", 2, "--out", out)  # fmt: skip
    assert found.exit_code == 0, found.output
    return out


def test_the_example_is_built_collected_and_told_of(folder: Path) -> None:
    content = read_study(folder)
    assert content.rubric is not None
    store = Store(folder / "ratings.sqlite", content.study_id)
    for packet in read_packets(folder):
        scores = {
            label: dict.fromkeys(content.rubric.dimension_ids, 3 + place)
            for place, label in enumerate(packet.labels)
        }
        store.open_page(packet.rater, packet.number, 0.0)
        store.save(packet.rater, packet.number, Save(0, "a", scores, active_ms=600_000, done=True),
                   700.0)  # fmt: skip
    store.close()
    found = run("collect", folder)
    assert found.exit_code == 0
    assert "9 of 9 pages scored whole" in found.output
    assert "rater-chloe" in found.output
    assert len(read_csv(folder / "collected" / "ratings.csv")) == 9 * 4 * 6


def test_what_is_built_is_said_and_no_secret_with_it(folder: Path, tmp_path: Path) -> None:
    found = run("build", EXAMPLE / "responses.csv", "--raters", 4, "--per-packet", 4,
                "--humans", 2, "--out", tmp_path / "again")  # fmt: skip
    assert "4 raters, 3 prompts (1 calibration item), 12 pages, 3 a person" in found.output
    assert "only 3 different sets of 2" in found.output
    record = json.loads((tmp_path / "again" / "organiser" / "build.json").read_text())
    assert str(record["seed"]) not in found.output
    for secret in secrets_of(tmp_path / "again").values():
        assert secret not in found.output


def test_every_help_fits_80_columns() -> None:
    for words in ([], ["build"], ["serve"], ["collect"], ["export"], ["links"], ["plan"]):
        assert run(*words, "--help").exit_code == 0


def test_packets_are_exported(folder: Path) -> None:
    found = run("export", folder, "--as", "csv")
    assert "Wrote 3 files" in found.output
    assert len(list((folder / "export-csv").iterdir())) == 3


def test_links_change_their_address_and_one_its_secret(folder: Path) -> None:
    old = secrets_of(folder)
    hashes = json.loads((folder / "packets" / "access.json").read_text())
    found = run("links", folder, "--url", "https://study.example.org/x/", "--renew", "rater-ben")
    new = secrets_of(folder)
    links = {row["rater_id"]: row["link"] for row in read_csv(folder / "organiser" / "links.csv")}
    assert all(one.startswith("https://study.example.org/x/#") for one in links.values())
    assert {name for name in old if old[name] != new[name]} == {"rater-ben"}
    after = json.loads((folder / "packets" / "access.json").read_text())
    assert {code for code in hashes if hashes[code] != after[code]} == {"r02"}
    assert stat.S_IMODE((folder / "organiser" / "links.csv").stat().st_mode) == 0o600
    assert not any(secret in found.output for secret in new.values())
    with pytest.raises(InputError, match="no rater 'zoe'"):
        run("links", folder, "--renew", "zoe")
    with pytest.raises(InputError, match="https://"):
        run("links", folder, "--url", "javascript:alert(1)")


def test_writing_takes_its_own_options_and_no_others(tmp_path: Path) -> None:
    prompts = EXAMPLE.parent / "prompts.csv"
    found = run("build", prompts, "--task", "write", "--raters", 2, "--minutes", 20, "--words", 250,
                "--out", tmp_path / "w")  # fmt: skip
    assert "2 writers, 8 prompts" in found.output
    made = read_study(tmp_path / "w")
    assert (made.kind, made.minutes, made.words) == ("writing", 20, 250)
    with pytest.raises(InputError) as caught:
        run("build", prompts, "--task", "write", "--raters", 2, "--rubric", "x", "--keep-form",
            "--weak", "y", "--out", tmp_path / "z")  # fmt: skip
    told = str(caught.value)
    assert all(name in told for name in ("--rubric", "--keep-form", "--weak"))
    with pytest.raises(InputError, match="--minutes"):
        run("build", prompts, "--raters", 2, "--minutes", 5, "--out", tmp_path / "z")


def test_where_only_models_answered_the_options_are_named(tmp_path: Path) -> None:
    rows = study_rows(prompts=2, humans=0, models=4, calibration=False)
    file = write_csv(tmp_path / "models.csv", rows)
    with pytest.raises(InputError) as caught:
        run("build", file, "--raters", 2, "--out", tmp_path / "s")
    told = " ".join(str(caught.value).split())
    assert "--humans: must be 0 where no response is by a person" in told
    assert "give --humans 0 and --per-packet 4" in told
    found = run("build", file, "--raters", 2, "--humans", 0, "--per-packet", 4,
                "--out", tmp_path / "s")  # fmt: skip
    assert "2 raters, 2 prompts" in found.output


def refusal(*words: Any) -> str:
    with pytest.raises(InputError) as caught:
        run("build", *words)
    return " ".join(str(caught.value).split())


def test_what_is_demanded_comes_with_the_options_that_give_it(tmp_path: Path) -> None:
    rows = study_rows(prompts=5, humans=0, models=4, calibration=False)
    sourceless = [{k: v for k, v in row.items() if k in (
        "response_id", "prompt_id", "prompt_text", "response_text")} for row in rows]  # fmt: skip
    file = write_csv(tmp_path / "r.csv", sourceless)
    people = ("--raters", 4, "--out", tmp_path / "s")
    message = refusal(file, *people)
    assert "add the column, or give the file as --model FILE or --human FILE" in message
    assert "(in 20 lines: 2, 5, 8, 11, 14, 17, …)" in message
    message = refusal("--model", file, "--humans", 0, *people)
    assert "needs 6 responses of models, got 4; --humans 0 and --per-packet 4 would fit" in message
    assert "(in 5 places: prompt 'p0', prompt 'p1'" in message
    message = refusal("--human", file, *people)
    assert "needs 3 responses of models, got 0; --humans 4 and --per-packet 4 would fit" in message
    assert run("build", "--human", file, "--humans", 4, "--per-packet", 4, *people).exit_code == 0
    message = refusal("--model", file, "--humans", 5, "--per-packet", 4, *people)
    assert message == "--humans must be at most --per-packet, got 5"
    assert "give FILE, --model FILE or --human FILE" in refusal(*people)
    message = refusal(EXAMPLE.parent / "prompts.csv", "--task", "label", *people)
    assert "--category NAME --category NAME" in message
    assert "give --question TEXT" in message


def test_an_option_that_must_be_given_is_asked_for(tmp_path: Path) -> None:
    result = CliRunner().invoke(study, ["build", "r.csv", "--out", str(tmp_path / "s")])
    assert result.exit_code == 2
    assert "Missing option '--raters'" in result.output


def test_labels_are_asked_for_and_the_order_and_reasons_too(tmp_path: Path) -> None:
    prompts = EXAMPLE.parent / "prompts.csv"
    found = run("build", prompts, "--task", "label", "--raters", 3, "--question", "Is it fair?",
                "--category", "yes", "--category", "no=not at all",
                "--out", tmp_path / "l")  # fmt: skip
    assert "3 raters, 8 prompts (0 calibration items), 16 pages" in found.output
    made = read_study(tmp_path / "l")
    assert [(one.name, one.shown) for one in made.categories] == [
        ("yes", "yes"), ("no", "not at all")
    ]  # fmt: skip
    with pytest.raises(InputError, match="--question: does not go with --task rate"):
        run("build", prompts, "--raters", 2, "--question", "x", "--out", tmp_path / "z")
    run("build", EXAMPLE / "responses.csv", "--raters", 2, "--per-packet", 4, "--humans", 2,
        "--rank", "--justify", "overall", "--justify-chars", 40,
        "--out", tmp_path / "r")  # fmt: skip
    made = read_study(tmp_path / "r")
    assert (made.rank, made.justify, made.justify_chars) == (True, ("overall",), 40)
    assert "your own order" in made.instructions
    told = " ".join(run("export", tmp_path / "r", "--as", "csv").output.split())
    assert "Only `study serve` asks for raters' own order, and for reasons by criterion." in told


def test_settings_are_taken_and_instructions_come_from_a_file(tmp_path: Path) -> None:
    text = tmp_path / "do.txt"
    text.write_text("Read slowly.")
    run("build", EXAMPLE / "responses.csv", "--raters", 2, "--per-packet", 2, "--humans", 0,
        "--pause", 0, "--instructions", text, "--title", "Streets and names",
        "--out", tmp_path / "s")  # fmt: skip
    made = read_study(tmp_path / "s")
    assert (made.title, made.instructions) == ("Streets and names", "Read slowly.")
    # A nought is a setting and no missing one.
    assert made.pause_minutes == 0
    pages = read_csv(tmp_path / "s" / "organiser" / "source_map.csv")
    assert not any(row["source"] == "human" for row in pages)
    with pytest.raises(InputError, match="--instructions"):
        run("build", "x.csv", "--raters", 2, "--out", tmp_path / "t", "--instructions", "none.txt")


def test_a_plan_is_printed_with_what_it_rests_on(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    found = run("plan", "--half-width", 0.5, "--sd", 1.4, "--icc", 0.4, "--json", file)
    assert "0.4: correlation of two raters in a prompt (stated)" in found.stdout
    assert "Fewest rated pages: 39 prompts x 3 raters = 117 pages" in found.stdout
    rows = [row for row in json.loads(file.read_text())["estimates"] if row["table"] == "cheapest"]
    assert {row["measure"]: row["value"] for row in rows}["prompts"] == 39
    found = run("plan", "--power", 0.99, "--prompts", "9,12", "--per-prompt", "3", "--worlds", 50)
    assert "None of these designs does:" in found.stdout
    assert "Monte Carlo error" in found.stdout


def test_a_plan_says_what_was_measured_in_a_calibration_and_in_ratings(tmp_path: Path) -> None:
    from areopagus.calibration import agreement
    from areopagus.records.estimates import json_rows

    ratings = tmp_path / "ratings[1].csv"
    lines = ["rater_id,prompt_id,response_id,criterion,kind,value,source"]
    for prompt in range(6):
        for number in range(4):
            for rater in range(3):
                value = 3 + number + (prompt + number * rater) % 3
                source = "human" if number % 2 else "model"
                lines.append(
                    f"r{rater},q{prompt},q{prompt}-{number},overall,score,{value},{source}"
                )
    ratings.write_text("\n".join(lines) + "\n")
    folder = tmp_path / "agreement.json"
    rows = json_rows(agreement(ratings).estimates)
    folder.write_text(json.dumps({"kind": "agreement", "estimates": rows}))
    found = " ".join(run("plan", folder, "--half-width", 0.5).stdout.split())
    assert "(measured: tau of pairs of raters, overall, score; " in found
    assert "1: SD of one rating within a prompt (assumed; no variance components" in found
    found = run("plan", folder, "--ratings", ratings, "--half-width", 0.5).stdout
    assert found.count("(measured: ") == 3
    assert "ratings[1].csv" in "".join(found.split())
    with pytest.raises(InputError, match="no such file") as caught:
        run("plan", tmp_path / "none", "--half-width", 0.5)
    assert "RUN/calibration" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "words", [[], ["--half-width", "1", "--power", ".8"], ["--half-width", "1", "--prompts", "a"]]
)
def test_a_plan_needs_one_wish(words: list[str]) -> None:
    with pytest.raises(InputError):
        run("plan", *words)


def test_serving_tells_the_address_and_logs_no_link(folder: Path, tmp_path: Path) -> None:
    secret = secrets_of(folder)["rater-anna"]
    serving = Command("study", "serve", folder, "--port", 0, "--log", folder=tmp_path)
    try:
        until(lambda: "\n" in serving.written("stdout"))
        url = serving.written("stdout").partition(" at ")[2].partition(";")[0]
        assert url.startswith("http://127.0.0.1:")
        for path in ("/api/study", f"/{secret}", f"/api/pages/{secret}?{secret}"):
            request = urllib.request.Request(
                url + path, headers={"Authorization": f"Bearer {secret}"}
            )
            try:
                urllib.request.urlopen(request, timeout=10).close()
            except urllib.error.HTTPError as error:
                error.close()
        serving.send_signal(signal.SIGINT)
        told = "".join(serving.communicate())
        assert serving.returncode == 0
    finally:
        serving.process.kill()
    assert "r01 GET /api/study 200" in told
    assert "(no such page) 404" in told
    assert secret not in told
