"""Lines about processes that crash, libraries that do not fit, and shells that tell of an end."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE, _AFTER = Kind.CAUSE, Kind.CONSEQUENCE
_FAULT = "https://docs.python.org/3/library/faulthandler.html"
_SIGNALS = "https://www.gnu.org/software/libc/manual/html_node/Standard-Signals.html"
_LIBRARY = "https://man7.org/linux/man-pages/man8/ld.so.8.html"

ROWS = (
    Row(
        "glibcxx",
        _CAUSE,
        r"version `(?P<version>(?:GLIBCXX|GLIBC|CXXABI)_[\d.]+)' not found",
        "A library was built for a newer system: {version} is not here.",
        "conda install -c conda-forge libstdcxx-ng, or a container or Python built for this system",
        _LIBRARY,
    ),
    Row(
        "shared-library-missing",
        _CAUSE,
        r"(?P<file>lib\S+): cannot open shared object file: No such file or directory(?<!dlerror)",
        "The library {file} is not installed, or not where it is looked for.",
        "ldconfig -p | grep {file}; pip install 'tensorflow[and-cuda]' for CUDA's; else LD_LIBRARY_PATH",
        _LIBRARY,
    ),
    Row(
        "undefined-symbol",
        _CAUSE,
        r"undefined symbol: (?P<symbol>\w+)",
        "A binary package was built for another version of TensorFlow or NumPy.",
        "pip install --force-reinstall the package that the line names, in the version for this TensorFlow",
        _LIBRARY,
    ),
    Row(
        "numpy-abi",
        _CAUSE,
        r"A module that was compiled using NumPy 1\.x cannot be run in|numpy\.dtype size "
        r"changed|numpy\.core\.multiarray failed to import",
        "A binary package was built for another version of NumPy.",
        "pip install -U the package that the traceback names, or pip install 'numpy<2'",
        "https://numpy.org/doc/stable/user/troubleshooting-importerror.html",
    ),
    Row(
        "segfault",
        _CAUSE,
        r"Segmentation fault|Fatal Python error: (?:Segmentation fault|_PyInterpreter)"
        r"|\*\*\* Process received signal \*\*\*",
        "The process crashed in C code (SIGSEGV): a fault of a library, or libraries that do not fit each other.",
        "python -X faulthandler train.py shows where; then update or remove the library that it names",
        _FAULT,
    ),
    Row(
        "illegal-instruction",
        _CAUSE,
        r"Illegal instruction",
        "The processor does not know an instruction (AVX, most often) that TensorFlow was built with.",
        "lscpu | grep -o 'avx[^ ]*'; run on a newer host, or a TensorFlow built for this one",
        "https://github.com/tensorflow/tensorflow/issues/17411",
    ),
    Row(
        "bus-error",
        _CAUSE,
        r"Bus error",
        "The process crashed (SIGBUS): /dev/shm is full, or a file that it had mapped was cut off.",
        "df -h /dev/shm; docker run --shm-size=8g",
        "https://github.com/tensorflow/tensorflow/issues/59091",
    ),
    Row(
        "floating-point-exception",
        _CAUSE,
        r"Floating point exception",
        "The process crashed (SIGFPE): a division by zero in C code, an empty tensor most often.",
        "python -X faulthandler train.py shows where",
        _SIGNALS,
    ),
    Row(
        "aborted",
        _CAUSE,
        r"^(?:.*line \d+: +\d+ )?Aborted\b(?: +\(core dumped\))?|Fatal Python error: Aborted"
        r"|terminate called after throwing",
        "C code ended the process (SIGABRT); the lines before it say why.",
        "look for a line with 'Check failed', 'F0000' or 'what():' before it",
        "https://github.com/tensorflow/tensorflow/issues/56684",
    ),
    Row(
        "killed",
        _CAUSE,
        r"^(?:\S+: line \d+: +\d+ )?Killed\b(?: |$)",
        "The process was killed (SIGKILL): most often by the kernel, which had run out of memory.",
        "dmesg | grep -i 'killed process' says whether; then more memory, a smaller batch or fewer workers",
        "https://github.com/ArjunaCluster/ArjunaUsers/issues/52",
    ),
    Row(
        "terminated",
        _AFTER,
        r"^(?:\S+: line \d+: +\d+ )?Terminated\b(?: |$)",
        "The process was asked to end (SIGTERM): by the scheduler, by a person, or because another had failed.",
        "look for what ended first",
        _SIGNALS,
    ),
    Row(
        "exec-format",
        _CAUSE,
        r"[Ee]xec format error",
        "A program or container image is for another kind of processor.",
        "uname -m; docker build --platform linux/amd64",
        "https://docs.docker.com/build/building/multi-platform/",
    ),
    Row(
        "command-not-found",
        _CAUSE,
        r": (?:line \d+: )?(?P<what>\S+): command not found",
        "The program {what} is not installed, or not in PATH on this host.",
        "type -a {what}; in batch scripts activate the environment first",
        "https://www.gnu.org/software/bash/manual/html_node/Command-Search-and-Execution.html",
    ),
    Row(
        "cannot-create-thread",
        _CAUSE,
        r"can't start new thread|pthread_create failed|Resource temporarily unavailable",
        "The limit of processes and threads is reached.",
        "ulimit -u; fewer workers on this host; OMP_NUM_THREADS=1",
        "https://docs.python.org/3/library/threading.html",
    ),
)
