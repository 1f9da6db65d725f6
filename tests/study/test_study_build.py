"""Building a study: packets, the map apart from them, and every fault at once."""

from __future__ import annotations

import json
import stat
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from study_data import MODELS_PROMPT, WEAK_PROMPT, read_csv, study_rows, truth_of

from areopagus.errors import InputError
from areopagus.records.humans import read_source_map
from areopagus.study import (
    BuiltStudy,
    RatingSettings,
    WritingSettings,
    build_study,
    build_writing,
    read_packets,
    read_study,
)


def source_map(folder: Path) -> list[dict[str, Any]]:
    return read_csv(folder / "organiser" / "source_map.csv")


def faults_of(**given: Any) -> str:
    with pytest.raises(InputError) as caught:
        build_study(**given)
    return str(caught.value)


def test_every_page_has_three_people_and_three_models_no_two_raters_the_same_people(
    built: BuiltStudy,
) -> None:
    pages: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in source_map(built.folder):
        pages[row["rater_id"], row["prompt_id"]].append(row)
    assert len(pages) == 6 * 8 == built.n_packets
    people: dict[str, set[frozenset[str]]] = defaultdict(set)
    for (_, prompt), rows in pages.items():
        assert [row["blinded_label"] for row in rows] == list("ABCDEF")
        assert len({row["response_id"] for row in rows}) == 6
        sources = Counter(row["source"] for row in rows)
        if prompt == MODELS_PROMPT:
            assert sources == {"model": 6}
            continue
        people[prompt].add(frozenset(r["response_id"] for r in rows if r["source"] == "human"))
        if prompt == WEAK_PROMPT:
            assert sources == {"human": 3, "model": 2, "model (weak)": 1}
        else:
            assert sources == {"human": 3, "model": 3}
    assert {len(sets) for sets in people.values()} == {6}


def test_where_sets_must_repeat_it_is_said(tmp_path: Path) -> None:
    # 4 people's responses make 4 sets of 3; six raters cannot all have another.
    made = build_study([study_rows(prompts=3, humans=4, calibration=False)], raters=6,
                       out=tmp_path / "s", seed=1)  # fmt: skip
    told = [notice for notice in made.notices if "only 4 different sets" in notice]
    assert len(told) == 1
    assert told[0].startswith("3 prompts (p0, p1, p2): only 4 different sets of 3")
    assert "2 raters a prompt see a set that another rater has seen" in told[0]


def test_letters_and_places_do_not_depend_on_the_source(tmp_path: Path) -> None:
    """Over many raters each letter holds people's responses half of the time.

    300 pages of 3 + 3: a letter's count of people is hypergeometric in total; its standard
    deviation is below sqrt(300 / 4) = 8.7, so that 4.5 of them are a bound that holds.
    """
    made = build_study(
        [study_rows(prompts=3, humans=12, calibration=False)],
        raters=100,
        out=tmp_path / "s",
        settings=RatingSettings(per_prompt=100),
        seed=2,
    )
    humans = Counter(
        row["blinded_label"] for row in source_map(made.folder) if row["source"] == "human"
    )
    assert sum(humans.values()) == 900
    assert all(abs(humans[letter] - 150) < 39 for letter in "ABCDEF")


def test_calibration_items_are_mixed_in_for_everybody(built: BuiltStudy) -> None:
    where: dict[str, list[int]] = defaultdict(list)
    for row in source_map(built.folder):
        if row["blinded_label"] == "A" and row["item_type"] != "standard":
            where[row["item_type"]].append(int(row["packet"]))
    assert {kind: len(numbers) for kind, numbers in where.items()} == {
        "quality_floor": 6, "all_models": 6,
    }  # fmt: skip
    assert all(len(set(numbers)) > 1 for numbers in where.values())


def test_packets_hold_nothing_that_unblinds(built: BuiltStudy, rows: list[dict[str, str]]) -> None:
    packets = (built.folder / "packets" / "packets.jsonl").read_text()
    # The rubric's own words speak of sources and of weak support.
    study = json.loads((built.folder / "packets" / "study.json").read_text())
    everything = packets + json.dumps({**study, "rubric": None})
    everything += (built.folder / "packets" / "access.json").read_text()
    for row in rows:
        assert row["response_id"] not in everything
        assert row["respondent_id"] not in everything
    record = json.loads((built.folder / "organiser" / "build.json").read_text())
    assert str(record["seed"]) == "11"
    for word in ("quality_floor", "all_models", "weak", "source", "seed", "rater-0", "item_type"):
        assert word not in everything
    for packet in read_packets(built.folder):
        assert packet.labels == tuple("ABCDEF")
        assert set(packet.model_dump()) == {"rater", "number", "session", "prompt", "responses"}


def test_all_texts_have_one_form(built: BuiltStudy) -> None:
    texts = [one.text for packet in read_packets(built.folder) for one in packet.responses]
    assert not any(sign in text for text in texts for sign in ("**", "##", "—", "“"))
    changes = (built.folder / "organiser" / "normalisation.jsonl").read_text().splitlines()
    kept = {row["response_id"]: row for row in map(json.loads, changes)}
    assert kept["p0-m0"]["original_text"].startswith("## Case 0")
    assert set(kept["p0-m0"]["changes"]) == {"headings", "markup", "quotes", "dashes", "paragraphs"}
    assert kept["p0-h0"]["changes"] == {}


def test_sittings_have_at_most_so_many_prompts(built: BuiltStudy) -> None:
    sittings = Counter((packet.rater, packet.session) for packet in read_packets(built.folder))
    assert set(sittings.values()) == {5, 3}


def test_one_seed_makes_one_study_and_links_differ_all_the_same(
    tmp_path: Path, rows: list[dict[str, str]]
) -> None:
    def made(name: str, seed: int, order: int = 1) -> Path:
        return build_study([rows[::order]], raters=6, out=tmp_path / name, seed=seed,
                           all_models=[MODELS_PROMPT]).folder  # fmt: skip

    def read(folder: Path, file: str) -> str:
        return (folder / file).read_text()

    one, same, other, turned = made("a", 5), made("b", 5), made("c", 6), made("d", 5, -1)
    for file in ("packets/packets.jsonl", "organiser/source_map.csv"):
        assert read(one, file) == read(same, file)
        assert read(one, file) != read(other, file)
    assert read(one, "organiser/links.csv") != read(same, "organiser/links.csv")

    # The order of the input has no part in it.
    assert read(turned, "packets/packets.jsonl") == read(one, "packets/packets.jsonl")


def test_without_a_seed_nobody_can_guess_it(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    seeds = {
        build_study([rows], raters=3, out=tmp_path / str(n), all_models=[MODELS_PROMPT]).seed
        for n in range(3)
    }
    assert len(seeds) == 3
    assert max(seeds) > 2**40


def test_secrets_are_for_the_organiser_only(built: BuiltStudy) -> None:
    organiser = built.folder / "organiser"
    assert stat.S_IMODE(organiser.stat().st_mode) == 0o700
    for file in (*organiser.iterdir(), *(built.folder / "packets").iterdir()):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    links = read_csv(organiser / "links.csv")
    secrets = [row["link"].partition("#")[2] for row in links]
    assert len({*secrets}) == 6
    assert all(len(secret) == 32 for secret in secrets)
    packets = "".join(file.read_text() for file in (built.folder / "packets").iterdir())
    assert not any(secret in packets for secret in secrets)


def test_fixed_people_are_the_same_for_everybody(tmp_path: Path) -> None:
    made = build_study([study_rows(prompts=2, calibration=False)], raters=4, out=tmp_path / "s",
                       settings=RatingSettings(fixed_humans=True), seed=0)  # fmt: skip
    seen: dict[str, set[str]] = defaultdict(set)
    for row in source_map(made.folder):
        if row["source"] == "human":
            seen[row["prompt_id"]].add(row["response_id"])
    assert {len(names) for names in seen.values()} == {3}
    assert any("rotation is off" in notice for notice in made.notices)


def test_sources_may_come_from_files_of_their_own(tmp_path: Path) -> None:
    rows = study_rows(prompts=2, calibration=False)
    parts = {
        source: [{k: v for k, v in row.items() if k != "source"} for row in rows
                 if row["source"] == source]
        for source in ("human", "model")
    }  # fmt: skip
    made = build_study((), human=[parts["human"]], model=[parts["model"]], raters=2,
                       out=tmp_path / "s", seed=0)  # fmt: skip
    assert made.n_packets == 4


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    rows = study_rows(prompts=3, humans=3, calibration=False)
    rows[0]["response_text"] = "***"
    rows = [row for row in rows if row["response_id"] not in ("p1-m0", "p2-h0")]
    more = [{**rows[2], "prompt_text": "Another question?"}]
    told = faults_of(
        responses=[rows, more], raters=["expert_0", "ada", "ada"], out=tmp_path / "s",
        all_models=["nowhere"], rubric="no_such_rubric", url="ftp://x",
        settings={"per_session": 0, "title": "x" * 201},
    )  # fmt: skip
    for part in (
        "per_session", "title", "`url`", "no rubric", "is empty", "'p0-h2'", "another text",
        "'ada' stands at", "'expert_0'", "wrote a response", "no prompt 'nowhere'",
        "prompt 'p1': needs 3 responses of models, got 2",
        "prompt 'p2': needs 3 responses by people, got 2",
    ):  # fmt: skip
        assert part in told, part
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"raters": 0}, "from 1 to"),
        ({"raters": []}, "there are none"),
        ({"settings": {"per_packet": 1}}, "per_packet"),
        ({"settings": {"humans": 7}}, "humans"),
        ({"settings": {"per_prompt": 9}}, "at most the 4 raters"),
        ({"all_models": ["p0"]}, "needs 6 responses of models, got 3"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    given = {"responses": [study_rows(prompts=1, calibration=False)], "raters": 4}
    assert told in faults_of(**{**given, "out": tmp_path / "s", **change})


def test_reasons_are_for_criteria_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`justify`: must be among conceptual_clarity.*'charm'"):
        build_study([study_rows()], raters=2, out=tmp_path / "s", all_models=["p7"],
                    settings={"justify": ("charm", "overall")})  # fmt: skip


def test_where_only_models_answered_it_is_said_once_what_to_give(tmp_path: Path) -> None:
    rows = study_rows(prompts=4, humans=0, models=4, calibration=False)
    with pytest.raises(InputError) as caught:
        build_study([rows], raters=2, out=tmp_path / "study")
    (fault,) = caught.value.faults
    assert "give `humans` 0 and `per_packet` 4 for a study of models alone" in str(fault)
    built = build_study(
        [rows], raters=2, out=tmp_path / "study", settings={"humans": 0, "per_packet": 4}
    )
    assert (built.n_packets, built.n_responses) == (8, 16)


def test_a_text_twice_on_a_page_and_two_weak_ones_are_refused(tmp_path: Path) -> None:
    rows = study_rows(prompts=1, calibration=False)
    rows[5]["response_text"] = f"**{rows[0]['response_text']}**"
    assert "word for word" in faults_of(responses=[rows], raters=2, out=tmp_path / "s")
    rows = study_rows(prompts=3)
    rows += [{**rows[-1], "response_id": "p1-x", "response_text": "Another weak one."}]
    told = faults_of(responses=[rows], raters=2, out=tmp_path / "s", all_models=["p2"])
    assert "must have one weak response, got 2" in told


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "mine.txt").write_text("mine")
    told = faults_of(responses=[study_rows(prompts=1, calibration=False)], raters=2,
                     out=tmp_path / "s")  # fmt: skip
    assert "is there already" in told
    assert [file.name for file in (tmp_path / "s").iterdir()] == ["mine.txt"]


def test_give_aways_are_named_to_the_organiser(tmp_path: Path) -> None:
    rows = study_rows(prompts=1, calibration=False)
    rows[0]["response_text"] += " As my students know, this is so."
    rows[6]["response_text"] += " As an AI language model I cannot feel."
    rows[5]["response_text"] += " Yours, lab/machine-0"
    rows[7]["response_text"] += " word" * 60
    notices = build_study([rows], raters=10, out=tmp_path / "s", seed=0).notices
    told = "\n".join(notices)
    assert "a model wrote it: p0-m1" in told
    assert "a person wrote it: p0-h0" in told
    assert "the name of who wrote it: p0-m0" in told
    assert "length tells who wrote" in told
    assert "headings in 0% of people's responses, 100% of models'" in told


def test_raters_come_from_a_table_too(tmp_path: Path) -> None:
    table = tmp_path / "raters.csv"
    table.write_text("Participant id,Status\nann,APPROVED\nbob,APPROVED\n")
    made = build_study([study_rows(prompts=1, calibration=False)], raters=table,
                       out=tmp_path / "s")  # fmt: skip
    assert {row["rater_id"] for row in source_map(made.folder)} == {"ann", "bob"}


def test_another_rubric_and_scale_are_carried_whole(tmp_path: Path) -> None:
    rubric = tmp_path / "short.yaml"
    rubric.write_text(
        'id: short\nlabel: Short\nversion: "1"\nprovenance: Ours.\npurpose: To see.\n'
        "scale: {low: 0, high: 4}\ndimensions:\n"
        "  - {id: use, label: Use, definition: Of use., question: 'Of use?'}\n"
    )
    made = build_study([study_rows(prompts=1, calibration=False)], raters=2, rubric=rubric,
                       out=tmp_path / "s")  # fmt: skip
    study = read_study(made.folder)
    assert study.rubric is not None
    assert (study.rubric.scale.low, study.rubric.scale.high) == (0, 4)


def test_a_writing_study_deals_prompts_to_writers(tmp_path: Path) -> None:
    prompts = [{"prompt_id": f"q{n}", "prompt_text": f"Why {n}?"} for n in range(7)]
    made = build_writing(prompts, writers=4, out=tmp_path / "w", seed=3,
                         settings=WritingSettings(per_prompt=2, per_session=3))  # fmt: skip
    assert (made.kind, made.n_packets, made.per_rater) == ("writing", 14, (3, 4))
    study = read_study(made.folder)
    assert (study.minutes, study.words) == (30, 400)
    packets = read_packets(made.folder)
    assert all(packet.responses == () for packet in packets)
    assert "q0" not in (made.folder / "packets" / "packets.jsonl").read_text()
    pairs = {(packet.rater, packet.prompt) for packet in packets}
    assert len(pairs) == 14


def test_every_fault_of_a_writing_study_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        build_writing(
            [{"prompt_id": "a", "prompt_text": ""}],
            writers=["x", "x"],
            out=tmp_path / "w",
            settings={"minutes": -1, "words": 0},
        )
    told = str(caught.value)
    assert all(part in told for part in ("minutes", "words", "prompt_text", "stands at"))


def test_the_map_the_packets_and_the_responses_as_shown_agree(built: BuiltStudy) -> None:
    """What other tests take for the truth is what was dealt out; it unblinds any tool's ratings."""
    truth = truth_of(built.folder)
    found = read_source_map(built.folder / "organiser" / "source_map.csv")
    texts = {row["response_id"]: row["response_text"]
             for row in read_csv(built.folder / "organiser" / "responses.csv")}  # fmt: skip
    for packet in read_packets(built.folder):
        for one in packet.responses:
            row = truth[packet.rater, packet.number, one.label]
            assert texts[row["response_id"]] == one.text
            resolved = found.resolve(row["rater_id"], row["prompt_id"], one.label)
            assert resolved is not None
            assert resolved["response_id"] == row["response_id"]
