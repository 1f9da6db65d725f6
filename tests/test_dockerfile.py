"""The Dockerfile copies what there is, all that the wheel needs, and nothing else.

No Docker runs here: `.ci/run` carries its steps out in a scratch folder (tests/docker_steps.py).
"""

from __future__ import annotations

import tomllib

from docker_steps import README_COMMAND, ROOT, steps

COPIED = [
    source
    for step in steps()
    if step.name == "COPY" and "from" not in step.options
    for source in step.places[:-1]
]


def test_everything_that_is_copied_exists_and_nothing_else_goes_to_the_builder() -> None:
    assert [source for source in COPIED if not (ROOT / source).exists()] == []
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert {rule[1:] for rule in rules if rule.startswith("!")} == set(COPIED)


def test_all_that_the_wheel_is_made_of_is_copied() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    project = settings["project"]
    needed = {path.split("/")[0] for path in wheel} | {"pyproject.toml", project["readme"]}
    assert needed | set(project["license-files"]) <= set(COPIED)
    assert {place.split("/")[0] for place in README_COMMAND[1:]} <= set(COPIED)


def test_the_image_has_no_key_and_does_not_run_as_root() -> None:
    last = max(step.stage for step in steps())
    of_image = [step for step in steps() if step.stage == last]
    (user,) = (step.rest for step in of_image if step.name == "USER")
    assert user not in ("root", "0")
    for step in steps():
        assert step.name not in ("ARG", "ADD")
        assert step.name != "ENV" or "KEY" not in step.rest
    assert f"docker run --rm areopagus {' '.join(README_COMMAND)}" in (
        ROOT / "Dockerfile"
    ).read_text(encoding="utf-8")
