"""Output whose reader has gone, as in `areopagus score … | head`.

A closed pipe ends a process at its next line. A job that is being paid for must go on instead, and
leave with the exit code that it has earned.
"""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import click

from ..environment import own_process
from ..errors import AreopagusError, visible_text
from .display import printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from click.shell_completion import CompletionItem


class _Unheard(io.FileIO):
    """A descriptor whose writes count as written when nobody reads them any more."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def outlive_readers() -> None:
    """Lets the process's own standard streams outlive their readers; terminals stay as they are."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        own = stream is getattr(sys, f"__{name}__")
        if own and isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            setattr(sys, name, _outliving(stream))


def _outliving(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Unheard(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


# Name: (module, attribute, help). The help stands here so that `--help` imports no command.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "init": ("init", "init", "Write a panel.yaml with your models."),
    "check": ("check", "check", "Try each model once: key, address, format, price."),
    "score": ("score", "score", "Score a file of responses with the panel."),
    "import": ("imports", "import_", "Import the stored judgments of any tool as a run."),
    "respond": ("respond", "respond", "Ask models the prompts; writes what score reads."),
    "stress": ("stress", "stress", "Reframe prompts and measure how far answers degrade."),
    "prompts": ("prompts", "prompts", "Construct open-ended prompts from sources."),
    "audit": ("audit", "audit", "Audit models for a bias, by published methods."),
    "concept-pairs": ("items", "concept_pairs", "Make concept pairs for hidden-bias."),
    "scenarios": ("items", "scenarios", "Have scenarios written for silverspoon-judgement."),
    "attack": ("attack", "attack", "Try an injection corpus on your own panel."),
    "rescore": ("attack", "rescore", "Score flagged responses again, neutralised."),
    "judges": ("judges", "judges", "Say how a run's judges behave: their own biases."),
    "compare": ("compare", "compare", "Say who scores higher, or what changed between runs."),
    "gate": ("compare", "gate", "Fail when a run is worse than an earlier one."),
    "personas": ("personas", "personas", "List, show, start and check persona files."),
    "rubrics": ("personas", "rubrics", "List, show, start and check rubric files."),
    "explain": ("explain", "explain", "Show what the embedded judge sees in a text."),
    "report": ("report", "report", "Write the HTML report of a run anew."),
    "view": ("view", "view", "Show all runs under a folder on a page."),
    "export": ("report", "export", "Export a run for other tools."),
    "methods": ("methods", "methods", "Write the methods paragraph of a paper."),
    "track": ("track", "track", "Send a run's results to MLflow, W&B, Phoenix, …"),
    "calibrate": ("calibrate", "calibrate", "Compare a panel with human judgments."),
    "agreement": ("calibrate", "agreement", "Say how far people agree with each other."),
    "apply": ("calibrate", "apply", "Apply a saved calibration to a later run."),
    "humans": ("humans", "humans", "Look into files of human judgments."),
    "study": ("study", "study", "Build, serve and collect a human study."),
    "mcp": ("mcp", "mcp", "Serve the panel as tools of an assistant (MCP)."),
    "ledger": ("ledger", "ledger", "Show, count and prune the calls already paid."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(
            importlib.import_module(f".{module}", __package__), attribute
        )
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands and their helps, from the table alone."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=about)
            for name, (_, _, about) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        # The group's own options; what follows in click imports every command.
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command list, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, _, about) in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from importlib.metadata import version

    click.echo(f"areopagus {version('areopagus')}")
    ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version", is_flag=True, callback=_print_version, expose_value=False, is_eager=True,
    help="Show the version and exit.",
)  # fmt: skip
def cli() -> None:
    """A panel of ten judges for responses that have no right answer.

    \b
    Exit codes: 0 all judgments scored, abstained or not needed;
    1 a fault of this program; 2 bad input;
    3 finished with refused, unreadable or failed judgments;
    4 stopped by the cost cap; 5 a gate found it worse;
    6 a gate could not decide; 130, 143 interrupted.
    """


def main() -> NoReturn:
    """Runs the command line and exits with the code that its outcome has."""
    own_process()
    signal.signal(signal.SIGTERM, _terminate)
    outlive_readers()
    code: object = 0
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = 2
    except click.Abort:  # click makes one of every KeyboardInterrupt
        click.echo("Aborted.", err=True)
        code = 143 if terminated() else 130
    except AreopagusError as error:
        click.echo(f"Error: {printable(str(error))}", err=True)
        code = 2
    except KeyboardInterrupt:
        code = 143 if terminated() else 130
    except Exception as error:
        _show_defect(error)
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


_signals: list[int] = []


def _terminate(number: int, _: FrameType | None) -> None:
    _signals.append(number)
    raise KeyboardInterrupt


def terminated() -> bool:
    """Whether SIGTERM came, which is handled like Ctrl-C and has its own exit code."""
    return bool(_signals)


def _show_defect(error: Exception) -> None:
    import traceback

    from ..judges.models.credentials import redact

    lines = traceback.format_exception(error)
    if os.environ.get("AREOPAGUS_DEBUG"):
        for line in "".join(lines).splitlines():
            click.echo(printable(redact(line)), err=True)
    told = visible_text(redact(f"{type(error).__name__}: {error}"))
    click.echo(
        f"Error: a defect of areopagus: {told}\n"
        "What was paid for is in the ledger; the same command goes on where this one ended. "
        "AREOPAGUS_DEBUG=1 shows where it happened.",
        err=True,
    )
