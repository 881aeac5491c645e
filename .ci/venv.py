"""Runs a command in the project's virtual environment, building or refreshing that environment first if need be.

    python3 .ci/venv.py hpo,bench,dev -- pytest -q

The environment is `.venv` beside setup.py, with the package installed editable and the named extras. A stamp per extra
holds a digest of setup.py, pyproject.toml, the version and the interpreter; nothing is installed while they agree.
Commands hold a shared lock on the environment and an installation an exclusive one, so two `make` targets can run at
once. It must parse on any Python, so that a too old interpreter is told so in plain words.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
STAMPS = os.path.join(VENV, "stamps")
LOG = os.path.join(ROOT, ".venv.log")


def say(text):
    """Writes one line to standard error; standard output belongs to the command."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def check_python():
    """Stops with a plain sentence when this interpreter cannot build the environment."""
    if sys.version_info < OLDEST:
        found = "%d.%d.%d" % tuple(sys.version_info[:3])
        sys.exit(
            "sma_gpu needs Python %d.%d or newer; %s is Python %s. "
            "Name a newer one: make PYTHON=/path/to/python3.12 ..." % (OLDEST[0], OLDEST[1], sys.executable, found)
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as missing:
        sys.exit(
            "sma_gpu builds a virtual environment; %s has no module %s. "
            "Install it (on Debian and Ubuntu: apt install python3-venv)." % (sys.executable, missing.name)
        )


def file_text(path):
    """Returns the bytes of a file, or none where it does not exist."""
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as handle:
        return handle.read()


def digest():
    """Returns what an installation depends on, as one hex string."""
    found = hashlib.sha256()
    found.update(("%s\n%s\n%s\n" % (os.path.realpath(sys.executable), sys.version, ROOT)).encode())
    for name in ("setup.py", "pyproject.toml", os.path.join("sma_gpu", "version.py")):
        text = file_text(os.path.join(ROOT, name))
        found.update(("%s %d\n" % (name, len(text))).encode() + text)
    return found.hexdigest()


def missing_extras(extras, wanted):
    """Returns the extras whose stamp does not hold the digest ``wanted``."""
    return [extra for extra in extras if file_text(os.path.join(STAMPS, extra)).decode() != wanted]


def run_logged(command):
    """Runs ``command`` with its output in the log; stops with the log's end when it fails."""
    with open(LOG, "ab") as log:
        log.write(("$ %s\n" % " ".join(command)).encode())
        log.flush()
        code = subprocess.call(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=ROOT)
    if code:
        tail = file_text(LOG).decode(errors="replace").splitlines()[-25:]
        sys.exit("\n".join(tail) + "\n\nThe environment was not built; the whole log is in .venv.log.")


def install(extras, wanted):
    """Installs the package with ``extras``, next to those already there."""
    python = os.path.join(VENV, "bin", "python")
    built_by = os.path.join(VENV, "built-by")
    # Scripts inside an environment name its folder, so one that was moved is as stale as one of another interpreter.
    maker = "%s\n%s\n" % (os.path.realpath(sys.executable), ROOT)
    works = os.path.exists(python) and subprocess.call([python, "-c", "import pip"], stderr=subprocess.DEVNULL) == 0
    kept = os.listdir(STAMPS) if os.path.isdir(STAMPS) else []
    if os.path.exists(LOG):
        os.remove(LOG)
    if not works or file_text(built_by).decode() != maker:
        kept = []
        shutil.rmtree(VENV, ignore_errors=True)
        run_logged([sys.executable, "-m", "venv", VENV])
        with open(built_by, "w") as handle:
            handle.write(maker)
    names = sorted(set(extras) | set(kept))
    say("installing sma_gpu[%s] into .venv (first time: two to four minutes) ..." % ",".join(names))
    shutil.rmtree(STAMPS, ignore_errors=True)
    run_logged([python, "-m", "pip", "install", "--disable-pip-version-check", "-e", ".[%s]" % ",".join(names)])
    os.makedirs(STAMPS)
    for extra in names:
        with open(os.path.join(STAMPS, extra), "w") as handle:
            handle.write(wanted)


def take(lock, kind):
    """Takes the lock; says so when that means waiting for another command."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        say("waiting: another command is using or building .venv ...")
        fcntl.flock(lock, kind)


def hold_ready(extras):
    """Returns with a shared lock held on an environment that has ``extras``; the lock ends with the process."""
    lock = os.open(os.path.join(ROOT, ".venv.lock"), os.O_RDWR | os.O_CREAT, 0o644)
    # The command started below keeps the lock, since it inherits this descriptor.
    os.set_inheritable(lock, True)
    wanted = digest()
    while True:
        take(lock, fcntl.LOCK_SH)
        if not missing_extras(extras, wanted):
            return
        fcntl.flock(lock, fcntl.LOCK_UN)
        take(lock, fcntl.LOCK_EX)
        # Another process may have installed them meanwhile.
        missing = missing_extras(extras, wanted)
        if missing:
            install(extras, wanted)
        fcntl.flock(lock, fcntl.LOCK_UN)


def main(arguments):
    """Makes the environment ready, then becomes the command (if any)."""
    check_python()
    if not arguments or arguments[0].startswith("-"):
        sys.exit("usage: python3 .ci/venv.py EXTRA[,EXTRA...] [-- COMMAND ...]")
    extras = arguments[0].split(",")
    hold_ready(extras)
    command = arguments[2:] if arguments[1:2] == ["--"] else arguments[1:]
    if command:
        os.chdir(ROOT)
        path = os.path.join(VENV, "bin") + os.pathsep + os.environ.get("PATH", os.defpath)
        try:
            os.execvpe(command[0], command, dict(os.environ, PATH=path, VIRTUAL_ENV=VENV))
        except OSError as fault:
            sys.exit("%s: %s" % (command[0], fault.strerror))


if __name__ == "__main__":
    main(sys.argv[1:])
