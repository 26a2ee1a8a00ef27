#!/usr/bin/env python3
"""What people watch while a model trains: logs of steps (CSV, JSON lines, TensorBoard) and the line with the time left.

    logs.py [--bin BUILD/bin]

Rows are compared with the objects of zb-run --json; event files are read by a decoder of their own (and by the package
tensorboard, where there is one); what goes on after a resume has every step once; the line of progress is looked at
through a pseudo-terminal. Ends with "N passed, N failed".
"""
import csv
import importlib.util
import json
import os
import pty
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys

import common

GPT2 = os.path.join(common.DATA, "gpt2-small.onnx")
LIMIT_SECONDS = 60


# ---- Event files, by the published format ----

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(data):
    while data:
        length, crc = struct.unpack("<QI", data[:12])
        body, end = data[12:12 + length], data[12 + length:16 + length]
        assert crc == masked(data[:8]) and struct.unpack("<I", end)[0] == masked(body), "a wrong CRC"
        yield body
        data = data[16 + length:]


def fields(data):
    """[(number, value)] of a protobuf message."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value, at = struct.unpack("<d", data[at:at + 8])[0], at + 8
        elif key & 7 == 5:
            value, at = struct.unpack("<f", data[at:at + 4])[0], at + 4
        else:
            size = varint()
            value, at = data[at:at + size], at + size
        found.append((key >> 3, value))
    return found


def scalars(folder):
    """{tag: {step: value}} of all files of a folder in their order, as TensorBoard shows them."""
    shown = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            events = [dict(fields(body)) for body in records(file.read())]
        assert events[0][3] == b"brain.Event:2", events[0]
        for event in events[1:]:
            step = event.get(2, 0)
            if 7 in event:  # a start: what is later is forgotten
                assert fields(event[7]) == [(1, 1)]
                for values in shown.values():
                    for later in [s for s in values if s >= step]:
                        del values[later]
            for number, value in fields(event.get(5, b"")):
                pair = dict(fields(value))
                shown.setdefault(pair[1].decode(), {})[step] = pair[2]
    return shown


def numbers(path):
    """(tag, step) of every number of an event file."""
    with open(path, "rb") as file:
        events = [fields(body) for body in records(file.read())]
    return [(dict(fields(value))[1].decode(), dict(event).get(2, 0)) for event in events for key, summary in event
            if key == 5 for number, value in fields(summary)]


def by_tensorboard(folder):
    """The same by the package tensorboard; None where there is none."""
    if not importlib.util.find_spec("tensorboard"):
        return None
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    read = EventAccumulator(folder, size_guidance={"scalars": 0})
    read.Reload()
    return {tag: {e.step: e.value for e in read.Scalars(tag)} for tag in read.Tags()["scalars"]}


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


# ---- Checks ----

class Logs:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder
        self.plan = self.path("plan")
        suite.compile(GPT2, self.plan, "--ranks", 2, "--micro-batches", 2)
        self.train = [self.plan, "--data", "text:" + common.CORPUS, "--steps"]

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, **options):
        return self.suite.run("zb-run", *self.train, *words, timeout=common.patience(LIMIT_SECONDS), **options)

    def ok(self, good, text, detail=""):
        if self.suite.check(good, f"{text}\n{detail}"):
            print("ok   " + text, flush=True)

    def refused(self, text, status, pattern, *words, **options):
        done = self.run(*words, **options)
        self.ok(done.returncode == status and re.search(pattern, done.stderr) and "step 1/" not in done.stdout,
                text + ": " + (done.stderr.strip().splitlines() or ["nothing"])[0][-120:],
                f"exit {done.returncode}\n{done.stderr}")


def read_rows(path):
    if path.endswith(".csv"):
        with open(path, newline="") as file:
            return [{key: float(value) for key, value in row.items() if value} for row in csv.DictReader(file)]
    with open(path) as file:
        return [json.loads(line) for line in file][1:]


KEYS = ["step", "loss", "seconds", "tokens_per_second", "idle", "lr"]


def files(t):
    """Each form holds what --json prints."""
    for name in ("a.csv", "a.jsonl"):
        path = t.path(name)
        done = t.run(3, "--json", "--grad-norms", "--log", path)
        wanted, rows = common.json_lines(done.stdout), read_rows(path)
        same = [[r[k] for k in KEYS] for r in rows] == [[w[k] for k in KEYS] for w in wanted]
        t.ok(len(rows) == 3 and same, f"{name} has the rows of --json", f"{rows}\n{wanted}\n{done.stderr}")
        norm = sum(v * v for v in wanted[2]["gradient_norms"].values()) ** 0.5
        t.ok(abs(rows[2]["gradient_norm"] / norm - 1) < 1e-12, f"{name}: the norm of all gradients")
        t.ok(all(abs(r["waiting/1"] - w["waiting"][1]) < 1e-5 for r, w in zip(rows, wanted)) and
             all(abs((r["idle/0"] + r["idle/1"]) / 2 - r["idle"]) < 1e-12 for r in rows) and
             rows[0]["arena"] > 1e5 and rows[0]["peak_memory"] > 1e6, f"{name}: ranks and memory", rows[0])
    with open(t.path("a.jsonl")) as file:
        config = json.loads(file.readline())["config"]
    t.ok(config["ranks"] == 2 and config["options"]["steps"] == 3 and config["options"]["grad-norms"] is True and
         config["model"] == "gpt2-small.onnx", "the first line of JSON lines describes the run", config)
    done = t.run(2, "--quiet", "--grad-norms", "--log", t.path("q.csv"))
    rows = read_rows(t.path("q.csv"))
    t.ok(len(rows) == 2 and all("gradient_norm" in row for row in rows) and done.stdout.count("step ") == 1,
         "--quiet prints less, and logs all", rows)
    clipped = t.path("clipped")
    t.suite.compile(GPT2, clipped, "--ranks", 2, "--micro-batches", 2, "--clip-norm", "0.1", "--clip-norm-type", "inf")
    done = t.suite.run("zb-run", clipped, "--data", "text:" + common.CORPUS, "--steps", 2, "--json", "--log",
                       t.path("clipped.jsonl"))
    wanted, rows = common.json_lines(done.stdout), read_rows(t.path("clipped.jsonl"))
    t.ok(len(rows) == 2 and [r["gradient_norm"] for r in rows] == [w["norm"] for w in wanted],
         "a plan that clips logs the norm that it found", f"{rows}\n{wanted}\n{done.stderr}")
    evaluate = ["--eval", "text:" + common.CORPUS, "--eval-steps", 1]
    done = t.run(5, "--json", *evaluate, "--eval-every", 2, "--log", t.path("e.csv"))
    wanted = {row["eval"]["step"] - 1: row["eval"]["loss"] for row in common.json_lines(done.stdout) if "eval" in row}
    found = {int(row["step"]): row["eval_loss"] for row in read_rows(t.path("e.csv")) if "eval_loss" in row}
    t.ok(found == wanted and sorted(found) == [1, 3, 4], "evaluations are in the rows of their steps",
         f"{found}\n{wanted}\n{done.stderr}")


def resumes(t):
    saved = t.path("saved")
    for name in ("r.csv", "r.jsonl"):
        path = t.path(name)
        t.run(4, "--log", path, "--save", saved, "--save-every", 3)
        shutil.rmtree(saved)
        t.run(3, "--save", saved)
        done = t.run(2, "--log", path, "--resume", saved)
        steps = [int(row["step"]) for row in read_rows(path)]
        t.ok(steps == [0, 1, 2, 3, 4] and re.search("goes on at step 4: 1 row of later steps cut off", done.stderr),
             f"{name} goes on, every step once", f"{steps}\n{done.stderr}")
        done = t.run(1, "--log", path)
        t.ok([int(row["step"]) for row in read_rows(path)] == [0], f"{name} of a new run begins anew")
    t.run(2, "--log", t.path("new.csv"), "--resume", saved)
    t.ok([int(row["step"]) for row in read_rows(t.path("new.csv"))] == [3, 4], "a resumed run can begin a log")
    with open(t.path("r.csv"), "w") as file:
        file.write("step,other\n0,1\n")
    t.refused("a log with other columns", 2, "other columns than this run", 1, "--log", t.path("r.csv"),
              "--resume", saved)
    with open(t.path("r.jsonl"), "w") as file:
        file.write("hello\n")
    t.refused("a file that is no log", 1, "line 1: not a row of a log", 1, "--log", t.path("r.jsonl"),
              "--resume", saved)


def killed(t):
    """A run that is killed after a save, within the evaluation that belongs to the row of the step: no row is lost."""
    saved, data = t.path("killed"), "text:" + common.CORPUS
    for name in ("k.csv", "k.jsonl"):
        shutil.rmtree(saved, ignore_errors=True)
        path = t.path(name)
        run = subprocess.Popen([t.suite.tool("zb-run"), *map(str, t.train), "100", "--save", saved, "--save-every", "2",
                                "--eval", data, "--eval-every", "2", "--log", path], stdout=subprocess.PIPE, text=True)
        for line in run.stdout:
            if line.startswith("saved step 4"):
                break
        run.kill()
        run.communicate()
        before = [int(row["step"]) for row in read_rows(path)]
        done = t.run(2, "--log", path, "--resume", saved)
        steps = [int(row["step"]) for row in read_rows(path)]
        t.ok(before[:4] == [0, 1, 2, 3] and steps == list(range(len(steps))) and len(steps) > 5,
             f"{name} of a killed run has the rows of all steps that were saved", f"{before}, {steps}\n{done.stderr}")
    t.run(4, "--save", saved, "--save-every", 2, "--eval", data, "--eval-every", 2, "--tensorboard", t.path("once"))
    found = [number for name in os.listdir(t.path("once")) for number in numbers(os.path.join(t.path("once"), name))]
    t.ok(len(found) == len(set(found)) and [step for tag, step in sorted(found) if tag == "eval_loss"] == [1, 3],
         "events have each number once, though rows are written before a save", f"{found}")


def tensorboard(t):
    folder, path, saved = t.path("board/run"), t.path("b.jsonl"), t.path("saved-b")
    t.run(4, "--tensorboard", folder, "--log", path, "--save", saved, "--save-every", 2)
    first = read_rows(path)
    t.run(2, "--save", saved)
    t.run(3, "--tensorboard", folder, "--log", path, "--resume", saved)
    rows, shown = read_rows(path), scalars(folder)
    t.ok(len(first) == 4 and [r["step"] for r in rows] == [0, 1, 2, 3, 4], "the log beside it", rows)
    wanted = {}
    for row in rows:
        for key in row:
            if key != "step":
                wanted.setdefault(key, {})[row["step"]] = single(row[key])
    t.ok(shown == wanted, "event files have the same numbers, each step once", f"{shown}\n{wanted}")
    real = by_tensorboard(folder)
    if real is None:
        print("note the package tensorboard is not here: only the decoder of this script has read the files")
    else:
        t.ok(real == wanted, "the package tensorboard reads the same", f"{real}\n{wanted}")
    t.ok(len(os.listdir(folder)) == 2 and all(socket.gethostname() in name for name in os.listdir(folder)),
         "a file a run", os.listdir(folder))


def refusals(t):
    log, save = t.path("x.csv"), t.path("ck")
    t.refused("an unknown ending", 2,
              r"--log: the name '.*x\.txt' does not say what(.|\n)*end it in one of .csv .jsonl", 1,
              "--log", t.path("x.txt"))
    t.refused("no ending", 2, "does not say what", 1, "--log", t.path("csv"))
    t.refused("a folder that is not there", 4, "No such file", 1, "--log", t.path("nowhere/x.csv"))
    os.makedirs(t.path("dir.csv"))
    t.refused("a folder in the place of the log", 4, "is a folder, expected a file", 1, "--log", t.path("dir.csv"))
    with open(t.path("file"), "w"):
        pass
    t.refused("a file in the place of the folder", 4, "exists and is not a folder", 1, "--tensorboard", t.path("file"))
    t.refused("a file above the folder", 4, "exists and is not a folder", 1, "--tensorboard", t.path("file/board"))
    os.symlink("/dev/full", t.path("full.csv"))
    t.refused("a full disk, before the first step", 4, "full.csv': No space left", 1, "--log", t.path("full.csv"))
    os.mkfifo(t.path("pipe.csv"))
    t.refused("a pipe that nobody reads", 4, "pipe.csv", 1, "--log", t.path("pipe.csv"))
    same = t.path("s.jsonl")
    for words, names in ((["--trace", t.path("s.json"), "--profile", t.path("s.json")], "--trace and --profile"),
                         (["--log", t.path("t"), "--tensorboard", t.path("t")], "--log and --tensorboard"),
                         (["--log", same, "--tensorboard", os.path.join(t.folder, ".", "s.jsonl")],
                          "--log and --tensorboard"),
                         (["--save", save, "--tensorboard", save + "/"], "--save and --tensorboard")):
        t.refused("two outputs, one place", 2, names + " would write the same", 3, *words)
    for name, words in (("data.csv", ["--data", "text:{}"]), ("rows.csv", ["--eval", "tokens:{}:u16"]),
                        ("table.csv", ["--lr-schedule", "table:{}"])):
        path = t.path(name)
        with open(path, "w") as file:
            file.write("0,1\n" * 2000)
        t.refused("an output that is read", 2, f"--log would write over what is read: {words[0]}", 3,
                  words[0], words[1].format(path), "--log", os.path.join(t.folder, ".", name))
        t.ok(os.path.getsize(path) == 8000, f"{name} is as it was")
    for words in (["--log", os.path.join(save, "x.csv")], ["--tensorboard", os.path.join(save, "board")]):
        t.refused("an output in the folder of --save", 2, "the folder of --save, which is replaced as a whole", 1,
                  "--save", save, *words)
    t.refused("--log without a value", 2, "--log needs a value", 1, "--log")
    for words in (["--log", log], ["--tensorboard", t.path("y")], ["--explain"], ["--lr", "1"], ["--group", "*:lr=1"]):
        done = t.suite.run("zb-run", t.plan, "--eval", "text:" + common.CORPUS, *words)
        t.ok(done.returncode == 2 and f"trains nothing: {words[0]} has no effect" in done.stderr,
             f"{words[0]} of an evaluation alone", done.stderr)
    t.refused("a near name", 2, "did you mean '--tensorboard'", 1, "--tensorbord", t.path("y"))
    t.ok(not os.path.exists(log) and not os.path.exists(t.path("y")), "nothing was made")


def failing_disk(t):
    """The disk is full after some rows: the run ends after the next step, with its save."""
    path, saved = t.path("limit.csv"), t.path("limit-saved")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40 << 20, 40 << 20))
    t.run(1, "--save", saved)
    with open(t.path("new.csv")) as file:
        head = file.readline()
    row = "0" + "," * head.count(",") + "\n"
    with open(path, "w") as file:
        file.write(head + row * (((40 << 20) - len(head) - 500) // len(row)))
    done = t.run(50, "--log", path, "--resume", saved, "--save", saved, preexec_fn=limit)
    steps = re.findall(r"^step (\d+)/51", done.stdout, re.M)
    t.ok(done.returncode == 4 and re.search(r"cannot write '.*limit\.csv': File too large", done.stderr) and
         re.search(r"saved: --resume '.*limit-saved' goes on", done.stderr) and 1 < len(steps) < 20,
         "a disk that is full later ends the run with its save", f"exit {done.returncode} {steps}\n{done.stderr}")
    done = t.run(1, "--resume", saved, "--log", path)
    t.ok(done.returncode == 0 and int(read_rows(path)[-1]["step"]) == len(steps) + 1,
         "and the log goes on when there is room", done.stderr)


def processes(t):
    """Two processes over TCP write one log; its losses are those of one process."""
    path, board = t.path("p.jsonl"), t.path("p-board")
    t.run(3, "--log", t.path("one.jsonl"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = []
    for process in range(2):
        variables = dict(os.environ, RANK=str(process), WORLD_SIZE="2", LOCAL_RANK=str(process),
                         MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        started.append(subprocess.Popen([t.suite.tool("zb-run"), *t.train, "3", "--log", path, "--tensorboard", board,
                                         "--explain"], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True))
    ends = [process.communicate(timeout=common.patience(LIMIT_SECONDS)) for process in started]
    rows, alone = read_rows(path), read_rows(t.path("one.jsonl"))
    t.ok([p.returncode for p in started] == [0, 0] and [r["loss"] for r in rows] == [r["loss"] for r in alone] and
         len(os.listdir(board)) == 1, "two processes write one log", f"{ends}\n{rows}")
    t.ok(ends[0][0].count("what would help most") + ends[0][0].count("no rank idles") == 2 and not ends[1][0],
         "and explain once", ends[0][0])
    with open(path) as file:
        t.ok(json.loads(file.readline())["config"]["processes"] == 2, "which says so")
    both = [subprocess.Popen([t.suite.tool("zb-run"), *t.train, "1"] + (["--log", path] if process else []),
                             env=dict(os.environ, RANK=str(process), WORLD_SIZE="2", LOCAL_RANK=str(process),
                                      MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for process in range(2)]
    texts = [process.communicate(timeout=common.patience(LIMIT_SECONDS))[1] for process in both]
    t.ok(all(p.returncode == 2 for p in both) and "--log is" in "".join(texts),
         "a log that one of them was not given is refused", texts)


# ---- The line of progress ----

def on_terminal(t, *words, both=False):
    """(standard output, what the terminal got)."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([t.suite.tool("zb-run"), *t.train, *map(str, words)], stderr=theirs,
                               stdout=theirs if both else subprocess.PIPE, stdin=subprocess.DEVNULL,
                               env=dict(os.environ, TERM="xterm"))
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    out = b"" if both else process.stdout.read()
    process.wait(LIMIT_SECONDS)
    os.close(ours)
    return out.decode(), seen.decode()


def screen(text):
    """The lines that a terminal shows in the end."""
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        shown = ""
        for piece in re.split(r"(\r|\x1b\[K)", line):
            shown = "" if piece in ("\r", "\x1b[K") else shown + piece
        lines.append(shown)
    return [line for line in lines if line]


def progress(t):
    out, seen = on_terminal(t, 6)
    t.ok(re.search(r"\r\[#+\.+\] step 1/6  loss \d\.\d+  \S+ tokens/s  \d+ s left\x1b\[K", seen) or
         re.search(r"\r\[\.+\] step 0/6\x1b\[K", seen), "a line with the time left", repr(seen))
    t.ok(len(re.findall(r"^step \d/6  loss \S+  .* idle \S+$", out, re.M)) == 6 and "\r" not in out,
         "the lines of the steps are not touched", out)
    t.ok(screen(seen) == [] and seen.endswith("\r\x1b[K"), "it is gone in the end", repr(seen))
    _, seen = on_terminal(t, 6, both=True)
    lines = screen(seen)
    t.ok(len(lines) == 7 and all(re.match(r"step \d/6  loss \S+  .* idle \S+$", line) for line in lines[1:]) and
         "s left" in seen, "nor on the same terminal", lines)
    for option in ("--quiet", "--json", "--no-progress"):
        _, seen = on_terminal(t, 2, option)
        t.ok("\r\x1b" not in seen and "tokens/s" not in seen, f"none with {option}", repr(seen))
    done = t.run(2)
    t.ok(done.stderr == "", "none where standard error is no terminal", done.stderr)
    _, seen = on_terminal(t, 3, "--save", t.path("saved-p"), "--save-every", 1, both=True)
    t.ok([line for line in screen(seen) if "saved" in line or "left" in line] ==
         [f"saved step {step} to {t.path('saved-p')}" for step in (1, 2, 3)], "saves have lines of their own", seen)


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        t = Logs(suite, folder)
        for part in (files, resumes, killed, tensorboard, refusals, failing_disk, processes, progress):
            part(t)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
