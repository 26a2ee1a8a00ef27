#!/usr/bin/env python3
"""How several processes begin: what must be the same in all of them is, and whoever fails, is ended or is a
stranger does not keep the others waiting.

    processes_starts.py [--bin BUILD/bin] [--over mpi|tcp] [--only options failures signals places jobs strangers]

options: two processes that differ in one option, for every option of `zb-run --help`, and in what the options lead to
(data, checkpoint, weights): both end with status 2, soon, and process 0 says which option, both values and both
processes. An option without a row in options_table fails. failures: one process fails before the other has met it: it
says why, with its number, and the other does not wait for the time-out. signals: SIGTERM and Ctrl-C end a process that
waits for others, or loads alone, at once. places: every process tries the folder of --save (needs root: a mount of its
own). jobs: in the shell of a job of Slurm one process trains alone, and says so. strangers: 600 connections that say
nothing, at the port where processes meet.

Two processes are started by mpirun, or one by one with the variables that torchrun sets. Ends
with "N passed, N failed, N skipped".
"""
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import common
import processes
import start

SOON_SECONDS = 15  # the time-out of everything here is 60
DATA = ["--data", "text:" + common.CORPUS]
STEPS = ["--steps", "1"]
RATES = r"the rates \(--lr, --weight-decay, --group, --lr-schedule\) is "
EVALUATION = ["--eval", "text:" + common.CORPUS]
NOT_TRAINED = "one of them trains, the other does not: there is nothing to agree on"


def options_table(folder):
    """{option: (words of process 0, words of process 1, what process 0 or 1 says; None: it may differ)}; a
    text: why there is nothing to try."""
    at = lambda name: os.path.join(folder, name)
    common_words = [*DATA, *STEPS]
    given = lambda *words: ([*common_words, *words], common_words)
    return {
        "--data": ([*DATA, *STEPS], [*STEPS, "--data", "text:" + at("other.txt")],
                   r"the data \(--data\) is '\d+ bytes.*' in process 0 and '.*' in process 1"),
        "--steps": ([*DATA, "--steps", "1"], [*DATA, "--steps", "2"],
                    "--steps is '1' in process 0 and '2' in process 1"),
        "--eval": (*given(*EVALUATION), "--eval is 'given' in process 0 and 'not given' in process 1"),
        "--eval-every": ([*common_words, *EVALUATION, "--eval-every", "1"], [*common_words, *EVALUATION],
                         "--eval-every is '1' in process 0 and 'not given' in process 1"),
        "--eval-steps": ([*common_words, *EVALUATION, "--eval-steps", "1"], [*common_words, *EVALUATION],
                         "--eval-steps is '1' in process 0 and '[0-9a-z ]+' in process 1"),
        "--lr": (*given("--lr", "1e-4"), RATES + "'lr=1e-4' in process 0 and 'not given' in process 1"),
        "--lr-schedule": (*given("--lr-schedule", "linear:steps=9"),
                          RATES + "'schedule=linear:steps=9' in process 0 and 'not given' in process 1"),
        "--weight-decay": (*given("--weight-decay", "0"),
                           RATES + "'weight_decay=0' in process 0 and 'not given' in process 1"),
        "--group": (*given("--group", "*.bias:lr=1"), RATES + r"'group=\*.bias:lr=1' in process 0 and 'not given'"),
        "--clip-norm": (*given("--clip-norm", "0.5"), "--clip-norm is '0.5' in process 0 and '0' in process 1"),
        "--non-finite": (*given("--non-finite", "skip"), "--non-finite is 'skip' in process 0 and '.*' in process 1"),
        "--bad-batch": "of one process alone",
        "--log": (*given("--log", at("log.csv")), "--log is 'given' in process 0 and 'not given' in process 1"),
        "--tensorboard": (*given("--tensorboard", at("board")),
                          "--tensorboard is 'given' in process 0 and 'not given'"),
        "--no-progress": (*given("--no-progress"), None),
        "--explain": (*given("--explain"), "--explain is 'on' in process 0 and 'off' in process 1"),
        "--device": (common_words, [*common_words, "--device", "sim"],
                     "the device 'sim' runs all ranks in one process\n  note: in process 1 of 2"),
        "--launch": (common_words, [*common_words, "--launch", "threads"],
                     "each of them would train alone\n  note: in process 1 of 2"),
        "--threads": (*given("--threads", "2"), None),
        "--shuffle": (*given("--shuffle", "5"), "--shuffle is '5' in process 0 and '0' in process 1"),
        "--epochs": ([*DATA, "--epochs", "1"], common_words,
                     "--steps is 'not given' in process 0 and '[0-9]+' in process 1"),
        "--save": ([*common_words, "--save", at("a")], [*common_words, "--save", at("b")],
                   f"--save is '{at('a')}' in process 0 and '{at('b')}' in process 1"),
        "--save-every": ([*common_words, "--save", at("a"), "--save-every", "1"], [*common_words, "--save", at("a")],
                         "--save-every is '1' in process 0 and 'not given' in process 1"),
        "--resume": (*given("--resume", at("saved-1")),
                     "--resume is 'given' in process 0 and 'not given' in process 1"),
        "--weights": (*given("--weights", at("saved-1")),
                      "--weights is 'given' in process 0 and 'not given' in process 1"),
        "--weights-partial": ([*common_words, "--weights", at("saved-1"), "--weights-partial"],
                              [*common_words, "--weights", at("saved-1")],
                              "--weights-partial is 'on' in process 0 and 'off'"),
        "--output": ([*common_words, *EVALUATION, "--output", "logits:" + at("logits.npy")],
                     [*common_words, *EVALUATION],
                     "--output is 'logits:.*logits.npy' in process 0 and 'not given' in process 1"),
        "--barrier": (*given("--barrier"), "--barrier is 'on' in process 0 and 'off' in process 1"),
        "--timeline": (*given("--timeline", at("t.svg")), "--timeline is 'given' in process 0 and 'not given'"),
        "--trace": (*given("--trace", at("t.json")), "--trace is 'given' in process 0 and 'not given'"),
        "--grad-norms": (*given("--grad-norms"), "--grad-norms is 'on' in process 0 and 'off' in process 1"),
        "--profile": ([*DATA, "--steps", "3", "--profile", at("p.json")], [*DATA, "--steps", "3"],
                      "--profile is 'on' in process 0 and 'off'"),
        "--calibrate": NOT_TRAINED,
        "--profile-ops": (*given("--profile-ops"), "--profile-ops is 'on' in process 0 and 'off'"),
        "--memory": (*given("--memory"), "--memory is 'on' in process 0 and 'off'"),
        "--seed": (*given("--seed", "5"), "has no delays to seed\n  note: in process 0 of 2"),
        "--delays": (*given("--delays", "5"), "has no jobs to delay.*\n  note: in process 0 of 2"),
        "--random-seed": (*given("--random-seed", "5"),
                          "--random-seed is '5' in process 0 and 'not given' in process 1"),
        "--no-kernels": (common_words, ["--no-kernels", *STEPS],
                         "cannot run a plan without its kernels\n  note: in process 1 of 2"),
        "--reference": (*given("--reference"), "--reference is 'on' in process 0 and 'off' in process 1"),
        "--tf32": (*given("--tf32"), "the device 'cpu' has no TF32: .*\n  note: in process 0 of 2"),
        "--timeout": (*given("--timeout", "50"), "--timeout is '50000 ms' in process 0 and '60000 ms'"),
        "--list-devices": NOT_TRAINED,
        "--print-plan": NOT_TRAINED,
        "--json": (*given("--json"), None),
        "--quiet": (*given("--quiet"), "--quiet is 'on' in process 0 and 'off'"),
        "--help": NOT_TRAINED,
        "--version": NOT_TRAINED,
    }


class Pair:
    """Two processes of zb-run with words of their own."""

    def __init__(self, suite, launcher, folder):
        self.suite, self.launcher, self.folder = suite, launcher, folder
        self.plan = self.compile("plan", "--clip-norm", 1)

    def compile(self, name, *arguments):
        out = os.path.join(self.folder, name)
        self.suite.compile(os.path.join(common.DATA, "gpt2-small.onnx"), out, "--ranks", 2, "--schedule", "1f1b",
                           "--micro-batches", 4, *arguments)
        return out

    def program(self, words, plan=None):
        return [self.suite.tool("zb-run"), plan or self.plan, *words]

    def begin(self, rank, command, port, processes_count=2):
        """One process, by hand."""
        variables = {"RANK": str(rank), "WORLD_SIZE": str(processes_count), "MASTER_ADDR": "127.0.0.1",
                     "MASTER_PORT": str(port)}
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=dict(processes.ENVIRONMENT, **variables))

    def run(self, first, second):
        """(seconds, statuses, what they said, each process apart where that is known) of two commands."""
        begin = time.monotonic()
        if self.launcher.name == "tcp":
            port = start.free_port()
            both = [self.begin(rank, command, port) for rank, command in enumerate((first, second))]
            said = [process.communicate(timeout=common.patience(100))[1] for process in both]
            return time.monotonic() - begin, [process.returncode for process in both], said
        scripts = []
        for rank, command in enumerate((first, second)):
            scripts.append(os.path.join(self.folder, f"process-{rank}.sh"))
            with open(scripts[-1], "w") as file:
                file.write("#!/bin/sh\nexec " + " ".join("'" + word + "'" for word in command) + "\n")
        script = '[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec sh "$0"; exec sh "$1"'
        done = processes.launched(self.suite, self.launcher, 2, "-c", script, *scripts, program="sh")
        return time.monotonic() - begin, [done.returncode], [done.stderr]

    def differ(self, name, first, second, text, status=2):
        seconds, statuses, said = self.run(first, second)
        everything = "".join(said)
        good = (set(statuses) == {status} and common.soon(seconds, SOON_SECONDS)
                and (text is None or re.search(text, everything)))
        single = everything.count("zb-run: error") == (text is not None)
        mute = len(said) == 2 and status and not all(said)  # each may have a terminal of its own
        self.suite.check(good and single and not mute,
                         f"{self.launcher.name}: {name}: {seconds:.1f} s, status {statuses}, expected "
                         f"'{text}', got\n{everything}")


def options(suite, launcher, folder):
    pair, table = Pair(suite, launcher, folder), options_table(folder)
    with open(os.path.join(folder, "other.txt"), "w") as file:
        file.write("Another corpus, which is longer than the first one by far. " * 1000)
    with open(os.path.join(folder, "same.txt"), "w") as file, open(common.CORPUS) as corpus:
        file.write(corpus.read())
    listed = re.findall(r"^  (--[a-z0-9-]+)", suite.must("zb-run", "--help").split("\ndevices:")[0], re.M)
    suite.check(sorted(listed) == sorted(table), f"options and the table differ in {sorted(set(listed) ^ set(table))}")
    for steps in (1, 2):
        suite.must("zb-run", pair.plan, *DATA, "--steps", steps, "--save", os.path.join(folder, f"saved-{steps}"))
    suite.must("zb-run", pair.plan, "--data", "text:" + os.path.join(folder, "other.txt"), *STEPS,
               "--save", os.path.join(folder, "saved-other"))
    shutil.copytree(os.path.join(folder, "saved-1"), os.path.join(folder, "copy"))
    # Over MPI starting takes seconds, and what is compared is the same.
    for option in listed if launcher.name == "tcp" else ("--steps", "--data", "--save-every", "--device", "--threads"):
        if isinstance(table.get(option, NOT_TRAINED), str):
            continue
        first, second, text = table[option]
        pair.differ(option, pair.program(first), pair.program(second), text, 2 if text else 0)
        if launcher.name == "tcp" and text and "in process 0 and" in text:
            pair.differ(option + " the other way", pair.program(second), pair.program(first),
                        text.split(" is ")[0] + " is ")
    both = [*DATA, *STEPS]
    resumed = lambda name: pair.program([*both, "--resume", os.path.join(folder, name)])
    pair.differ("checkpoints of two steps", resumed("saved-1"), resumed("saved-2"),
                r"the checkpoint \(--resume\) is 'step 1, .*' in process 0 and 'step 2, .*' in process 1")
    pair.differ("checkpoints of one step", resumed("saved-1"), resumed("saved-other"),
                r"the checkpoint \(--resume\) is 'step 1, .*' in process 0 and 'step 1, ")
    copy = ["--data", "text:" + os.path.join(folder, "same.txt"), *STEPS, "--resume", os.path.join(folder, "copy")]
    pair.differ("copies", resumed("saved-1"), pair.program(copy), None, 0)
    weights = os.path.join(folder, "weights")
    shutil.copytree(pair.plan, weights)
    with open(os.path.join(weights, "weights.safetensors"), "r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(b"\x3f")
    pair.differ("weights of another file", pair.program(both), pair.program(both, weights),
                "is not the one that '.*' was compiled with: its digest is", 1)


def failures(suite, launcher, folder):
    """What goes wrong in one process alone, before it can meet the other or while it loads."""
    pair, fine = Pair(suite, launcher, folder), [*DATA, *STEPS]
    little = ["sh", "-c", 'ulimit -v 20000; exec "$@"', "sh"]  # KiB: enough for the program, not for threads and arenas
    cases = {
        "a wrong option": (pair.program([*fine, "--bogus"]), "unknown option '--bogus'", 2),
        "no such device": (pair.program([*fine, "--device", "gpux"]), "'gpux'", 2),
        "no data": (pair.program([*STEPS, "--data", "text:" + folder + "/none"]), "cannot open the data file", 4),
        "no plan": (pair.program(fine, folder + "/none"), "cannot open the plan", 4),
    }
    skipped = subprocess.run([*little, suite.tool("zb-run"), "--version"], capture_output=True).returncode != 0
    if skipped:
        print("skip a process without memory: the program itself does not start in 20 MB (a sanitizer)")
    elif launcher.name == "tcp":  # the library of MPI alone needs more
        cases["no memory"] = ([*little, *pair.program(fine)], "memory|cannot start a thread|arena", 4)
    for name, (command, text, status) in cases.items():
        for rank in (0, 1) if launcher.name == "tcp" else (1,):
            both = [pair.program(fine), pair.program(fine)]
            both[rank] = command
            seconds, statuses, said = pair.run(*both)
            own = said[rank] if len(said) == 2 else said[0]
            good = set(statuses) == {status} and common.soon(seconds, SOON_SECONDS)
            good = good and re.search(text, own) and f"in process {rank} of 2" in own
            suite.check(good,
                        f"{launcher.name}: {name} in process {rank}: {seconds:.1f} s, status {statuses}, said\n{said}")
    return int(skipped)


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not (result := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return result


def catches(pid, number):
    """Whether the process has begun to handle the signal; before, it would die of it without a word."""
    try:
        with open(f"/proc/{pid}/status") as file:
            mask = re.search(r"^SigCgt:\s*([0-9a-f]+)", file.read(), re.MULTILINE)
        return int(mask[1], 16) >> (number - 1) & 1
    except OSError:
        return False


def ends_at_once(suite, name, process, number, text="waited for other processes: nothing was trained"):
    """The process gets the signal, says so, and dies of it."""
    wait_until(lambda: catches(process.pid, number))
    time.sleep(0.3)
    begin = time.monotonic()
    process.send_signal(number)
    try:
        errors = process.communicate(timeout=common.patience(20))[1]
    except subprocess.TimeoutExpired:
        process.kill()
        errors = process.communicate()[1]
    seconds = time.monotonic() - begin
    suite.check(common.soon(seconds, SOON_SECONDS) and process.returncode == -number and text in errors,
                f"{name}, {signal.Signals(number).name}: status {process.returncode} after {seconds:.1f} s\n{errors}")


def signals(suite, launcher, folder):
    pair = Pair(suite, launcher, folder)
    command = pair.program([*DATA, *STEPS])
    if launcher.name == "mpi":
        return signals_mpi(suite, launcher, pair, command)
    for number in (signal.SIGTERM, signal.SIGINT):
        zero = pair.begin(0, command, start.free_port())
        wait_until(lambda: processes.sockets_of(zero.pid) >= 1)
        ends_at_once(suite, "process 0 waits", zero, number)
        one = pair.begin(1, command, start.free_port())
        ends_at_once(suite, "process 1 looks for process 0", one, number)
        port = start.free_port()
        zero, one = pair.begin(0, command, port, 3), pair.begin(1, command, port, 3)
        wait_until(lambda: processes.sockets_of(one.pid) >= 2)
        ends_at_once(suite, "process 1 has met process 0", one, number)
        errors = zero.communicate(timeout=common.patience(20))[1]
        suite.check(zero.returncode == 5 and "process 1 has gone while others were awaited" in errors,
                    f"process 0 hears of it: {zero.returncode}, {errors}")
    loading(suite, pair, command)
    return 0


def loading(suite, pair, command):
    """A file system that does not answer keeps a process loading: alone it ends at once; of several
    that have met, at the second signal."""
    library = os.path.join(pair.folder, "slow.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow.c")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    wait = ["env", "LD_PRELOAD=" + library, "ZB_SLOW_FILE=plan.zb", *command]
    alone = subprocess.Popen(wait, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=processes.ENVIRONMENT)
    ends_at_once(suite, "one process loads", alone, signal.SIGTERM, "before the first step: nothing was trained")
    port = start.free_port()
    zero, one = pair.begin(0, command, port), pair.begin(1, wait, port)
    # The listeners are closed: they have met.
    wait_until(lambda: processes.sockets_of(zero.pid) == 1 and processes.sockets_of(one.pid) == 1)
    time.sleep(0.5)
    zero.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    suite.check(zero.poll() is None, f"processes that have met do not end at the first signal: {zero.returncode}")
    ends_at_once(suite, "processes that have met load", zero, signal.SIGTERM,
                 "ends with the other processes after the first step")
    one.kill()
    one.communicate()


def find_process(command):
    """The process id of who runs this command; None: nobody."""
    wanted = b"\0".join(word.encode() for word in command) + b"\0"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read() == wanted:
                    return int(pid)
        except OSError:
            pass
    return None


def signals_mpi(suite, launcher, pair, command):
    """Process 1 never starts MPI, so process 0 waits within it, until a signal or the time-out ends it."""
    without_one = [*launcher.command(2), "sh",
                   "-c", '[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec "$@"; exec sleep 60', "sh"]
    begin = time.monotonic()
    run = subprocess.run([*without_one, *command, "--timeout", "2"], capture_output=True, text=True,
                         env=launcher.environment, timeout=common.patience(60))
    seconds = time.monotonic() - begin
    suite.check(common.soon(seconds, SOON_SECONDS) and run.returncode == 5
                and "MPI has not started within 2.0 s" in run.stderr,
                f"mpi, the time-out of the start: status {run.returncode} after {seconds:.1f} s\n{run.stderr}")
    for number in (signal.SIGTERM, signal.SIGINT):
        words = [*without_one, *command]
        run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=launcher.environment)
        pid = wait_until(lambda: find_process(command))
        wait_until(lambda: pid and catches(pid, number))
        time.sleep(1)
        begin = time.monotonic()
        if pid:
            os.kill(pid, number)
        errors = run.communicate(timeout=common.patience(60))[1]
        seconds = time.monotonic() - begin
        suite.check(pid and common.soon(seconds, SOON_SECONDS) and run.returncode == 128 + number and
                    "waited for other processes: nothing was trained" in errors,
                    f"mpi, {signal.Signals(number).name}: status {run.returncode} after {seconds:.1f} s\n{errors}")
    return 0


def places(suite, launcher, folder):
    """Process 1 sees another file system where process 0 has the folder of --save."""
    alone = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"']
    saves = os.path.join(folder, "saves")
    os.makedirs(saves)
    if os.geteuid() != 0 or subprocess.run([*alone, saves, "true"], capture_output=True).returncode:
        print("skip a folder that one process does not see: needs root and unshare --mount (util-linux)")
        return 1
    pair = Pair(suite, launcher, folder)
    command = pair.program([*DATA, *STEPS, "--save", os.path.join(saves, "checkpoint")])
    pair.differ("a folder that process 1 does not see", command, [*alone, saves, *command],
                r"process 1 does not see the folder '.*checkpoint\.tmp' that process 0 made\n  note: in "
                r"process 1 of 2", status=4)
    suite.check(os.listdir(saves) == [], f"what was tried is removed: {os.listdir(saves)}")
    return 0


def jobs(suite, launcher, folder):
    """zb-run in the shell of a job of Slurm, without srun: it trains alone, at once, and says what would start more."""
    if launcher.name == "mpi":
        return 0
    pair = Pair(suite, launcher, folder)
    for arguments, warns in (([], True), (["--launch", "threads"], False)):
        job = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "2", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
               "SLURM_JOB_NODELIST": "localhost"}
        done = subprocess.run(pair.program([*DATA, *STEPS, *arguments]), capture_output=True, text=True,
                              timeout=common.patience(20),
                              env=dict(processes.ENVIRONMENT, **job))
        texts = "warning: SLURM_NTASKS=2, but srun did not start this process: it trains alone", "'srun zb-run ...'"
        warned = all(text in done.stderr for text in texts)
        suite.check(done.returncode == 0 and "step 1/1" in done.stdout and warned == warns,
                    f"in sbatch {arguments}: {done}")
    return 0


def strangers(suite, launcher, folder):
    """600 connections that say nothing, half of them before the processes; none of them keeps a place for long."""
    if launcher.name == "mpi":
        return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(600, hard // 2 - 100 if hard > 0 else 600)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, count + 200)) if hard > 0 else soft, hard))
    pair, port, idle = Pair(suite, launcher, folder), start.free_port(), []
    command = pair.program([*DATA, *STEPS])

    over = threading.Event()  # nobody listens any more: the processes have met, or have failed

    def knock(until):
        end = time.monotonic() + common.patience(30)
        while len(idle) < until and not over.is_set() and time.monotonic() < end:
            try:
                idle.append(socket.create_connection(("127.0.0.1", port), timeout=common.patience(5)))
            except OSError:  # refused: not listening yet, or no longer
                time.sleep(0.02)

    zero = pair.begin(0, command, port)
    knock(count // 2)
    few = wait_until(lambda: processes.sockets_of(zero.pid) < 10, 8)
    suite.check(few and len(idle) == count // 2,
                f"{len(idle)} of {count // 2} strangers still have places: {processes.sockets_of(zero.pid)} sockets")
    rest = threading.Thread(target=knock, args=(count,))
    rest.start()
    begin = time.monotonic()
    wait_until(lambda: len(idle) >= count * 3 // 4)
    one = pair.begin(1, command, port)
    errors = [process.communicate(timeout=common.patience(100))[1] for process in (zero, one)]
    over.set()
    seconds = time.monotonic() - begin
    rest.join()
    suite.check(zero.returncode == one.returncode == 0 and common.soon(seconds, SOON_SECONDS),
                f"{count} strangers: {seconds:.1f} s, status {zero.returncode} {one.returncode}, {errors}")
    for connection in idle:
        connection.close()
    return 0


GROUPS = {"options": options, "failures": failures, "signals": signals, "places": places,
          "jobs": jobs, "strangers": strangers}


if __name__ == "__main__":
    sys.exit(processes.run_groups(__doc__, GROUPS))
