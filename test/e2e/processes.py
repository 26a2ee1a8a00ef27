#!/usr/bin/env python3
"""Ranks in several processes, over Open MPI and over TCP: the same bits, checkpoints that any other number of
processes goes on from, wrong starts.

    processes.py [--bin BUILD/bin] [--over mpi|tcp] [--only bits saves errors network]

bits: every schedule of `zb-sched --list` that trains, on GPT-2 and Llama, and 1, 2, 4, 8 ranks over 1, 2, 4 processes,
gives the losses and the weights of one rank, byte for byte. saves: four processes save, two processes of another plan
go on, bitwise as if nothing had happened; the files are read by safetensors and transformers where $ZB_PYTHON has them.
errors: what a user can get wrong at the start, and what is written once for all. network: two network namespaces on
this machine, joined by a virtual cable, TCP between them; needs root.

Over mpi processes are started by mpirun, and everything is skipped, with the reason, where there is no
MPI. Over tcp they are started with the variables of torchrun and of srun (start.py), in turn. Ends
with "N passed, N failed, N skipped".
"""
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import time

import bad_input
import bitwise
import common
import start

STEPS = 3
CASES = {"gpt2-small": 4, "llama-small": 4}  # model: micro-batches
GRID = [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4), (8, 1), (8, 2), (8, 4)]  # ranks, processes
# Without what a launcher left that this test runs under. Open MPI refuses root unless told otherwise.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("OMPI_COMM", "PMIX_", "SLURM_", "MASTER_", "TORCHELASTIC_")) and
               name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
ENVIRONMENT.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


class Mpi:
    """mpirun. It refuses more processes than cores unless told otherwise; a process may use all cores."""
    name, variable = "mpi", "OMPI_COMM_WORLD_RANK"
    base = ["mpirun", "--oversubscribe", "--bind-to", "none"]
    # Open MPI leaks, and unloads the plugins that did, so that no suppression can name them.
    environment = dict(ENVIRONMENT,
                       ASAN_OPTIONS=":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"])))

    def __init__(self, *arguments):
        self.arguments = arguments

    def command(self, processes):
        return [*self.base, *self.arguments, "-n", str(processes)]

    def reason_to_skip(self, suite):
        """Why nothing can be run here; None if it can."""
        parts = common.json_lines(suite.must("zb-run", "--list-devices", "--json"))
        mpi = next(part for part in parts if part["name"] == "mpi")
        if mpi["missing"]:
            return f"{mpi['missing']}; {mpi['hint']}"
        return None if shutil.which("mpirun") else "there is no mpirun; install openmpi-bin"


class Tcp:
    """Processes with the variables of torchrun and of srun, in turn."""
    name, variable = "tcp", "(?:RANK|SLURM_PROCID)"
    environment = ENVIRONMENT

    def __init__(self, *arguments):
        self.arguments, self.turn = arguments, itertools.count()

    def command(self, processes):
        kind = ("torchrun", "srun")[next(self.turn) % 2]
        return [sys.executable, os.path.join(common.SOURCE, "test", "e2e", "start.py"), "-n", str(processes),
                "--as", kind, *self.arguments]

    def reason_to_skip(self, suite):
        return None


LAUNCHERS = {"mpi": Mpi(), "tcp": Tcp()}


def launched(suite, launcher, processes, *arguments, prefix=(), timeout=common.patience(120), program=None):
    """CompletedProcess of zb-run, or of another program, in so many processes."""
    command = [*prefix, *launcher.command(processes), program or suite.tool("zb-run"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=launcher.environment,
                          errors="backslashreplace")


def train(suite, launcher, processes, plan, steps, *arguments, prefix=()):
    """The step objects of zb-run --json."""
    done = launched(suite, launcher, processes, plan, "--data", "text:" + common.CORPUS, "--steps", steps, "--json",
                    *arguments, prefix=prefix)
    if done.returncode:
        raise common.Failure(f"{processes} processes, {plan}: exit {done.returncode}\n{done.stderr[-3000:]}")
    return common.json_lines(done.stdout)


def read_saved(folder):
    """{file kind: {tensor: bytes}} of a checkpoint in one file a kind or in parts, and the files of the weights."""
    kinds = {}
    for kind, index in (("weights", "model"), ("optimizer", "optimizer")):
        path = os.path.join(folder, index + ".safetensors.index.json")
        if not os.path.exists(path):
            kinds[kind] = common.read_safetensors(os.path.join(folder, kind + ".safetensors"))[0]
            continue
        with open(path) as file:
            weight_map = json.load(file)["weight_map"]
        parts = {name: common.read_safetensors(os.path.join(folder, name)) for name in sorted(set(weight_map.values()))}
        steps = {part[1]["zb.step"] for part in parts.values()}
        if parts and len(steps) != 1:  # an optimizer without state has none
            raise common.Failure(f"{folder}: files of steps {steps}")
        kinds[kind] = {name: parts[file][0][name] for name, file in weight_map.items()}
        if sum(len(part[0]) for part in parts.values()) != len(weight_map):
            raise common.Failure(f"{folder}: the index has {len(weight_map)} tensors, the files have more")
    return kinds


class Model:
    """Plans of one model, and the losses and weights of one rank."""

    def __init__(self, suite, launcher, folder, graph, micro_batches):
        self.suite, self.launcher, self.graph, self.micro_batches = suite, launcher, graph, micro_batches
        self.folder = os.path.join(folder, graph)
        os.makedirs(self.folder)
        self.losses, self.saved = self.single(self.compile(1, "fthenb"), STEPS)

    def compile(self, ranks, schedule, *arguments):
        """Folder of the plan; None where the schedule is not defined."""
        out = os.path.join(self.folder, f"{schedule.replace(':', '-')}-{ranks}")
        if not os.path.exists(out):
            process = self.suite.run("zbc", os.path.join(common.DATA, self.graph + ".onnx"), "-o", out,
                                     "--ranks", ranks, "--schedule", schedule,
                                     "--micro-batches", self.micro_batches, *arguments)
            if process.returncode == 2:
                return None
            if process.returncode:
                raise common.Failure(f"zbc {schedule}: exit {process.returncode}\n{process.stderr}")
        return out

    def single(self, plan, steps, *arguments):
        rows = self.suite.train(plan, steps, "--save", plan + ".one", *arguments)
        return bitwise.losses(rows), read_saved(plan + ".one")

    def check(self, plan, processes, prefix=()):
        saved = f"{plan}.saved-{processes}"
        text = f"{self.graph} {os.path.basename(plan)} over {processes} processes"
        try:
            rows = train(self.suite, self.launcher, processes, plan, STEPS, "--save", saved, prefix=prefix)
            self.suite.check(bitwise.losses(rows) == self.losses,
                             f"{text}: losses {bitwise.losses(rows)} instead of {self.losses}")
            self.suite.check(read_saved(saved) == self.saved, f"{text}: other weights")
        except (common.Failure, subprocess.TimeoutExpired) as failure:
            self.suite.check(False, f"{text}: {failure}")


def bits(suite, launcher, folder):
    names = bitwise.schedules(suite)
    for graph, micro_batches in CASES.items():
        model, trained = Model(suite, launcher, folder, graph, micro_batches), 0
        before = suite.passed, suite.failed
        for turn, name in enumerate(names):
            plan = model.compile(4, bitwise.SHORT.get(name, name))
            if plan:
                model.check(plan, (2, 4)[turn % 2])
                trained += 1
        for ranks, processes in GRID:
            model.check(model.compile(ranks, "zb-h1"), processes)
        suite.check(trained >= len(names) - 2,
                    f"{graph}: only {trained} of {len(names)} schedules trained over {launcher.name}")
        print(f"{graph}: {trained} schedules, {len(GRID)} sizes: {suite.passed - before[0]} passed, "
              f"{suite.failed - before[1]} failed", flush=True)


READ_BACK = """
import sys, json, torch, safetensors.torch, transformers
try:
    from transformers.trainer_utils import load_sharded_checkpoint
except ImportError:
    from transformers.modeling_utils import load_sharded_checkpoint
folder = sys.argv[1]
index = json.load(open(folder + "/model.safetensors.index.json"))["weight_map"]
tensors = {}
for file in sorted(set(index.values())): tensors.update(safetensors.torch.load_file(folder + "/" + file))
assert set(tensors) == set(index)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name, value in tensors.items():
            at = self
            *path, last = name.split(".")
            for part in path:
                if not hasattr(at, part): at.add_module(part, torch.nn.Module())
                at = getattr(at, part)
            at.register_parameter(last, torch.nn.Parameter(torch.zeros_like(value)))
model = Model()
load_sharded_checkpoint(model, folder)
assert all(torch.equal(value, tensors[name]) for name, value in model.state_dict().items())
print("read", len(tensors))
"""


def read_with_transformers(suite, saved):
    python = os.environ.get("ZB_PYTHON", "python3")
    if subprocess.run([python, "-c", "import torch, safetensors.torch, transformers"], capture_output=True).returncode:
        print(f"skip reading with transformers: {python} has no torch, safetensors and transformers "
              "(ZB_PYTHON names another)")
        return 1
    done = subprocess.run([python, "-c", READ_BACK, saved], capture_output=True, text=True)
    suite.check(done.returncode == 0 and "read" in done.stdout,
                f"transformers cannot read {saved}: {done.stderr[-2000:]}")
    return 0


def saves(suite, launcher, folder):
    """Six steps in one process against three in four processes, and three more by another plan in two."""
    skipped = 0
    for graph, micro_batches in CASES.items():
        model = Model(suite, launcher, folder, graph, micro_batches)
        whole_losses, whole = model.single(model.compile(1, "fthenb"), 2 * STEPS)
        first, second = model.compile(4, "zb-h1"), model.compile(2, "1f1b")
        half, end = first + ".half", second + ".end"
        os.makedirs(half + ".tmp")  # as a save that was killed leaves it
        for name in ("weights-00001-of-00008.safetensors", "optimizer-00002-of-00008.safetensors.tmp.123",
                     "model.safetensors.index.json"):
            open(os.path.join(half + ".tmp", name), "w").close()
        before = train(suite, launcher, 4, first, STEPS, "--save", half)
        suite.check(len(os.listdir(half)) == 10 and not os.path.exists(half + ".tmp"),
                    f"{graph}: a save has {os.listdir(half)}")
        for processes, plan in ((2, second), (1, second), (4, first)):
            after = train(suite, launcher, processes, plan, STEPS, "--resume", half, "--save", end)
            text = f"{graph}: saved by 4 processes, resumed by {processes}"
            suite.check([row["step"] for row in after] == list(range(STEPS, 2 * STEPS)), f"{text}: steps")
            suite.check(bitwise.losses(before + after) == whole_losses, f"{text}: other losses")
            suite.check(read_saved(end) == whole, f"{text}: other weights or optimizer state")
        # In threads, from parts and from what threads saved.
        after = suite.train(second, STEPS, "--resume", half, "--save", end)
        suite.check(bitwise.losses(before + after) == whole_losses and read_saved(end) == whole,
                    f"{graph}: saved by processes, resumed by threads")
        suite.check(sorted(os.listdir(end)) == ["optimizer.safetensors", "weights.safetensors"],
                    f"{graph}: a save replaces the parts of another")
        if graph == "gpt2-small":
            skipped += read_with_transformers(suite, half)
            damaged(suite, second, half)
    return skipped


def damaged(suite, plan, half):
    """Parts that are missing or of another save are refused."""
    def refused(name, change, *texts):
        broken = half + ".broken"
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(half, broken)
        change(broken)
        done = suite.run("zb-run", plan, "--data", "text:" + common.CORPUS, "--steps", 1, "--resume", broken)
        suite.check(done.returncode in (1, 4) and all(text in done.stderr for text in texts),
                    f"{name}: exit {done.returncode}, {done.stderr}")

    def rewrite(broken, name, old, new):
        with open(os.path.join(broken, name), "r+b") as file:
            text = file.read().replace(old, new)
            file.seek(0)
            file.truncate()
            file.write(text)

    refused("a part is missing", lambda b: os.remove(os.path.join(b, "weights-00002-of-00004.safetensors")),
            "weights-00002-of-00004.safetensors")
    refused("parts of two steps",
            lambda b: rewrite(b, "weights-00003-of-00004.safetensors", b'"zb.step":"3"', b'"zb.step":"2"'),
            "do not belong together", "zb.step")
    refused("an index that leaves the folder",
            lambda b: rewrite(b, "model.safetensors.index.json", b'"weights-00001', b'"../weights-00001'),
            "is not one beside it")
    refused("an index without a map",
            lambda b: rewrite(b, "model.safetensors.index.json", b"weight_map", b"weights_map"), "weight_map")


class Starts:
    """zb-run of one plan without a launcher, with any variables, and checks of how it ends."""

    def __init__(self, suite, plan):
        self.suite, self.plan = suite, plan

    def expect(self, name, status, done, *texts, count=1):
        good = done.returncode == status and all(text in done.stderr for text in texts)
        self.suite.check(good and done.stderr.count("zb-run: error") <= count,
                         f"{name}: exit {done.returncode}\n{done.stderr}")

    def begin(self, environment, *arguments):
        command = [self.suite.tool("zb-run"), self.plan, "--data", "text:" + common.CORPUS,
                   "--steps", "1", *map(str, arguments)]
        base = Mpi.environment if "mpi" in arguments else ENVIRONMENT
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=dict(base, **environment))

    def end(self, process):
        out, errors = process.communicate(timeout=common.patience(60))
        return subprocess.CompletedProcess(process.args, process.returncode, out, errors)

    def alone(self, environment, *arguments):
        return self.end(self.begin(environment, *arguments))


def constants(suite, launcher, folder, expect):
    """Of three ranks only the last one uses the file of constants; the others have it, or must not miss it,
    and one that is another is noticed."""
    model, plan, other = (os.path.join(folder, name) for name in ("table.onnx", "table", "other-table"))
    with open(model, "wb") as file:
        file.write(bad_input.table_model(3))
    suite.compile(model, plan, "--ranks", 3, "--micro-batches", 2)
    losses = bitwise.losses(suite.train(plan, 2))
    for processes in (2, 3):
        suite.check(bitwise.losses(train(suite, launcher, processes, plan, 2)) == losses,
                    f"a file of constants in {processes} processes: other losses")
    shutil.copytree(plan, other)
    with open(os.path.join(other, "constants.safetensors"), "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x7f")
    data = ("--data", "text:" + common.CORPUS, "--steps", 1)
    expect("two files of constants", 1, of_two_folders(suite, launcher, 3, plan, other, *data),
           "the constant 'table' in '", "is not the one that '", "compile the model again")


def of_two_folders(suite, launcher, processes, first, second, *arguments):
    """zb-run of the first folder in process 0, of the second in the others."""
    return launched(suite, launcher, processes, "-c", 'plan=$1; [ "${OMPI_COMM_WORLD_RANK:-${RANK:-$SLURM_PROCID}}" = '
                                                      '0 ] || plan=$2; shift 2; exec "$0" "$plan" "$@"',
                    suite.tool("zb-run"), first, second, *arguments, program="sh")


def another_build(suite, folder):
    """A copy of zb-run of which nothing but the linker's digest is another."""
    path = os.path.join(folder, "another", "bin", "zb-run")
    os.makedirs(os.path.dirname(path))
    os.symlink(os.path.join(os.path.abspath(suite.bin), "..", "lib"), os.path.join(folder, "another", "lib"))
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"  # bytes of name and digest, kind, name; then the digest
    with open(suite.tool("zb-run"), "rb") as file:
        program = file.read()
    at = program.index(note) + len(note)
    with open(path, "wb") as file:
        file.write(program[:at] + bytes([program[at] ^ 1]) + program[at + 1:])
    os.chmod(path, 0o755)
    return path


def errors(suite, launcher, folder):
    model = Model(suite, launcher, folder, "gpt2-small", 4)
    plan, other = model.compile(2, "1f1b"), model.compile(2, "zb-h1")
    data = ("--data", "text:" + common.CORPUS, "--steps", 1)

    starts = Starts(suite, plan)
    expect = starts.expect
    STARTS[launcher.name](suite, starts)
    expect("more processes than ranks", 2, launched(suite, launcher, 4, plan, *data),
           "there are 4 processes, but the plan has 2 ranks", "hint: start 2 processes or fewer")
    expect("no such plan", 4, launched(suite, launcher, 2, folder + "/none", *data), "cannot open the plan")
    expect("a folder that cannot be made", 4, launched(suite, launcher, 2, plan, *data, "--save", "/proc/nothing"),
           "cannot save to '/proc/nothing'")
    expect("a folder of other files", 2,
           launched(suite, launcher, 2, plan, *data, "--save", common.DATA), "it holds other files")
    expect("costs of processes", 2, launched(suite, launcher, 2, plan, *data[:-1], 3, "--profile", folder + "/c.json"),
           "costs are measured in one process")
    expect("sim in processes", 2, launched(suite, launcher, 2, plan, *data, "--device", "sim"),
           "runs all ranks in one process")
    constants(suite, launcher, folder, expect)
    expect("two plans", 2, of_two_folders(suite, launcher, 2, plan, other, *data),
           "process 1 reads another plan than process 0")
    builds = launched(suite, launcher, 2, "-c", 'tool=$0; [ "${OMPI_COMM_WORLD_RANK:-${RANK:-$SLURM_PROCID}}" = 0 ] || '
                                                'tool=$1; shift; exec "$tool" "$@"',
                      suite.tool("zb-run"), another_build(suite, folder), plan, *data, program="sh")
    expect("two builds", 2, builds, "the build is '", "' in process 1", "give all processes the same zb-run")
    expect("processes that do not meet", 2, launched(suite, launcher, 2, plan, *data, "--launch", "threads"),
           "2 processes were started by", "each of them would train alone", count=2)
    counter = os.path.join(suite.bin, "..", "test", "step_allocations")
    done = launched(suite, launcher, 2, model.compile(4, "zb-v"), common.CORPUS, program=counter)
    suite.check(sorted(done.stdout.splitlines()) == [f"process {i} of 2: 0 allocations" for i in (0, 1)],
                f"steps allocate: {done.stdout}{done.stderr}")
    done = launched(suite, launcher, 2, plan, *data,
                    "--json", "--memory", "--profile-ops", "--grad-norms", "--timeline", folder + "/t.svg",
                    "--trace", folder + "/t.json")
    rows = common.json_lines(done.stdout)
    suite.check(done.returncode == 0 and [next(iter(row)) for row in rows] == ["step", "profile", "memory"],
                f"--json prints once: {done.stdout}")
    if rows:
        alone_rows = suite.train(plan, 1, "--grad-norms")
        suite.check(rows[0]["gradient_norms"] == alone_rows[0]["gradient_norms"], "gradient norms of all processes")
        suite.check(list(rows[0]["gradient_norms"]) == list(alone_rows[0]["gradient_norms"]),
                    "gradient norms in the order of names")
    with open(folder + "/t.json") as file:
        events = json.load(file)["traceEvents"]
    ranks = {event.get("pid") for event in events if event.get("ph") == "X"}
    suite.check(ranks == {0, 1}, f"the trace has ranks {ranks}")
    left, came = ({event["id"]: event["ts"] for event in events if event.get("ph") == kind} for kind in "sf")
    suite.check(left and left.keys() == came.keys() and all(came[i] >= left[i] for i in left),
                f"messages that come before they leave: {left} {came}")


def starts_mpi(suite, starts):
    """What has nothing to do with how processes meet, and what MPI alone says."""
    expect, alone = starts.expect, starts.alone
    expect("RANK alone", 1, alone({"RANK": "1"}), "found RANK=1, but not WORLD_SIZE")
    expect("MPI under torchrun", 4, alone({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost",
                                           "MASTER_PORT": "29500"}, "--launch", "mpi"),
           "a start by torchrun or by hand say that there are 2 processes, MPI finds 1", "--launch tcp")
    done = alone({"RANK": "1"}, "--launch", "threads")
    suite.check(done.returncode == 0,
                f"--launch threads does not look at variables that are not complete: {done.stderr}")
    done = alone({"RANK": "0", "WORLD_SIZE": "1"})
    suite.check(done.returncode == 0 and "step 1/1" in done.stdout, f"a world of one process: {done.stderr}")
    done = alone({}, "--launch", "mpi")
    suite.check(done.returncode == 0 and "step 1/1" in done.stdout, f"MPI without mpirun: {done.stderr}")


def sockets_of(pid):
    """How many sockets a process has."""
    count = 0
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += os.readlink(f"/proc/{pid}/fd/{descriptor}").startswith("socket:")
        except OSError:
            pass
    return count


def starts_tcp(suite, starts):
    """What can go wrong while processes meet over TCP: who is missing, twice there, somebody else,
    or of another run."""
    expect, alone, begin, end = starts.expect, starts.alone, starts.begin, starts.end

    def world(rank, size, port, address="127.0.0.1", **more):
        return dict({"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": address,
                     "MASTER_PORT": str(port)}, **more)

    def both(first, second, *arguments):
        processes = [begin(first, *arguments), begin(second, *arguments)]
        return [end(process) for process in processes]

    expect("no address", 2, alone({}, "--launch", "tcp"), "they are not given", "MASTER_ADDR")
    expect("srun without hosts", 2, alone({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}), "they are not given")
    expect("process 1 is missing", 5, alone(world(0, 2, start.free_port()), "--timeout", 1),
           "1 of 2 processes did not come: 1 (there are 0)", "127.0.0.1")
    port = start.free_port()
    expect("process 0 is missing", 5, alone(world(1, 2, port), "--timeout", 1),
           f"process 1 cannot reach process 0 at 127.0.0.1, port {port},", "refused")
    expect("an address that is no host", 1, alone(world(1, 2, port, "no.such.host.invalid"), "--timeout", 1),
           "cannot find the host 'no.such.host.invalid'")
    port = start.free_port()
    zero, one = both(world(0, 2, port), world(1, 3, port), "--timeout", 20)
    expect("worlds of two sizes", 1, zero, "process 1 was told that there are 3 processes, process 0 that there are 2",
           "WORLD_SIZE")
    suite.check(one.returncode == 1 and "error" not in one.stderr, f"process 1 leaves it to process 0 to tell: {one}")
    port = start.free_port()
    twice = [begin(world(rank, 3, port), "--timeout", 20) for rank in (0, 1, 1)]
    done = [end(process) for process in twice]
    expect("two processes 1", 1, done[0], "two processes come as process 1, from 127.0.0.1:", "RANK")
    port = start.free_port()
    waiting = [begin(world(rank, 3, port), "--timeout", 20) for rank in (0, 1)]
    while waiting[1].poll() is None and sockets_of(waiting[1].pid) < 2:  # its own, and one to process 0
        time.sleep(0.01)
    time.sleep(0.3)
    waiting[1].kill()  # process 2 never comes
    expect("one dies while others are awaited", 5, end(waiting[0]), "process 1 has gone while others were awaited")
    end(waiting[1])
    port = start.free_port()
    zeros = [end(process) for process in [begin(world(0, 2, port), "--timeout", 2),
                                          begin(world(0, 2, port), "--timeout", 2)]]
    taken = [done for done in zeros if f"cannot listen at port {port}" in done.stderr and "RANK=0" in done.stderr]
    suite.check(sorted(done.returncode for done in zeros) == [4, 5] and taken, f"two processes 0: {zeros}")
    with socket.socket() as foreign:  # somebody who listens and says nothing
        foreign.bind(("127.0.0.1", 0))
        foreign.listen()
        port = foreign.getsockname()[1]
        expect("another program has the port", 4, alone(world(0, 2, port), "--timeout", 2),
               f"cannot listen at port {port}", "Address already in use")
        expect("another program is there", 5, alone(world(1, 2, port), "--timeout", 1), "another program is there")
        # An agent of torchrun has the port: the run meets above it.
        zero, one = both(world(0, 2, port, TORCHELASTIC_USE_AGENT_STORE="True"),
                         world(1, 2, port, TORCHELASTIC_USE_AGENT_STORE="True"))
        suite.check(zero.returncode == one.returncode == 0 and "step 1/1" in zero.stdout,
                    f"above the port of an agent: {zero} {one}")
    port = start.free_port()
    zero, one = both(world(0, 2, port, TORCHELASTIC_RUN_ID="a"),
                     world(1, 2, port, TORCHELASTIC_RUN_ID="b"), "--timeout", 2)
    expect("two runs", 5, zero, "1 of 2 processes did not come")
    suite.check(one.returncode == 5, f"two runs: {one}")
    # Visitors that are none of ours do no harm.
    port = start.free_port()
    zero = begin(world(0, 2, port), "--timeout", 20)
    visitors = []
    for text in (b"", b"GET / HTTP/1.0\r\n\r\n", bytes(200), b"zbmet-p1" + bytes(range(256)), b"zbmet-p"):
        while True:
            try:
                visitors.append(socket.create_connection(("127.0.0.1", port)))
                visitors[-1].sendall(text)
                break
            except ConnectionRefusedError:
                time.sleep(0.02)
    one = alone(world(1, 2, port), "--timeout", 20)
    zero = end(zero)
    suite.check(zero.returncode == one.returncode == 0 and "step 1/1" in zero.stdout, f"visitors: {zero} {one}")
    for visitor in visitors:
        visitor.close()


STARTS = {"mpi": starts_mpi, "tcp": starts_tcp}

AGENT = """#!/bin/sh
# mpirun's "ssh": HOST COMMAND... in the network namespace of the host.
host=$1; shift
case $host in 10.77.0.2) exec ip netns exec %(b)s sh -c "$*" ;; *) exec sh -c "$*" ;; esac
"""


def network_launcher(launcher, folder, b):
    """The launcher for two network namespaces, the second of which is b; processes are dealt to them in turn."""
    if launcher.name == "tcp":
        return Tcp("--address", "head", "--inside", f"1={b},3={b}")
    agent = os.path.join(folder, "agent.sh")
    with open(agent, "w") as file:
        file.write(AGENT % {"b": b})
    os.chmod(agent, 0o755)
    return Mpi("--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include",
               "10.77.0.0/24", "--mca", "oob_tcp_if_include",
               "10.77.0.0/24", "-H", "10.77.0.1:2,10.77.0.2:2", "--map-by", "node")


def network(suite, launcher, folder):
    """Processes in two network namespaces; nothing of shared memory is used between them."""
    a, b = f"zba{os.getpid()}", f"zbb{os.getpid()}"
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("skip network namespaces: needs root and ip (iproute2)")
        return 1
    commands = [f"ip netns add {a}", f"ip netns add {b}",
                f"ip link add zv{os.getpid()} netns {a} type veth peer name zw{os.getpid()} netns {b}"]
    for space, link, address in ((a, "zv", 1), (b, "zw", 2)):
        device = f"{link}{os.getpid()}"
        commands += [f"ip -n {space} address add 10.77.0.{address}/24 dev {device}",
                     f"ip -n {space} link set {device} up", f"ip -n {space} link set lo up"]
    try:
        for command in commands:
            done = subprocess.run(command.split(), capture_output=True, text=True)
            if done.returncode:
                print(f"skip network namespaces: {command}: {done.stderr.strip()}")
                return 1
        # As Debian does, the host calls itself 127.0.1.1, which leads nowhere from elsewhere.
        for space, address in ((a, "127.0.1.1"), (b, "10.77.0.1")):
            os.makedirs(f"/etc/netns/{space}", exist_ok=True)
            with open(f"/etc/netns/{space}/hosts", "w") as file:
                file.write(f"127.0.0.1 localhost\n{address} head\n")
        across = network_launcher(launcher, folder, b)
        for graph, micro_batches in CASES.items():
            model = Model(suite, across, folder, graph, micro_batches)
            for ranks, schedule, processes in ((2, "1f1b", 2), (4, "zb-h1", 2), (4, "zb-v", 4)):
                model.check(model.compile(ranks, schedule), processes, prefix=("ip", "netns", "exec", a))
    finally:
        for space in (a, b):
            subprocess.run(["ip", "netns", "delete", space], capture_output=True)
            shutil.rmtree(f"/etc/netns/{space}", ignore_errors=True)
    return 0


GROUPS = {"bits": bits, "saves": saves, "errors": errors, "network": network}


def run_groups(text, groups):
    """The command line of a script whose groups of tests run over every launcher: its exit status. A group is called
    with suite, launcher, folder and gives how many of its tests it skipped, if any."""
    options = common.arguments(text, ("--only", dict(choices=groups, nargs="+", default=list(groups))),
                               ("--over", dict(choices=LAUNCHERS, nargs="+", default=list(LAUNCHERS))))
    suite, skipped = common.Suite(options.bin), 0
    for launcher in (LAUNCHERS[name] for name in options.over):
        reason = launcher.reason_to_skip(suite)
        if reason:
            print(f"skip {launcher.name}: {reason}")
            skipped += 1
            continue
        for name in options.only:
            with common.scratch() as folder:
                try:
                    skipped += groups[name](suite, launcher, folder) or 0
                except (common.Failure, subprocess.TimeoutExpired) as failure:
                    suite.check(False, f"{name}: {failure}")
    print(f"{suite.passed} passed, {suite.failed} failed, {skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(run_groups(__doc__, GROUPS))
