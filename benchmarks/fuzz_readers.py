"""Coverage-guided fuzzing of every reader of foreign text, each in a process of its own.

What counts as a find: an exception other than InputError, a vote or a reading that breaks its own
promise, an input that takes longer than ten seconds, or a crash of the interpreter. Inputs that
found something are kept in --keep, and given again with --replay.

Needs atheris (libFuzzer for Python, Apache-2.0): pip install atheris

    python benchmarks/fuzz_readers.py --seconds 60
    python benchmarks/fuzz_readers.py --targets reply,yaml --seconds 300
    python benchmarks/fuzz_readers.py --targets reply --replay FOLDER/crash-…
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz_seeds import seeds

SLOWEST_S = 10


def reply_target() -> Callable[[bytes], None]:
    from areopagus.judges.logprobs import weighted_scores
    from areopagus.judges.parse import MAX_DETAIL_CHARS, parse
    from areopagus.judges.schema import ParsedScore, judgment_schema
    from areopagus.records.types import Reply, Usage

    criteria = ("conceptual_clarity", "evidential_grounding")
    contracts = [
        judgment_schema(criteria, 1, 10, abstained=True, rationale=False),
        judgment_schema(criteria, 0, 100, abstained=True, rationale=True),
        judgment_schema(("overall",), 1, 10, abstained=False, rationale=False),
        judgment_schema(("overall",), 1, 5, abstained=False, rationale=True),
    ]
    endings = ("stop", "length", "content_filter", "tool_calls", None, "refusal")

    def one(data: bytes) -> None:
        if len(data) < 3:
            return
        contract = contracts[data[0] % len(contracts)]
        text = data[3:].decode("utf-8", "surrogateescape")
        logprobs = None
        if data[2] & 1:  # the text as tokens of three characters, with what they might have been
            pieces = [text[i : i + 3] for i in range(0, len(text), 3)]
            logprobs = [
                {"token": piece, "logprob": -0.5, "top_logprobs": [{"token": "7", "logprob": -1}]}
                for piece in pieces
            ]
        reply = Reply(
            text=text, finish_reason=endings[data[1] % len(endings)], usage=Usage(),
            refusal=text[:20] if data[2] & 2 else None, logprobs=logprobs,
        )  # fmt: skip
        parsed = parse(reply, contract)
        assert (parsed.value is None) == (parsed.problem is not None)
        vote = parsed.value or ParsedScore()
        if parsed.value is not None and not vote.abstained:
            assert set(vote.scores) == set(contract.criteria)
        for score in vote.scores.values():
            assert type(score) is int
            assert contract.low <= score <= contract.high
        assert len(parsed.detail or "") <= MAX_DETAIL_CHARS
        assert (parsed.detail or "").isprintable()
        (vote.rationale or "").encode("utf-8")
        if logprobs is not None and parsed.value is not None and not vote.abstained:
            expected = weighted_scores(reply, contract)
            for value in expected.values.values():
                assert contract.low <= value <= contract.high

    return one


def yaml_target() -> Callable[[bytes], None]:
    from areopagus.attacks import AttackFamily
    from areopagus.errors import InputError
    from areopagus.graphs.framings import Framing
    from areopagus.personas import Persona
    from areopagus.records.humans import HumanColumns
    from areopagus.rubrics import Rubric
    from areopagus.settings import PanelSettings
    from areopagus.yaml_files import read_document

    models: list[Any] = [Persona, Rubric, PanelSettings, Framing, AttackFamily, HumanColumns]
    path = Path(_scratch()) / "reader.yaml"

    def one(data: bytes) -> None:
        if not data:
            return
        path.write_bytes(data[1:])
        try:
            read_document(path, models[data[0] % len(models)], kind="persona")
        except InputError as error:
            _sound(error)

    return one


def table_target() -> Callable[[bytes], None]:
    from areopagus.errors import InputError
    from areopagus.records.readers.responses import ResponseSource

    folder = Path(_scratch())
    suffixes = (".csv", ".tsv", ".jsonl", ".csv.gz", ".jsonl.gz", ".json")

    def one(data: bytes) -> None:
        if not data:
            return
        suffix = suffixes[data[0] % len(suffixes)]
        content = data[1:]
        if suffix.endswith(".gz") and data[0] & 128:
            content = gzip.compress(content, 1)
        path = folder / f"table{suffix}"
        path.write_bytes(content)
        try:
            with ResponseSource(path) as source:
                summary = source.check()
                assert summary.n_responses == sum(1 for _ in source.rows())
        except InputError as error:
            _sound(error)

    return one


def binary_target() -> Callable[[bytes], None]:
    from areopagus.errors import InputError
    from areopagus.records.readers.responses import ResponseSource

    folder = Path(_scratch())

    def one(data: bytes) -> None:
        path = folder / ("table.parquet" if data[:4] == b"PAR1" else "table.xlsx")
        path.write_bytes(data)
        try:
            with ResponseSource(path) as source:
                source.check()
        except InputError as error:
            _sound(error)

    return one


def humans_target() -> Callable[[bytes], None]:
    from areopagus.errors import InputError
    from areopagus.records.humans import LAYOUTS, read_humans

    folder = Path(_scratch())
    suffixes = (".csv", ".json", ".jsonl")

    def one(data: bytes) -> None:
        if len(data) < 2:
            return
        path = folder / f"people{suffixes[data[0] % 3]}"
        path.write_bytes(data[2:])
        layouts = ("auto", *LAYOUTS)
        try:
            reading = read_humans(path, layout=layouts[data[1] % len(layouts)])
            reading.require_sound()
            reading.match({"r1": "p1"})
        except InputError as error:
            _sound(error)

    return one


def variants_target() -> Callable[[bytes], None]:
    from areopagus.errors import InputError
    from areopagus.records.variants import read_variants

    path = Path(_scratch()) / "variants.csv"

    def one(data: bytes) -> None:
        path.write_bytes(data)
        for prompts in (None, {"p1": "Why?"}):
            try:
                read_variants(path, prompts).usable()
            except InputError as error:
                _sound(error)

    return one


def screen_target() -> Callable[[bytes], None]:
    from areopagus.attacks import neutralised
    from areopagus.graphs.detectors import DETECTORS, find_hits
    from areopagus.graphs.screening import GATES, screen

    known = {*DETECTORS, *GATES}

    def one(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        seen = screen(text)
        assert set(seen.flags) <= known
        for hit in find_hits(text):
            assert 0 <= hit.start < hit.end <= len(text)
        copy = neutralised(text)
        assert copy.is_changed or copy.text == text
        assert len(copy.text) <= len(text) + 3 * len(copy.removed)

    return one


def answer_target() -> Callable[[bytes], None]:
    from areopagus.errors import ProviderError
    from areopagus.judges.models.backend import BackendSpec
    from areopagus.judges.models.connections import Answer, HttpError
    from areopagus.judges.models.reply import reply_of
    from areopagus.judges.models.transport import Translation

    spec = BackendSpec(model="openai/x", api_base="http://127.0.0.1:9")
    translation = Translation(spec, "a-key")
    asked = translation.request({"messages": [{"role": "user", "content": "?"}]}, None)

    def one(data: bytes) -> None:
        if len(data) < 2:
            return
        status = 200 if data[0] & 1 else 400 + data[1]
        try:
            answer = translation.read(Answer(status, {}, data[2:]), asked)
        except (HttpError, ProviderError):
            return
        reply_of(answer)

    return one


TARGETS: dict[str, Callable[[], Callable[[bytes], None]]] = {
    "reply": reply_target,
    "yaml": yaml_target,
    "tables": table_target,
    "binary_tables": binary_target,
    "humans": humans_target,
    "variants": variants_target,
    "screen": screen_target,
    "answers": answer_target,
}


def _sound(error: Exception) -> None:
    """A message that can be shown: no half character, and not the size of the file."""
    text = str(error)
    text.encode("utf-8", "surrogatepass")
    assert text.strip()
    assert len(text) < 200_000


def _scratch() -> str:
    shared = Path("/dev/shm")
    return tempfile.mkdtemp(prefix="fuzz-", dir=shared if shared.is_dir() else None)


def fuzz(target: str, arguments: list[str]) -> None:
    """Fuzzes one target in this process; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["areopagus"]):
        one = TARGETS[target]()
    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


def run(target: str, *, seconds: int, keep: Path) -> dict[str, Any]:
    """Fuzzes one target in a process of its own and reads its account."""
    found = keep / target
    found.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fuzz-corpus-") as corpus:
        for index, seed in enumerate(seeds(target)):
            (Path(corpus) / f"seed-{index:02d}").write_bytes(seed)
        done = subprocess.run(
            [
                sys.executable, __file__, "--inner", target, corpus,
                f"-max_total_time={seconds}", f"-timeout={SLOWEST_S}", "-print_final_stats=1",
                f"-artifact_prefix={found}/", "-rss_limit_mb=2048", "-max_len=20000",
            ],
            check=False, capture_output=True, text=True, errors="replace",
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )  # fmt: skip
    said = done.stdout + done.stderr
    (found / "log.txt").write_text(said[-200_000:], encoding="utf-8")
    units = re.search(r"number_of_executed_units:\s*(\d+)", said)
    coverage = re.findall(r"cov: (\d+)", said)
    finds = sorted(path.name for path in found.iterdir() if not path.name.startswith("log"))
    return {
        "target": target,
        "executions": int(units[1]) if units else 0,
        "coverage": int(coverage[-1]) if coverage else 0,
        "finds": finds,
        "exit_code": done.returncode,
    }


def main() -> None:
    """Fuzzes the targets one after the other and prints a table."""
    if sys.argv[1:2] == ["--inner"]:
        fuzz(sys.argv[2], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--targets", default=",".join(TARGETS), help="names, by commas")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-finds"), help="folder for finds")
    parser.add_argument("--replay", type=Path, help="run one input again, without atheris")
    given = parser.parse_args()
    names = given.targets.split(",")
    if given.replay is not None:
        TARGETS[names[0]]()(given.replay.read_bytes())
        print(f"{names[0]}: nothing found in {given.replay}")
        return
    print(f"{'target':<14} {'executions':>10} {'per s':>7} {'edges':>6}  finds", flush=True)
    for name in names:
        row = run(name, seconds=given.seconds, keep=given.keep)
        rate = row["executions"] / given.seconds
        print(
            f"{name:<14} {row['executions']:>10,} {rate:>7,.0f} {row['coverage']:>6,}  "
            f"{', '.join(row['finds']) or 'none'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
