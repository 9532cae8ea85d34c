# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Files that users name to be written, as src/util/output.c writes them: nothing is written into, or
through, what belongs to another user than this one or root, as anyone may leave it in /tmp.
"""

import errno
import os
import secrets
import stat

# The user's umask takes from it.
_PERMISSIONS = 0o666


def _hold_to_ours(about):
    if about.st_uid not in (os.geteuid(), 0):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _open_there(path):
    """A descriptor of what is at PATH, which is looked at before it is opened and after."""
    try:
        before = os.lstat(path)
    except OSError:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOCTTY, _PERMISSIONS)
    _hold_to_ours(before)
    is_link = stat.S_ISLNK(before.st_mode)
    flags = os.O_CREAT if is_link else os.O_NOFOLLOW
    file = os.open(path, os.O_WRONLY | os.O_NOCTTY | flags, _PERMISSIONS)
    try:
        after = os.fstat(file)
        if not is_link:
            _hold_to_ours(after)
        if stat.S_ISREG(after.st_mode):
            os.ftruncate(file, 0)
    except OSError:
        os.close(file)
        raise
    return file


def _write(file, text):
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(text)


def _is_replaceable(path):
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return True


def _open_beside(path):
    """The name of a new file beside that at PATH, which nobody can guess, and its descriptor; None
    and None where the folder takes no new one."""
    name = f"{path}.{secrets.token_hex(8)}"
    try:
        return name, os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PERMISSIONS)
    except OSError:
        return None, None


def replace(path, text):
    """A file with TEXT takes the place of that at PATH once it is whole. Devices, FIFOs and links
    stay what they are, and are written to. Raises OSError."""
    name, file = _open_beside(path) if _is_replaceable(path) else (None, None)
    if name is None:
        _write(_open_there(path), text)
        return
    try:
        _write(file, text)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
