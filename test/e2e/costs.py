#!/usr/bin/env python3
"""Measured costs from end to end: zb-run --profile, zbc --costs.

    costs.py [--bin BUILD/bin]

  sim        a simulated run of a plan gives back the costs that the plan was made with: compiled with them, the step is
             the same to the picosecond, for every schedule and with chunks
  real       every subprogram of the measured plan is known when it is compiled again with its profile;
             another partition and another number of ranks take the times of its ops; losses are those of
             the plan without costs, bit for bit
  simulated  zb-run --device sim gives the step that zbc prints, and the waiting of every rank
  without    a compile without --costs is the same plan twice, and the one that it was before any was measured
  calibrated zb-run --calibrate writes a file that zbc takes
  wrong      another model, other cuts of a profile that knows whole subprograms only, a damaged file, another version,
             a calibration that is none: status 1, the place, a hint, no folder
"""
import json
import os
import random
import sys

import common

GPT2 = os.path.join(common.DATA, "gpt2-small.onnx")
LLAMA = os.path.join(common.DATA, "llama-small.onnx")
SHAPE = ("--micro-batches", 4)


def profile(t, plan, path, *options):
    t.must("zb-run", plan, *options, "--profile", path, "--json")
    with open(path) as file:
        return json.load(file)


def simulate(t, plan):
    return common.json_lines(t.must("zb-run", plan, "--device", "sim", "--no-kernels", "--steps", 1, "--json"))[0]


def check_sim(t, folder):
    for name, options in {"zb-h1": ("--ranks", 2, "--schedule", "zb-h1"), "1f1b": ("--ranks", 3, "--schedule", "1f1b"),
                          "fthenb, looped": ("--ranks", 2, "--chunks", 2, "--schedule", "fthenb")}.items():
        plan, costs = os.path.join(folder, "sim"), os.path.join(folder, "sim.json")
        first = t.compile(GPT2, plan, *SHAPE, *options)
        profile(t, plan, costs, "--device", "sim", "--no-kernels", "--steps", 2)
        again = t.compile(GPT2, plan, *SHAPE, *options, "--costs", costs)
        t.check(abs(first["step_seconds"] - again["step_seconds"]) < 2e-9 * first["step_seconds"],
                f"sim {name}: {first['step_seconds']} s, again {again['step_seconds']}")
        same = [(s["f_seconds"], s["b_seconds"], s["w_seconds"]) for s in first["stages"]]
        t.check(same == [(s["f_seconds"], s["b_seconds"], s["w_seconds"]) for s in again["stages"]],
                f"sim {name}: the times of the stages")
    process = t.run("zbc", GPT2, "-o", os.path.join(folder, "no"), *SHAPE, "--ranks", 3, "--costs", costs)
    t.check(process.returncode == 1 and "whole subprograms only" in process.stderr and
            "hint: measure on the device cpu" in process.stderr,
            f"sim: other cuts: {process.returncode} {process.stderr}")


def check_real(t, folder):
    plan, costs, again = (os.path.join(folder, name) for name in ("real", "real.json", "again"))
    t.compile(GPT2, plan, *SHAPE, "--ranks", 2)
    data = ("--data", "text:" + common.CORPUS)
    measured = profile(t, plan, costs, *data, "--steps", 5)
    t.check(measured["program"]["steps"] == 4 and not measured["machine"]["virtual_clock"],
            f"real: {measured['program']}")
    first = measured["subprograms"]
    # The cuts that were measured: found by module path in the summary, so that the partition is the same.
    summary = t.compile(GPT2, again, *SHAPE, "--ranks", 2, "--costs", costs)
    plain = [row["loss"] for row in t.train(plan, 4)]
    t.check(plain == [row["loss"] for row in t.train(again, 4)], "real: other losses with costs")
    simulated = simulate(t, again)
    t.check(abs(simulated["seconds"] - summary["step_seconds"]) < 1e-11,
            f"simulated: {simulated['seconds']} and {summary['step_seconds']}")
    t.check(len(simulated["waiting"]) == 2 and all(0 <= share <= 1 for share in simulated["waiting"]),
            f"simulated: {simulated['waiting']}")
    # The same again with its cuts by name (a path may name several ops: then the cut moves by some), measured: what
    # it knows of itself is used as it is.
    cuts = ",".join(stage_ends(t, again))
    t.compile(GPT2, again, *SHAPE, "--ranks", 2, "--cuts", cuts)
    profile(t, again, costs, *data, "--steps", 5)
    with open(costs) as file:
        times = {(s["stage"], s["kind"]): s["time_ps"] + (s["first_ps"] - s["time_ps"]) / 4
                 for s in json.load(file)["subprograms"]}
    summary = t.compile(GPT2, again, *SHAPE, "--ranks", 2, "--costs", costs, "--cuts", cuts)
    for s in summary["stages"]:
        for kind in "FBW":
            got = s[kind.lower() + "_seconds"]
            t.check(abs(got - times[s["stage"], kind] * 1e-12) < 2e-12,
                    f"real: stage {s['stage']} {kind}: {got} s, measured {times[s['stage'], kind]} ps")
    # Other cuts are timed by the ops of the file, and by nothing else: where every time is
    # three times as long, so is the program.
    longer = os.path.join(folder, "longer.json")
    with open(costs) as file, open(longer, "w") as out:
        json.dump(scaled(json.load(file), 3), out)
    for ranks in (1, 3, 4):
        total, three = (seconds_in_all(t, again, ranks, path) for path in (costs, longer))
        t.check(total > 0 and abs(three - 3 * total) < 1e-6 * three,
                f"real: {ranks} ranks: {total} s in all, of times three times as long {three} s")
    t.check({s["kind"] for s in first} >= {"F", "B", "W", "UPDATE"}, f"real: kinds {[s['kind'] for s in first]}")
    return costs


def scaled(it, factor):
    """The costs with every time multiplied; the unit of a member is in its name."""
    if isinstance(it, dict):
        return {name: value * factor if name.endswith("_ps") or name == "ps_per_byte" else scaled(value, factor)
                for name, value in it.items()}
    return [scaled(item, factor) for item in it] if isinstance(it, list) else it


def seconds_in_all(t, plan, ranks, costs):
    stages = t.compile(GPT2, plan, *SHAPE, "--ranks", ranks, "--costs", costs)["stages"]
    return sum(s["f_seconds"] + s["b_seconds"] + s["w_seconds"] for s in stages)


def stage_ends(t, plan):
    """Location of the last op of F of each stage but the last, from the printed plan."""
    ends, location, kind = {}, None, None
    for line in t.must("zb-run", plan, "--print-plan").splitlines():
        words = line.split()
        if words[:1] == ["subprogram"]:
            kind = words[1].rstrip(":")
        elif kind and kind.endswith("_F") and " // " in line:
            location = line.split(" // ")[1]
            ends[int(kind[1:-2])] = location
    return [ends[s] for s in sorted(ends)[:-1]]


def check_without(t, folder):
    plans = []
    for name in ("one", "two"):
        t.compile(GPT2, os.path.join(folder, name), *SHAPE, "--ranks", 2)
        with open(os.path.join(folder, name, "plan.zb"), "rb") as file:
            plans.append(file.read())
    t.check(plans[0] == plans[1], "without costs: two plans of one model differ")


def check_wrong(t, folder, good):
    with open(good) as file:
        text = file.read()
    out, path = os.path.join(folder, "wrong"), os.path.join(folder, "wrong.json")

    def refused(what, content, message, model=GPT2):
        with open(path, "w") as file:
            file.write(content)
        process = t.run("zbc", model, "-o", out, *SHAPE, "--ranks", 2, "--costs", path)
        good = process.returncode == 1 and all(text in process.stderr for text in (message, "hint: "))
        good = good and not os.path.exists(out)
        t.check(good, f"wrong: {what}: exit {process.returncode}, {process.stderr[-500:]}")

    refused("another model", text, "it was measured on 'gpt2-small.onnx', another model or other shapes", LLAMA)
    refused("cut", text[:len(text) // 2], "wrong.json:")
    refused("nothing", "", "wrong.json:1:")
    refused("another format", "{}", "expected a file of costs")
    refused("another version", text.replace('"version": 1', '"version": 7', 1), "version: expected 1, got 7")
    refused("a negative time", text.replace('"time_ps": ', '"time_ps": -', 1), "expected a whole number of 0")
    refused("an infinite time", text.replace('"time_ps": ', '"time_ps": 1e400, "x": ', 1), "real number overflow")
    process = t.run("zbc", GPT2, "-o", out, "--ranks", 2, "--costs", os.path.join(folder, "none.json"))
    t.check(process.returncode == 4 and "none.json" in process.stderr,
            f"wrong: no file: {process.returncode} {process.stderr}")
    process = t.run("zb-run", os.path.join(folder, "real"), "--data", "text:" + common.CORPUS,
                    "--steps", 2, "--profile", path)
    t.check(process.returncode == 2 and "at least 3 steps" in process.stderr,
            f"wrong: too few steps: {process.returncode} {process.stderr}")
    draw = random.Random(4)
    for _ in range(30):
        damaged = bytearray(text, "utf-8")
        for _ in range(draw.randrange(1, 5)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        with open(path, "wb") as file:
            file.write(damaged)
        process = t.run("zbc", GPT2, "-o", os.path.join(folder, "damaged"), *SHAPE, "--ranks", 2, "--costs", path)
        t.check(process.returncode in (0, 1), f"wrong: damaged: exit {process.returncode}, {process.stderr[-300:]}")


def check_calibrated(t, folder):
    path = os.path.join(folder, "calibration.json")
    t.must("zb-run", "--calibrate", path)
    with open(path) as file:
        it = json.load(file)
    t.check("program" not in it and it["rates"]["op_ps"] > 0 and len(it["products"]) >= 4 and
            it["link"]["ps_per_byte"] > 0, f"calibrated: {it}")
    sizes = [p["flops"] for p in it["products"]]
    t.check(sizes == sorted(set(sizes)) and all(p["time_ps"] > 0 for p in it["products"]),
            f"calibrated: products {it['products']}")
    summary = t.compile(GPT2, os.path.join(folder, "calibrated"), *SHAPE, "--ranks", 2, "--costs", path)
    t.check(summary["step_seconds"] > 0, f"calibrated: {summary['step_seconds']}")
    process = t.run("zb-run", os.path.join(folder, "real"), "--calibrate", path, "--steps", 3)
    t.check(process.returncode == 2, f"calibrated: with a plan: {process.returncode} {process.stderr}")


def main():
    options = common.arguments(__doc__)
    t = common.Suite(options.bin)
    with common.scratch() as folder:
        check_sim(t, folder)
        good = check_real(t, folder)
        check_without(t, folder)
        check_wrong(t, folder, good)
        check_calibrated(t, folder)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
