"""Sources of responses and prompts: all faults at once, nothing altered, twice the same rows."""

import hashlib
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from areopagus import Panel
from areopagus.errors import InputError
from areopagus.records.prompt_units import prompt_text_id
from areopagus.records.readers.cells import read_id, read_number
from areopagus.records.readers.responses import (
    UNNAMED,
    PromptSource,
    ResponseSource,
    text_key,
)

HEADER = "response_id,prompt_id,prompt_text,response_text,respondent_id,topic\n"


def record(**changes: object) -> dict[str, object]:
    return {
        "response_id": "r1",
        "prompt_id": "p1",
        "prompt_text": "Why?",
        "response_text": "Because.",
        "respondent_id": "m1",
        **changes,
    }


def messages(source: object, **options: object) -> list[str]:
    with pytest.raises(InputError) as raised, ResponseSource(source, **options) as opened:  # type: ignore[arg-type]
        opened.check()
    return [str(fault) for fault in raised.value.faults]


def test_a_file_is_summed_up_and_read(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(HEADER + "r1,p1,Why?,Because.,m1,x\nr2,p1,Why?,,m2,y\n")
    with ResponseSource(path) as source:
        summary = source.check()
        rows = list(source.rows())
    assert (summary.n_responses, summary.n_prompts, summary.n_respondents) == (2, 1, 2)
    assert summary.columns_carried == ("topic",)
    # "Why?" twice (4 + 4) and "Because." (8): 16 characters.
    assert summary.text_chars == 16
    assert summary.notices == ()
    assert summary.name == str(path)
    assert rows[1].response_text == ""
    assert rows[1].extra == {"topic": "y"}
    assert [row.line for row in rows] == [2, 3]


def test_the_fingerprint_follows_our_columns_and_order_only() -> None:
    def fingerprint(rows: list[dict[str, object]]) -> str:
        with ResponseSource(rows) as source:
            return source.check().fingerprint

    one, two = record(), record(response_id="r2")
    # Written out: the five columns as JSON, one line a row.
    line = json.dumps(["r1", "p1", "Why?", "Because.", "m1"]) + "\n"
    assert fingerprint([one]) == hashlib.sha256(line.encode()).hexdigest()
    assert fingerprint([one, two]) != fingerprint([two, one])
    assert fingerprint([one]) == fingerprint([{**one, "topic": "x"}])
    assert fingerprint([one]) != fingerprint([{**one, "response_text": "because."}])


def test_every_kind_of_source_gives_the_same_fingerprint(tmp_path: Path) -> None:
    rows = [record(), record(response_id="r2", response_text="Näh, \u202e“no”\n\n")]

    def one_shot() -> Iterator[dict[str, object]]:
        yield from rows

    pd.DataFrame(rows).to_parquet(tmp_path / "r.parquet")
    pd.DataFrame(rows).to_csv(tmp_path / "r.csv", index=False)
    found = set()
    for kind in (
        rows,
        one_shot(),
        pd.DataFrame(rows),
        tmp_path / "r.parquet",
        str(tmp_path / "r.csv"),
    ):
        with ResponseSource(kind) as source:
            found.add(source.check().fingerprint)
            assert [row.response_text for row in source.rows()] == [
                row["response_text"] for row in rows
            ]
    assert len(found) == 1


class Dataset:
    """A Hugging Face data set, as far as a reader can see: by name its columns, by number its
    rows, and rows as mappings when it is iterated.
    """

    def __init__(self, rows: list[dict[str, object]]) -> None:
        self._rows = rows
        self.column_names = list(rows[0])

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: str | int) -> object:
        return [row[key] for row in self._rows] if isinstance(key, str) else self._rows[key]

    def __iter__(self) -> Iterator[dict[str, object]]:
        return iter(self._rows)


def saved(folder: Path, rows: list[dict[str, object]]) -> Path:
    """A folder as `Dataset.save_to_disk` of `datasets` 5.2 makes it."""
    folder.mkdir(parents=True)
    table = pa.Table.from_pylist(rows)
    names = []
    for place, part in enumerate((table.slice(0, 2), table.slice(2))):
        names.append(f"data-{place:05}-of-00002.arrow")
        with pa.ipc.new_stream(str(folder / names[-1]), table.schema) as stream:
            stream.write_table(part)
    (folder / "dataset_info.json").write_text("{}")
    (folder / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": name} for name in names], "_split": "train"})
    )
    return folder


def test_a_saved_data_set_is_read_from_its_folder(tmp_path: Path) -> None:
    rows = [record(response_id=f"r{number}", topic=number) for number in range(200)]
    folder = saved(tmp_path / "set" / "train", rows)
    with ResponseSource(folder) as source, ResponseSource(rows) as same:
        assert source.check().fingerprint == same.check().fingerprint
        assert [row.extra for row in source.rows()] == [row.extra for row in same.rows()]
    (tmp_path / "set" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    with ResponseSource(tmp_path / "set") as source:  # its only split
        assert source.check().n_responses == 200
    saved(tmp_path / "set" / "unseen", rows)
    assert f"holds the splits train, unseen: name one, as {folder}" in messages(tmp_path / "set")[0]
    (folder / "data-00001-of-00002.arrow").write_bytes(b"no stream")
    assert "the Arrow data are broken" in messages(folder)[0]
    (folder / "state.json").write_text("[]")
    assert "not readable as a saved data set" in messages(folder)[0]
    assert "is a folder; name a file" in messages(tmp_path)[0]


def test_a_folder_that_the_library_saved_is_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [record(response_id=f"r{number}", topic=number) for number in range(3)]
    datasets.Dataset.from_list(rows).save_to_disk(tmp_path / "set")
    with ResponseSource(tmp_path / "set") as source, ResponseSource(rows) as same:
        assert source.check().fingerprint == same.check().fingerprint


@pytest.mark.parametrize(
    "kind", ["stand-in", "Dataset.from_list", "IterableDataset.from_generator"]
)
def test_a_hugging_face_data_set_is_scored_as_it_is(tmp_path: Path, kind: str) -> None:
    rows = [
        record(response_id=f"r{number}", response_text="It is, because trust returns slowly.")
        for number in range(3)
    ] + [record(response_id="r3", response_text="")]
    source: Any = Dataset(rows)
    if kind != "stand-in":
        datasets = pytest.importorskip("datasets")
        if kind == "Dataset.from_list":
            source = datasets.Dataset.from_list(rows)
        else:
            source = datasets.IterableDataset.from_generator(lambda: iter(rows))
    with Panel(personas=["historian"]) as panel:
        run = panel.score_many(source, out=tmp_path / "run")
        again = panel.score_many(rows, out=tmp_path / "again")
    assert run.scores["response_id"].tolist() == ["r0", "r1", "r2", "r3"]
    assert run.scores["status"].tolist() == ["scored"] * 3 + ["screened"]
    assert run.scores.equals(again.scores)


def test_all_faults_come_together_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(
        HEADER
        + "r1,p1,Why?,A,m1,x\n"
        + ",p1,Why?,A,m1,x\n"
        + "r2,p1, ,A,m1,x\n"
        + "r1,p2,What?,A,m1,x\n"
        + "r3,p1,How?,A,m1,x\n"
        + "r4,p1\n"
    )
    found = messages(path)
    assert f"{path}:3: response_id: must not be empty" in found
    assert f"{path}:4: prompt_text: must not be empty" in found
    assert f"{path}:7: must have 6 cells as the header has, got 2" in found
    assert f"{path}:5: response_id: must be unique, got 'r1', which stands at {path}:2 too" in found
    assert f"{path}:6: prompt_text: prompt 'p1' has another text at {path}:2" in found
    assert len(found) == 5


def test_columns_are_mapped_and_one_that_is_missing_is_one_fault(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("response_id,Frage,Antwort\nr1,Why?,A\nr2,Why?,B\n")
    assert messages(path) == [
        f"{path}: {name}: there is no such column; found: response_id, Frage, Antwort"
        for name in ("prompt_text", "response_text")
    ]
    with pytest.raises(InputError, match="`columns="):
        ResponseSource(path).check()
    columns = {"prompt_text": "Frage", "response_text": "Antwort"}
    assert ResponseSource(path, columns=columns).check().n_responses == 2
    assert "there is no such column" in messages([record()], columns={"prompt_id": "pid"})[0]
    assert "must name one of" in messages([record()], columns={"prompt": "prompt_text"})[0]
    # A column hidden by a map is carried under another name.
    with ResponseSource([record(q="Really?")], columns={"prompt_text": "q"}) as source:
        row = next(source.rows())
    assert (row.prompt_text, row.extra) == ("Really?", {"original_prompt_text": "Why?"})


def test_optional_columns_are_filled_in_and_said_once() -> None:
    rows = [{"response_id": i, "prompt_text": "Why?", "response_text": "x"} for i in range(3)]
    with ResponseSource(rows) as source:
        summary = source.check()
        row = next(source.rows())
    assert row.respondent_id == UNNAMED
    expected = "p-" + hashlib.sha256(b"Why?").hexdigest()[:16]
    assert row.prompt_id == prompt_text_id("Why?") == expected
    assert summary.notices == (
        "No respondent_id: 'unnamed' is taken.",
        "No prompt_id: it is made from the prompt's text.",
    )
    with ResponseSource([*rows[:2], record()]) as source:
        assert "No prompt_id in 2 of 3 responses: it is made" in source.check().notices[1]


def test_ids_and_numbers_are_read_from_what_they_are_and_nothing_else() -> None:
    found = [read_id(value) for value in (17, 17.0, float("nan"), " ", " a ")]
    assert found == ["17", "17", None, None, " a "]
    for wrong in (True, 1.5, ["a"], "a\nb", "a\x00", "x" * 1001, 1e300, 10**1500):
        with pytest.raises(ValueError, match="must"):
            read_id(wrong)
    assert (read_number(" 3.5 "), read_number("")) == (3.5, None)
    for word in ("n/a", "inf", "nan", "1_0", True, [1], 10**400):
        with pytest.raises(ValueError, match="must be a number"):
            read_number(word)


def test_text_must_be_text_and_may_be_empty() -> None:
    assert "must be text, got the number 7" in messages([record(response_text=7)])[0]
    assert "must be text, got nothing" in messages([record(response_text=None)])[0]
    assert "keep_default_na" in messages(pd.DataFrame([record(response_text=float("nan"))]))[0]
    assert "at most 10 characters" in messages([record(response_text="x" * 11)], max_chars=10)[0]
    with ResponseSource([record(response_text="")]) as source:
        assert source.check().n_responses == 1


def test_repeated_texts_are_those_of_one_respondent_over_several_prompts() -> None:
    said = [
        # m1 says "ok" to two prompts: a repeated text, short as it is.
        *(("p1", "ok", "m1"), ("p2", "ok", "m1")),
        # the same prompt twice is no repetition over prompts
        *(("p3", "twice", "m1"), ("p3", "twice", "m1")),
        # another respondent's equal text is none either
        *(("p1", "shared", "m1"), ("p2", "shared", "m2")),
        # and blank ones are another matter
        *(("p1", " ", "m1"), ("p2", " ", "m1")),
    ]
    names = ("prompt_id", "response_text", "respondent_id")
    rows = [
        record(response_id=str(n), prompt_text=row[0], **dict(zip(names, row, strict=True)))
        for n, row in enumerate(said)
    ]
    with ResponseSource(rows) as source:
        assert source.check().repeated_texts == {text_key("ok")}


def test_limit_takes_the_first_and_looks_at_no_more(tmp_path: Path) -> None:
    rows = [record(), record(response_id="r2"), record(response_id="")]
    with ResponseSource(rows, limit=2) as source:
        assert source.check().n_responses == 2
        assert len(list(source.rows())) == 2
    with pytest.raises(InputError, match="limit"):
        ResponseSource(rows, limit=0)


def test_a_spooled_copy_is_deleted_on_close_and_on_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = ResponseSource(iter([record()]))
    assert len(list(tmp_path.iterdir())) == 1
    source.close()
    assert list(tmp_path.iterdir()) == []

    def breaks() -> Iterator[dict[str, object]]:
        yield record()
        raise RuntimeError("the user's own")

    with pytest.raises(RuntimeError, match="own"):
        ResponseSource(breaks())
    assert list(tmp_path.iterdir()) == []


def test_sources_of_another_kind_and_without_rows_are_refused(tmp_path: Path) -> None:
    for wrong in (7, {"response_id": "r1"}, ["text"], [{1: "x"}], [{"a": object()}]):
        with pytest.raises(InputError):
            ResponseSource(wrong)
    path = tmp_path / "r.csv"
    path.write_text(HEADER)
    assert messages(path) == [f"{path}: holds no responses"]
    assert messages([]) == ["an iterable: holds no responses"]
    assert messages(pd.DataFrame(columns=["response_id"])) == ["a DataFrame: holds no responses"]
    path.write_text("prompt_id,prompt_text\np1,What is owed?\n", encoding="utf-8")
    with pytest.raises(InputError, match="areopagus score FILE --target MODEL"):
        ResponseSource(path).check()  # a prompt set is told from responses


def test_a_file_changed_after_the_check_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(HEADER + "r1,p1,Why?,A,m1,x\n")
    source = ResponseSource(path)
    source.check()
    path.write_text(HEADER + "r1,p1,Why?,A,m1,x\nr2,p1,Why?,A,m1,x\n")
    with pytest.raises(InputError, match="has changed since"):
        next(source.rows())


def test_data_frames_bring_numbers_gaps_and_dates() -> None:
    frame = pd.DataFrame(
        {
            "response_id": [1.0, 2.0],
            "prompt_text": ["a", "b"],
            "response_text": ["x", "y"],
            "respondent_id": pd.array([7, None], dtype="Int64"),
            "when": pd.to_datetime(["2024-01-02", None]),
        }
    )
    with ResponseSource(frame) as source:
        source.check()
        rows = list(source.rows())
    assert [row.response_id for row in rows] == ["1", "2"]
    assert [row.respondent_id for row in rows] == ["7", UNNAMED]
    assert [row.extra["when"] for row in rows] == ["2024-01-02T00:00:00", None]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ids=st.lists(
        st.text(
            alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30
        ).filter(str.strip),
        min_size=1,
        max_size=6,
        unique=True,
    ),
    text=st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    suffix=st.sampled_from(["csv", "jsonl"]),
)
def test_hostile_ids_and_texts_come_back_unaltered(
    tmp_path: Path, ids: list[str], text: str, suffix: str
) -> None:
    rows = [record(response_id=one, response_text=text.replace("\0", "")) for one in ids]
    path = tmp_path / f"r.{suffix}"
    frame = pd.DataFrame(rows)
    if suffix == "csv":
        # Python's own writer leaves "\r" within quotes as it is; so must the reader.
        frame.to_csv(path, index=False, quoting=1, lineterminator="\r\n")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with ResponseSource(path) as source:
        source.check()
        back = list(source.rows())
    assert [row.response_id for row in back] == ids
    assert {row.response_text for row in back} == {text.replace("\0", "")}


def test_ids_are_told_apart_byte_by_byte() -> None:
    hostile = (
        "../../etc/passwd",
        "/",
        "..",
        "-rf",
        "A",
        "a",
        "e\u0301",
        "\u00e9",
        "=1+1",
        "\u202e",
    )
    with ResponseSource([record(response_id=name) for name in hostile]) as source:
        assert source.check().n_responses == len(hostile)


def test_prompts_stand_once(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"prompt_text": "Why?", "domain": "d"}\n{"prompt_text": "What?"}\n')
    with PromptSource(path) as source:
        summary = source.check()
        rows = list(source.rows())
    assert (summary.n_responses, summary.n_prompts, summary.n_respondents) == (2, 2, 0)
    assert rows[0].prompt_id == prompt_text_id("Why?")
    assert rows[0].extra == {"domain": "d"}
    path.write_text('{"prompt_text": "Why?"}\n{"prompt_text": "Why?"}\n')
    with pytest.raises(InputError, match="must be unique"):
        PromptSource(path).check()


def test_five_thousand_responses_are_checked_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(
        HEADER
        + "".join(f"r{i},p{i // 10},Q{i // 10},answer {i},m{i % 9},x\n" for i in range(5_000))
    )
    import numpy as np

    assert np.zeros(1).size == 1  # numpy's own import is not what is measured
    with pytest.raises(InputError, match="reading stopped after") as raised:
        ResponseSource(record(prompt_text="") for _ in range(5000)).check()
    assert len(raised.value.faults) == 1000
    with ResponseSource(path) as source:
        tracemalloc.start()
        try:
            summary = source.check()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (summary.n_responses, summary.n_prompts, summary.n_respondents) == (5_000, 500, 9)
    # A million would take two hundred times this, still far below 300 MB.
    assert peak < 1_200_000
