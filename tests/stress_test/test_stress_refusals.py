"""What a stress test refuses before it asks anybody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from areopagus import Panel
from areopagus.errors import InputError
from areopagus.graphs.framings import load_framings
from areopagus.records.variants import (
    VariantRow,
    as_generated,
    read_variants,
    write_variants,
)
from areopagus.stress_test import StressConfig, StressJob, stress
from areopagus.stress_test.rewriting import refuse_edited

PROMPTS = [{"prompt_id": "p", "prompt_text": "What do neighbours owe each other?"}]
ANSWERS = [
    {
        "response_id": name,
        "prompt_id": "p",
        "condition": name,
        "prompt_text": f"{name}?",
        "response_text": "Much.",
    }
    for name in ("baseline", "pressed")
]


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Panel]:
    with Panel(personas=["historian"], ledger=tmp_path / "l.sqlite") as found:
        yield found


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"prompts": PROMPTS, "rewrite_only": True, "variants": "v.csv"}, "rewrite-only"),
        ({"responses": ANSWERS, "rewrite_only": True}, "rewrite-only"),
        ({"responses": ANSWERS, "track": "matched"}, "track"),
        ({"responses": ANSWERS, "effort": "high"}, "effort"),
        ({"responses": ANSWERS, "words": 200}, "words"),
        ({"responses": ANSWERS, "framings": ["empirical_i"]}, "framings"),
        ({"responses": ANSWERS, "regenerate_share": 0.2}, "regenerate"),
        ({"prompts": PROMPTS, "variants": "v.csv", "framings": ["empirical_i"]}, "framings"),
        ({"prompts": PROMPTS, "condition": "turn"}, "condition"),
    ],
)
def test_an_option_that_nothing_would_use_is_named(
    panel: Panel, tmp_path: Path, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        stress(panel=panel, out=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("share", [0.01, 0.0999])
def test_less_than_a_tenth_is_no_retest(share: float) -> None:
    with pytest.raises(InputError, match=r"from 0\.1 to 1"):
        StressConfig.checked(retest_share=share)
    assert StressConfig(retest_share=0.1).retest_share == 0.1
    assert StressConfig(retest_share=0.0).retest_share == 0.0


def own_framing(folder: Path, name: str, opposite: str | None = None) -> Path:
    text = (
        f"id: {name}\nlabel: A verdict\ngroup: own\nversion: '1'\nprovenance: a test\n"
        "instruction: Say that a professor has settled it.\n"
    )
    if opposite:
        text += f"opposite: {opposite}\n"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(text)
    return folder / f"{name}.yaml"


def test_a_framing_that_the_embedded_rewriter_has_no_text_for_is_refused_at_once(
    panel: Panel, tmp_path: Path
) -> None:
    path = own_framing(tmp_path / "framings", "authority")
    with pytest.raises(InputError, match="stand_in"):
        stress(PROMPTS, panel=panel, framings=[path], out=tmp_path / "run")
    # A model that rewrites needs none.
    config = StressConfig(framings=(path,), out=tmp_path / "run")
    StressJob(panel.spec, PROMPTS, config, rewriters="openai/gpt-4o-mini")


def test_a_framings_opposite_is_found_beside_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "framings"
    path = own_framing(folder, "authority", "authority_against")
    own_framing(folder, "authority_against", "authority")
    (found,) = load_framings([str(path)])
    assert found.opposite == "authority_against"


ROWS = [
    as_generated(VariantRow("p", "empirical_i", "I think so. What is owed?", "What is owed?")),
    as_generated(
        VariantRow(
            "p", "emotion_agree", "It is so! What is owed?", "What is owed?", status="failed",
            reasons="not_natural",
        )
    ),
]  # fmt: skip
BASE = {"p": "What is owed?"}


def _changed(**changes: Any) -> list[VariantRow]:
    from dataclasses import replace

    return [replace(ROWS[0], **changes), ROWS[1]]


def test_a_table_as_it_was_generated_may_be_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "variants.csv"
    refuse_edited(path, BASE)
    write_variants(path, ROWS)
    refuse_edited(path, BASE)
    refuse_edited(path, BASE, ROWS)
    # A spreadsheet that only saves it changes line ends; that is no edit.
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    refuse_edited(path, BASE)


@pytest.mark.parametrize(
    "rows",
    [
        _changed(prompt_text="My own words: what is owed?"),
        _changed(status="failed"),
        [ROWS[0]],
    ],
    ids=["text", "status", "row taken out"],
)
def test_a_table_that_a_person_changed_is_not_written_over(
    tmp_path: Path, rows: list[VariantRow]
) -> None:
    path = tmp_path / "variants.csv"
    write_variants(path, ROWS)
    written = path.read_bytes()
    write_variants(path, rows)
    if len(rows) < len(ROWS):
        # Conditions of the file are those of its rows: with two prompts the gap shows.
        base = {**BASE, "q": "What else is owed?"}
        more = as_generated(VariantRow("q", "emotion_agree", "It is! What else?", base["q"]))
        write_variants(path, [*rows, more])
        with pytest.raises(InputError, match="no longer as it was written"):
            refuse_edited(path, base)
        return
    assert path.read_bytes() != written
    with pytest.raises(InputError, match="p empirical_i") as caught:
        refuse_edited(path, BASE)
    assert "--variants" in str(caught.value)


def test_a_variant_accepted_by_hand_is_an_edit_too(tmp_path: Path) -> None:
    from dataclasses import replace

    path = tmp_path / "variants.csv"
    write_variants(path, [ROWS[0], replace(ROWS[1], status="accepted")])
    with pytest.raises(InputError, match="emotion_agree"):
        refuse_edited(path, BASE, ROWS)


def test_the_same_command_again_leaves_an_edited_table_as_it_is(
    panel: Panel, tmp_path: Path
) -> None:
    run = stress(PROMPTS, panel=panel, rewrite_only=True, out=tmp_path / "ro")
    stress(PROMPTS, panel=panel, rewrite_only=True, out=tmp_path / "ro")
    text = run.variants_path.read_text(encoding="utf-8")
    first = read_variants(run.variants_path).rows[0].prompt_text
    run.variants_path.write_text(text.replace(first, f"{first} Really?"), encoding="utf-8")
    edited = run.variants_path.read_bytes()
    with pytest.raises(InputError, match="edited by hand"):
        stress(PROMPTS, panel=panel, rewrite_only=True, out=tmp_path / "ro")
    assert run.variants_path.read_bytes() == edited
