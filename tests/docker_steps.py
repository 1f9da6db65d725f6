"""The Dockerfile's steps, read, and carried out without Docker below a scratch folder.

    python tests/docker_steps.py SCRATCH

Copies what each COPY copies, runs the RUN lines of the first stage in the folders that stand for
the image's, and then the entry point with the README's first command. What makes the user of the
second stage is not run: it would change this machine. `.ci/run` calls it; that the image builds is
shown by Docker alone.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
README_COMMAND = ("score", "examples/responses.csv")


@dataclass(frozen=True)
class Step:
    """One instruction: its stage (from 0), its name and what follows."""

    stage: int
    name: str
    rest: str

    @property
    def options(self) -> dict[str, str]:
        """`--from=build` as {"from": "build"}."""
        words = [word[2:].split("=", 1) for word in self.rest.split() if word.startswith("--")]
        return dict(words) if self.name == "COPY" else {}

    @property
    def places(self) -> list[str]:
        """What a COPY copies, and last where to."""
        return [word for word in self.rest.split() if not word.startswith("--")]


def steps() -> Iterator[Step]:
    """The instructions of the Dockerfile, in order."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    stage = -1
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, rest = line.partition(" ")
        stage += name == "FROM"
        yield Step(stage, name, rest.strip())


def carry_out(scratch: Path) -> None:
    """Carries the steps out below a folder, and the README's first command with them."""
    scratch = scratch.resolve()
    here = scratch
    environment = dict(os.environ)

    def inside(place: str) -> str:
        """A path of the image as one of the scratch folder."""
        for top in ("/source", "/opt", "/data"):
            place = place.replace(f"{top}/", f"{scratch}{top}/")
            place = place if not place.endswith(top) else f"{place[: -len(top)]}{scratch}{top}"
        return place

    for step in steps():
        if step.name == "WORKDIR":
            here = Path(inside(step.rest))
            here.mkdir(parents=True, exist_ok=True)
        elif step.name == "COPY" and "from" not in step.options:
            *sources, target = step.places
            for source in sources:
                to = here / target / ("" if target != "./" else source)
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, to, symlinks=True)
                else:
                    shutil.copy(ROOT / source, to)
        elif step.name == "RUN" and step.stage == 0:
            print(f"RUN {step.rest}", flush=True)
            (scratch / "opt").mkdir(exist_ok=True)
            subprocess.run(inside(step.rest), shell=True, check=True, cwd=here)
        elif step.name == "ENV":
            for word in shlex.split(step.rest):
                name, _, value = word.partition("=")
                environment[name] = inside(value).replace("$PATH", environment["PATH"])
        elif step.name == "ENTRYPOINT":
            # Found by the image's own PATH.
            program = shutil.which(json.loads(step.rest)[0], path=environment["PATH"])
            assert program is not None
            assert Path(program).is_relative_to(scratch)
            print(f"{step.rest} {' '.join(README_COMMAND)}", flush=True)
            subprocess.run([program, *README_COMMAND], check=True, cwd=here, env=environment)
            (report,) = (here / "runs").glob("*/report.html")
            assert report.stat().st_size
            assert (here / ".areopagus" / "ledger.sqlite").is_file()


if __name__ == "__main__":
    carry_out(Path(sys.argv[1]))
