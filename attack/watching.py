"""Notices in Python's audit events what loading and reading must never do: run code, reach out, touch other files."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from attack.protocol import CODE, FILE, NETWORK

_NETWORK = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.bind"}
_COMMANDS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pickle.find_class"}
_CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "os.link"}
_CHANGES |= {"os.symlink", "shutil.rmtree", "shutil.move", "shutil.copyfile"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DEVICES = ("/dev/", "/proc/self/", "/sys/")


class Watch:
    """What has been noticed since `begin`."""

    def __init__(self) -> None:
        self.noticed: list[tuple[str, str]] = []
        self._own: tuple[str, ...] | None = None  # where files may change; None while nothing is watched
        import labelwood

        code = {
            str(Path(labelwood.__file__).parent),
            *sysconfig.get_paths().values(),
            sys.prefix,
            sys.base_prefix,
            str(Path(__file__).parents[1]),
        }
        self._code = tuple(os.path.realpath(path) + os.sep for path in code)
        sys.addaudithook(self._hear)

    def begin(self, *own: Path) -> None:
        """Watches; files may change in the folders `own`."""
        self.noticed = []
        self._own = tuple(os.path.realpath(path) for path in own)

    def end(self) -> list[tuple[str, str]]:
        """What was noticed: kinds of failures and what happened."""
        self._own = None
        return self.noticed

    def _hear(self, event: str, args: tuple[object, ...]) -> None:
        if self._own is None:
            return
        if event in _NETWORK:
            if not (event == "socket.bind" and isinstance(args[1], str)):
                self.noticed.append((NETWORK, f"{event} {args[1:]}"))
        elif event in _COMMANDS:
            self.noticed.append((CODE, f"{event} {args[:2]!r:.200}"))
        elif event == "exec":
            name = getattr(args[0], "co_filename", "<")
            if not name.startswith("<") and not os.path.realpath(name).startswith(self._code):
                self.noticed.append((CODE, f"ran {name}"))
        elif event == "open" and isinstance(args[2], int) and args[2] & _WRITING:
            self._check_place(event, args[0])
        elif event in _CHANGES:
            for path, inside in _places(event, args):
                self._check_place(event, path, inside)

    def _check_place(self, event: str, path: object, inside: object = -1) -> None:
        assert self._own is not None
        if not isinstance(path, str | bytes | os.PathLike):
            return  # a descriptor
        name = os.fsdecode(path)
        if isinstance(inside, int) and inside >= 0:
            name = os.path.join(f"/proc/self/fd/{inside}", name)
        elif event == "open" and not os.path.isabs(name):
            return  # perhaps in a held folder, which this event does not tell; what is made there is renamed or removed
        # Only opening follows a link; whatever else happens, happens to the link itself.
        folder, last = os.path.split(name)
        real = os.path.realpath(name) if event == "open" else os.path.join(os.path.realpath(folder), last)
        if not real.startswith((*self._own, *_DEVICES)):
            self.noticed.append((FILE, f"{event} {name!r:.200}"))


def _places(event: str, args: tuple[object, ...]) -> list[tuple[object, object]]:
    """What an event changes: names, and descriptors of the folders that they are in, −1 for none."""
    if event == "os.rename":
        return [(args[0], args[2]), (args[1], args[3])]
    if event == "os.link":
        return [(args[1], args[3])]
    if event == "os.symlink":
        return [(args[1], args[2])]
    if event in {"os.remove", "os.rmdir"}:
        return [(args[0], args[1])]
    if event in {"os.mkdir", "os.chmod"}:
        return [(args[0], args[2])]
    if event == "os.chown":
        return [(args[0], args[3])]
    names = args[:2] if event == "shutil.move" else args[1:2] if event == "shutil.copyfile" else args[:1]
    return [(name, -1) for name in names]
