#!/usr/bin/env python3
"""Why ranks idle: zb-run --explain and zb-sched --explain.

    explain.py [--bin BUILD/bin]

  sums    on the device sim the parts of each rank add up to its idle time, to the picosecond, and what is measured is
          what the costs of the plan say, for 28 plans: schedules, ranks, micro-batches, chunks, whole backwards,
          replicas
  causes  costs made to have one cause and nothing else beside dependency, and a memory limit
  real    threads: the parts add up to the idle time that --json prints
  table   what zb-run prints is what the JSON says; zb-sched splits the same order the same way
  wrong   what --explain does not go with

Ends with "N passed, N failed".
"""
import json
import os
import re
import sys

import common

GPT2 = os.path.join(common.DATA, "gpt2-small.onnx")
L1 = os.path.join(common.DATA, "l1.onnx")
LLAMA = os.path.join(common.DATA, "llama-small.onnx")
SIM = ("--device", "sim", "--no-kernels", "--steps", 1)
CAUSES = ["noise", "interpreter", "messages", "imbalance", "order", "memory", "dependency"]


def explain(t, plan, *options):
    lines = common.json_lines(t.must("zb-run", plan, "--explain", "--json", *options))
    return lines[-2], lines[-1]["explanation"]


def sum_of(explanation, cause):
    return sum(rank.get(cause + "_ps", 0) for rank in explanation["ranks"])


def check_sums(t, name, step, explanation):
    good = True
    for rank, row in enumerate(explanation["ranks"]):
        parts = [row[cause + "_ps"] for cause in CAUSES if cause + "_ps" in row]
        good = t.check(min(parts) >= 0 and sum(parts) == row["idle_ps"], f"{name} rank {rank}: {row}") and good
    idle = sum(row["idle_ps"] for row in explanation["ranks"]) / len(explanation["ranks"]) / explanation["time_ps"]
    return t.check(abs(idle - step["idle"]) < 1e-9, f"{name}: idle {idle}, the step says {step['idle']}") and good


def sums(t, folder):
    plan = os.path.join(folder, "plan")
    cases = [(model, ranks, m, *schedule)
             for model, ranks, m in ((GPT2, 2, 4), (LLAMA, 2, 3), (GPT2, 3, 5), (LLAMA, 4, 8))
             for schedule in (("1f1b",), ("zb-h1",), ("zb-h2",), ("gpipe",), ("search",))]
    cases += [(GPT2, 2, 4, "zb-v"), (GPT2, 2, 4, "fthenb", "--chunks", 2)]
    # The B of some of these stages computes nothing, and stands behind that of the stage before it.
    cases += [(L1, 4, 3, "search:budget=64", "--placement", "looped", "--chunks", chunks) for chunks in (2, 3)]
    # What replicas send each other between jobs of a step.
    cases += [(GPT2, 2, 3, "zb-h1", "--data-parallel", 2, *options)
              for options in ((), ("--sharding", "gradients:micro-batch"), ("--sharding", "parameters:step"),
                              ("--sharding", "parameters:micro-batch", "--gather", "step", "--tensor-parallel", 2))]
    for model, ranks, m, schedule, *options in cases:
        name = f"{os.path.basename(model)} {ranks} ranks {m} micro-batches {schedule}"
        t.compile(model, plan, "--ranks", ranks, "--micro-batches", m, "--schedule", schedule, *options)
        step, both = explain(t, plan, *SIM)
        good = check_sums(t, name, step, both["simulated"])
        measured, simulated = both["measured"], both["simulated"]
        good &= t.check(sum_of(measured, "noise") == 0, f"{name}: noise on a virtual clock")
        for row in measured["ranks"]:
            del row["noise_ps"]
        del measured["saved_ps"]["noise"]
        good &= t.check(measured == simulated, f"{name}: measured {measured}\nsimulated {simulated}")
        if good:
            print(f"ok   {name}: {simulated['most']}", flush=True)


def even_costs(t, folder, *options):
    """Costs of a plan in which every F, B and W takes 1 ms, and nothing else takes time."""
    plan, path = os.path.join(folder, "even"), os.path.join(folder, "even.json")
    t.compile(GPT2, plan, *options)
    t.must("zb-run", plan, *SIM, "--profile", path)
    with open(path) as file:
        costs = json.load(file)
    for row in costs["subprograms"]:
        row["time_ps"] = row["first_ps"] = 10**9 if row["kind"] in "FBW" else 0
    costs["link"] = {**costs["link"], "latency_ps": 0, "ps_per_byte": 0, "wake_ps": 0}
    costs["overheads"] = {key: 0 for key in costs["overheads"]}
    return costs


def with_costs(t, folder, costs, *options):
    plan, path = os.path.join(folder, "with"), os.path.join(folder, "with.json")
    with open(path, "w") as file:
        json.dump(costs, file)
    t.compile(GPT2, plan, *options, "--costs", path)
    return explain(t, plan, *SIM)[1]["simulated"]


def expect(t, name, found, base, cause):
    """Beside dependency, and the memory that the base has too, there is this cause alone."""
    shares = {each: sum_of(found, each) for each in CAUSES}
    others = [each for each in CAUSES[:4] if each != cause and shares[each]]
    if t.check(not others and (shares[cause] > 0 if cause else sum(shares.values()) > 0), f"{name}: {shares}"):
        print(f"ok   {name}: {cause or 'no other cause'} {shares.get(cause, 0)} ps of "
              f"{sum(shares.values())}", flush=True)
    if base:
        rest = {each: (shares[each], sum_of(base, each)) for each in CAUSES[4:]}
        t.check(all(now == before for now, before in rest.values()), f"{name}: besides {rest}")


def causes(t, folder):
    options = ("--ranks", 2, "--micro-batches", 4, "--schedule", "zb-h1")
    even = even_costs(t, folder, *options)
    base = with_costs(t, folder, even, *options)
    expect(t, "even costs", base, None, None)
    slow = {**even, "link": {**even["link"], "latency_ps": 3 * 10**8}}
    expect(t, "slow links", with_costs(t, folder, slow, *options), base, "messages")
    busy = {**even, "overheads": {**even["overheads"], "job_ps": 10**6, "read_ps": 10**7}}
    expect(t, "a slow interpreter", with_costs(t, folder, busy, *options), base, "interpreter")
    uneven = {**even, "subprograms": [dict(row) for row in even["subprograms"]]}
    for row in uneven["subprograms"]:
        if row["stage"] == 1 and row["kind"] in "FBW":
            row["time_ps"] = row["first_ps"] = 2 * 10**9
    expect(t, "one long stage", with_costs(t, folder, uneven, *options), None, "imbalance")
    limits(t, folder)


def limits(t, folder):
    """The same search with a limit: what it takes longer is memory, or another order, and nothing else."""
    plan = os.path.join(folder, "limit")
    base = ("--ranks", 4, "--micro-batches", 8, "--schedule")
    peak = max(t.compile(GPT2, plan, *base, "1f1b")["memory"]) * 4 // 5
    found = []
    for options in (("zb-h2",), ("search", "--memory-limit", peak)):
        t.compile(GPT2, plan, *base, *options)
        found.append(explain(t, plan, *SIM)[1]["simulated"])
    free, limited = (sum_of(each, "memory") + sum_of(each, "order") for each in found)
    if t.check(limited > free, f"a memory limit: {limited} ps with it, {free} ps without"):
        print(f"ok   a memory limit: {limited} ps of memory with it, {free} ps without", flush=True)


def real(t, folder):
    plan = os.path.join(folder, "real")
    t.compile(GPT2, plan, "--ranks", 2, "--micro-batches", 4)
    data = "text:" + common.CORPUS
    both = explain(t, plan, "--device", "sim", "--data", data, "--steps", 2, "--eval", data, "--eval-steps", 1)[1]
    t.check(all(a[cause + "_ps"] == b[cause + "_ps"] for a, b in zip(both["measured"]["ranks"],
                                                                     both["simulated"]["ranks"])
                for cause in CAUSES[1:]), f"an evaluation behind the last step changes what is explained: {both}")
    step, both = explain(t, plan, "--data", "text:" + common.CORPUS, "--steps", 3)
    if check_sums(t, "threads", step, both["measured"]):
        print("ok   threads: " + ", ".join(f"{cause} {sum_of(both['measured'], cause) / 1e9:.3f} ms"
                                           for cause in CAUSES), flush=True)


def table(t, folder):
    plan = os.path.join(folder, "even")
    text = t.must("zb-run", plan, "--explain", *SIM)
    explanation = explain(t, plan, *SIM)[1]["simulated"]
    rows = re.findall(r"^(\d+|all) +([\d.]+(?: +[\d.]+)*)$", text.split("by the costs of the plan:\n")[1], re.M)
    wanted = [[row["idle_ps"]] + [row[cause + "_ps"] for cause in CAUSES[1:]] for row in explanation["ranks"]]
    wanted.append([sum(column) for column in zip(*wanted)])
    printed = [[float(number) for number in row[1].split()] for row in rows]
    t.check([row[0] for row in rows] == ["0", "1", "all"] and
            all(abs(a - b / 1e9) < 1e-3 for row, good in zip(printed, wanted) for a, b in zip(row, good)),
            f"table: {text}\n{wanted}")
    t.check(re.search(r"^what would help most: more micro-batches a step, at most [\d.]+% of the step$", text, re.M),
            f"last line: {text}")
    lines = t.must("zb-sched", "--ranks", 4, "--micro-batches", 8, "--schedule", "zb-h1", "--costs",
                   "f=2,b=2,w=1,comm=0.1", "--explain", "--json")
    sched = json.loads(lines)
    for row in sched["explanation"]["ranks"]:
        parts = [row[cause + "_ps"] for cause in CAUSES[2:]]
        t.check(sum(parts) == row["idle_ps"] == 10200000000 and row["messages_ps"] == 1200000000, f"zb-sched: {row}")
    t.check(abs(sum(r["idle_ps"] for r in sched["explanation"]["ranks"]) / 4 / sched["explanation"]["time_ps"] -
                sched["bubble"]["barrier"]) < 1e-9, "zb-sched: the bubble is the idle share")


def wrong(t, folder):
    plan = os.path.join(folder, "even")
    for words, status, part in (
            (["zb-run", plan, "--explain", "--print-plan"], 2, "--explain has no effect with --print-plan"),
            (["zb-run", "--calibrate", os.path.join(folder, "c.json"), "--explain"], 2, "--explain has no effect"),
            (["zb-run", plan, "--explan", *SIM], 2, "did you mean '--explain'"),
            (["zb-run", plan, "--explain=yes", *SIM], 2, "--explain takes no value"),
            (["zb-sched", "--ranks", 2, "--micro-batches", 4, "--schedule", "all", "--explain"], 2,
             "a table of several"),
            (["zb-sched", "--ranks", 2, "--micro-batches", 4, "--write-problem", os.path.join(folder, "p.json"),
              "--explain"], 2, "add --schedule")):
        done = t.run(*words)
        t.check(done.returncode == status and part in done.stderr, f"{words}: {done.returncode} {done.stderr}")


def main():
    options = common.arguments(__doc__)
    suite = common.Suite(options.bin)
    with common.scratch() as folder:
        for part in (sums, causes, real, table, wrong):
            part(suite, folder)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
