"""examples/protocol: one command scores two sets and writes what the panel is worth."""

from __future__ import annotations

import csv
import json
import random
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from areopagus import Panel
from areopagus.testing import ProviderServer, ServedReply, ServedRequest, by_hash

FOLDER = Path(__file__).parent.parent / "examples" / "protocol"
CRITERIA = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
WRITERS = ("Human", "Model A", "Model B")
PROMPTS = 6
RESPONSES = 32 + PROMPTS * len(WRITERS)


def annotations(path: Path, *, left_out: str = "") -> Path:
    """A file in the form of HANNA's annotations; the texts are invented.

    A story says "zephyr" as often as it is good, which three raters see with some noise.
    """
    noise = random.Random(0)
    rows: list[dict[str, object]] = []
    for place, writer in enumerate(WRITERS):
        for prompt in range(PROMPTS):
            quality = 1 + (place + prompt) % 3
            for rater in range(3):
                scores = {name: quality + noise.choice((0, 1, 2)) for name in CRITERIA}
                rows.append(
                    {
                        "Story ID": place * PROMPTS + prompt,
                        "Prompt": f"A ship finds island number {prompt}.",
                        "Human": "A story that is not judged.",
                        "Story": f"Number {prompt} by {writer}: {'zephyr ' * quality}blew.",
                        "Model": writer,
                        **scores,
                        "Worker ID": f"W{rater}",
                        "Assignment ID": "A1",
                        "Work time in seconds": 60,
                        "Name": "Ann",
                    }
                )
    columns = [name for name in rows[0] if name != left_out]
    with path.open("w", newline="") as file:
        writer_of_rows = csv.DictWriter(file, columns, extrasaction="ignore")
        writer_of_rows.writeheader()
        writer_of_rows.writerows(rows)
    return path


def reader(request: ServedRequest) -> ServedReply:
    """A judge who counts zephyrs and is off by up to two points."""
    reply = json.loads(by_hash(1, 3)(request).text or "")
    zephyrs = request.prompt.count("zephyr")
    scores = {
        name: value if isinstance(value, bool) else max(1, zephyrs + value - 1)
        for name, value in reply.items()
    }
    return ServedReply(json.dumps(scores))


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer(reader) as running:
        yield running


@pytest.fixture
def panel(server: ProviderServer, tmp_path: Path) -> Path:
    """Two models, two personas, each asked twice."""
    file = tmp_path / "panel.yaml"
    models = "".join(
        f"  - model: openai/{name}\n    api_base: {server.openai_base}\n    max_tokens: 100\n"
        "    prices: {input: 1, output: 1}\n"
        for name in ("first", "second")
    )
    file.write_text(f"models:\n{models}personas: [historian, ethicist]\nrepeats: 2\n")
    return file


def protocol(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> object:
    """The exit code of `run.py ARGUMENTS`."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setattr("panel_worth.DRAWS", 3)
    monkeypatch.setattr("sys.argv", ["run.py", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(FOLDER / "run.py"), run_name="__main__")
    return end.value.code


def page_of(out: Path) -> str:
    return (out / "panel-worth.md").read_text()


def block(page: str, name: str) -> str:
    """What stands between a block's marks."""
    match = re.search(rf"<!-- worth: {name} -->\n(.*?)\n<!-- end -->", page, re.DOTALL)
    assert match is not None, name
    return match[1]


def test_the_dry_run_counts_both_parts_and_sends_nothing(
    server: ProviderServer,
    panel: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stories, out = annotations(tmp_path / "annotations.csv"), tmp_path / "out"
    arguments = ["--stories", stories, "--out", out, "--panel", panel, "--max-cost", 0.01]
    assert protocol(monkeypatch, *arguments, "--dry-run") == 0

    lines = capsys.readouterr().out.splitlines()
    counts = {words[0]: words[1:4] for line in lines if len(words := line.split()) == 6}
    assert counts["examples"] == ["32", "256", "256"]
    assert counts["stories"] == ["18", "144", "144"]
    assert counts["both"] == ["50", "400", "400"]
    assert "It will stop the run early" in lines[-2]
    assert server.counts.total == 0
    assert not out.exists()


def test_one_command_writes_the_page_and_a_second_one_sends_no_call(
    server: ProviderServer,
    panel: Path,
    tmp_path: Path,
    no_report: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stories, out = annotations(tmp_path / "annotations.csv"), tmp_path / "out"
    arguments = ["--stories", stories, "--out", out, "--panel", panel]
    assert protocol(monkeypatch, *arguments) == 0

    page = page_of(out)
    names = re.findall("<!-- worth: (.*) -->", page)
    tables = ["people", "beside", "subsets", "judges", "components", "designs", "ranking"]
    tables += ["biases", "correction"]
    assert names == ["asked", "answer", *tables, "examples"]
    for name in (*tables, "examples"):
        head, line, *rows = block(page, name).splitlines()
        assert head.startswith("| ")
        assert line.startswith("| --- |")
        assert rows, name
    assert "| examples | 32 | 256 scored of 256 planned |" in block(page, "asked")
    assert "| stories | 18 | 144 scored of 144 planned |" in block(page, "asked")
    assert "Times each judge was asked: 2." in block(page, "asked")
    assert "| one judge asked 2 times | 2 | " in block(page, "subsets")
    assert "| 2 personas of one model | 2 | " in block(page, "subsets")
    assert "| all 8 | 8 | " in block(page, "subsets")
    assert "for one more person" in block(page, "answer")
    shares = dict(re.findall(r"^\| (.*) \| (\d+)% \|$", block(page, "components"), re.MULTILINE))
    assert {"persona", "story x persona", "the same judge, asked again"} <= set(shares)
    assert sum(map(int, shares.values())) == pytest.approx(100, abs=5)  # rounded
    assert "nan" not in page
    assert len((out / "people.csv").read_text().splitlines()) == 1 + 3 * 18
    assert server.counts.total == 400

    assert protocol(monkeypatch, *arguments) == 0
    assert server.counts.total == 400
    assert "0 calls sent for $0.00" in capsys.readouterr().out
    assert page_of(out) == page


def test_the_cap_is_for_both_parts_together_and_the_page_says_what_is_missing(
    panel: Path,
    tmp_path: Path,
    no_report: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stories, out = annotations(tmp_path / "annotations.csv"), tmp_path / "out"
    # Six responses of a part are 48 calls of about 0.002 dollars.
    cap = 0.15
    arguments = ["--stories", stories, "--out", out, "--panel", panel, "--limit", 6]
    assert protocol(monkeypatch, *arguments, "--max-cost", cap) == 4

    sessions = [
        json.loads((out / part / "run.json").read_text())["sessions"][-1]
        for part in ("examples", "stories")
    ]
    spent = [session["spent_usd"] for session in sessions]
    assert [session["state"] for session in sessions] == ["complete", "budget"]
    assert sum(spent) <= cap
    (n,) = re.findall(r"\| stories \| 6 \| (\d+) scored of 48 planned", page_of(out))
    assert 0 < int(n) < 48
    assert "goes on" in capsys.readouterr().out


def test_people_who_are_too_few_make_a_page_without_a_verdict(
    panel: Path, tmp_path: Path, no_report: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    stories, out = annotations(tmp_path / "annotations.csv"), tmp_path / "out"
    arguments = ["--stories", stories, "--out", out, "--panel", panel]
    assert protocol(monkeypatch, *arguments, "--prompts", 1, "--limit", 3) == 0

    page = page_of(out)
    assert "not shown to agree" in block(page, "answer")
    assert "not shown to agree" in block(page, "subsets")
    assert "nan" not in page


def test_a_file_that_is_not_the_annotations_is_refused(
    server: ProviderServer,
    panel: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = annotations(tmp_path / "other.csv", left_out="Story ID")
    whole, missing = annotations(tmp_path / "whole.csv"), tmp_path / "missing.csv"
    for stories, prompts, message in (
        (other, 1, "other.csv: has no column Story ID; it has Prompt, Human"),
        (missing, 1, "missing.csv: is not there\nREADME.md beside run.py names the command"),
        (whole, 0, "--prompts: must be 1 or more, got 0"),
    ):
        arguments = ["--stories", stories, "--out", tmp_path / "out", "--panel", panel]
        assert protocol(monkeypatch, *arguments, "--prompts", prompts) == 2
        assert message in capsys.readouterr().err
    assert server.counts.total == 0


def test_the_panel_and_the_rubric_of_the_protocol_are_in_order() -> None:
    with Panel.from_file(FOLDER / "panel.yaml", rubric=FOLDER / "stories.yaml") as panel:
        panel.prepare()
        assert len(panel.spec.judges) == 3 * 10
        assert panel.spec.repeats == 2
        assert panel.criteria == tuple(name.lower() for name in CRITERIA)
        assert (panel.rubric.scale.low, panel.rubric.scale.high) == (1, 5)
        cost = panel.estimate([{"prompt_text": "A prompt.", "response_text": "A story."}])
        assert cost.likely_usd is not None  # each model has a listed price
