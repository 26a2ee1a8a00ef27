#!/usr/bin/env python3
"""StableHLO text of JAX: losses and whole train steps against JAX's losses.

    stablehlo.py [--bin BUILD/bin] [--tool BUILD/test/feed] [--all]

Own files (test/ir/import/stablehlo/Inputs, made by make_files.py there): every optimizer that is told from a step, in
the printed form, the generic one, with locations, with donation; a lax.scan over layers; a logistic regression that
begins at 0; and steps that must be refused. Then the graphs of ../shared/graphs/stablehlo, where that folder is: GPT
and MLP, in all five forms, 10 losses within 1e-5 of JAX's; over ranks and schedules the same bits. A loss that is
trained with the optimizer of the step gives the losses of the step. Without --all each form of the shared graphs is
trained on one of five layouts, another
one each. Ends with "N passed, N failed".
"""
import json
import os
import re
import subprocess
import sys

import common

OWN = os.path.join(common.SOURCE, "test", "ir", "import", "stablehlo", "Inputs")
SHARED = os.path.join(common.SOURCE, "..", "shared", "graphs", "stablehlo")
FORMS = ["", ".generic", ".generic.loc", ".export.generic", ".inlined.generic"]
TOLERANCE = 1e-5
LAYOUTS = [(1, "1f1b"), (2, "zb-h1"), (2, "fthenb"), (4, "zb-h1"), (4, "1f1b")]


class StableHlo:
    def __init__(self, suite, tool, folder):
        self.suite, self.tool, self.folder = suite, tool, folder

    def losses(self, plan, data, steps, names=()):
        process = subprocess.run([self.tool, plan, data, str(steps), *names], capture_output=True, text=True,
                                 timeout=common.patience(600), check=False)
        if process.returncode:
            raise common.Failure(f"feed {plan}: {process.stderr}")
        return process.stdout.split()

    def train(self, name, model, weights, data, steps, *arguments):
        """The losses as text, and the first line of the program: with the optimizer of a step."""
        plan, dump = os.path.join(self.folder, name), os.path.join(self.folder, name + "-ir")
        self.suite.compile(model, plan, "--weights", weights, "--dump-ir", dump, *arguments)
        with open(os.path.join(dump, "00_zb-canonicalize.mlir")) as file:
            text = file.read()
        inputs = re.findall(r'zb.input = "([^"]*)"', text)
        names = [f"{given}={wanted}" for given, wanted in zip(inputs, "xy")]
        return self.losses(plan, data, steps, names), text.split("\n", 1)[0]

    def compare(self, what, wanted, got):
        worst = max((abs(float(a) - float(b)) for a, b in zip(got, wanted)), default=float("inf"))
        good = len(got) == len(wanted) and worst <= TOLERANCE
        self.suite.check(good, f"{what}: {len(got)} losses, at most {worst:g} from JAX's")
        return worst

    def own(self):
        with open(os.path.join(OWN, "losses.json")) as file:
            known = json.load(file)
        worst = 0
        for name, step in known["steps"].items():
            files = [os.path.join(OWN, step["of"] + kind) for kind in (".params.safetensors", ".data.safetensors")]
            model = os.path.join(OWN, name + ".mlir")
            got, head = self.train(name, model, *files, len(step["losses"]), "--ranks", 2)
            worst = max(worst, self.compare(name, step["losses"], got))
            kind = {"scan": "adamw", "alone_adam": "adam"}.get(name, name)
            kind = kind if kind in ("adam", "adamw", "lion") else "sgd"
            self.suite.check(f'zb.optimizer = "{kind}:' in head, f"{name}: its optimizer is in {head}")
            self.suite.check("zb.uncompared" not in head, f"{name}: its gradients were compared")
        print(f"own steps: {len(known['steps'])}, at most {worst:.2g} from JAX's losses")
        for name, why in known["refused"].items():
            process = self.suite.run("zbc", os.path.join(OWN, name + ".mlir"), "-o", os.path.join(self.folder, "none"))
            self.suite.check(process.returncode == 1 and why in process.stderr, f"{name} is refused: {process.stderr}")
            named = self.suite.run("zbc", os.path.join(OWN, name + ".mlir"), "-o", os.path.join(self.folder, name),
                                   "--optimizer", "sgd")
            self.suite.check(named.returncode == 0, f"{name} with --optimizer: {named.stderr}")

    def form(self, graph, form, ranks, schedule, *arguments):
        with open(os.path.join(SHARED, graph + ".io.json")) as file:
            roles = json.load(file)
        with open(os.path.join(SHARED, graph + ".reference.json")) as file:
            wanted = json.load(file)["losses"]
        files = [os.path.join(SHARED, roles[key]) for key in ("params_file", "data_file")]
        roles = () if form.endswith(".loc") or (graph != "gpt_loss" and form == ".generic") else (
            "--roles", os.path.join(SHARED, graph + ".io.json"))
        got, _ = self.train(f"{graph}{form}-{ranks}-{schedule}", os.path.join(SHARED, graph + form + ".mlir"), *files,
                            len(wanted), "--ranks", ranks, "--schedule", schedule, *roles, *arguments)
        return wanted, got

    def shared(self, everything):
        for graph in ("mlp_train_step", "gpt_train_step", "gpt_loss"):
            still = ("--optimizer", "sgd:lr=0") if graph == "gpt_loss" else ()
            worst, first = 0, None
            for number, form in enumerate(FORMS):
                layouts = LAYOUTS if everything else [LAYOUTS[number]]
                for ranks, schedule in layouts:
                    wanted, got = self.form(graph, form, ranks, schedule, *still)
                    worst = max(worst, self.compare(f"{graph}{form} on {ranks} ranks, {schedule}", wanted, got))
                    first = first or got
                    self.suite.check(got == first, f"{graph}{form} on {ranks} ranks, {schedule}: other bits")
            print(f"{graph}: {len(FORMS)} forms, at most {worst:.2g} from JAX's losses")
        trained = ("--optimizer", "adamw:lr=1e-3,beta2=0.999,weight_decay=0.01", "--group", "*:weight_decay=0.01")
        wanted, _ = self.form("gpt_train_step", "", 2, "zb-h1")
        _, got = self.form("gpt_loss", ".generic.loc", 2, "zb-h1", *trained)
        self.compare("the loss, trained as the step trains it", wanted, got)


def main():
    options = common.arguments(__doc__, ("--tool", {"default": None}), ("--all", {"action": "store_true"}))
    suite = common.Suite(options.bin)
    tool = options.tool or os.path.join(os.path.dirname(options.bin), "test", "feed")
    with common.scratch() as folder:
        tests = StableHlo(suite, tool, folder)
        tests.own()
        if os.path.isdir(SHARED):
            tests.shared(options.all)
        else:
            print("shared graphs: left out, there is no ../shared/graphs/stablehlo beside the clone")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
