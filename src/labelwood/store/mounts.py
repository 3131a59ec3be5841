"""Which folders lie on a file system of another machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

# Whoever changes a file there does so unseen by this machine, and a mapped file that gets shorter ends the process.
_NAMES = (
    "9p afs beegfs ceph cifs coda davfs gfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs pvfs2 smb3 smbfs "
    "fuse.ceph fuse.ceph-fuse fuse.davfs2 fuse.gcsfuse fuse.glusterfs fuse.goofys fuse.juicefs fuse.mount-s3 "
    "fuse.rclone fuse.s3fs fuse.smbnetfs fuse.sshfs"
)
_NETWORK = frozenset(_NAMES.split())
_NO_DISK = 0  # the major number of the devices that file systems without a disk get
_MOUNTS = Path("/proc/self/mountinfo")


def is_on_network(fd: int) -> bool:
    """Whether an open file or folder lies on a network file system; False where the system does not tell.

    Example:
        >>> with open(os.devnull) as file:
        ...     is_on_network(file.fileno())
        False
    """
    device = os.fstat(fd).st_dev
    if os.major(device) != _NO_DISK:
        return False
    try:
        mounts = _MOUNTS.read_text(errors="replace")
    except OSError:
        return False
    # Each line: two ids, the device, root, place, options, more fields that end with a dash, the type of file system.
    mine = re.compile(rf"^\d+ \d+ {os.major(device)}:{os.minor(device)} .* - (\S+) ", re.MULTILINE)
    return any(kind in _NETWORK for kind in mine.findall(mounts))
