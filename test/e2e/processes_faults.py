#!/usr/bin/env python3
"""Processes that die or stall in the middle of training: the others end soon, say where
they were, leave nothing half written.

    processes_faults.py [--bin BUILD/bin] [--over mpi|tcp] [--jobs 2] [--data-parallel D] [--tensor-parallel T]
                        [--ranks N] [--points N] [--kills N] [--stops N] [--draw SEED]
                        [--options "OPTIONS OF zbc"]

N processes (4), one rank each (with --data-parallel D and --tensor-parallel T they are D replicas of a shorter
pipeline, of T shards each, and every rank is named with its coordinates), train a plan whose step takes a while, and
save after every step. Each is killed (kill -9) at N points (10) of a step and the save behind it, or, with --kills, so
many of these are drawn: mpirun and all others must be gone within ten seconds with its status of a killed process,
those who are left must have said at which job they were (which kinds these were is printed), and the last save must be
whole, and go on with the losses of a run that nobody disturbs. Then one is stopped (SIGSTOP) instead, --stops times:
the others must end within the time-out and five seconds, with status 5, name rank, job, peer and micro-batch, and which
process does not answer; and it must end with them. At last SIGTERM, to one process and to all: who gets it says at
which job it is (mpirun sends it to those who are left), and all end after the same step, and save it.

    processes_faults.py --over mpi --data-parallel 2 --tensor-parallel 2 --ranks 8 --points 5 --stops 40
                                              a mesh of 2 x 2 x 2: 40 kills and 40 stops (five minutes; not part of CI)

Ends with "N passed, N failed, N skipped".
"""
import collections
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import common
import processes

RANKS, MICRO_BATCHES = 4, 32
KILL_LIMIT_SECONDS, STOP_TIMEOUT_SECONDS = 10, 3
STOP_LIMIT_SECONDS = STOP_TIMEOUT_SECONDS + 5


def send_signal(pid, number):
    """To a process that may have ended by itself since it was looked for."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Said:
    """What processes say of a rank, of a mesh with its coordinates."""
    def __init__(self, ranks, replicas, shards):
        self.ranks, self.replicas, self.shards = ranks, replicas, shards
        place = r"pp\d+" + (r"-dp\d+" if replicas > 1 else "") + (r"-tp\d+" if shards > 1 else "")
        is_mesh = replicas * shards > 1
        rank = r"rank \d+" + (rf" \({place}\)" if is_mesh else "")
        groups = rf"|(sum over|gathering from)( \d+ of)? ranks \d+ to \d+ \({place} to {place}\)" if is_mesh else ""
        self.waited = (rf"{rank} waited \d\.\d s for message \d+ \((from|to) {rank}, "
                       rf"(micro-batch \d+|accumulators{groups}|gathering from \d+ of ranks \d+ to \d+)\)")
        self.at = rf"{rank} is at .*\(job \d+ of \d+\), waiting for message \d+ (from|to) {rank}"
        self.kinds = collections.Counter()  # of jobs at which others were when one was killed
        self.at_start = rf"waited \d\.\d s for process \d+ \({rank}, pid"

    def rank(self, rank):
        place = f"pp{rank // self.shards // self.replicas}"
        place += f"-dp{rank // self.shards % self.replicas}" if self.replicas > 1 else ""
        place += f"-tp{rank % self.shards}" if self.shards > 1 else ""
        return f"rank {rank} ({place})" if self.replicas * self.shards > 1 else f"rank {rank}"

    def is_at(self, rank, errors):
        return re.search(re.escape(self.rank(rank)) + r" is at \w", errors)

    def note_kinds(self, errors):
        self.kinds.update(re.findall(r" is at (?:\d*([A-Za-z_]+)\d* \(job|(?=the end))", errors))

    def names_silent(self, rank, errors):
        return re.search(re.escape(f"process {rank} ({self.rank(rank)}, pid ") +
                         r"\d+ on [^)]*\)(, which)? does not answer", errors)


class Run:
    """A launcher with its processes, from the first step on."""
    begun = "saved step"  # the second such line says that all are at work

    def __init__(self, suite, launcher, plan, saved, *arguments, processes=RANKS, every=1):
        command = [*launcher.command(processes), suite.tool("zb-run"), plan, "--data", "text:" + common.CORPUS,
                   "--steps", "1000000", "--save", saved, "--save-every", str(every), *map(str, arguments)]
        self.saved, self.variable = saved, launcher.variable.encode()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=launcher.environment, errors="backslashreplace")
        self.errors, self.saves, self.times, self.first_save = [], 0, [], threading.Event()
        self.readers = [threading.Thread(target=self.read_output),
                        threading.Thread(target=lambda: self.errors.extend(self.process.stderr))]
        for reader in self.readers:
            reader.start()

    def read_output(self):
        for line in self.process.stdout:
            if line.startswith(self.begun):
                self.saves += 1
                self.times.append(time.monotonic())
                if self.saves == 2:
                    self.first_save.set()
        self.first_save.set()

    def ranks(self):
        """{rank: process id} of the processes that are left, by the variables that the launcher gave them."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                if not words[0].endswith(b"zb-run") or self.saved.encode() not in words:
                    continue
                with open(f"/proc/{pid}/environ", "rb") as file:
                    rank = re.search(rb"(?:^|\0)" + self.variable + rb"=(\d+)", file.read())
                with open(f"/proc/{pid}/stat", "rb") as file:
                    if file.read().rsplit(b")", 1)[1].split()[0] == b"Z":
                        continue
                found[int(rank[1])] = int(pid)
            except (OSError, TypeError):
                continue
        return found

    def end(self):
        """Kills what is left, and gives what the processes said."""
        for pid in self.ranks().values():
            send_signal(pid, signal.SIGKILL)
        self.process.kill()
        for reader in self.readers:
            reader.join()
        return f"status {self.process.wait()}, {self.saves} times '{self.begun}'\n{''.join(self.errors)}"

    def hit(self, rank, number, delay):
        """Sends a signal to a rank (None: to all), and gives the seconds until the launcher and all processes have
        ended (None: it had to be killed), its status, who is left, and its errors."""
        begun = self.first_save.wait(60)
        time.sleep(delay)
        ranks = self.ranks()
        if not begun or (rank is not None and rank not in ranks):
            raise common.Failure(f"rank {rank} is not at work, processes {sorted(ranks)} are there: {self.end()}")
        for pid in ranks.values() if rank is None else [ranks[rank]]:
            send_signal(pid, number)
        start = time.monotonic()
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            status = None
        # A launcher does not wait for their last words.
        while (left := self.ranks()) and time.monotonic() - start < common.patience(KILL_LIMIT_SECONDS):
            time.sleep(0.1)
        for pid in left.values():
            send_signal(pid, signal.SIGKILL)
        seconds = time.monotonic() - start if status is not None else None
        if status is None:
            self.process.kill()
        for reader in self.readers:
            reader.join()
        return seconds, status, left, "".join(self.errors)


def is_whole(saved):
    """The save is one checkpoint of one step, in its place or, between two moves, beside it."""
    folder = saved if os.path.isdir(saved) else saved + ".old"
    kinds = processes.read_saved(folder)
    return len(kinds["weights"]) > 0 and len(kinds["optimizer"]) == 2 * len(kinds["weights"])


def seconds_between_saves(suite, launcher, plan, folder, ranks):
    """Of a step and the save behind it: kills at points of that time are within jobs, sums, updates and saves."""
    run = Run(suite, launcher, plan, os.path.join(folder, "saved-timed"), processes=ranks)
    end = time.monotonic() + common.patience(60)
    while run.saves < 10 and run.process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    said, times = run.end(), run.times
    if len(times) < 10:
        raise common.Failure(f"{len(times)} saves in a minute: {said}")
    return sorted(b - a for a, b in zip(times[1:], times[2:]))[len(times) // 2 - 1]


class Undisturbed:
    """Losses of a run that nobody disturbs, as far as they are asked for."""
    def __init__(self, suite, plan):
        self.suite, self.plan, self.losses, self.lock = suite, plan, [], threading.Lock()

    def step(self, step):
        with self.lock:
            if step >= len(self.losses):
                self.losses = [row["loss"] for row in self.suite.train(self.plan, 2 * step + 8) if "loss" in row]
            return self.losses[step]


def goes_on(suite, plan, saved, undisturbed, text):
    """What was saved goes on with the losses of the run that nobody disturbed."""
    folder = saved if os.path.isdir(saved) else saved + ".old"
    name = min(name for name in os.listdir(folder) if name.endswith(".safetensors"))
    step = int(common.read_safetensors(os.path.join(folder, name))[1]["zb.step"])
    losses = [row["loss"] for row in suite.train(plan, 2, "--resume", folder) if "loss" in row]
    wanted = [undisturbed.step(step), undisturbed.step(step + 1)]
    suite.check(losses == wanted, f"{text}: resumed after {step} steps: {losses}, undisturbed {wanted}")


def killed(suite, launcher, plan, said_of, folder, undisturbed, rank, point, delay):
    text = f"kill -9 of rank {rank} at point {point}"
    saved = os.path.join(folder, f"saved-{rank}-{point}")
    try:
        run = Run(suite, launcher, plan, saved, processes=said_of.ranks)
        seconds, status, left, errors = run.hit(rank, signal.SIGKILL, delay)
        said_of.note_kinds(errors)
        said = [other for other in range(said_of.ranks) if other != rank and said_of.is_at(other, errors)]
        suite.check(common.soon(seconds, KILL_LIMIT_SECONDS) and
                    status == 128 + signal.SIGKILL and not left and
                    len(said) == said_of.ranks - 1 and
                    f"({said_of.rank(rank)}, pid " in errors and "has died" in errors and is_whole(saved),
                    f"{text}: {seconds} s, status {status}, left {left}, said {said}\n{errors}")
        goes_on(suite, plan, saved, undisturbed, text)
    except (common.Failure, OSError) as failure:
        suite.check(False, f"{text}: {failure!r}")


def stopped(suite, launcher, plan, said_of, folder, undisturbed, rank, delay):
    saved = os.path.join(folder, f"saved-stopped-{rank}")
    try:
        run = Run(suite, launcher, plan, saved, "--timeout", STOP_TIMEOUT_SECONDS, processes=said_of.ranks)
        seconds, status, left, errors = run.hit(rank, signal.SIGSTOP, delay)
        waited = re.search(said_of.waited, errors)
        named = (waited and re.search(said_of.at, errors)) or re.search(said_of.at_start, errors)
        named = named and said_of.names_silent(rank, errors)
        suite.check(common.soon(seconds, STOP_LIMIT_SECONDS) and status == 5 and not left and
                    named and is_whole(saved),
                    f"SIGSTOP of rank {rank}: {seconds} s, status {status}, left {left}\n{errors}")
        goes_on(suite, plan, saved, undisturbed, f"SIGSTOP of rank {rank}")
        return bool(waited and re.search(r"\(micro-batch \d+\)", errors))
    except (common.Failure, OSError) as failure:
        return suite.check(False, f"SIGSTOP of rank {rank}: {failure!r}")


def told_to_end(suite, launcher, plan, said_of, folder, rank, delay):
    """SIGTERM, to one process or to all, in the same moment or not: all end after the same step, which is saved."""
    text, saved = f"SIGTERM of {'all' if rank is None else rank}", os.path.join(folder, f"saved-told-{rank}")
    try:
        run = Run(suite, launcher, plan, saved, processes=said_of.ranks)
        seconds, status, left, errors = run.hit(rank, signal.SIGTERM, delay)
        told = re.findall(r"stopped by a signal after (\d+) steps", errors)
        said = all(said_of.is_at(one, errors) for one in (range(said_of.ranks) if rank is None else [rank]))
        parts = [common.read_safetensors(os.path.join(saved, name))[1]["zb.step"]
                 for name in sorted(os.listdir(saved)) if name.endswith("s")]
        suite.check(common.soon(seconds, KILL_LIMIT_SECONDS) and status == 130 and
                    not left and len(told) == 1 and
                    set(parts) == set(told) and "goes on from there" in errors and said,
                    f"{text}: {seconds} s, status {status}, left {left}, steps {parts}\n{errors}")
    except (common.Failure, OSError) as failure:
        suite.check(False, f"{text}: {failure!r}")


def faults(suite, launcher, folder, options):
    plan, before, count = os.path.join(folder, "plan"), suite.passed, options.points
    ranks, replicas, shards = options.ranks, options.data_parallel, options.tensor_parallel
    said_of = Said(ranks, replicas, shards)
    suite.compile(os.path.join(common.DATA, "gpt2-small.onnx"), plan, "--ranks", ranks // replicas // shards,
                  "--schedule", "zb-h1", "--micro-batches", MICRO_BATCHES // replicas, "--data-parallel", replicas,
                  "--tensor-parallel", shards, *options.options.split())
    step = seconds_between_saves(suite, launcher, plan, folder, ranks)
    undisturbed = Undisturbed(suite, plan)
    chance = random.Random(options.draw)
    points = [(rank, point, step * (point + chance.random()) / count) for rank in range(ranks)
              for point in range(count)]
    points = chance.sample(points, min(options.kills or len(points), len(points)))
    common.run_parallel([lambda p=p: killed(suite, launcher, plan, said_of, folder, undisturbed, *p)
                         for p in points],
                        options.jobs)
    print(f"{launcher.name}: {len(points)} times kill -9 of one of {ranks} ranks at {count} points of a step and "
          f"its save of {step * 1e3:.0f} ms: {suite.passed - before} of {2 * len(points)} as said; others were at " +
          ", ".join(f"{kind or 'a save'} {count}" for kind, count in said_of.kinds.most_common()), flush=True)
    # Between steps there is no micro-batch to name, so another round may be needed to hit one.
    stops = range(options.stops or ranks)
    named = any(any([stopped(suite, launcher, plan, said_of, folder, undisturbed, stop % ranks, step * chance.random())
                     for stop in stops])
                for _ in range(3))
    suite.check(named, "a stalled peer is named with message and micro-batch")
    for rank in (None, None, None, 0, 2):
        told_to_end(suite, launcher, plan, said_of, folder, rank, step * chance.random())
    done = suite.run("zb-run", plan, "--data", "text:" + common.CORPUS, "--steps", 1,
                     "--resume", os.path.join(folder, "saved-stopped-1"))
    suite.check(done.returncode == 0, f"the last save can be resumed: {done.stderr}")


def main():
    options = common.arguments(__doc__, ("--over", dict(choices=processes.LAUNCHERS, nargs="+",
                                                        default=list(processes.LAUNCHERS))),
                               ("--data-parallel", dict(type=int, choices=(1, 2, 4), default=1)),
                               ("--tensor-parallel", dict(type=int, choices=(1, 2, 4), default=1)),
                               ("--ranks", dict(type=int, choices=(4, 8), default=RANKS)),
                               ("--points", dict(type=int, default=10)), ("--kills", dict(type=int, default=0)),
                               ("--stops", dict(type=int, default=0)),
                               ("--draw", dict(type=int, default=1)), ("--options", dict(default="")))
    suite, skipped = common.Suite(options.bin), 0
    for launcher in (processes.LAUNCHERS[name] for name in options.over):
        reason = launcher.reason_to_skip(suite)
        if reason:
            print(f"skip {launcher.name}: {reason}")
            skipped += 1
            continue
        with common.scratch() as folder:
            faults(suite, launcher, folder, options)
    print(f"{suite.passed} passed, {suite.failed} failed, {skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
