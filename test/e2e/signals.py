#!/usr/bin/env python3
"""How a run ends that is told to, or that loses its terminal or the reader of its output: the step ends, what was
trained is saved, the status says why.

    signals.py [--bin BUILD/bin] [--over threads mpi tcp]

threads: every signal that means an end, several of them in a row, SIGHUP that is ignored, a terminal that is
really closed (a pseudo-terminal whose other side goes), a limit of processor time, a reader that goes away, a
full device. mpi, tcp: the signals of terminals and batch systems to one process of three, and to all. Ends
with "N passed, N failed, N skipped".
"""
import fcntl
import os
import pty
import random
import re
import resource
import signal
import subprocess
import sys
import time

import common
import processes
import processes_faults

END_SECONDS = 30
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU)


def step_of(saved):
    """The step of a save; None without one."""
    path = os.path.join(saved, "weights.safetensors")
    return int(common.read_safetensors(path)[1]["zb.step"]) if os.path.exists(path) else None


class Runs:
    def __init__(self, suite, folder):
        self.suite, self.folder, self.serial = suite, folder, 0
        self.plan = os.path.join(folder, "plan")
        suite.compile(os.path.join(common.DATA, "gpt2-small.onnx"), self.plan, "--ranks", 2, "--micro-batches", 16)

    def start(self, *more, **options):
        """A run of many steps in a session of its own, and where it saves."""
        self.serial += 1
        saved = os.path.join(self.folder, f"saved-{self.serial}")
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True, **options}
        words = [self.suite.tool("zb-run"), self.plan, "--data", "text:" + common.CORPUS,
                 "--steps", "1000000", "--save", saved, *more]
        return subprocess.Popen(words, text=True, errors="backslashreplace", **options), saved

    def ended(self, process):
        """(status, errors); None where it did not end."""
        try:
            _, errors = process.communicate(timeout=common.patience(END_SECONDS))
            return process.returncode, errors or ""
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, "it did not end"

    def check(self, text, process, saved, status, *said):
        """It ends with that status and has said so (nothing of it where its errors went with the terminal);
        what it saved is of the last step."""
        got, errors = self.ended(process)
        step, told = step_of(saved), re.search(r"after (\d+) steps", errors)
        good = got == status and step is not None and step > 0 and all(re.search(pattern, errors) for pattern in said)
        if told:
            good = good and int(told[1]) == step
        left = [name for name in os.listdir(self.folder) if name.startswith(os.path.basename(saved) + ".")]
        if self.suite.check(good and not left, f"{text}: exit {got}, saved step {step}, left {left}\n{errors}"):
            print(f"ok   {text}: exit {got}, saved step {step}", flush=True)
        return good


def wait_for_steps(process, count=2):
    return [process.stdout.readline() for _ in range(count + 1)]


def signals(runs):
    for number in ENDS:
        process, saved = runs.start()
        wait_for_steps(process)
        process.send_signal(number)
        runs.check(number.name, process, saved, 130, "stopped by a signal after", "goes on from there")
    done = runs.suite.run("zb-run", runs.plan, "--data", "text:" + common.CORPUS, "--steps", 1, "--resume", saved)
    runs.suite.check(done.returncode == 0, f"what was saved is resumed: {done.stderr}")
    chance = random.Random(5)
    for trial in range(4):  # a logout sends some of these, in any order: none of them gives the step up
        numbers = [signal.SIGHUP, signal.SIGHUP, signal.SIGCONT, signal.SIGTERM, signal.SIGXCPU, signal.SIGXCPU]
        chance.shuffle(numbers)
        process, saved = runs.start()
        wait_for_steps(process)
        for number in numbers:
            process.send_signal(number)
        runs.check(" ".join(number.name for number in numbers), process, saved, 130,
                   "stopped by a signal after", "goes on from there")


def goes_on(process, seconds=1.0):
    time.sleep(seconds)
    return process.poll() is None


def ignored(runs):
    """nohup, and trap '' HUP."""
    process, saved = runs.start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_steps(process)
    process.send_signal(signal.SIGHUP)
    runs.suite.check(goes_on(process), "SIGHUP that is ignored: it goes on")
    process.send_signal(signal.SIGTERM)
    runs.check("SIGTERM after a SIGHUP that is ignored", process, saved, 130, "stopped by a signal")


def take_terminal(hangup):
    """In the child: its standard input becomes the terminal that controls it."""
    import fcntl
    import termios
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGHUP, hangup)


def terminal(runs):
    for text, words, hangup in (("a closed terminal", (), signal.SIG_DFL),
                                ("a closed terminal, --json", ("--json",), signal.SIG_DFL),
                                ("a closed terminal, saves every step", ("--save-every", 1), signal.SIG_DFL),
                                ("a closed terminal, nohup", (), signal.SIG_IGN)):
        master, slave = pty.openpty()
        process, saved = runs.start(*map(str, words), stdin=slave, stdout=slave, stderr=slave,
                                    preexec_fn=lambda: take_terminal(hangup))
        os.close(slave)
        seen = b""
        while seen.count(b"\n") < 3:
            seen += os.read(master, 4096)
        os.close(master)
        if hangup == signal.SIG_IGN:
            runs.suite.check(goes_on(process), f"{text}: it goes on")
            process.send_signal(signal.SIGTERM)
        runs.check(text, process, saved, 130)


def output(runs):
    for words in ((), ("--json",), ("--save-every", "1")):
        process, saved = runs.start(*words)
        wait_for_steps(process)
        process.stdout.close()
        process.stdout = None
        runs.check(f"a reader that went away {' '.join(words)}", process, saved, 4,
                   "cannot write to standard output: Broken pipe", "saved: --resume")
    with open("/dev/full", "w") as full:
        process, saved = runs.start(stdout=full)
        errors = process.communicate(timeout=common.patience(60))[1]
        runs.suite.check(process.returncode == 4 and "cannot write to standard output: No space left on "
                                                     "device" in errors and not os.path.exists(saved),
                         f"a full device is found before the first step: exit {process.returncode}\n{errors}")


def limited(runs):
    process, saved = runs.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, 30)))
    runs.check("a limit of processor time", process, saved, 130, "stopped by a signal")


def is_held(path):
    """Whether somebody holds this lock. mpirun may kill process 0 before it has removed the
    file, once another has ended."""
    if not os.path.exists(path):
        return False
    with open(path, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def across(suite, launcher, folder):
    plan, count = os.path.join(folder, "plan"), 3
    suite.compile(os.path.join(common.DATA, "gpt2-small.onnx"), plan, "--ranks", count, "--micro-batches", 16)
    for number in (signal.SIGHUP, signal.SIGUSR1):
        for rank in (None, 0, 2):
            text = f"{launcher.name}: {number.name} of {'all' if rank is None else rank}"
            saved = os.path.join(folder, f"saved-{number}-{rank}")
            run = processes_faults.Run(suite, launcher, plan, saved, processes=count)
            seconds, status, left, errors = run.hit(rank, number, 0.05)
            told = re.findall(r"stopped by a signal after (\d+) steps", errors)
            parts = [common.read_safetensors(os.path.join(saved, name))[1]["zb.step"]
                     for name in sorted(os.listdir(saved)) if name.endswith("s")]
            if suite.check(status == 130 and not left and len(told) == 1 and set(parts) == set(told) and
                           not is_held(saved + ".lock"),
                           f"{text}: {seconds} s, status {status}, left {left}, steps {parts}\n{errors}"):
                print(f"ok   {text}: exit {status}, saved step {told[0]}", flush=True)


def main():
    options = common.arguments(__doc__, ("--over", dict(choices=["threads", *processes.LAUNCHERS], nargs="+",
                                                        default=["threads", *processes.LAUNCHERS])))
    suite, skipped = common.Suite(options.bin), 0
    for number in ENDS[2:]:
        signal.signal(number, signal.SIG_DFL)  # under nohup they would be ignored by all that is started here
    for name in options.over:
        launcher = processes.LAUNCHERS.get(name)
        reason = launcher.reason_to_skip(suite) if launcher else None
        if reason:
            print(f"skip {name}: {reason}")
            skipped += 1
            continue
        with common.scratch() as folder:
            if launcher:
                across(suite, launcher, folder)
                continue
            runs = Runs(suite, folder)
            for part in (signals, ignored, terminal, output, limited):
                part(runs)
    print(f"{suite.passed} passed, {suite.failed} failed, {skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
