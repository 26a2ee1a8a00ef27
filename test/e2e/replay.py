#!/usr/bin/env python3
"""zbc, with every compile done again by its choice: what tools/test.sh --replay has in the place of zbc.

    replay.py ZBC LOG ARGUMENT...

Runs ZBC as given. What wrote a plan is compiled again with --choice, without the options that a choice says, to another
folder: the same bytes, and the same choice. LOG gets a line a compile, "same ..." or "OTHER ..." with what differs.
Standard output, standard error and the exit status are those of the first run.
"""
import fcntl
import os
import subprocess
import sys
import tempfile

import choice
import common

ALONE = ("--choice", "--import-only", "--pass-pipeline", "--help", "--version", "--help-passes", "--list-operators")


def value_of(arguments, option):
    return arguments[arguments.index(option) + 1] if option in arguments[:-1] else None


def difference(zbc, arguments, out, is_new, chosen, folder):
    """What differs in the compile of a choice, or None. A folder that was there may have files of other compiles."""
    two, again = os.path.join(folder, "two"), os.path.join(folder, "again")
    left_out = {"-o", "--choice-out", "--csv", "--timeline", "--dump-ir"}
    kept = [word for before, word in zip([None, *arguments], arguments) if word not in left_out and
            before not in left_out]
    done = subprocess.run([zbc, *choice.without(kept), "-o", two, "--choice", chosen, "--choice-out", again],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr[:800]!r}"
    one, two = common.folder_bytes(out), common.folder_bytes(two)
    files = [name for name in sorted(set(two).union(one if is_new else ())) if one.get(name) != two.get(name)]
    with open(chosen) as first, open(again) as second:
        files += ["the choice"] if first.read() != second.read() else []
    return "other " + ", ".join(files) if files else None


def main():
    zbc, log, *arguments = sys.argv[1:]
    out = value_of(arguments, "-o")
    if not out or any(word.split("=")[0] in ALONE for word in arguments):
        os.execv(zbc, [zbc, *arguments])
    is_new = not os.path.exists(out)
    with tempfile.TemporaryDirectory(prefix="zb-replay-") as folder:
        chosen = value_of(arguments, "--choice-out") or os.path.join(folder, "one")
        more = [] if "--choice-out" in arguments else ["--choice-out", chosen]
        status = subprocess.run([zbc, *arguments, *more]).returncode
        if status == 0:
            wrong = difference(zbc, arguments, out, is_new, chosen, folder)
            with open(log, "a") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(f"{f'OTHER {wrong}: ' if wrong else 'same '}{' '.join(arguments)}\n")
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
