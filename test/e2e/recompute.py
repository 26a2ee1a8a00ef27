#!/usr/bin/env python3
"""--recompute: what the backward pass computes again changes memory and time, and no bit.

    recompute.py [--bin BUILD/bin] [--draws N] [--limits N] [--seed N]

  bits      models, ranks, schedules, placements, precisions and choices of --split drawn at random: losses, weights and
            optimizer state of all, of GLOBs and of auto are those of none; what zbc says a rank takes is its arena and
            what its jobs really touch, to the byte
  kept      on 1 to 8 ranks all keeps less from F on than PyTorch with torch.utils.checkpoint around each layer
            (recompute.json, by make_recompute.py), f32 and bf16; B and W do no more than the forward pass once more,
            and what stages keep is what they say that they receive, or a little more
  auto      models, schedules, metrics and limits drawn at random: never over the limit, with more memory never slower
            by the metric, never slower than all, than the plan without a limit or than what the limit allows without
            --recompute, and where a limit cannot be kept the error says which can, with a search, too
  errors    names that are none, auto without a limit

The seed is printed.
"""
import json
import os
import random
import re
import sys

import common

MODELS = ("gpt2-small", "llama-small", "gpt2-dropout", "bart", "roberta", "llama-padded")
LAYOUTS = ((1, "1f1b"), (2, "zb-h1"), (3, "zb-h1"), (4, "1f1b"), (4, "zb-h2"), (2, "zb-v"), (3, "zb"),
           (2, "fthenb", "--placement", "wave", "--chunks", 2))
GLOBS = ("matmul", "add", "*.0", "*.0,add", "*.1,*.0,matmul", "*n*", "*")
# Ranks that are always tried, and how many more are drawn.
KEPT = {"gpt2": ((7, 8), 1), "gpt2-small": ((8,), 1), "llama-small": ((7,), 1), "roberta": (range(1, 9), 0),
        "bart": (range(1, 9), 0)}
AUTO = (("zb-h1",), ("1f1b",), ("zb-h2",), ("zb-v", "--placement", "v", "--chunks", 2), ("eager-1f1b",),
        ("interleaved-1f1b", "--chunks", 2))


def data(name):
    return os.path.join(common.DATA, name + ".onnx")


def compiled(suite, model, out, *arguments):
    """The summary of a compile; the text of the error where no plan keeps the limit."""
    done = suite.run("zbc", model, "-o", out, "--json", *arguments)
    if done.returncode == 3:
        return done.stderr
    if not suite.check(done.returncode == 0, f"compile {model} {arguments}: {done.stderr}"):
        raise common.Failure("no plan")
    return json.loads(done.stdout)


def trained(suite, plan, summary, name):
    state = plan + "-state"
    rows = suite.train(plan, 2, "--memory", "--save", state)
    used = rows.pop()["memory"]
    suite.check([r["arena"] for r in used] == [r["high_water"] for r in used] == summary["memory"],
                f"{name}: zbc says {summary['memory']} bytes, zb-run takes {used}")
    return [row["loss"] for row in rows], common.read_checkpoint(state)


def check_bits(suite, folder, draw, draws):
    for _ in range(draws):
        name, (ranks, schedule, *more) = draw.choice(MODELS), draw.choice(LAYOUTS)
        base = ["--ranks", ranks, "--micro-batches", draw.choice((3, 4)), "--schedule", schedule, *more, "--precision",
                draw.choice(("f32", "bf16")), *draw.choice(((), ("--no-raise",), ("--clip-norm", 0.5)))]
        none = compiled(suite, data(name), folder + "/none", *base)
        wanted = trained(suite, folder + "/none", none, name)
        for recompute in ("all", draw.choice(GLOBS)):
            options = ["--recompute", recompute, "--split", draw.choice(("all", "products", "none", "auto"))]
            text = f"{name} {' '.join(map(str, base + options))}"
            again = compiled(suite, data(name), folder + "/again", *base, *options)
            found = trained(suite, folder + "/again", again, text)
            suite.check(found == wanted, f"{text}: losses, weights or optimizer state differ from those of none")
            # Of sums nothing may be: on one rank their gradients need no operand of theirs.
            suite.check(recompute == "add" or sum(s["recomputed"] for s in again["stages"]) > 0,
                        f"{text}: nothing is computed again")
    print(f"bits: {draws} models and schedules", flush=True)


def reference():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "recompute.json"), encoding="utf-8") as file:
        return json.load(file)


def kept(summary):
    return sum(s["fb_bytes"] + s["fw_bytes"] for s in summary["stages"])


def check_kept(suite, folder, draw):
    def check(model, name, limit, ranks, *more):
        base = ["--ranks", ranks, "--micro-batches", 4, "--split", "all", *more, "--recompute"]
        again = compiled(suite, model, folder + "/kept", *base, "all")
        suite.check(kept(again) <= limit, f"{name} {more} on {ranks}: all keeps {kept(again)} bytes from F on, "
                    f"torch.utils.checkpoint {limit}")
        return again, base

    for name, saved in reference()["saved_bytes"].items():
        for precision, limit in saved.items():
            always, drawn = KEPT[name]
            for ranks in (*always, *draw.sample(range(1, 9), drawn)):
                again, base = check(data(name), name, limit, ranks, "--precision", precision)
            none = compiled(suite, data(name), folder + "/kept", *base, "none")
            times = [sum(s[k + "_seconds"] for s in summary["stages"] for k in "fbw") for summary in (none, again)]
            forward = sum(s["f_seconds"] for s in none["stages"])
            suite.check(times[1] <= times[0] + 1.05 * forward, f"{name} {precision} on {ranks}: F, B and W take "
                        f"{times[1]} s, without recompute {times[0]}, F {forward}")
            print(f"kept: {name} {precision}, {ranks} ranks: {kept(none):,} bytes from F on, with all {kept(again):,}, "
                  f"PyTorch with a checkpoint around each layer {limit:,}", flush=True)
    for layers, rows, width, limit in reference()["chains"]:
        write_model(folder + "/chain.mlir", layers, rows, width)
        for ranks in range(1, min(8, layers) + 1):
            check(folder + "/chain.mlir", f"{layers} layers of {rows} x {width}", limit, ranks)


def write_model(path, layers, rows, width):
    """Layers x + gelu(x up) down."""
    narrow, wide = f"tensor<{rows}x{width}xf32>", f"tensor<{rows}x{4 * width}xf32>"
    up, down = f"tensor<{width}x{4 * width}xf32>", f"tensor<{4 * width}x{width}xf32>"
    arguments, ops, value = [f'%x: {narrow} {{zb.input = "x"}}'], [], "%x"
    for i in range(layers):
        arguments += [f'%a{i}: {up} {{zb.param = "h.{i}.up"}}', f'%b{i}: {down} {{zb.param = "h.{i}.down"}}']
        ops += [f'%u{i} = "zb.matmul"({value}, %a{i}) : ({narrow}, {up}) -> {wide}',
                f'%g{i} = "zb.gelu"(%u{i}) : ({wide}) -> {wide}',
                f'%d{i} = "zb.matmul"(%g{i}, %b{i}) : ({wide}, {down}) -> {narrow}',
                f'%r{i} = "zb.add"({value}, %d{i}) : ({narrow}, {narrow}) -> {narrow}']
        value = f"%r{i}"
    ops.append(f'%l = "zb.reduce_mean"({value}) {{axes = array<i64: 0, 1>}} : ({narrow}) -> tensor<f32>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("func.func @model(%s) -> (tensor<f32> {zb.loss}) {\n%s\nreturn %%l : tensor<f32>\n}\n" %
                   (", ".join(arguments), "\n".join(ops)))


def step(summary, metric):
    return summary["period"]["seconds"] if metric == "period" else summary["step_seconds"]


def check_auto(suite, folder, draw, limits, models):
    model, plan = folder + "/model.mlir", folder + "/auto"
    for number in range(models):
        (schedule, *layout), ranks = draw.choice(AUTO), draw.randint(1, 4)
        split, metric = ("auto", "products", "all")[number % 3], ("barrier", "period")[number % 2]
        write_model(model, draw.randint(2 * ranks, 4 * ranks), draw.choice((64, 96, 256)), draw.choice((16, 48)))
        base = ["--ranks", ranks, "--micro-batches", draw.randint(max(2, ranks), 8), "--schedule", schedule, *layout,
                "--precision", draw.choice(("f32", "bf16")), "--metric", metric, "--split"]
        none = compiled(suite, model, plan, *base, "all" if split == "auto" else split)
        base.append(split)
        without = [*base, "--memory-limit"]
        everything = compiled(suite, model, plan, *base, "--recompute", "all")
        base += ["--recompute", "auto", "--memory-limit"]
        refused = compiled(suite, model, plan, *base, 1000)
        suite.check(isinstance(refused, str) and "needs" in refused, f"{base}: 1,000 bytes are enough?")
        least, most = int(re.search(r"hint: (\d+) bytes are enough", refused).group(1)), max(none["memory"])
        all_of_it = max(everything["memory"])
        suite.check(least <= min(all_of_it, most), f"{base}: auto needs {least}, all {all_of_it}, none {most}")
        before, rows = float("inf"), []
        for limit in sorted([least, all_of_it, most, *(draw.randint(least, most) for _ in range(limits))]):
            auto = compiled(suite, model, plan, *base, limit)
            if not suite.check(not isinstance(auto, str), f"{base} within {limit}: {auto}"):
                continue
            time, memory = step(auto, metric), max(auto["memory"])
            suite.check(memory <= limit, f"{base}: auto takes {memory} within {limit}")
            suite.check(time <= before, f"{base}: {time} s within {limit}, {before} s within less")
            if limit >= all_of_it:
                suite.check(time <= step(everything, metric), f"{base}: {time} s within {limit}, all less")
            plain = compiled(suite, model, plan, *without, limit)
            suite.check(isinstance(plain, str) or time <= step(plain, metric),
                        f"{base}: {time} s within {limit}, less without --recompute")
            before = min(before, time)
            rows.append((limit, time))
        suite.check(rows[-1][1] <= step(none, metric), f"{base}: {rows[-1][1]} s with the memory of none")
        print(f"auto: {schedule} on {ranks} ranks, --split {split}, {metric}: {least:,} to {most:,} bytes, "
              f"{1e3 * rows[0][1]:.4f} to {1e3 * rows[-1][1]:.4f} ms", flush=True)


SKIPS = (("tanh", "x"), ("add", 0, 0), ("tanh", 1), ("matmul", 2), ("gelu", 3), ("matmul", 4), ("add", 5, 2),
         ("gelu", 6), ("matmul", 7), ("add", 8, 4), ("tanh", 9), ("matmul", 10), ("gelu", 11), ("gelu", 12))


def check_plain(suite, folder):
    """A schedule that keeps a limit itself: what needs no recompute is no slower with auto than without."""
    value, weight = "tensor<128x16xf32>", "tensor<16x16xf32>"
    arguments, ops, place = [f'%x: {value} {{zb.input = "x"}}'], [], lambda v: "%x" if v == "x" else f"%v{v}"
    for number, (op, *operands) in enumerate(SKIPS):
        names, types = [place(operand) for operand in operands], [value] * len(operands)
        if op == "matmul":
            arguments.append(f'%w{number}: {weight} {{zb.param = "w{number}"}}')
            names, types = names + [f"%w{number}"], types + [weight]
        ops.append(f'%v{number} = "zb.{op}"({", ".join(names)}) : ({", ".join(types)}) -> {value} loc("op.{number}")')
    ops.append(f'%l = "zb.reduce_mean"(%v{len(SKIPS) - 1}) {{axes = array<i64: 0, 1>}} : ({value}) -> tensor<f32>')
    model = folder + "/skips.mlir"
    with open(model, "w", encoding="utf-8") as file:
        file.write("func.func @model(%s) -> (tensor<f32> {zb.loss}) {\n%s\nreturn %%l : tensor<f32>\n}\n" %
                   (", ".join(arguments), "\n".join(ops)))
    base = ["--ranks", 3, "--micro-batches", 2, "--schedule", "zb", "--precision", "bf16"]
    none = compiled(suite, model, folder + "/plain", *base)
    for more in (0, 1, 1400):
        limit = max(none["memory"]) + more
        auto = compiled(suite, model, folder + "/plain", *base, "--recompute", "auto", "--memory-limit", limit)
        suite.check(auto["step_seconds"] <= none["step_seconds"] and max(auto["memory"]) <= limit,
                    f"zb within {limit}: auto takes {auto['step_seconds']} s, none {none['step_seconds']}")


def check_above(suite, folder):
    """A schedule that keeps a limit itself, where the plan of what promises most is above it, and others are not."""
    base = ["--ranks", 2, "--micro-batches", 2, "--schedule", "zb", "--precision", "bf16", "--recompute", "auto",
            "--memory-limit"]
    less, more = (compiled(suite, data("depth"), folder + "/above", *base, limit) for limit in (1225000, 1245436))
    suite.check(more["step_seconds"] <= less["step_seconds"],
                f"zb: {more['step_seconds']} s within 1,245,436 bytes, {less['step_seconds']} s within 1,225,000")


def check_enough(suite, folder):
    """A schedule that keeps a limit itself: what the error says to be enough is."""
    base = ["--ranks", 5, "--micro-batches", 3, "--schedule", "search:budget=20", "--recompute", "auto",
            "--memory-limit"]
    refused = compiled(suite, data("roberta"), folder + "/enough", *base, 1000)
    named = re.search(r"hint: (\d+) bytes are enough", refused) if isinstance(refused, str) else None
    if suite.check(named, f"search within 1,000 bytes: {refused}"):
        found = compiled(suite, data("roberta"), folder + "/enough", *base, named.group(1))
        suite.check(not isinstance(found, str), f"search within {named.group(1)} bytes, said to be enough: {found}")


def check_errors(suite, folder):
    for words, texts in (
            (("--recompute", "lm.transfomer.h.0"),
             ("--recompute: 'lm.transfomer.h.0' names no op", "did you mean 'lm.transformer.h.0'?", "hint:")),
            (("--recompute", "gelu,*.atn"), ("--recompute: '*.atn' names no op", "did you mean 'attn'?")),
            (("--recompute", "atuo"), ("names no op", "did you mean 'auto'?")),
            (("--recompute", ""), ("--recompute",)),
            (("--recompute", "gelu,"), ("--recompute: a name is missing in 'gelu,'",)),
            (("--recompute", "auto"), ("--recompute: auto", "there is none", "hint: give a memory limit")),
            (("--recompute", "all", "--pass-pipeline", "builtin.module()"), ("--recompute has no effect",))):
        done = suite.run("zbc", data("gpt2-small"), "-o", folder + "/wrong", *words)
        suite.check(done.returncode == 2 and all(text in done.stderr for text in texts) and
                    not os.path.exists(folder + "/wrong"), f"{words}: {done.returncode} {done.stderr}")


def main():
    options = common.arguments(__doc__, ("--draws", dict(type=int, default=6)), ("--limits", dict(type=int, default=2)),
                               ("--models", dict(type=int, default=4)), ("--seed", dict(type=int)))
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    suite, draw = common.Suite(options.bin), random.Random(seed)
    with common.scratch() as folder:
        check_errors(suite, folder)
        check_plain(suite, folder)
        check_above(suite, folder)
        check_enough(suite, folder)
        check_kept(suite, folder, draw)
        check_bits(suite, folder, draw, options.draws)
        check_auto(suite, folder, draw, options.limits, options.models)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
