"""What is installed: the links, the lazy public face, the wheel, and how soon it answers."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import types
import zipfile
from pathlib import Path

import pytest

import areopagus
import areopagus.aggregation
import areopagus.calibration
import areopagus.prompts
import areopagus.study

ROOT = Path(__file__).parent.parent
FOLDERS = tuple(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]["only-include"][1:]
)
HEAVY = (
    "litellm",
    "langgraph",
    "langchain_core",
    "pandas",
    "scipy",
    "numpy",
    "pyarrow",
    "rich",
    "uvloop",
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_root_folder_is_reached_through_a_relative_link(folder: str) -> None:
    link = ROOT / "src" / "areopagus" / folder
    if link.is_file():  # a checkout without symbolic links has the target's name as text
        assert link.read_text() == f"../../{folder}"
        return
    assert link.is_symlink()
    assert not Path(link.readlink()).is_absolute()
    assert link.resolve() == (ROOT / folder).resolve()


def test_a_checkout_without_symbolic_links_works(tmp_path: Path) -> None:
    package = tmp_path / "src" / "areopagus"
    shutil.copytree(
        ROOT / "src" / "areopagus", package, ignore=lambda *_: [*FOLDERS, "__pycache__"]
    )
    for folder in FOLDERS:
        (package / folder).write_text(f"../../{folder}")
        (tmp_path / folder).symlink_to(ROOT / folder)
    program = "import areopagus.judges; print(areopagus.Panel().spec.identity()['rubric']['id'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.stdout.strip(), done.returncode) == ("critical_thinking", 0), done.stderr


def test_every_root_folder_with_code_is_mapped_into_the_wheel() -> None:
    others = {"tests", "benchmarks", "examples", "docs", "src"}
    with_code = {
        path.name
        for path in ROOT.iterdir()
        if path.is_dir() and not path.name.startswith(".") and list(path.glob("*.py"))
    } - others
    assert with_code == set(FOLDERS)


@pytest.mark.slow
def test_the_wheel_holds_every_module_and_data_file_once_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
        timeout=300,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    inside = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    expected = {
        f"areopagus/{path.relative_to(ROOT / 'src' / 'areopagus')}"
        for path in (ROOT / "src" / "areopagus").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    for folder in FOLDERS:
        expected |= {
            f"areopagus/{path.relative_to(ROOT)}"
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
    assert inside == expected
    assert "areopagus/personas/sociologist.yaml" in inside
    assert "areopagus/py.typed" in inside


def _modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return set(done.stdout.splitlines()[-1].split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = _modules_after("import areopagus")
    assert not loaded & {*HEAVY, "pydantic", "yaml", "click"}


def test_help_loads_nothing_heavy() -> None:
    loaded = _modules_after(
        "from areopagus.cli.main import cli\ncli.main(['--help'], standalone_mode=False)"
    )
    assert not loaded & {*HEAVY, "pydantic", "yaml"}


def test_making_a_panel_loads_no_provider_library() -> None:
    loaded = _modules_after("import areopagus\nareopagus.Panel()")
    assert not loaded & {"litellm", "langgraph", "pandas", "scipy", "openai"}


def test_commands_begin_without_scipy() -> None:
    loaded = _modules_after("import areopagus.cli.jobs")
    assert not loaded & {"scipy", "pandas", "litellm"}


def test_a_score_and_its_rerun_load_no_more_than_they_need(tmp_path: Path) -> None:
    command = ["areopagus", "score", str(ROOT / "examples" / "responses.csv"), "--quiet"]
    program = (
        "import contextlib, io, sys\n"
        "from areopagus.cli import main\n"
        f"sys.argv = {[*command, '--out', str(tmp_path / 'run')]!r}\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main()"
    )
    assert not _modules_after(program) & {"scipy.stats", "scipy.optimize", "litellm"}
    again = _modules_after(program)
    assert not again & {"scipy", "litellm", "langgraph"}


@pytest.mark.parametrize(
    "package",
    [areopagus, areopagus.aggregation, areopagus.calibration, areopagus.prompts, areopagus.study],
)
def test_every_public_name_resolves_to_what_the_stub_says(package: types.ModuleType) -> None:
    stub = ast.parse(Path(str(package.__file__)).with_suffix(".pyi").read_text())
    homes = {
        str(alias.asname): "." * node.level + str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    declared = {"__version__"} if package is areopagus else set()
    assert package.__all__ == sorted({*homes, *declared})
    assert {*package.__all__} <= {*dir(package)}
    for name, module in homes.items():
        home = importlib.import_module(module, package.__name__)
        assert getattr(package, name) is getattr(home, name), name


def test_an_estimator_that_bears_its_modules_name_is_the_function_whoever_imported_the_module() -> (
    None
):
    for path in (ROOT / "aggregation").glob("[!_]*.py"):
        importlib.import_module(f"areopagus.aggregation.{path.stem}")
    for name in areopagus.aggregation.__all__:
        assert not isinstance(getattr(areopagus.aggregation, name), types.ModuleType), name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Jury'"):
        areopagus.Jury  # noqa: B018


def test_modules_inside_the_package_import_each_other_relatively() -> None:
    named = re.compile(r"^\s*from\s+areopagus\b", re.MULTILINE)
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in (*FOLDERS, "src/areopagus")
        for path in (ROOT / folder).rglob("*.py")
        if not path.is_symlink()
        and named.search(text := path.read_text(encoding="utf-8"))  # the slow part is to parse
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.ImportFrom) and not node.level)
        and (node.module or "").partition(".")[0] == "areopagus"
    ]
    assert wrong == []


def test_aggregation_neither_reads_files_nor_knows_judges() -> None:
    for path in (ROOT / "aggregation").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert "judges" not in (node.module or "").split("."), path
                assert (node.module or "") not in ("pathlib", "csv", "io"), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "open", path
