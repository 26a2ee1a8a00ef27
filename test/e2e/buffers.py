#!/usr/bin/env python3
"""What the forward pass keeps from one micro-batch to the next: running statistics of BatchNorm, a buffer of the
model's own (test/data/buffers.onnx, see buffers_reference.py).

    buffers.py [--bin BUILD/bin] [--jobs 2]

20 steps, buffers and the loss of model.eval() against PyTorch's; the same bytes over ranks, schedules, placements,
threads, recompute, devices, launchers, with evaluations between steps and after a resume in the middle of them;
replicas, of which each step begins with the buffers of the first one, as PyTorch's DistributedDataParallel does;
checkpoints that lack a buffer, or are of a model without one; cuts that would divide one. Ends with "N passed, N
failed".
"""
import json
import os
import re
import shutil
import struct
import sys

import common
import processes

MODEL = os.path.join(common.DATA, "buffers.onnx")
REFERENCE = os.path.join(common.DATA, "buffers.reference.json")
REPLICAS_REFERENCE = os.path.join(common.DATA, "buffers.replicas.reference.json")
DATA = ("--data", "text:" + common.CORPUS)
STEPS = 5
PLANS = [(1, "1f1b", ()), (2, "fthenb", ()), (4, "zb-h2", ()), (2, "zb-v", ()),
         (2, "interleaved-1f1b", ("--chunks", 3)), (3, "search:budget=64", ()),
         (2, "zb-h1", ("--recompute", "all")), (3, "zb-h1", ("--split", "products"))]


def numbers(tensor):
    dtype, _, data = tensor
    kind = {"F32": "f", "I64": "q"}[dtype]
    return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)


def apart(found, wanted):
    return max(abs(a - b) / max(1, abs(b)) for a, b in zip(found, wanted)) if len(found) == len(wanted) else 1e9


class Buffers:
    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder
        with open(REFERENCE) as file:
            self.reference = json.load(file)
        self.saved = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, ranks, schedule, *arguments):
        summary = self.suite.compile(MODEL, self.path(name), "--ranks", ranks, "--micro-batches",
                                     self.reference["micro_batches"], "--schedule", schedule, *arguments)
        found = summary["buffers"]
        self.suite.check(sorted(found) == sorted(self.reference["buffers"]), f"{name}: {found}")
        return self.path(name)

    def train(self, plan, steps, *arguments, save="saved"):
        """(losses, checkpoint)."""
        shutil.rmtree(self.path(save), ignore_errors=True)
        rows = self.suite.train(plan, steps, "--save", self.path(save), *arguments)
        return [row["loss"] for row in rows if "loss" in row], common.read_checkpoint(self.path(save))

    def compare(self):
        """With PyTorch."""
        plan = self.compile("reference", 2, "zb-h1")
        steps = self.reference["evaluated_steps"]
        rows = self.suite.train(plan, len(self.reference["losses"]), "--save", self.path("final"), "--eval",
                                "text:" + common.CORPUS, "--eval-steps", steps)
        losses = [row["loss"] for row in rows if "loss" in row]
        self.suite.check(apart(losses, self.reference["losses"]) <= 1e-6, f"losses: {losses}")
        found = rows[-1]["eval"]["loss"]
        self.suite.check(abs(found - self.reference["evaluation"]) <= 1e-6,
                         f"evaluation: {found}, PyTorch {self.reference['evaluation']}")
        saved = common.read_checkpoint(self.path("final"))
        for name, wanted in self.reference["buffers"].items():
            distance = apart(numbers(saved["weights:" + name]), wanted)
            self.suite.check(distance <= 1e-6, f"{name} differs from PyTorch's by {distance}")
        print(f"  {len(losses)} losses within {apart(losses, self.reference['losses']):.1e} of PyTorch's, model.eval() "
              f"within {abs(found - self.reference['evaluation']):.1e}", flush=True)

    def replicas(self, count=3):
        """As PyTorch's DistributedDataParallel: each step begins with the buffers of replica 0 on all replicas, which
        are those that are saved and that evaluations read. The same bits over ranks, sharing, transports, a resume."""
        with open(REPLICAS_REFERENCE) as file:
            reference = json.load(file)
        many = ("--data-parallel", count)
        plan = self.compile("replicas", 2, "zb-h1", *many)
        rows = self.suite.train(plan, len(reference["losses"]), "--save", self.path("final"), "--eval",
                                "text:" + common.CORPUS, "--eval-steps", reference["evaluated_steps"])
        losses = [row["loss"] for row in rows if "loss" in row]
        saved = common.read_checkpoint(self.path("final"))
        distances = {name: apart(numbers(saved["weights:" + name]), wanted)
                     for name, wanted in reference["buffers"].items()}
        distances.update(losses=apart(losses, reference["losses"]),
                         evaluation=abs(rows[-1]["eval"]["loss"] - reference["evaluation"]))
        self.suite.check(max(distances.values()) <= 1e-6, f"{count} replicas differ from PyTorch's: {distances}")
        wanted = self.train(plan, STEPS)

        def same(text, got):
            """What is in parts comes last in files."""
            saved = {key: got[1][key] for key in wanted[1]} if got[1].keys() == wanted[1].keys() else got[1]
            difference = common.first_difference(wanted[1], saved)
            self.suite.check(got[0] == wanted[0] and not difference,
                             f"{count} replicas, {text}: {got[0]}, {difference}")

        for ranks, schedule, more in ((1, "1f1b", ()), (4, "zb-h2", ()), (2, "zb-v", ()),
                                      (3, "zb-h1", ("--sharding", "gradients:step")),
                                      (2, "zb-h1", ("--sharding", "parameters:step", "--recompute", "all"))):
            other = self.compile("other", ranks, schedule, *many, *more)
            same(f"{ranks} ranks, {schedule} {' '.join(more)}", self.train(other, STEPS))
        same("sim", self.train(plan, STEPS, "--device", "sim", "--seed", 3))
        same("evaluations between", self.evaluated(plan))
        first, _ = self.train(plan, 2, save="middle-of-replicas")
        rest, ended = self.train(other, STEPS - 2, "--resume", self.path("middle-of-replicas"), save="rest")
        same("resumed", (first + rest, ended))
        for name, processes_of in (("tcp", 4), ("mpi", 2)):
            launcher = processes.LAUNCHERS[name]
            if launcher.reason_to_skip(self.suite):
                print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                continue
            rows = processes.train(self.suite, launcher, processes_of, plan, STEPS, "--save", self.path(name))
            files = {f"{kind}:{key}": value for kind, tensors in processes.read_saved(self.path(name)).items()
                     for key, value in tensors.items()}
            same(f"{processes_of} processes over {name}", ([row["loss"] for row in rows if "loss" in row], files))
        self.meshes()

    def meshes(self):
        """Replicas of shards: their bits do not depend on ranks or order."""
        mesh = ("--data-parallel", 2, "--tensor-parallel", 2, "--micro-batches", 2)
        wanted, got = (self.train(self.compile("mesh", ranks, schedule, *mesh), STEPS)
                       for ranks, schedule in ((1, "fthenb"), (2, "zb-h1")))
        self.suite.check(got[0] == wanted[0] and not common.first_difference(wanted[1], got[1]),
                         f"replicas of shards: {got[0]} instead of {wanted[0]}")

    def same(self, text, losses, saved):
        difference = common.first_difference(self.saved[1], saved)
        self.suite.check(losses == self.saved[0] and not difference, f"{text}: {losses}, {difference}")

    def bits(self):
        for i, (ranks, schedule, more) in enumerate(PLANS):
            plan = self.compile(f"plan{i}", ranks, schedule, *more)
            got = self.train(plan, STEPS)
            self.saved = self.saved or got
            self.same(f"{ranks} ranks, {schedule} {' '.join(more and map(str, more))}", *got)
        plan = self.compile("four", 4, "zb-h1")
        self.same("2 threads", *self.train(plan, STEPS, "--threads", 2))
        self.same("sim", *self.train(plan, STEPS, "--device", "sim", "--seed", 3))
        self.same("barriers", *self.train(plan, STEPS, "--barrier"))
        self.same("evaluations between", *self.evaluated(plan))
        for name, count in (("tcp", 2), ("mpi", 2)):
            launcher = processes.LAUNCHERS[name]
            if launcher.reason_to_skip(self.suite):
                print(f"  {name} is left out: {launcher.reason_to_skip(self.suite)}")
                continue
            rows = processes.train(self.suite, launcher, count, plan, STEPS, "--save", self.path(name))
            saved = {f"{kind}:{key}": value for kind, tensors in processes.read_saved(self.path(name)).items()
                     for key, value in sorted(tensors.items())}
            self.same(f"{count} processes over {name}", [row["loss"] for row in rows if "loss" in row],
                      {key: saved[key] for key in self.saved[1]})

    def post_validation(self):
        """Steps that are taken back and run again, since all are clipped: buffers too."""
        clips = ("--clip-norm", "0.5")
        waiting = self.train(self.compile("waits", 4, "zb-h1", *clips), STEPS)
        for ranks, schedule in ((2, "zb-h1"), (4, "zb-h1"), (2, "zb-v")):
            plan = self.compile(f"taken-back-{ranks}-{schedule}", ranks, schedule, *clips, "--post-validation")
            losses, saved = self.train(plan, STEPS)
            difference = common.first_difference(waiting[1], saved)
            self.suite.check(losses == waiting[0] and losses != self.saved[0] and not difference,
                             f"post-validation, {ranks} ranks, {schedule}: {losses}, {difference}")

    def evaluated(self, plan):
        rows = self.suite.train(plan, STEPS, "--save", self.path("evaluated"), "--eval", "text:" + common.CORPUS,
                                "--eval-steps", 1, "--eval-every", 2)
        return [row["loss"] for row in rows if "loss" in row], common.read_checkpoint(self.path("evaluated"))

    def resumes(self):
        """On another number of ranks than before."""
        first, _ = self.train(self.path("plan0"), 2, save="middle")
        rest, saved = self.train(self.path("four"), STEPS - 2, "--resume", self.path("middle"), save="rest")
        self.same("resumed", first + rest, saved)

    def refused(self, status, pattern, tool, *words):
        done = self.suite.run(tool, *words)
        self.suite.check(done.returncode == status and re.search(pattern, done.stderr),
                         f"{tool} {' '.join(map(str, words))}: exit {done.returncode}, wanted {status} and {pattern}\n"
                         f"{done.stderr}")

    def without(self, name):
        """A checkpoint that lacks one tensor."""
        folder = self.path("lacking")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.path("middle"), folder)
        file = os.path.join(folder, "weights.safetensors")
        tensors, metadata = common.read_safetensors(file)
        header, body = {"__metadata__": metadata}, b""
        for key, (dtype, shape, data) in tensors.items():
            if key != name:
                header[key] = dict(dtype=dtype, shape=shape, data_offsets=[len(body), len(body) + len(data)])
                body += data
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(file, "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + body)
        return folder

    def wrong(self):
        self.refused(1, "there is no value for the buffer 'rows.norm.running_var'", "zb-run", self.path("four"), *DATA,
                     "--steps", 3, "--resume", self.without("rows.norm.running_var"))
        other = self.path("other")
        self.suite.compile(os.path.join(common.DATA, "l1.onnx"), other, "--ranks", 1, "--micro-batches", 2)
        self.refused(1, "is of another model: it has no (parameter|buffer)", "zb-run", other, *DATA, "--steps", 3,
                     "--resume", self.path("middle"))
        self.refused(2, r"cannot cut after 'twice.up': the buffer 'twice\.norm\.\w+' is read or updated on both sides",
                     "zbc", MODEL, "-o", self.path("no"), "--ranks", 3, "--micro-batches", 2, "--cuts", "rows,twice.up")
        self.refused(1, "--freeze names 'rows.norm.running_mean', a buffer that forward", "zbc", MODEL, "-o",
                     self.path("no"), "--freeze", "rows.norm.running_mean")
        order = self.path("order.csv")
        with open(order, "w") as file:
            file.write("0F1,0F0,0B0,0W0,0B1,0W1\n")
        self.refused(1, "0F1 stands before 0F0: expected F of a stage in rising micro-batch order(.|\n)*buffers are",
                     "zbc", MODEL, "-o", self.path("no"), "--ranks", 1, "--micro-batches", 2, "--schedule", order)
        self.suite.check(not os.path.exists(self.path("no")), "something was written")


def main():
    suite = common.Suite(common.arguments(__doc__).bin)
    with common.scratch() as folder:
        it = Buffers(suite, folder)
        it.compare()
        it.bits()
        it.post_validation()
        it.replicas()
        it.resumes()
        it.wrong()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
