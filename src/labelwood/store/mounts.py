"""Finds out whether a folder lies on a network file system."""

from __future__ import annotations

import os
import re
from pathlib import Path

# Other machines can change files there without notice, and a mapped file that gets shorter ends the process.
_NAMES = (
    "9p afs beegfs ceph cifs coda davfs gfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs pvfs2 smb3 smbfs "
    "fuse.ceph fuse.ceph-fuse fuse.davfs2 fuse.gcsfuse fuse.glusterfs fuse.goofys fuse.juicefs fuse.mount-s3 "
    "fuse.rclone fuse.s3fs fuse.smbnetfs fuse.sshfs"
)
_NETWORK = frozenset(_NAMES.split())
_DISKLESS_MAJOR = 0  # the major device number of file systems without a disk
_MOUNTS = Path("/proc/self/mountinfo")


def is_on_network(fd: int) -> bool:
    """Whether an open file or folder lies on a network file system; False if the system does not tell.

    Example:
        >>> with open(os.devnull) as file:
        ...     is_on_network(file.fileno())
        False
    """
    device = os.fstat(fd).st_dev
    if os.major(device) != _DISKLESS_MAJOR:
        return False
    try:
        mounts = _MOUNTS.read_text(errors="replace")
    except OSError:
        return False
    # Each line: two ids, the device, root, place, options, more fields that end with a dash, the type of file system.
    mine = re.compile(rf"^\d+ \d+ {os.major(device)}:{os.minor(device)} .* - (\S+) ", re.MULTILINE)
    return any(kind in _NETWORK for kind in mine.findall(mounts))
