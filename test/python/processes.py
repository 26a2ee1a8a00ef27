#!/usr/bin/env python3
"""Sessions of Python in several processes, and how they end: the bits of one process, weights in process 0, an
exception or a killed process that the others hear of, Ctrl-C in one and in several processes.

    processes.py [BUILD] [--only NAME...]

Processes are started by mpirun, where there is one, and with the variables of torchrun (test/e2e/start.py). Ends with
"N passed, N failed".
"""
import argparse
import faulthandler
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATHS = [str(ROOT / folder) for folder in ("tools/python", "test/e2e", "test/python")]
sys.path[:0] = PATHS
import common  # noqa: E402
import package  # noqa: E402

MODEL = os.path.join(common.DATA, "gpt2-small.onnx")
STEPS, LONG = 3, 10000


# ---- In a process ----

class Stopped(Exception):
    """Of a loader that fails."""


def interrupt_soon(seconds):
    """Ctrl-C, while the main thread is in a step or between two."""
    def send():
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=send, daemon=True).start()


def digest(values):
    found = hashlib.sha256()
    for name, value in values.items():
        found.update(name.encode() + memoryview(value).tobytes())
    return found.hexdigest()


def loader(corpus, scenario, run, steps):
    for k in range(steps):
        if k == 2 and scenario == "raises" and run.process == 1:
            raise Stopped("the disk of the data is gone")
        if k == 2 and scenario == "dies" and run.process == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        yield corpus.batch(k % 4)


def train(scenario, plan, folder):
    """What a process does; a line of JSON at its end."""
    import zb
    said, run = {"losses": []}, None
    steps = LONG if scenario in ("interrupted", "all interrupted") else STEPS
    opened = zb.Plan(plan)
    if scenario == "unseeded":  # as if each process had compiled a module of its own
        opened = zb.Plan(plan + os.environ.get("RANK", os.environ.get("OMPI_COMM_WORLD_RANK",
                                                                       os.environ.get("SLURM_PROCID", ""))))
        opened._module = ((), None)
    corpus = package.Corpus(*opened.inputs[0].shape)
    try:
        with zb.Session(opened, timeout_ms=20000) as run:
            said.update(process=run.process, processes=run.processes, launch=run.info["launch"])
            if scenario == "interrupted" and run.process == run.processes - 1 or scenario == "all interrupted":
                interrupt_soon(0.7)
            for batch in loader(corpus, scenario, run, steps):
                said["losses"].append(run.step(batch).loss)
            said["ahead"] = [result.loss for result in run.train([corpus.batch(k) for k in (3, 0, 1)])]
            said["evaluation"] = run.evaluate([corpus.batch(0), corpus.batch(1)]).loss
            values = run.state_dict("buffer")
            said["values"] = len(values)
            said["digest"] = digest(values)
            said["norms"] = len(run.gradient_norms())
            run.save(folder)
    except BaseException as error:  # pylint: disable=broad-except
        said.update(error=type(error).__name__, text=str(error), code=getattr(error, "code", None),
                    together=run is not None and run._stopped)  # pylint: disable=protected-access
    said["steps"] = len(said.pop("losses")) if steps == LONG else said["losses"]
    print(json.dumps(said), flush=True)
    sys.exit(1 if "error" in said and scenario != "interrupted" and scenario != "all interrupted" else 0)


# ---- Starting them ----

def objects(text):
    """The objects of JSON in it: a launcher may put two on a line."""
    found, at = [], text.find("{")
    while at >= 0:
        row, end = json.JSONDecoder().raw_decode(text, at)
        found.append(row)
        at = text.find("{", end)
    return found


class Tests:
    def __init__(self, suite, folder, build):
        import zb
        self.zb, self.suite, self.folder, self.build = zb, suite, folder, build
        self.plan = os.path.join(folder, "plan")
        zb.compile(MODEL, ranks=2, micro_batches=package.MICRO_BATCHES, output=self.plan)
        self.corpus = package.Corpus(*zb.Plan(self.plan).inputs[0].shape)

    def start(self, launcher, scenario, processes=2):
        """(exit status, what each process said, standard error)."""
        command = [*launcher.command(processes), sys.executable, os.path.abspath(__file__), self.build, "--child",
                   scenario, self.plan, os.path.join(self.folder, "saved")]
        environment = dict(launcher.environment, ZB_LIBRARY=os.path.join(self.build, "lib"))
        begun = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=common.patience(120), env=environment)
        rows = objects(done.stdout)
        self.seconds = time.monotonic() - begun
        return done.returncode, sorted(rows, key=lambda row: row.get("process", 0)), done.stderr

    def check(self, good, what, *rest):
        return self.suite.check(good, "%s: %s" % (what, rest))

    def wanted(self):
        """The same in one process."""
        with self.zb.Session(self.plan) as run:
            losses = [run.step(self.corpus.batch(k)).loss for k in range(STEPS)]
            ahead = [run.step(self.corpus.batch(k)).loss for k in (3, 0, 1)]
            evaluation = run.evaluate([self.corpus.batch(0), self.corpus.batch(1)]).loss
            return losses, ahead, evaluation, digest(run.state_dict("buffer"))

    def run(self, launcher):
        name = launcher.name
        losses, ahead, evaluation, values = self.wanted()
        status, rows, errors = self.start(launcher, "trains")
        self.check(status == 0 and len(rows) == 2, name + ": trains", status, rows, errors[-2000:])
        for row in rows:
            self.check(row["steps"] == losses and row["evaluation"] == evaluation, name + ": losses", row, losses)
            self.check(row["ahead"] == ahead, name + ": losses of train()", row, ahead)
            self.check(row["launch"] == name and row["processes"] == 2, name + ": how", row)
        self.check(rows[0]["digest"] == values and rows[0]["norms"] > 10, name + ": weights are in process 0", rows[0])
        self.check(rows[1]["values"] == 0 and rows[1]["norms"] == 0, name + ": and not in process 1", rows[1])
        with self.zb.Session(self.plan, resume=os.path.join(self.folder, "saved")) as run:
            self.check(digest(run.state_dict("buffer")) == values and run.steps == STEPS + 3, name + ": one resumes")

        for process in (0, 1):
            self.zb.compile(MODEL, ranks=2, micro_batches=package.MICRO_BATCHES, output="%s%d" % (self.plan, process),
                            weights=os.path.join(self.folder, "saved") if process else None)
        status, rows, errors = self.start(launcher, "unseeded")
        for row in rows:
            self.check(row["steps"] == losses, name + ": all begin with the values of process 0", row, losses, errors)
        self.check(len(rows) == 2 and rows[0].get("digest") == values, name + ": and end with its weights", rows)
        status, rows, errors = self.start(launcher, "raises")
        self.check(status != 0 and common.soon(self.seconds, 20), name + ": an exception ends all", status,
                   self.seconds)
        ends = {row["process"]: row for row in rows}
        self.check(ends.get(1, {}).get("error") == "Stopped", name + ": the exception is the iterator's", rows, errors)
        if 0 in ends:  # mpirun may end it before it can say so
            self.check(ends[0]["code"] == "PEER" and "the disk of the data is gone" in ends[0]["text"],
                       name + ": the others hear why", rows)
        status, rows, errors = self.start(launcher, "dies")
        self.check(status != 0 and common.soon(self.seconds, 25), name + ": a killed process ends all", status,
                   self.seconds)
        if rows:
            self.check(rows[0]["code"] == "PEER", name + ": the others say who died", rows)
        for scenario in ("interrupted", "all interrupted"):
            status, rows, errors = self.start(launcher, scenario)
            kinds = sorted(row.get("error", "") + (row.get("code") or "") for row in rows)
            interrupted = kinds.count("KeyboardInterrupt")
            # Between two steps nobody waits for the others: they are told, and a launcher sees that one gave up.
            between = not all(row.get("together") for row in rows if row.get("error") == "KeyboardInterrupt")
            self.check(between or (status == 0 and len(rows) == 2), "%s: %s" % (name, scenario), status, rows,
                       errors[-2000:])
            self.check(set(kinds) <= {"KeyboardInterrupt", "ErrorINTERRUPTED", "ErrorPEER"} and interrupted >= 1,
                       "%s: %s: all end, and say why" % (name, scenario), rows)
            self.check(max(row["steps"] for row in rows) < LONG and common.soon(self.seconds, 30),
                       name + ": Ctrl-C ends it", rows)

    def test_tcp(self):
        import processes
        self.run(processes.Tcp())

    def test_mpi(self):
        import processes
        launcher = processes.Mpi()
        reason = launcher.reason_to_skip(self.suite)
        if reason:
            print("mpi was left out: " + reason)
            return
        self.run(launcher)

    # ---- One process ----

    def test_interrupt(self):
        """Ctrl-C during a step: the step ends, the session is whole; a second one calls it off."""
        def prepare(micro_batches):
            """A plan, a batch of it, and the loss and the seconds of its first step."""
            plan = self.zb.compile(os.path.join(common.DATA, "gpt2.onnx"), ranks=1, micro_batches=micro_batches,
                                   schedule="1f1b")
            rows, length = plan.inputs[0].shape
            rows *= micro_batches
            batch = [package.shaped("q", [i % 200 for i in range(k, rows * length + k)], (rows, length))
                     for k in (0, 1)]
            with self.zb.Session(plan) as run:
                begun = time.monotonic()
                loss = run.step(batch).loss
                return plan, batch, loss, time.monotonic() - begun

        # As many micro-batches as take a second here: signals come at parts of what a step took, so that none comes
        # after it, and its end comes well before the five seconds that a step is waited for.
        seconds = prepare(2)[-1] / 2
        plan, batch, reference, seconds = prepare(max(1, min(24, round(1 / seconds))))
        for times, whole in ((1, True), (2, False)):
            run = self.zb.Session(plan)
            for i in range(times):
                interrupt_soon((0.15 + 0.1 * i) * seconds)
            begun = time.monotonic()
            try:
                run.step(batch)
                self.check(False, "Ctrl-C %d times: nothing was raised" % times)
            except KeyboardInterrupt:
                took = time.monotonic() - begun
                self.check(took < common.patience(8) + 2 * seconds, "Ctrl-C %d times" % times, took)
            if whole:
                self.check(run.steps == 1 and run.step(batch).loss < reference,
                           "the step was made, and another one can be")
            else:
                try:
                    run.step(batch)
                    self.check(False, "a step that was called off: the session is over")
                except self.zb.Error as error:
                    self.check("ended" in str(error) or error.code == "INTERRUPTED", "it says so", error)
            run.close()

    def test_handler(self):
        """A signal handler of the program runs during a step, and may raise what it likes."""
        class Mine(Exception):
            pass

        def handler(number, frame):
            raise Mine()

        seen = []
        with self.zb.Session(self.plan) as run:
            old = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(run.steps))
            try:
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
                end = time.monotonic() + common.patience(30)
                while not seen and time.monotonic() < end:
                    run.step(self.corpus.batch(0))
                self.check(len(seen) == 1, "a handler that returns does not end the step", seen)
                signal.signal(signal.SIGUSR1, handler)
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
                raised = False
                try:  # around the loop: the signal may come between two steps
                    while time.monotonic() < end + 5:
                        run.step(self.corpus.batch(0))
                except Mine:
                    raised = True
                self.check(raised, "a handler that raises ends it")
                self.check(run.step(self.corpus.batch(0)).loss > 0, "the session goes on")
            finally:
                signal.signal(signal.SIGUSR1, old)

    def test_fork(self):
        """A fork of the program, such as a worker of a DataLoader, leaves the session alone."""
        with self.zb.Session(self.plan) as run:
            run.step(self.corpus.batch(0))
            child = os.fork()
            if child == 0:
                run.close()
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            self.check(status == 0 and run.step(self.corpus.batch(1)).loss > 0, "a fork", status)

    def test_exit(self):
        """A session that nobody closed ends with the interpreter; an exception of the loop is what is raised."""
        script = ("import sys; sys.path[:0] = %r\nimport zb, package\nrun = zb.Session(%r)\n"
                  "corpus = package.Corpus(*run.plan.inputs[0].shape)\nprint(run.step(corpus.batch(0)).loss)\n%s")
        for rest, status in (("", 0), ("raise SystemExit(7)", 7), ("1 / 0", 1), ("del run", 0)):
            text = script % (PATHS, self.plan, rest)
            done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                                  timeout=common.patience(60),
                                  env=dict(os.environ, ZB_LIBRARY=os.path.join(self.build, "lib")))
            self.check(done.returncode == status and done.stdout.startswith("5."), "an end: %r" % rest, done)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=str(ROOT / "build"))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--child", nargs=3)
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    os.environ["ZB_LIBRARY"] = os.path.join(build, "lib")
    if arguments.child:
        faulthandler.dump_traceback_later(40)  # where a process hangs
        train(*arguments.child)
    suite = common.Suite(os.path.join(build, "bin"))
    with common.scratch() as folder:
        tests = Tests(suite, folder, build)
        for name in dir(Tests):
            if name.startswith("test_") and (not arguments.only or name[5:] in arguments.only):
                getattr(tests, name)()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
