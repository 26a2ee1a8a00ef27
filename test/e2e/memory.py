#!/usr/bin/env python3
"""Exact memory, and the right work in the right job.

    memory.py [--bin BUILD/bin] [--poison POISON_BUILD/bin]

For GPT-2 and Llama of test/data, 1, 2, 4 and 8 ranks, ZB-H1 and 1F1B, 8 micro-batches; and on 2 and 4
ranks with chunks, looped, V and wave:
  arena        the peak that zbc prints is, to the byte, the arena that zb-run takes, and the sum of the plan's regions
  high water   what the jobs really touch at the worst time never exceeds it; below it only by what packing costs, which
               is printed and may be at most a hundredth of the slots (0 almost everywhere; with chunks two hundredths)
  poison       with every free byte overwritten between jobs, losses, weights and optimizer state are the same (a build
               with -DZB_POISON=ON; skipped when there is none)
  frames       what one layer keeps from F (fb + fw) is at most what PyTorch's autograd keeps
               for it (stages cut after each layer)
  search       on 4 ranks: exit status 3 says what the least limit is; within that and larger ones the plan's peak is
               never above the limit, and with the memory of ZB-H1 its step is not longer
  chunks       slots of a rank <= the frames and handed-over values that its list of jobs holds at the worst time
               (counted here from the printed plan; a frame at most from when the rank's own earlier stage writes into
               it) + messages and inputs as below + a hundredth
  packing      ZB-V on 2, 3 and 4 ranks, 3 to 5 micro-batches, whose frames have six sizes: at most 3 % of
               the slots of a rank, 1 % in the mean
  ZB-H1        slots in use on rank r of P <= (P - r) (fb + fw) + r (fw + bw) + bw, the published peak ((P - r) M_B + r
               M_W) counted with this program's frames while B runs, + two messages of each channel and two inputs;
               1F1B: (P - r) (fb + fw) + bw + the same
  W            the flops of products in W of every stage, the first included, are those of all its weight gradients:
               2 * rows * in * out for each matrix parameter of the stage, counted here from the shapes alone
"""
import json
import os
import re
import sys

import common

MICRO_BATCHES = 8
PACKING = 0.01
CHUNKED = ((2, ("--chunks", 2)), (4, ("--placement", "v")), (2, ("--placement", "wave", "--chunks", 3)))
LAYERS = {"gpt2-small": "lm.transformer.h", "llama-small": "lm.model.layers"}
# By gather: no product.
LOOKED_UP = ("lm.transformer.wte.weight", "lm.transformer.wpe.weight", "lm.model.embed_tokens.weight")
TIED = "lm.transformer.wte.weight"  # looked up by the first stage, multiplied by the last


def number(text):
    return int(text.replace(",", ""))


def read_plan(text):
    """Per rank of zb-run --print-plan: regions {name: bytes}, parameters {name: shape}, messages [bytes], inputs
    [bytes], jobs [(kind, stage, micro-batch, values)], values {id: bytes}."""
    ranks = []
    for line in text.splitlines():
        if re.match(r"  parameters [\d,]+ +state ", line):
            regions = {k: number(v) for k, v in re.findall(r"(\w+) ([\d,]+)", line)}
            ranks.append(dict(regions=regions, parameters={}, messages={}, inputs=[], jobs=[], values={}))
            continue
        parameter = re.match(r"  parameter (\S+) ([\dx]+)xf32 at ", line)
        job = re.match(r" +\d+ +(SEND|RECV|READ) ", line)
        compute = re.match(r" +\d+ +([FBW]) +s(\d+)_[FBW] micro-batch (\d+)", line)
        bases = re.match(r" +bases +(.*)", line)
        if parameter:
            ranks[-1]["parameters"][parameter[1]] = [int(d) for d in parameter[2].split("x")]
        elif bases:
            ranks[-1]["values"].update((int(k), number(v)) for k, v in re.findall(r"value (\d+) ([\d,]+)", bases[1]))
        elif compute:
            values = [int(v) for v in re.findall(r"value (\d+) ", line)]
            ranks[-1]["jobs"].append((compute[1], int(compute[2]), int(compute[3]), values))
        elif job:
            sizes = [number(n) for n in re.findall(r"\(([\d,]+)\)", line)]
            if job[1] == "READ":
                ranks[-1]["inputs"].append(max(sizes, default=0))
            elif " stage " in line:
                channel = (job[1], re.search(r"(?:to|from) (\d+)", line)[1])
                ranks[-1]["messages"][channel] = max(ranks[-1]["messages"].get(channel, 0), sum(sizes))
    return ranks


def held(plan, stages):
    """Most bytes of frames and handed-over values at a time in this list of jobs."""
    at = {job[:3]: i for i, job in enumerate(plan["jobs"])}
    change = [0] * (len(plan["jobs"]) + 1)

    def hold(size, begin, end):
        change[begin] += size
        change[end + 1] -= size

    for (kind, s, m), f in at.items():
        if kind != "F":
            continue
        b, w, size = at["B", s, m], at["W", s, m], stages[s]
        first = at.get(("F", s - 1, m), f)
        hold(size["fb_bytes"], first, b)
        hold(size["fw_bytes"], first, w)
        hold(size["bw_bytes"], at.get(("B", s + 1, m), b), max(w, at.get(("B", s - 1, m), w)))
    uses = {}
    for i, (_, _, m, values) in enumerate(plan["jobs"]):
        for value in values:
            uses.setdefault((value, m), []).append(i)
    for (value, _), places in uses.items():
        if len(places) > 1:
            hold(plan["values"][value], places[0], places[-1])
    live = most = 0
    for difference in change:
        live += difference
        most = max(most, live)
    return most


def weight_gradient_flops(parameters, rows, last):
    """Of all weight gradients of a stage that are products."""
    return sum(2 * rows * shape[0] * shape[1] for name, shape in parameters.items()
               if len(shape) == 2 and (name not in LOOKED_UP or (name == TIED and last)))


class Memory:
    def __init__(self, suite, folder, graph, poison):
        self.suite, self.folder, self.graph, self.poison = suite, folder, graph, poison
        self.model = os.path.join(common.DATA, graph + ".onnx")
        with open(os.path.join(common.DATA, graph + ".reference.json")) as file:
            self.reference = json.load(file)

    def plan(self, ranks, schedule, layout=()):
        name = " ".join(map(str, (self.graph, schedule, "on", ranks, *layout)))
        out = os.path.join(self.folder, name.replace(" ", ""))
        summary = self.suite.compile(self.model, out, "--ranks", ranks, "--schedule", schedule,
                                     "--micro-batches", MICRO_BATCHES, *layout)
        printed = read_plan(self.suite.must("zb-run", out, "--print-plan"))
        rows = self.suite.train(out, 2, "--memory", "--save", out + ".saved")
        used = rows.pop()["memory"]
        self.suite.check(len(printed) == len(used) == ranks, f"{name}: the plan has {len(printed)} ranks")
        worst = 0.0
        for r in range(ranks):
            arena, live, regions = used[r]["arena"], used[r]["most_live"], printed[r]["regions"]
            self.suite.check(summary["memory"][r] == arena == sum(regions.values()),
                             f"{name}, rank {r}: zbc says {summary['memory'][r]} bytes, the arena has {arena}, the "
                             f"regions {sum(regions.values())}")
            high = used[r]["high_water"]
            self.suite.check(high == arena,
                             f"{name}, rank {r}: the arena has {arena} bytes, {high} of them are ever used")
            chunks, packing = len(summary["stages"]) > ranks, (arena - live) / regions["slots"]
            worst = max(worst, packing)
            self.suite.check(0 <= packing <= (2 if chunks else 1) * PACKING,
                             f"{name}, rank {r}: {live} of {arena} bytes are alive at a time, packing costs "
                             f"{packing:.0%} of the slots")
            if chunks:
                self.chunk_slots(f"{name}, rank {r}", summary, printed[r], regions["slots"])
                continue
            self.slots(name, r, ranks, schedule, summary["stages"][r], printed[r], regions["slots"] - (arena - live))
            wanted = weight_gradient_flops(printed[r]["parameters"],
                                           self.reference["batch"] * self.reference["seq"], r == ranks - 1)
            got = summary["stages"][r]["w_product_flops"]
            self.suite.check(got == wanted,
                             f"{name}, stage {r}: W has {got:.0f} flops of products, its weight gradients {wanted}")
        self.poisoned(name, out, [row["loss"] for row in rows])
        print(f"{name}: peak {max(summary['memory']):,} bytes, packing costs at most {worst:.1%} of "
              "the slots", flush=True)

    def slots(self, name, r, ranks, schedule, stage, plan, live):
        fb, fw, bw = stage["fb_bytes"], stage["fw_bytes"], stage["bw_bytes"]
        frames = (ranks - r) * (fb + fw) + bw + (r * (fw + bw) if schedule == "zb-h1" else 0)
        extra = 2 * sum(plan["messages"].values()) + 2 * 2 * max(plan["inputs"], default=0)
        self.suite.check(live <= frames + extra,
                         f"{name}, rank {r}: {live} bytes of slots are in use, the formula gives {frames} + {extra}")

    def chunk_slots(self, name, summary, plan, slots):
        frames = held(plan, summary["stages"])
        extra = 2 * sum(plan["messages"].values()) + 2 * 2 * max(plan["inputs"], default=0)
        self.suite.check(slots <= (frames + extra) * (1 + PACKING),
                         f"{name}: {slots} bytes of slots, its jobs hold {frames} + {extra}")

    def packing(self):
        out, shares = os.path.join(self.folder, "packing"), []
        for ranks in (2, 3, 4):
            for micro_batches in (3, 4, 5):
                self.suite.compile(self.model, out, "--ranks", ranks, "--schedule", "zb-v",
                                   "--micro-batches", micro_batches)
                slots = [plan["regions"]["slots"] for plan in read_plan(self.suite.must("zb-run", out, "--print-plan"))]
                rows = common.json_lines(self.suite.must("zb-run", out, "--device", "sim",
                                                         "--no-kernels", "--steps", 1, "--memory", "--json"))
                found = [(row["arena"] - row["most_live"]) / size for row, size in zip(rows[-1]["memory"], slots)]
                self.suite.check(len(found) == ranks and 0 <= min(found) and max(found) <= 0.03,
                                 f"{self.graph}: zb-v on {ranks}, {micro_batches} micro-batches: packing "
                                 f"costs {found} of the slots")
                shares += found
        mean = sum(shares) / len(shares)
        self.suite.check(mean <= PACKING, f"{self.graph}: packing of zb-v costs {mean:.1%} of the slots in the mean")
        print(f"{self.graph}: packing of zb-v costs {max(shares):.1%} of the slots of a rank at most, {mean:.1%} "
              "in the mean", flush=True)

    def poisoned(self, name, out, losses):
        if not self.poison:
            return
        rows = self.poison.train(out, 2, "--save", out + ".poisoned")
        difference = common.first_difference(common.read_checkpoint(out + ".saved"),
                                             common.read_checkpoint(out + ".poisoned"))
        self.suite.check([row["loss"] for row in rows] == losses and not difference,
                         f"{name}: poison changes the results: {difference}")

    def search(self, ranks):
        """Within every limit that one micro-batch at a time fits, search finds a plan that keeps it."""
        def compile(limit, trials):
            return self.suite.run("zbc", self.model, "-o", os.path.join(self.folder, "search"),
                                  "--json", "--ranks", ranks, "--micro-batches",
                                  MICRO_BATCHES, "--schedule", "search", "--memory-limit", limit, "--cut-trials",
                                  trials)

        process = compile(1000, 1)
        told = re.search(r"hint: (\d+) bytes are enough", process.stderr)
        if not self.suite.check(process.returncode == 3 and told,
                                f"{self.graph}: a limit of 1000 bytes: exit {process.returncode}, {process.stderr}"):
            return
        published = self.suite.compile(self.model, os.path.join(self.folder, "zb-h1"), "--ranks", ranks,
                                       "--micro-batches", MICRO_BATCHES)
        least, enough = int(told[1]), max(published["memory"])
        # A compile with its search takes half a minute: each graph has two of the limits.
        limits = (least, enough) if self.graph == "gpt2-small" else ((least + enough) // 2, 2 * enough)
        for limit in limits:
            process = compile(limit, 6 if limit == enough else 1)  # each as long as one compile with its search
            if not self.suite.check(process.returncode == 0, f"{self.graph}: search within {limit}: exit "
                                                             f"{process.returncode}, {process.stderr}"):
                continue
            summary = json.loads(process.stdout)
            self.suite.check(max(summary["memory"]) <= limit,
                             f"{self.graph}: search within {limit} takes {summary['memory']}")
            self.suite.check(limit < enough or summary["step_seconds"] <= published["step_seconds"],
                             f"{self.graph}: search within {limit}: {summary['step_seconds']} s, zb-h1 with {enough}: "
                             f"{published['step_seconds']}")
            print(f"{self.graph} search within {limit:,} bytes: "
                  f"{max(summary['memory']):,}, {1e3 * summary['step_seconds']:.2f} ms; zb-h1: {enough:,}, "
                  f"{1e3 * published['step_seconds']:.2f} ms", flush=True)

    def frames(self):
        """One stage a layer; the last also has the head and is left out."""
        limits, ranks = self.reference["saved_bytes_per_layer"], self.reference["layers"]
        cuts = ",".join(f"{LAYERS[self.graph]}.{i}" for i in range(ranks - 1))
        out = os.path.join(self.folder, "layers")
        stages = self.suite.compile(self.model, out, "--ranks", ranks, "--cuts", cuts, "--micro-batches", 8)["stages"]
        for i, stage in enumerate(stages[:-1]):
            kept = stage["fb_bytes"] + stage["fw_bytes"]
            self.suite.check(kept <= limits[i], f"{self.graph}: layer {i} keeps {kept} bytes, PyTorch {limits[i]}")
        print(f"{self.graph}: a layer keeps {kept:,} bytes from F, PyTorch {limits[1]:,} "
              f"({kept / limits[1]:.0%})", flush=True)


def main():
    options = common.arguments(__doc__, ("--poison", dict(default=os.path.join(common.SOURCE, "build-dev", "bin"),
                                                          metavar="BIN")))
    suite, poison = common.Suite(options.bin), None
    if os.path.exists(os.path.join(options.poison, "zb-run")):
        poison = common.Suite(options.poison)
    else:
        print(f"SKIP poison: no zb-run in '{options.poison}' (cmake -DZB_POISON=ON; --poison BIN)")
    with common.scratch() as folder:
        for graph in LAYERS:
            memory = Memory(suite, folder, graph, poison)
            tasks = [lambda p=p, s=s: memory.plan(p, s) for p in (1, 2, 4, 8) for s in ("zb-h1", "1f1b")]
            tasks += [memory.frames, memory.packing]
            tasks.append(lambda: memory.search(4))
            tasks += [lambda p=p, l=l: memory.plan(p, "fthenb", l) for p, l in CHUNKED]
            for task in tasks:
                try:
                    task()
                except common.Failure as failure:
                    suite.check(False, f"{graph}: {failure}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
