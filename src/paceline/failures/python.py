"""Exceptions of Python, known by their last line; the script's own line is told beside them."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE, _AFTER = Kind.CAUSE, Kind.CONSEQUENCE
_PY = "https://docs.python.org/3/library/exceptions.html"


def _of(name: str, error: str, meaning: str, fix: str, kind: Kind = _CAUSE, source: str = "") -> Row:
    """Returns the row of an exception: its name begins the line, with or without its module."""
    pattern = rf"^(?:\w+\.)*(?:{error})(?:: (?P<text>.*)|$)"
    return Row(name, kind, pattern, meaning, fix, source or _PY, is_general=True)


ROWS = (
    _of(
        "module-missing",
        "ModuleNotFoundError",
        "A package is not installed in this worker's Python: {text}.",
        "pip install it into the same Python on every host: python -m pip install NAME",
    ),
    _of(
        "import-error",
        "ImportError",
        "An import failed: {text}.",
        "python -c 'import NAME' on this host; install the version that has what the line names",
    ),
    _of(
        "file-not-found",
        "FileNotFoundError",
        "A file is not there: {text}.",
        "check the path on this worker's host; relative paths start at the folder of the job",
    ),
    _of(
        "permission",
        "PermissionError",
        "The job may not read or write there: {text}.",
        "ls -ld the folder; id on this host; write to a folder of your own",
    ),
    _of(
        "key-error",
        "KeyError",
        "A key is not there: {text}. In a dictionary, a data frame, or os.environ.",
        "print the keys before that line",
    ),
    Row(
        "none-attribute",
        _CAUSE,
        r"^(?:Attribute|Type)Error: 'NoneType' object (?P<text>.*)",
        "A value is None where an object is needed: a function returned nothing, or a file was not read.",
        "print the value before that line",
        _PY,
        is_general=True,
    ),
    _of(
        "attribute-error",
        "AttributeError",
        "An object does not have what is asked of it: {text}. Often another version of a library.",
        "pip show the library, and compare with the one that the script was written for",
    ),
    _of(
        "index-error",
        "IndexError",
        "An index is past the end: {text}.",
        "print the length before that line",
    ),
    _of(
        "type-error",
        "TypeError",
        "A value is of the wrong type: {text}.",
        "print(type(...)) of the arguments before that line",
    ),
    _of(
        "syntax-error",
        "SyntaxError|IndentationError|TabError",
        "The script is no valid Python: {text}.",
        "python -m py_compile SCRIPT shows the line; see that this is the version of Python it was written for",
    ),
    _of(
        "name-error",
        "NameError|UnboundLocalError",
        "A name is used that was never given a value: {text}.",
        "correct the spelling, or import it",
    ),
    _of(
        "assertion",
        "AssertionError",
        "An assertion of the script, or of a library, failed: {text}.",
        "look at the script's line below",
    ),
    _of(
        "division",
        "ZeroDivisionError",
        "A number is divided by zero: an empty dataset or a count that is 0, most often.",
        "print the count before that line",
    ),
    _of(
        "unicode",
        "UnicodeDecodeError|UnicodeEncodeError",
        "Text is of another encoding than UTF-8, or the file is binary: {text}.",
        "open(file, encoding='latin-1'), or export PYTHONUTF8=1",
    ),
    _of(
        "json",
        r"JSONDecodeError",
        "A JSON text is damaged or empty: {text}. An environment variable such as TF_CONFIG, or a file cut off.",
        'python -m json.tool FILE; for TF_CONFIG: paceline cluster check "$TF_CONFIG"',
        source="https://docs.python.org/3/library/json.html",
    ),
    _of(
        "damaged-file",
        r"UnpicklingError|EOFError|BadZipFile|BadGzipFile|zlib\.error|ReadError",
        "A file is damaged or was cut off while it was written: {text}.",
        "make or copy it again; have one worker write it",
        source="https://docs.python.org/3/library/pickle.html",
    ),
    _of(
        "recursion",
        "RecursionError",
        "A function calls itself without end.",
        "look at the functions that the traceback repeats",
    ),
    _of(
        "not-implemented",
        "NotImplementedError",
        "What is asked for does not exist there: {text}.",
        "look at the script's line below; another method, or another version of the library",
    ),
    _of(
        "pool-broken",
        "BrokenProcessPool|BrokenExecutor",
        "A helper process of the script was killed, most often for want of memory.",
        "fewer helper processes (max_workers), or more memory",
        source="https://docs.python.org/3/library/concurrent.futures.html",
    ),
    _of(
        "timeout-error",
        "TimeoutError",
        "Something took longer than its limit: {text}.",
        "see that what it waits for runs, or raise the limit",
    ),
    _of(
        "interrupted",
        "KeyboardInterrupt",
        "Somebody pressed Ctrl-C, or sent SIGINT.",
        "start it again; for long jobs: nohup, tmux or a scheduler",
    ),
    _of(
        "resource-exhausted",
        "ResourceExhaustedError",
        "Memory, disk or a quota is used up: {text}.",
        "a smaller batch; df -h; nvidia-smi",
        source="https://www.tensorflow.org/api_docs/python/tf/errors/ResourceExhaustedError",
    ),
    _of(
        "tf-not-found",
        "NotFoundError",
        "TensorFlow does not find a file, a variable or an operation: {text}.",
        "check the path on this worker's host",
        source="https://www.tensorflow.org/api_docs/python/tf/errors/NotFoundError",
    ),
    _of(
        "tf-permission",
        "PermissionDeniedError|UnauthenticatedError",
        "TensorFlow may not read or write there: {text}.",
        "ls -ld the folder; for buckets: gcloud auth application-default login",
        source="https://www.tensorflow.org/api_docs/python/tf/errors/PermissionDeniedError",
    ),
    _of(
        "tf-error",
        r"(?:\w+_impl\.)?(?:InvalidArgumentError|FailedPreconditionError|InternalError|UnknownError|DataLossError"
        r"|UnimplementedError|OutOfRangeError|DeadlineExceededError|AlreadyExistsError|OperatorNotAllowedInGraphError"
        r"|OpError)",
        "An operation of TensorFlow failed: {text}.",
        "the lines below it name the operation and the script's line; run_eagerly=True in compile shows where",
        source="https://www.tensorflow.org/api_docs/python/tf/errors",
    ),
    _of(
        "value-error",
        "ValueError",
        "A value is not what is expected: {text}.",
        "print the value before that line",
    ),
    _of(
        "runtime-error", "RuntimeError", "The script, or a library, gave up: {text}.", "look at the script's line below"
    ),
    _of(
        "os-error",
        "OSError|IOError|ConnectionError|URLError|HTTPError",
        "The operating system, or the network, refused something: {text}.",
        "check the path or address on this worker's host",
    ),
    _of(
        "other-exception",
        r"[A-Z]\w*(?:Error|Exception|Failure|Fault|Timeout|Exit|Interrupt)|Exception|StopIteration",
        "The script ended with an exception: {text}.",
        "look at the script's line below",
    ),
)
