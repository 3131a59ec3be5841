"""The command line. Each command has one short file that imports what it needs only when it runs."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.exceptions import TyperException

from labelwood.cli import compress, convert, demo, evaluate, explain, impute, info, predict, tradeoff, train
from labelwood.errors import LabelwoodError

app = typer.Typer(
    name="labelwood",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from labelwood import __version__

        sys.stdout.write(f"labelwood {__version__}\n")
        raise typer.Exit


@app.callback()
def _main_options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Extreme multi-label classification: the right few labels out of millions."""


_INTERRUPTED = 130  # what typer returns after Ctrl-C

for command in (demo, train, predict, evaluate, explain, tradeoff, impute, compress, info, convert):
    # Without `short_help`, typer would cut the first line in the list of commands.
    app.command(name=command.NAME, short_help=(command.run.__doc__ or "").partition("\n")[0])(command.run)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command and exits: 0 on success, 2 on bad usage or bad input with one line that says what to do."""
    # SIGTERM becomes an exception, so that half-written files are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(status_of(sys.argv[1:] if arguments is None else arguments))


def status_of(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit status; without arguments, prints the help."""
    if sys.stdout is None:
        return _print_error("standard output is closed; open it, or send it to /dev/null")
    try:
        result = app(list(arguments) or ["--help"], standalone_mode=False)
    except LabelwoodError as e:
        return _print_error(str(e))
    except TyperException as e:
        return _print_error(f"{e.format_message().rstrip('.')}; see labelwood --help")
    except MemoryError:
        return _print_error("there is not enough memory for this; use fewer rows, features or labels")
    except OSError as e:
        return _print_error(
            f"{e.filename or 'a file'}: {e.strerror or e}; check the name, the space and the permissions"
        )
    status = result if isinstance(result, int) else 0
    if status == _INTERRUPTED:
        sys.stderr.write("\nlabelwood: interrupted; nothing half-written is left\n")
    return status


def _print_error(message: str) -> int:
    sys.stderr.write("labelwood: " + " ".join(message.split()) + "\n")
    return 2
