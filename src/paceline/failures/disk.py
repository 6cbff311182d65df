"""Lines about disks and files."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE = Kind.CAUSE
_ERRNO = "https://docs.python.org/3/library/errno.html"

ROWS = (
    Row(
        "nccl-shm-full",
        _CAUSE,
        r"(?:failed to extend /dev/shm/nccl|Error while creating shared memory segment|posix_fallocate failed)",
        "NCCL needs more shared memory than the container's /dev/shm has (64 MB by default).",
        "docker run --shm-size=1g --ulimit memlock=-1 ..., or an emptyDir of medium Memory at /dev/shm",
        "https://github.com/NVIDIA/nccl/issues/525",
    ),
    Row(
        "disk-full",
        _CAUSE,
        r"(?:(?P<file>/\S+); )?No space left on device",
        "A disk is full: what was being written is not complete.",
        "df -h; df -i; then free some space or write elsewhere (paceline run --run-dir, --checkpoint-dir)",
        _ERRNO,
    ),
    Row(
        "disk-quota",
        _CAUSE,
        r"Disk quota exceeded",
        "The person's quota of this disk is used up.",
        "quota -s (or the site's own command); then free some space or write to another disk",
        _ERRNO,
    ),
    Row(
        "file-too-large",
        _CAUSE,
        r"\[Errno 27\] File too large",
        "A file became larger than the file system or ulimit -f allows.",
        "ulimit -f unlimited, or write to another file system",
        _ERRNO,
    ),
    Row(
        "stale-file-handle",
        _CAUSE,
        r"Stale (?:NFS )?file handle",
        "A file on a shared disk was replaced or removed by another machine while it was open.",
        "have one worker write it (paceline does), and copy data that changes before the job starts",
        "https://github.com/Parisson/TimeSide/issues/160",
    ),
    Row(
        "too-many-open-files",
        _CAUSE,
        r"Too many open files",
        "The process reached its limit of open files.",
        "ulimit -n 65536 before the start, and close files; read many small files as TFRecords",
        "https://github.com/red-hat-storage/ocs-ci/issues/1765",
    ),
    Row(
        "read-only",
        _CAUSE,
        r"Read-only file system",
        "The disk is mounted read-only: by intention, or after a fault of the disk.",
        "write elsewhere; mount | grep ' ro[,)]' shows which disks are read-only",
        _ERRNO,
    ),
    Row(
        "input-output-error",
        _CAUSE,
        r"\[Errno 5\] Input/output error|; Input/output error",
        "The operating system could not read or write: a failing disk, a lost network disk, or a special file.",
        "dmesg | tail -50; then use another disk",
        _ERRNO,
    ),
    Row(
        "transport-endpoint",
        _CAUSE,
        r"Transport endpoint is not connected",
        "A mounted disk (FUSE: gcsfuse, s3fs, sshfs) has lost its helper process.",
        "fusermount -u MOUNT and mount it again",
        "https://github.com/GoogleCloudPlatform/gcsfuse/blob/master/docs/troubleshooting.md",
    ),
    Row(
        "hdf5-lock",
        _CAUSE,
        r"[Uu]nable to (?:synchronously )?(?:create|open) file \(unable to lock file",
        "Two processes open one HDF5 file, or its disk has no locks.",
        "have the chief write (paceline does); on disks without locks: HDF5_USE_FILE_LOCKING=FALSE",
        "https://docs.h5py.org/en/stable/high/file.html",
    ),
    Row(
        "hdf5-damaged",
        _CAUSE,
        r"[Uu]nable to (?:synchronously )?open file \((?:file signature not found|truncated file)",
        "The file is no whole HDF5 file: it was cut off while it was written, or is something else.",
        "use an older checkpoint; write under another name and rename, as paceline's checkpoints are",
        "https://docs.h5py.org/en/stable/high/file.html",
    ),
    Row(
        "no-such-program-file",
        _CAUSE,
        r"can't open file '(?P<file>[^']+)': \[Errno 2\]",
        "Python does not find the script {file}.",
        "check the name and the working folder: ls -l {file}",
        "https://docs.python.org/3/using/cmdline.html",
    ),
)
