"""The documentation does what it says: every block, command, option, link and example file.

A fenced `sh` block is run command by command, in order, in a copy of the examples; a `console`
block too, and the output shown must come out, line by line and in order ("…" stands for anything
left out); the `python` blocks of a page run in one namespace. A block that needs a key, a network,
a server or an installation carries `<!-- not run: reason -->` on the line above its fence: its
commands must parse all the same, and its Python must compile.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
import yaml
from in_process import areopagus

import areopagus as package
from areopagus import Panel
from areopagus.cli.main import COMMANDS, cli
from areopagus.personas import read_persona_files
from areopagus.records.readers.responses import PromptSource, ResponseSource
from areopagus.settings import PanelSettings, read_settings

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS, ROOT / "examples" / "README.md"]

_FENCE = re.compile(r"^```(\w*)\s*$")
_NOT_RUN = re.compile(r"^<!-- not run: (\S.*) -->$")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_INLINE = re.compile(r"`([^`]+)`")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_LEFT_OUT = "…"
_OTHER_TOOLS = ("inspect", "langgraph", "ruff")
"""Commands of other tools, whose options are not ours."""
PLACEHOLDER = "NAME"
"""In the name of a file that a reader is to make."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its first line in the page, and why it is not run."""

    page: Path
    line: int
    language: str
    text: str
    reason: str | None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    lines = page.read_text(encoding="utf-8").splitlines()
    start: int | None = None
    language = ""
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if start is None and fence:
            start, language = number, fence[1]
        elif start is not None and line.strip() == "```":
            marker = _NOT_RUN.match(lines[start - 1]) if start else None
            text = "\n".join(lines[start + 1 : number])
            yield Block(page, start + 2, language, text, marker[1] if marker else None)
            start = None
    assert start is None, f"{page}: a fence is never closed"


def prose_of(page: Path) -> str:
    """The page without its fenced blocks."""
    kept, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
NOT_RUN = [block for block in BLOCKS if block.reason is not None]


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the examples to work beside, with a home of its own."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.setenv("AREOPAGUS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Commands ----------------------------------------------------------------------------------------


def commands_in(text: str) -> list[list[str]]:
    """The words of every command of a shell block, joined lines and `&&` resolved."""
    found: list[list[str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        words: list[str] = []
        for word in [*shlex.split(line, comments=True), "&&"]:
            if word != "&&":
                words.append(word)
                continue
            while words and _ASSIGNMENT.match(words[0]):
                words.pop(0)
            if words:
                found.append(words)
            words = []
    return found


def command_named(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that these words (without `areopagus`) call, and the words left over."""
    command: click.Command = cli
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        inner = command.get_command(click.Context(command), name)
        assert inner is not None, f"there is no command {name!r} in: areopagus {shlex.join(words)}"
        command = inner
    return command, rest


def check_parses(words: list[str]) -> None:
    """Fails where `areopagus WORDS` would be turned down by the command line."""
    command, rest = command_named(words)
    if "--help" in rest or "--version" in rest:
        return
    assert not isinstance(command, click.Group), f"no subcommand: areopagus {shlex.join(words)}"
    command.make_context(command.name or "", rest)


def run_cli(words: list[str]) -> str:
    """Output and error output of a command that must end with exit code 0."""
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        code = cli.main(list(words), prog_name="areopagus", standalone_mode=False)
    assert code in (None, 0), (
        f"areopagus {shlex.join(words)} ended with {code}:\n{written.getvalue()}"
    )
    return written.getvalue()


def run_shell(block: Block) -> None:
    for words in commands_in(block.text):
        assert words[0] == "areopagus", f"{block.place}: mark as not run, or use areopagus: {words}"
        run_cli(words[1:])


def run_console(block: Block) -> None:
    """Runs the `$` lines; the lines under each must be lines of its output, in this order."""
    assert block.text.startswith("$ "), block.place
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        ((_, *words),) = commands_in(command)
        printed = iter(line.rstrip() for line in run_cli(words).splitlines())
        for line in shown.splitlines():
            wanted = line.rstrip()
            if wanted and wanted != _LEFT_OUT:
                assert wanted in printed, f"{block.place}: not printed (here): {wanted!r}"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_block_of_a_page_runs_and_prints_what_it_shows(page: Path, workplace: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.reason is not None:
            continue
        if block.language == "sh":
            run_shell(block)
        elif block.language == "console":
            run_console(block)
        elif block.language == "python":
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, namespace)
        elif block.language == "yaml" and block.text.startswith(("models:", "- model")):
            path = workplace / "panel_of_the_page.yaml"
            path.write_text(block.text, encoding="utf-8")
            assert read_settings(path).models


@pytest.mark.parametrize("block", NOT_RUN, ids=lambda block: block.place)
def test_a_block_that_is_not_run_could_be(block: Block) -> None:
    assert block.language in ("sh", "python"), "console blocks show real output, so they are run"
    if block.language == "python":
        compile(block.text, block.place, "exec")
        return
    for words in commands_in(block.text):
        name = Path(words[0]).name
        if name == "areopagus":
            check_parses(words[1:])
        elif words[1:2] == ["-m"] and words[2].startswith("areopagus."):
            importlib.import_module(words[2])._parser().parse_args(words[3:])
        elif words[:3] == ["python", "-m", "venv"]:
            pass
        elif name == "python":
            assert (ROOT / words[1]).is_file(), f"{block.place}: there is no {words[1]}"
        else:
            assert name in ("pip", "pytest", "export", "ollama", "ray", "vllm", *_OTHER_TOOLS), (
                f"{block.place}: {words}"
            )


# What the prose names ----------------------------------------------------------------------------


def leaves(command: click.Command) -> Iterator[click.Command]:
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from leaves(inner)
    yield command


def test_the_prose_names_no_command_and_no_option_that_does_not_exist() -> None:
    options = {
        name
        for command in leaves(cli)
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    } | {"--help"}
    wrong: list[str] = []
    for page in PAGES:
        for code in _INLINE.findall(prose_of(page)):
            words = code.split()
            if words[0] in _OTHER_TOOLS:
                continue
            if words[0] == "python" and len(words) > 1 and words[1].startswith("benchmarks/"):
                script = (ROOT / words[1]).read_text(encoding="utf-8")
                wrong += [
                    f"{page_id(page)}: {code}"
                    for o in _OPTION.findall(code)
                    if f'"{o}"' not in script
                ]
                continue
            wrong += [f"{page_id(page)}: {o}" for o in _OPTION.findall(code) if o not in options]
            if words[0] != "areopagus" or len(words) < 2 or not words[1].isalpha():
                continue
            group = words[1] in COMMANDS and command_named(words[1:2])[0]
            if not group:
                wrong.append(f"{page_id(page)}: {code}")
            elif isinstance(group, click.Group) and len(words) > 2 and words[2].islower():
                for name in words[2].split("|"):
                    if name.isalpha() and group.get_command(click.Context(group), name) is None:
                        wrong.append(f"{page_id(page)}: {code}")
    assert wrong == []


def test_no_page_calls_a_command_that_is_not_there_yet() -> None:
    missing = {"calibrate", "stress", "audit", "study", "prompts"} - set(COMMANDS)
    named = re.compile(rf"\bareopagus ({'|'.join(sorted(missing))})\b") if missing else None
    for page in PAGES:
        assert named is None or not named.search(page.read_text(encoding="utf-8")), page


def test_nothing_that_a_command_writes_lies_in_the_repository() -> None:
    # `areopagus prompts concepts` writes concepts.csv where it is called; one was committed once.
    written = ("*.csv", "*.parquet", "*.sqlite", "*.html", "*.jsonl", "run.json")
    assert [path.name for pattern in written for path in ROOT.glob(pattern)] == []


def test_every_page_is_reached_from_the_first_one() -> None:
    start = ROOT / "docs" / "index.md"
    reached, waiting = {start}, [start]
    while waiting:
        page = waiting.pop()
        for target in _LINK.findall(prose_of(page)):
            path = (page.parent / target.partition("#")[0]).resolve()
            if path.suffix == ".md" and path.is_file() and path not in reached:
                reached.add(path)
                waiting.append(path)
    assert [page_id(page) for page in DOCS if page not in reached] == []


def test_the_index_of_integrations_has_a_line_for_every_page_of_its_folder() -> None:
    index = ROOT / "docs" / "integrations" / "index.md"
    pages = sorted(path.name for path in index.parent.glob("*.md") if path != index)
    assert sorted(re.findall(r"^- \[[^]]+\]\((\S+)\): ", prose_of(index), re.MULTILINE)) == pages


def test_every_page_has_one_place_on_the_site() -> None:
    nav = yaml.safe_load((ROOT / "docs" / "nav.yaml").read_text(encoding="utf-8"))
    assert list(nav) == ["Start", "Guides", "Reference", "How it works"]
    placed: list[str] = ["index.md"]
    for entry in (entry for part in nav.values() for entry in part):
        if isinstance(entry, str):
            placed.append(entry)
            continue
        ((page, below),) = entry.items()
        if isinstance(below, str):
            below = sorted(str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").glob(below))
            below.remove(page)
        placed += [page, *below]
    made = {"reference/commands.md", "reference/fields.md", "reference/python.md",
            "reference/estimators.md", "project/security.md", "project/contributing.md",
            "project/changes.md"}  # fmt: skip
    committed = {str(page.relative_to(ROOT / "docs")) for page in DOCS}
    assert sorted(placed) == sorted(committed | made)


def test_the_page_of_columns_is_what_the_code_says() -> None:
    page = ROOT / "docs" / "reference" / "columns.md"
    made = reference_tools().columns_page()
    assert page.read_text(encoding="utf-8") == made, "run: python docs/tools/reference.py"


def test_the_reference_has_every_command_option_field_and_public_name() -> None:
    made = reference_tools()
    commands, fields, python = made.commands_page(), made.fields_page(), made.python_page()
    for command in leaves(cli):
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert max(parameter.opts, key=len) in commands, (command.name, parameter.name)
    assert [name for name in PanelSettings.model_fields if f"| `{name}` |" not in fields] == []
    names = set(package.__all__) - {"__version__"}
    names -= {f"a{name}" for name in names}  # the asynchronous twins are not listed again
    assert [name for name in sorted(names) if f"\n## {name}\n" not in python] == []


def reference_tools() -> ModuleType:
    """docs/tools/reference.py, which needs nothing but the package."""
    path = ROOT / "docs" / "tools" / "reference.py"
    spec = importlib.util.spec_from_file_location("docs_reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#{1,6} (.+)$", prose_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"], ids=page_id)
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    broken: list[str] = []
    for target in _LINK.findall(prose_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() or (anchor and anchor not in anchors_of(path)):
            broken.append(target)
    assert broken == []


def test_every_test_that_a_page_names_is_there() -> None:
    pages = [*PAGES, ROOT / "SECURITY.md", ROOT / "benchmarks" / "README.md"]
    named = {
        name
        for page in pages
        for name in re.findall(r"\btests/[\w/]+(?:\.\w+)?", page.read_text(encoding="utf-8"))
    }
    assert {n for n in named if not (ROOT / n).exists() and PLACEHOLDER not in n} == set()


# The set-up commands -----------------------------------------------------------------------------


def setup_lines() -> list[str]:
    text = [block.text for block in blocks_of(ROOT / "README.md") if block.language == "sh"][:2]
    assert all("\n" not in line for line in text), "each set-up command is one line"
    return text


def test_the_readme_sets_up_in_two_commands() -> None:
    score, develop = (commands_in(line) for line in setup_lines())
    assert [Path(words[0]).name for words in score] == ["python", "pip", "areopagus"]
    assert [Path(words[0]).name for words in develop] == ["pip", "pytest"]


def test_the_end_of_the_first_command_scores_the_examples(workplace: Path) -> None:
    *_, (_, *words) = commands_in(setup_lines()[0])
    done = areopagus(*words, folder=workplace)
    assert done.returncode == 0, done.stderr
    assert "310 scored of 320 planned judgments" in done.stdout
    (run,) = (workplace / "runs").iterdir()
    made = {path.name for path in run.iterdir() if not path.name.startswith(".")}
    assert made == {
        *(
            "run.json",
            "judgments.parquet",
            "scores.csv",
            "texts.parquet",
            "report.html",
            "report.txt",
            "estimates.csv",
            "estimates.parquet",
            "figures",
        )
    }


# The example files -------------------------------------------------------------------------------


def test_every_example_file_is_looked_at_by_a_test() -> None:
    files = {
        str(path.relative_to(ROOT / "examples"))
        for path in (ROOT / "examples").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files == {
        "README.md",
        "batch_input.jsonl",
        "batch_output.jsonl",
        "protocol/panel_worth.py",
        "real/LICENSE",
        "real/README.md",
        "real/judges.parquet",
        "real/people.parquet",
        "concepts.yaml",
        "first_steps.ipynb",
        "humans/labels.csv",
        "humans/rankings.csv",
        "humans/ratings.csv",
        "panel.yaml",
        "personas/urban_planner.yaml",
        "prompts.csv",
        "protocol/README.md",
        "protocol/page.md",
        "protocol/panel.yaml",
        "protocol/run.py",
        "protocol/stories.yaml",
        "responses.csv",
        "stress_prompts.csv",
        "study/README.md",
        "study/raters.csv",
        "study/responses.csv",
        "templates/short_judge.yaml",
    }


def test_the_example_tables_and_persona_are_in_order() -> None:
    with ResponseSource(ROOT / "examples" / "responses.csv") as responses:
        found = responses.check()
    assert (found.n_responses, found.n_prompts, found.n_respondents) == (32, 8, 4)
    assert found.notices == ()
    with PromptSource(ROOT / "examples" / "prompts.csv") as prompts:
        assert prompts.check().n_prompts == 8
    with PromptSource(ROOT / "examples" / "stress_prompts.csv") as prompts:
        assert prompts.check().n_prompts == 12
    (planner,) = read_persona_files([ROOT / "examples" / "personas" / "urban_planner.yaml"])
    assert planner.axis not in ("disciplinary", "ideological")


def test_the_example_panel_runs_as_it_stands(workplace: Path) -> None:
    with Panel.from_file("examples/panel.yaml") as panel:
        run = panel.score_many("examples/responses.csv", out="runs/panel", limit=2)
    assert [backend.spec.model for backend in panel.backends] == ["offline/lexical"]
    assert (run.n_scored, run.n_planned) == (22, 22)  # eleven personas, two responses


def test_the_backends_in_its_comments_are_in_order_too(workplace: Path) -> None:
    path = workplace / "examples" / "panel.yaml"
    text = path.read_text(encoding="utf-8")
    opened = re.sub(r"^  # (?=- model:|  )", "  ", text, flags=re.MULTILINE)
    path.write_text(opened, encoding="utf-8")
    settings = read_settings(path)
    assert [spec.provider for spec in settings.models] == [
        "offline", "openai", "anthropic", "hosted_vllm"
    ]  # fmt: skip
    with Panel.from_file(path) as panel:
        panel.prepare()
    assert all(spec.prices or spec.rpm for spec in settings.models[1:])


NOTEBOOK = ROOT / "examples" / "first_steps.ipynb"
IN_NOTEBOOK = {
    "verdict": "10 of 10 judgments scored",
    "run": "310 scored of 320 planned",
    "compared": "alder scores higher",
    "tested": "drops under",
    "found": "the panel is worse than one more person",
}
"""What a cell's last line shows of itself."""


def last_line(source: str) -> str:
    return source.strip().splitlines()[-1]


def check_shown(page: str, wanted: str) -> None:
    assert wanted in page
    assert page.count("<svg") == 1
    assert "DEMONSTRATION" in page
    assert "<script" not in page


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_the_example_notebook_runs_in_a_kernel_and_shows_what_it_says(workplace: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    folder = workplace / "examples"
    told: list[str] = []

    class Client(NotebookClient):
        """Keeps what the cells write over."""

        def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
            if msg["msg_type"] in ("display_data", "update_display_data"):
                told.append(msg["content"]["data"].get("text/plain", ""))
            return super().process_message(msg, cell, cell_index)

    notebook = nbformat.read(folder / NOTEBOOK.name, as_version=4)
    Client(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    shown = {
        last_line(cell.source): cell.outputs for cell in notebook.cells if cell.cell_type == "code"
    }
    for name, wanted in IN_NOTEBOOK.items():
        check_shown(shown[name][-1]["data"]["text/html"], wanted)
    for name in ('verdict.plot("personas")', "run.plot()"):
        assert set(shown[name][-1]["data"]) == {"image/svg+xml", "text/plain"}
    (calls,) = (out for name, out in shown.items() if name.startswith("with_planner"))
    assert "'sent': 32" in calls[-1]["data"]["text/plain"]  # the extra persona alone
    (printed,) = (out for name, out in shown.items() if "print(error)" in name)
    assert "`max_cost`: Input should be greater than or equal to 0" in printed[-1]["text"]
    # How far it is, while it works, and nothing of it afterwards.
    assert {"computing the estimates", "writing the report"} & set(told)
    assert any(re.match(r"\d+/\d+ |\d/4 (rewrite|respond|score|retest) ", line) for line in told)
    left = [out for cell in shown.values() for out in cell if out["output_type"] == "display_data"]
    assert {out["data"]["text/plain"] for out in left} == {""}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "SECURITY.md"], ids=lambda page: page.stem)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    folders = "|".join(path.name for path in ROOT.iterdir() if path.is_dir())
    named = re.findall(rf"`((?:{folders})/[\w./-]+)`", page.read_text(encoding="utf-8"))
    # What a command writes into runs/ is not of this repository.
    gone = [
        name
        for name in named
        if not name.startswith("runs/")
        and PLACEHOLDER not in name
        and not (ROOT / name).exists()
        and not (page.parent / name).exists()
    ]
    assert gone == []
