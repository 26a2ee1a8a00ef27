#!/usr/bin/env python3
"""What zbc says of a long search, and how Ctrl-C ends it: a line a second on a terminal, nothing elsewhere; the first
Ctrl-C takes the best plan so far, whose choice compiles byte for byte again; before there is one, and at the second
Ctrl-C, zbc ends by SIGINT, and what was written before is whole.

    stopped_search.py [--bin BUILD/bin]

Ends with "N passed, N failed".
"""
import json
import os
import pty
import random
import re
import select
import signal
import subprocess
import sys
import time

import common
import signals

END_SECONDS = 30
GPT2, LLAMA = (os.path.join(common.DATA, name + "-small.onnx") for name in ("gpt2", "llama"))
LONG = (GPT2, "--ranks", 4, "--micro-batches", 8, "--schedule", "search:budget=100000000")  # minutes
LATE = (LLAMA, "--ranks", 4, "--micro-batches", 32, "--recompute", "auto", "--memory-limit", "1M")  # a plan in seconds
LINE = re.compile(r"\rsearch (\d+) s: (\d+) plans, (none yet within the limit|best [0-9.]+ [mu]s in [0-9.]+ \w+, "
                  r"bound [0-9.]+ [mu]s; \^C takes it)\x1b\[K")
ENDS, STOPPED = "a second Ctrl-C ends zbc at once", "zbc: the search was stopped: this is the best plan so far"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Terminal:
    """zbc with a terminal of its own as input and standard error."""

    def __init__(self, tool, *words):
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen([tool, *map(str, words)], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE,
                                        start_new_session=True, env=dict(os.environ, TERM="xterm"),
                                        preexec_fn=lambda: signals.take_terminal(signal.SIG_DFL))
        os.close(theirs)
        self.seen = ""

    def read(self, seconds):
        """False: the terminal is closed."""
        if select.select([self.ours], [], [], seconds)[0]:
            try:
                piece = os.read(self.ours, 65536)
            except OSError:
                piece = b""
            self.seen += piece.decode()
            return bool(piece)
        return True

    def until(self, pattern):
        """Whether it has said so, in time."""
        end = time.monotonic() + common.patience(END_SECONDS)
        while not re.search(pattern, self.seen) and time.monotonic() < end and self.read(0.1):
            pass
        return re.search(pattern, self.seen) is not None

    def press(self):
        try:
            os.write(self.ours, b"\x03")
        except OSError:  # it has ended
            pass

    def ended(self):
        """(status, standard output); None where it did not end."""
        end = time.monotonic() + common.patience(END_SECONDS)
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        if self.process.poll() is None:
            self.process.kill()
        out, _ = self.process.communicate()
        while self.read(0) and select.select([self.ours], [], [], 0)[0]:
            pass
        os.close(self.ours)
        return self.process.returncode, out.decode()


class Searches:
    def __init__(self, suite, folder):
        self.suite, self.folder, self.serial = suite, folder, 0
        self.zbc = suite.tool("zbc")

    def place(self, name):
        self.serial += 1
        return os.path.join(self.folder, f"{name}-{self.serial}")

    def left(self, plan):
        """What is there of a folder, or beside it."""
        own = os.path.basename(plan)
        return sorted(name for name in os.listdir(self.folder) if name == own or name.startswith(own + "."))

    def check(self, good, text):
        if self.suite.check(good, text):
            print("ok  ", text.splitlines()[0], flush=True)

    def replays(self, words, plan, choice):
        """Whether the choice gives the same folder."""
        again = self.place("again")
        limit = [words[i:i + 2] for i, word in enumerate(words) if word == "--memory-limit"]
        done = self.suite.run("zbc", words[0], "-o", again, "--choice", choice, *(limit[0] if limit else ()))
        return done.returncode == 0 and common.folder_bytes(plan) == common.folder_bytes(again)


def on_terminal(s):
    plan, choice = s.place("plan"), s.place("choice")
    zbc = Terminal(s.zbc, *LONG, "-o", plan, "--choice-out", choice)
    began, many = zbc.until(LINE), zbc.until(f"(?s){LINE.pattern}.*{LINE.pattern}.*{LINE.pattern}")
    lines = [(int(found[1]), int(found[2])) for found in LINE.finditer(zbc.seen)]
    zbc.press()
    status, out = zbc.ended()
    s.check(began and many and sorted(set(lines)) == lines and len({second for second, _ in lines}) == len(lines),
            f"a line a second: {lines}\n{zbc.seen!r}")
    s.check(all(len(found[0]) < 80 + 4 for found in LINE.finditer(zbc.seen)), f"lines of 80 columns\n{zbc.seen!r}")
    rest = LINE.sub("", zbc.seen)
    s.check(status == 0 and STOPPED in rest and ENDS in rest and f"--choice {choice} compiles exactly that" in rest,
            f"Ctrl-C during a search: exit {status}\n{zbc.seen!r}")
    after = zbc.seen[list(LINE.finditer(zbc.seen))[-1].end():]
    s.check(re.match(r"(\^C)?\r\x1b\[Kzbc: the search ends", after) and out.startswith("stage") and "\x1b" not in out,
            f"the line is gone before the rest\n{after!r}\n{out}")
    s.check(s.replays(LONG, plan, choice), "its choice gives the same bytes")


def elsewhere(s):
    """Standard error is no terminal."""
    plan, choice = s.place("plan"), s.place("choice")
    process = subprocess.Popen([s.zbc, *map(str, LONG), "-o", plan, "--json", "--choice-out", choice],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(common.patience(3))
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=common.patience(END_SECONDS))
    s.check(process.returncode == 0 and json.loads(out)["stopped"] is True,
            f"--json says so: exit {process.returncode}")
    s.check(errors.startswith("zbc: the search ends") and errors.count("\n") == 3 and "\r" not in errors,
            f"no line where there is no terminal\n{errors!r}")
    s.check(s.replays(LONG, plan, choice) and json.loads(out)["choice"] == read(choice),
            "its choice gives the same bytes, not on a terminal")
    done = s.suite.run("zbc", GPT2, "-o", plan, "--ranks", 2, "--micro-batches", 4, "--schedule", "search", "--json")
    s.check(done.returncode == 0 and json.loads(done.stdout)["stopped"] is False and not done.stderr,
            f"a search that ends by itself says nothing: exit {done.returncode}\n{done.stderr!r}")


def before_a_plan(s):
    plan = s.place("plan")
    zbc = Terminal(s.zbc, *LATE, "-o", plan)
    said = zbc.until("none yet within the limit")
    zbc.press()
    status, out = zbc.ended()
    s.check(said and status == -signal.SIGINT and not out and not s.left(plan) and
            "the search was stopped before it had a plan to take" in zbc.seen,
            f"Ctrl-C before there is a plan: status {status}, left {s.left(plan)}\n{zbc.seen!r}")
    process = subprocess.Popen([s.zbc, *map(str, LONG), "-o", plan], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=common.patience(END_SECONDS))
    s.check(process.returncode == -signal.SIGINT and not s.left(plan),
            f"Ctrl-C before the search: status {process.returncode}, left {s.left(plan)}")


def twice(s):
    """A plan that was there stays. The first Ctrl-C may have ended it before the second comes."""
    plan = s.place("plan")
    s.suite.compile(GPT2, plan, "--ranks", 2, "--micro-batches", 4)
    before, ended = common.folder_bytes(plan), []
    while len(ended) < 20 and -signal.SIGINT not in ended:
        zbc = Terminal(s.zbc, *LATE, "-o", plan)
        zbc.until("none yet within the limit|best [0-9]")
        zbc.press()
        zbc.until(ENDS)
        zbc.press()
        ended.append(zbc.ended()[0])
        if ended[-1] == 0:
            before = common.folder_bytes(plan)
    s.check(ended[-1] == -signal.SIGINT and before == common.folder_bytes(plan) and
            s.left(plan) == [os.path.basename(plan)],
            f"Ctrl-C twice: {ended}, left {s.left(plan)}")


def ignored(s):
    """A job in the background of a script."""
    plan = s.place("plan")
    process = subprocess.Popen([s.zbc, *map(str, LONG), "-o", plan], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    goes_on = signals.goes_on(process)
    process.terminate()
    process.communicate()
    s.check(goes_on and process.returncode == -signal.SIGTERM and not s.left(plan), "SIGINT that is ignored")


def at_any_time(s):
    """At moments drawn at random, of every kind of search: a whole plan, done again by its choice, or nothing."""
    chance, taken, nothing = random.Random(7), 0, 0
    long = (LLAMA, "--ranks", 4, "--micro-batches", 32)
    for words in (LATE, (*long, "--schedule", "search", "--recompute", "auto", "--memory-limit", "1800K"),
                  (*long, "--schedule", "search", "--split", "auto", "--memory-limit", "2M"),
                  (*long, "--schedule", "search:budget=1000000", "--metric", "period", "--memory-limit", "2M"),
                  (LLAMA, "--ranks", 4, "--micro-batches", 16, "--schedule", "search:budget=1000000")):  # soon a plan
        for moment in sorted(chance.uniform(0.05, 4) for _ in range(4)):
            plan, choice = s.place("plan"), s.place("choice")
            process = subprocess.Popen([s.zbc, *map(str, words), "-o", plan, "--choice-out", choice],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(moment)
            process.send_signal(signal.SIGINT)
            try:
                errors = process.communicate(timeout=common.patience(END_SECONDS))[1]
            except subprocess.TimeoutExpired:
                process.kill()
                errors = "it did not end " + process.communicate()[1]
            if process.returncode == 0:
                good = s.replays(words, plan, choice) and (STOPPED in errors or not errors)
            else:
                good = process.returncode == -signal.SIGINT and not s.left(plan) and not s.left(choice)
            taken, nothing = taken + (process.returncode == 0), nothing + (process.returncode != 0)
            s.suite.check(good, f"{words} after {moment:.2f} s: status {process.returncode}, left {s.left(plan)} "
                                f"{s.left(choice)}\n{errors}")
    s.check(taken > 0 and nothing > 0, f"Ctrl-C at any time: {taken} plans, {nothing} times none")


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        searches = Searches(suite, folder)
        for part in (on_terminal, elsewhere, before_a_plan, twice, ignored, at_any_time):
            part(searches)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
