"""The error messages of the store for files that are damaged or cannot be read."""

from __future__ import annotations

import errno

from labelwood.errors import ModelError

_FIXES = {
    errno.EACCES: "ask its owner for access, or change its permissions",
    errno.EPERM: "ask its owner for access, or change its permissions",
    errno.EMFILE: "close some files, or allow this process more of them (ulimit -n), and try again",
    errno.ENFILE: "close some programs, as the whole machine has no more, and try again",
    errno.ENOMEM: "free some memory, and try again",
    errno.EIO: "check the disk or the network, and try again",
    errno.ESTALE: "check the disk or the network, and try again",
    errno.ENOSPC: "free some space, and try again",
    errno.EDQUOT: "free some space, and try again",
    errno.EROFS: "give a place that can be written to",
    errno.ELOOP: "remove the link, or give another place",
    errno.ENAMETOOLONG: "give a shorter path",
}


class UnreadableError(ModelError):
    """The system refuses to open or read a file; its content may be fine.

    Example:
        >>> issubclass(UnreadableError, ModelError)
        True
    """


def damaged(where: str, why: str) -> ModelError:
    """The error for a file of a model that cannot be used.

    Example:
        >>> str(damaged("m/manifest.json", "it is empty"))
        'm/manifest.json is damaged (it is empty): copy or train the model again'
    """
    return ModelError(f"{where} is damaged ({why}): copy or train the model again")


def unreadable(where: str, error: OSError) -> UnreadableError:
    """The error for a file that the system refuses to read.

    Example:
        >>> str(unreadable("m/manifest.json", OSError(errno.EMFILE, "Too many open files"))).split(": ")[0]
        'm/manifest.json cannot be read (Too many open files)'
    """
    return UnreadableError(f"{where} cannot be read ({error.strerror or error}): {fix_of(error)}")


def fix_of(error: OSError) -> str:
    """The advice for an error of the system.

    Example:
        >>> fix_of(OSError(errno.ENOSPC, "No space left on device"))
        'free some space, and try again'
    """
    return _FIXES.get(error.errno or 0, "check the disk, and try again")


def quoted(text: object) -> str:
    """Unchecked text from a file, made short and printable for an error message of one line.

    Example:
        >>> quoted("two\\nlines")
        "'two\\\\nlines'"
    """
    shown = ascii(text)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
