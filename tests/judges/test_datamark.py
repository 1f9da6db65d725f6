"""Datamarking: what judges read is marked, what is stored is not, and the ledger tells the two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from areopagus import Panel
from areopagus.judges.datamark import datamarked, mark_for, unmarked
from areopagus.records.tables import read_texts
from areopagus.testing import ScriptedBackend

NONCE = "0123456789abcdef"
RESPONSE = "Two words.\n\n  And a line of verse;\nthen <b>more</b>. 東京都に行った。"
CRITERIA = (
    "conceptual_clarity", "evidential_grounding", "contextual_relevance",
    "pluralistic_engagement", "argumentative_soundness",
)  # fmt: skip
FIVES = {**dict.fromkeys(CRITERIA, 5), "abstained": False}


@given(text=st.text(max_size=300), nonce=st.text(alphabet="0123456789abcdef", min_size=16))
def test_the_marks_can_be_taken_out_again_and_stand_before_every_word(
    text: str, nonce: str
) -> None:
    mark = mark_for(nonce, text)
    assert mark not in text
    marked = datamarked(text, mark)
    assert unmarked(marked, mark) == text
    assert all(word.startswith(mark) for word in marked.split())


def test_a_text_cannot_choose_its_mark_by_leaving_one_character_out() -> None:
    blocks = (range(0x2190, 0x2200), range(0x2500, 0x2580), range(0x25A0, 0x2600))
    symbols = "".join(chr(code) for block in blocks for code in block)
    left_out = symbols[7]
    assert mark_for(NONCE, symbols.replace(left_out, "")) != left_out


def test_a_text_without_blanks_is_marked_within() -> None:
    assert datamarked("東京都に行った。", "^") == "^東京都に^行った^。"


def asked(folder: Path, **options: Any) -> tuple[list[dict[str, str]], Any]:
    """The messages that one judge is sent, and the run."""
    seen: list[dict[str, str]] = []

    def judge(request: Any) -> dict[str, Any]:
        seen.extend(request.messages)
        return FIVES

    with Panel(
        ScriptedBackend(judge), personas=["historian"], ledger=folder / "ledger", **options
    ) as panel:
        row = {"response_id": "r", "prompt_text": "Why?", "response_text": RESPONSE}
        run = panel.score_many([row], out=folder / "run")
    return seen, run


def test_only_what_judges_read_is_marked_and_the_system_message_names_the_mark(
    tmp_path: Path,
) -> None:
    (tmp_path / "on").mkdir()
    (tmp_path / "off").mkdir()
    (system, user), run = asked(tmp_path / "on", datamark=True)
    (plain_system, plain_user), plain = asked(tmp_path / "off")
    _, _, rest = user["content"].partition("<<<RESPONSE ")
    shown = rest.partition(">>>\n")[2].partition("\n<<<END")[0]
    mark = shown[0]
    assert shown == datamarked(RESPONSE, mark)
    assert f"preceded by the mark {mark}," in system["content"]
    assert "\x00" not in system["content"]
    # Without the note the system message is what it is without datamarking.
    before, _, note = system["content"].partition("In this message's response every word")
    assert plain_system["content"] == before + note.partition("\n\n")[2]
    assert "Why?" in user["content"]
    assert RESPONSE in plain_user["content"]
    # What is stored is the response; run.json says how it was shown.
    assert read_texts(run.path, ["r"])["r"][1] == RESPONSE
    assert run.record["identity"]["datamark"] is True
    assert "datamark" not in plain.record["identity"]


def test_the_ledger_keeps_marked_and_plain_calls_apart_and_pays_each_once(tmp_path: Path) -> None:
    sent = 0

    def judge(request: Any) -> dict[str, Any]:
        nonlocal sent
        sent += 1
        return FIVES

    for datamark in (True, False, True, False):
        with Panel(
            ScriptedBackend(judge), personas=["historian"], ledger=tmp_path / "l", datamark=datamark
        ) as panel:
            panel.score("Why?", RESPONSE)
    assert sent == 2


def test_the_key_does_not_depend_on_the_secret_that_draws_the_mark(tmp_path: Path) -> None:
    keys = []
    for name in ("one", "two"):
        with Panel(
            ScriptedBackend(lambda _: FIVES), personas=["historian"], ledger=tmp_path / name,
            datamark=True,
        ) as panel:  # fmt: skip
            keys.append(panel.score("Why?", RESPONSE).judgments[0].ledger_key)
    assert keys[0] == keys[1]


def test_the_embedded_judge_reads_through_the_marks(tmp_path: Path) -> None:
    with (
        Panel(personas=["historian"], ledger=tmp_path / "a", datamark=True) as marked,
        Panel(personas=["historian"], ledger=tmp_path / "b") as plain,
    ):
        assert marked.score("Why?", RESPONSE).composite == plain.score("Why?", RESPONSE).composite


def test_a_panel_file_may_say_it(tmp_path: Path) -> None:
    path = tmp_path / "panel.yaml"
    path.write_text("personas: [historian]\ndatamark: true\n", encoding="utf-8")
    with Panel.from_file(path) as panel:
        assert json.loads(json.dumps(panel.spec.identity()))["datamark"] is True
