#!/usr/bin/env python3
"""--recompute: what the backward pass computes again changes memory and time, and no bit.

    recompute.py [--bin BUILD/bin] [--draws N] [--limits N] [--seed N]

  bits      models, ranks, schedules, placements, precisions and choices of --split drawn at random: losses, weights and
            optimizer state of all, of GLOBs and of auto are those of none; what zbc says a rank takes is its arena and
            what its jobs really touch, to the byte
  kept      all keeps less from F on than PyTorch with torch.utils.checkpoint around each layer (recompute.json, by
            make_recompute.py), f32 and bf16; and B and W do no more than the forward pass once more
  auto      under limits drawn at random: never over the limit, with more memory never slower, never slower than none,
            and where a limit cannot be kept the error says which can
  errors    names that are none, auto without a limit
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
KEPT = {"gpt2": (1, 2, 4), "gpt2-small": (1, 2, 4), "llama-small": (1, 2, 4), "roberta": (1, 2), "bart": (1, 2)}
# A step may be longer with more memory by what two choices of --split auto differ by.
NEVER = 1 + 1e-3


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
            suite.check(sum(s["recomputed"] for s in again["stages"]) > 0, f"{text}: nothing is computed again")
    print(f"bits: {draws} models and schedules, seed says which", flush=True)


def check_kept(suite, folder):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "recompute.json"), encoding="utf-8") as file:
        saved = json.load(file)["saved_bytes"]
    for name, all_ranks in KEPT.items():
        for precision, limit in saved[name].items():
            for ranks in all_ranks:
                base = ["--ranks", ranks, "--micro-batches", 4, "--precision", precision, "--split", "all"]
                none, again = (compiled(suite, data(name), folder + "/kept", *base, "--recompute", recompute)
                               for recompute in ("none", "all"))
                kept = [sum(s["fb_bytes"] + s["fw_bytes"] for s in summary["stages"]) for summary in (none, again)]
                suite.check(kept[1] <= limit, f"{name} {precision} on {ranks}: all keeps {kept[1]} bytes from F on, "
                            f"torch.utils.checkpoint {limit}")
                times = [sum(s[k + "_seconds"] for s in summary["stages"] for k in "fbw") for summary in (none, again)]
                forward = sum(s["f_seconds"] for s in none["stages"])
                suite.check(times[1] <= times[0] + 1.05 * forward, f"{name} {precision} on {ranks}: F, B and W take "
                            f"{times[1]} s, without recompute {times[0]}, F {forward}")
            print(f"kept: {name} {precision}: {kept[0]:,} bytes from F on, with all {kept[1]:,}, PyTorch with a "
                  f"checkpoint around each layer {limit:,}", flush=True)


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


def check_auto(suite, folder, draw, limits):
    model, plan = folder + "/model.mlir", folder + "/auto"
    for schedule, ranks, split in (("zb-h1", 3, "auto"), ("1f1b", 2, "auto"), ("zb-v", 2, "all"),
                                   ("zb-h1", 4, "products")):
        write_model(model, draw.randint(ranks, 3 * ranks), draw.choice((64, 96, 256)), draw.choice((16, 48)))
        base = ["--ranks", ranks, "--micro-batches", draw.randint(ranks, 8), "--schedule", schedule, "--split", split]
        none = compiled(suite, model, plan, *base[:-1], "all" if split == "auto" else split)
        refused = compiled(suite, model, plan, *base, "--memory-limit", 1000, "--recompute", "auto")
        suite.check(isinstance(refused, str) and "needs" in refused, f"{base}: 1,000 bytes are enough?")
        least, most = int(re.search(r"give at least (\d+) bytes", refused).group(1)), max(none["memory"])
        suite.check(least < most, f"{base}: all needs {least}, none {most}")
        before, rows = float("inf"), []
        for limit in sorted([least, most, *(draw.randint(least, most) for _ in range(limits))]):
            auto = compiled(suite, model, plan, *base, "--memory-limit", limit, "--recompute", "auto")
            if not suite.check(not isinstance(auto, str), f"{base} within {limit}: {auto}"):
                continue
            plain = compiled(suite, model, folder + "/plain", *base, "--memory-limit", limit)
            step, memory = auto["step_seconds"], max(auto["memory"])
            suite.check(memory <= limit, f"{base}: auto takes {memory} within {limit}")
            suite.check(step <= before * NEVER, f"{base}: {step} s within {limit}, {before} s within less")
            suite.check(isinstance(plain, str) or step <= plain["step_seconds"] * NEVER,
                        f"{base} within {limit}: auto takes {step} s, none less")
            before = min(before, step)
            rows.append((limit, step))
        suite.check(rows[-1][1] <= none["step_seconds"] * NEVER, f"{base}: {rows[-1][1]} s with the memory of none")
        print(f"auto: {schedule} on {ranks} ranks, --split {split}: {least:,} to {most:,} bytes, "
              f"{1e3 * rows[0][1]:.4f} to {1e3 * rows[-1][1]:.4f} ms", flush=True)


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
                               ("--seed", dict(type=int, default=14)))
    suite, draw = common.Suite(options.bin), random.Random(options.seed)
    with common.scratch() as folder:
        check_errors(suite, folder)
        check_kept(suite, folder)
        check_bits(suite, folder, draw, options.draws)
        check_auto(suite, folder, draw, options.limits)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
