#!/usr/bin/env python3
"""Programs of Paddle: whole train steps and losses, as ProgramDesc and as PIR JSON, against Paddle's losses.

    paddle.py [--bin BUILD/bin] [--tool BUILD/test/feed]

Own files (test/ir/import/paddle/Inputs, made by make_files.py there with Paddle 2.6.2 and 3.3.1): optimizers, a zoo of
ops, a Llama, a stopped gradient; what must be refused; parameters in Paddle's own form (.pdiparams); ops in other
orders; and a third of all ways to give a gradient op of these programs another operand or attribute, which must be
refused. Then the graphs of ../shared/graphs/paddle, where that folder is: the GPT in both formats on 1, 2 and 4 ranks
and several schedules, 10 losses within 1e-5 of Paddle's, the same bits for all of them; and where B and
W went, next to the file's op_role, to Paddle's own split, and to the stages (op_device) of the program of two. Ends
with "N passed, N failed".
"""
import collections
import copy
import glob
import json
import os
import random
import re
import struct
import subprocess
import sys

import common

OWN = os.path.join(common.SOURCE, "test", "ir", "import", "paddle", "Inputs")
SHARED = os.path.join(common.SOURCE, "..", "shared", "graphs", "paddle")
TOLERANCE = 1e-5
LAYOUTS = [(1, "1f1b"), (2, "zb-h1"), (4, "zb-h1"), (4, "1f1b"), (4, "gpipe")]


# ---- ProgramDesc, read a second time ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message: number -> values, bytes or integers."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            length, at = varint(data, at) if tag & 7 == 2 else (8 if tag & 7 == 1 else 4, at)
            value, at = data[at:at + length], at + length
        found[tag >> 3].append(value)
    return found


def read_program(path):
    """(names of parameters, ops as (type, {slot: names} of outputs, {attribute: fields}))"""
    with open(path, "rb") as file:
        block = fields(fields(file.read())[1][0])
    parameters = {fields(v)[1][0].decode() for v in block[3] if fields(v)[5] == [1]}
    ops = []
    for op in map(fields, block[4]):
        slots = [fields(s) for s in op[2]]
        outputs = {s[1][0].decode(): [a.decode() for a in s[2]] for s in slots}
        ops.append((op[3][0].decode(), outputs, {fields(a)[1][0].decode(): fields(a) for a in op[4]}))
    return parameters, ops


# ---- Paddle's own split ----

def paddles_split(kind, outputs, attributes, parameters):
    """Where Paddle's zero-bubble passes put a backward op: the product in two where its factors are not transposed, all
    else as a whole: W if each output is named after a parameter, cut at the first "@"."""
    names = [name for slot in outputs.values() for name in slot if name]
    of_parameter = [name.split("@")[0] in parameters for name in names]
    if kind == "matmul_v2_grad" and not any(attributes[a][10] == [1] for a in ("trans_x", "trans_y")):
        return "B+W" if any(of_parameter) else "B"
    return "W" if names and all(of_parameter) else "B"


class Paddle:
    def __init__(self, suite, tool, folder):
        self.suite, self.tool, self.folder = suite, tool, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def losses(self, plan, data, steps):
        process = subprocess.run([self.tool, plan, data, str(steps)], capture_output=True, text=True,
                                 timeout=common.patience(600),
                                 check=False)
        if process.returncode:
            raise common.Failure(f"feed {plan}: {process.stderr}")
        return process.stdout.split()

    def train(self, model, weights, data, steps, *arguments):
        plan = self.path("plan")
        given = ("--weights", weights) if weights else ()
        summary = self.suite.compile(model, plan, *given, *arguments)
        return self.losses(plan, data, steps), summary

    def compare(self, what, wanted, got):
        worst = max((abs(float(a) - float(b)) for a, b in zip(got, wanted)), default=float("inf"))
        good = len(got) == len(wanted) and worst <= TOLERANCE
        self.suite.check(good, f"{what}: {len(got)} losses, at most {worst:g} from Paddle's")
        return worst

    # ---- Own files ----

    def own(self):
        with open(os.path.join(OWN, "losses.json")) as file:
            steps = json.load(file)["steps"]
        worst, bits = 0, {}
        for name, step in steps.items():
            files = [os.path.join(OWN, step["of"] + kind) for kind in (".params.safetensors", ".data.safetensors")]
            still = ("--optimizer", "sgd:lr=0") if name.startswith("loss.") else ()
            got, _ = self.train(os.path.join(OWN, name), *files, len(step["losses"]), "--ranks", 2, *still)
            worst = max(worst, self.compare(name, step["losses"], got))
            first = bits.setdefault(name.split(".")[0], got)
            self.suite.check(got == first, f"{name}: the formats have other bits")
        print(f"own programs: {len(steps)}, at most {worst:.2g} from Paddle's losses")

    def refused(self):
        for name, why in (("clipped", "a parameter is updated with what it makes of gradients"),
                          ("lamb", "this optimizer is not supported"), ("einsum", "gradients of 'einsum' are not")):
            for ending in (".main.json", ".main.pb"):
                process = self.suite.run("zbc", os.path.join(OWN, name + ending), "-o", self.path("none"))
                good = process.returncode == 1 and why in process.stderr and " (op " in process.stderr
                self.suite.check(good, f"{name}{ending} is refused: {process.stderr}")
        named = self.suite.run("zbc", os.path.join(OWN, "lamb.main.pb"), "-o", self.path("named"), "--optimizer", "sgd")
        self.suite.check(named.returncode == 0, f"lamb with --optimizer: {named.stderr}")

    def own_parameters(self):
        """Parameters in Paddle's own form, beside the program, have the bits of the same ones in safetensors."""
        tensors, _ = common.read_safetensors(os.path.join(OWN, "mlp.params.safetensors"))
        model, data = self.path("own.pdmodel"), os.path.join(OWN, "mlp.data.safetensors")
        with open(os.path.join(OWN, "loss.main.pb"), "rb") as file, open(model, "wb") as out:
            out.write(file.read())
        content = b""
        for name in sorted(tensors):
            _, shape, values = tensors[name]
            description = b"\x08\x05" + b"".join(b"\x10" + bytes([d]) for d in shape)
            content += struct.pack("<IQIi", 0, 0, 0, len(description)) + description + values
        with open(self.path("own.pdiparams"), "wb") as out:
            out.write(content)
        rate = ("--ranks", 2, "--optimizer", "sgd:lr=0.5")
        wanted, _ = self.train(os.path.join(OWN, "loss.main.pb"), os.path.join(OWN, "mlp.params.safetensors"), data, 4,
                               *rate)
        got, _ = self.train(model, None, data, 4, *rate)
        self.suite.check(got == wanted, f".pdiparams: {got}, expected {wanted}")
        for cut in (0, 7, len(content) // 2, len(content) - 1):
            with open(self.path("own.pdiparams"), "wb") as out:
                out.write(content[:cut])
            process = self.suite.run("zbc", model, "-o", self.path("none"), *map(str, rate))
            self.suite.check(process.returncode == 1 and "own.pdiparams' is damaged" in process.stderr,
                             f".pdiparams of {cut} bytes: {process.stderr}")
        print("parameters in Paddle's own form: read, and damaged ones refused")

    # ---- Programs that were changed ----

    def write(self, program, name="changed.main.json"):
        with open(self.path(name), "w") as file:
            json.dump(program, file)
        return self.path(name)

    def orders(self):
        """Ops in any order in which each stands behind what it reads: the same losses."""
        random.seed(5)
        for name, of in (("llama", "llama"), ("momentum", "mlp"), ("adamw", "mlp")):
            with open(os.path.join(OWN, name + ".main.json")) as file:
                program = json.load(file)
            with open(os.path.join(OWN, "losses.json")) as file:
                wanted = json.load(file)["steps"][name + ".main.json"]["losses"]
            left, done, ops = program["program"]["regions"][0]["blocks"][0]["ops"], {0}, []
            updates = [op for op in left if op["#"] in ("1.sgd_", "1.momentum_", "1.adamw_")]
            left = [op for op in left if op not in updates]
            while left:
                ready = [op for op in left if all(v["%"] in done for v in op.get("I", []))]
                op = random.choice(ready)
                left.remove(op)
                ops.append(op)
                results = op["O"] if isinstance(op["O"], list) else [op["O"]]
                done |= {v["%"] for v in results}
            random.shuffle(updates)
            program["program"]["regions"][0]["blocks"][0]["ops"] = ops + updates
            files = [os.path.join(OWN, of + kind) for kind in (".params.safetensors", ".data.safetensors")]
            got, _ = self.train(self.write(program), *files, len(wanted), "--ranks", 2, "--startup",
                                os.path.join(OWN, name + ".startup.json"))
            self.compare(f"{name} in another order", wanted, got)
        print("programs in other orders: 3")

    def changed_op(self, program, op, types):
        """Changed programs, each with a word for what was changed."""
        kinds = {"0.a_bool": lambda d: not d, "0.a_i32": lambda d: d + 1, "0.a_f32": lambda d: d + 0.25}
        ignored = ("use_", "numeric_stable_mode", "ignore_index", "keepdim", "reduce_all", "is_test")
        for place, operand in enumerate(op["I"]):
            for other in sorted(types):
                alike = types[other][0] == types.get(operand["%"], " ")[0]
                if other != operand["%"] and operand["%"] and alike and types[other] != types[operand["%"]]:
                    kept, operand["%"] = operand["%"], other
                    yield f"operand {place}", copy.deepcopy(program)
                    operand["%"] = kept
                    break
        for attribute in op["A"]:
            change = kinds.get(attribute["AT"]["#"])
            if change and not attribute["N"].startswith(ignored):
                kept, attribute["AT"]["D"] = attribute["AT"]["D"], change(attribute["AT"]["D"])
                yield f"attribute {attribute['N']}", copy.deepcopy(program)
                attribute["AT"]["D"] = kept

    def tampered(self):
        """A step whose gradients are no longer those of its loss is refused, wherever it was changed."""
        count = 0
        for name in ("sgd", "llama"):
            with open(os.path.join(OWN, name + ".main.json")) as file:
                program = json.load(file)
            ops = program["program"]["regions"][0]["blocks"][0]["ops"]
            types = {}
            for op in ops:
                results = op["O"] if isinstance(op["O"], list) else [op["O"]]
                if op["#"].endswith("_grad") or op["#"] == "0.combine":
                    for changed, copied in self.changed_op(program, op, types):
                        count += 1
                        if count % 3:
                            continue
                        process = self.suite.run("zbc", self.write(copied), "-o", self.path("none"), "--startup",
                                                 os.path.join(OWN, name + ".startup.json"))
                        self.suite.check(process.returncode == 1 and "error: " in process.stderr,
                                         f"{name}: {op['#']} with another {changed} is imported")
                # Two constants of one value are the same.
                own = op["A"] if not op.get("I") and op["#"] != "p" and op["A"] else results[0]["%"] if results else 0
                types.update({v["%"]: (v["TT"], own, k) for k, v in enumerate(results)})
        print(f"steps with a changed gradient op: {count // 3}")
        self.suite.check(count > 240, f"{count // 3} changed steps")

    # ---- The shared graphs ----

    def shared(self):
        weights, data = (os.path.join(SHARED, f"gpt.{kind}.safetensors") for kind in ("params", "data"))
        first = None
        for form, model in (("program_desc", "gpt.main.program_desc.pb"), ("pir", "gpt.main.pir.json")):
            with open(os.path.join(SHARED, f"gpt.{form}.reference.json")) as file:
                wanted = json.load(file)["losses"]
            worst = 0
            for ranks, schedule in LAYOUTS:
                got, _ = self.train(os.path.join(SHARED, model), weights, data, len(wanted), "--ranks", ranks,
                                    "--schedule", schedule)
                worst = max(worst, self.compare(f"{model} on {ranks} ranks, {schedule}", wanted, got))
                first = first or got
                self.suite.check(got == first, f"{model} on {ranks} ranks, {schedule}: other bits")
            print(f"{model}: {len(LAYOUTS)} layouts, {len(wanted)} losses, at most {worst:.2g} from Paddle's")

    def classes(self, model, *arguments):
        """Where zbc put each gradient op of the file: number -> (kind, op_role, classes, stages), and the forward ops:
        number -> (op_role, stage)."""
        dump = self.path("ir")
        for file in glob.glob(os.path.join(dump, "*")):
            os.remove(file)
        self.suite.compile(model, self.path("plan"), "--no-raise", "--dump-ir", dump, *arguments)
        with open(glob.glob(os.path.join(dump, "*_zb-classify.mlir"))[0]) as file:
            lines = file.readlines()
        pairs, forward, backward = {}, {}, {}
        for line in lines:
            origin, number = re.search(r'zb.origin = "([^"]*)"', line), re.search(r"zb.id = (\d+)", line)
            stage = re.search(r"zb.stage = (\d+)", line)
            if not origin or not number:
                continue
            parts = re.findall(r"(\S+) #(\d+) op_role (-?\d+)", origin.group(1))
            forward[int(parts[0][1])] = (int(parts[0][2]), stage and int(stage.group(1)))
            if len(parts) > 1:
                pairs[number.group(1)] = parts[1]
                backward.setdefault(int(parts[1][1]), (parts[1][0], int(parts[1][2]), set(), set()))
        for line in lines:
            of, kind = re.search(r"zb.of = (\d+)", line), re.search(r'zb.class = "([A-Z]+)"', line)
            stage = re.search(r"zb.stage = (\d+)", line)
            if of and kind and of.group(1) in pairs and kind.group(1) in ("B", "W"):
                entry = backward[int(pairs[of.group(1)][1])]
                entry[2].add(kind.group(1))
                entry[3].add(int(stage.group(1)))
        return forward, backward

    def split(self):
        """Where B and W went, next to op_role and to Paddle's own split."""
        model = os.path.join(SHARED, "gpt.main.program_desc.pb")
        parameters, ops = read_program(model)
        forward, backward = self.classes(model, "--ranks", 1)
        table = collections.Counter()
        for number, (kind, role, classes, _) in sorted(backward.items()):
            outputs = ops[number][1]
            names = [name for slot in outputs.values() for name in slot if name]
            trains = any(name.split("@")[0] in parameters for name in names)
            passes = any(name.split("@")[0] not in parameters for name in names)
            ours = "+".join(sorted(classes)) or "no op"
            theirs = paddles_split(kind, outputs, ops[number][2], parameters)
            table[(kind, role, theirs, ours)] += 1
            self.suite.check(ops[number][0] == kind and role & 1, f"op {number}: {kind}, op_role {role}")
            self.suite.check(("W" in classes) == trains, f"op {number} ({kind}): {ours}, parameters: {trains}")
            # Tables have no gradient to pass on; that of a sum is the sum's own, and that of a mean a constant: no op.
            known = kind in ("reduce_mean_grad", "lookup_table_v2_grad", "elementwise_add_grad")
            self.suite.check(known or ("B" in classes) == passes, f"op {number} ({kind}): {ours}, {names}")
        self.suite.check(all(role in (0, 256) for role, _ in forward.values()), "forward ops have roles 0 and 256")
        others = [kind for number, (kind, _, attributes) in enumerate(ops)
                  if attributes["op_role"][3] == [1] and number not in backward]
        self.suite.check(set(others) <= {"sum"}, f"backward ops that belong to no forward op: {set(others)}")
        print("gradient ops of gpt.main.program_desc.pb: op_role, Paddle's own split, zbc's classes")
        for (kind, role, theirs, ours), count in sorted(table.items()):
            print(f"  {count:3} {kind:32} op_role {role}  Paddle {theirs:4} zbc {ours}")
        print(f"  {len(others):3} {'sum':32} op_role 1  of gradients of several uses: each of them where its op is")
        same = sum(count for key, count in table.items() if key[2] == key[3])
        weights = sum(count for key, count in table.items() if "W" in key[3])
        theirs = sum(count for key, count in table.items() if "W" in key[2])
        print(f"  {same} of {sum(table.values())} where Paddle has them; {weights} have a part in W, in Paddle "
              f"{theirs}")
        self.suite.check(weights == 35 and theirs == 15,
                         f"{weights} and {theirs} with a part in W, expected 35 and 15")

    def stages(self):
        """The program of two stages: zbc's stages are those of op_device, forward, B and W."""
        model = os.path.join(SHARED, "gpt_2stage.main.program_desc.pb")
        _, ops = read_program(model)
        device = [attributes["op_device"][5][0].decode() for _, _, attributes in ops]
        last = max(i for i, (_, _, a) in enumerate(ops) if a["op_role"][3] == [0] and device[i] == "gpu:0")
        cut = next(iter(ops[last][1].values()))[0]
        forward, backward = self.classes(model, "--ranks", 2, "--cuts", cut)
        for number, (_, stage) in forward.items():
            self.suite.check(stage is None or f"gpu:{stage}" == device[number],
                             f"op {number}: {device[number]}, stage {stage}")
        jobs = collections.Counter()
        for number, (kind, _, classes, stages) in backward.items():
            self.suite.check(all(f"gpu:{stage}" == device[number] for stage in stages),
                             f"op {number} ({kind}): {device[number]}, stages {stages}")
            for stage in stages:
                jobs[(stage, "+".join(sorted(classes)))] += 1
        print(f"gpt_2stage, cut after {cut}: forward and gradient ops are in the stage of their op_device; gradient "
              "ops " + ", ".join(f"stage {stage} {kind} {count}" for (stage, kind), count in sorted(jobs.items())))


def main():
    options = common.arguments(__doc__, ("--tool", {"default": None}))
    suite = common.Suite(options.bin)
    tool = options.tool or os.path.join(os.path.dirname(options.bin), "test", "feed")
    with common.scratch() as folder:
        tests = Paddle(suite, tool, folder)
        tests.own()
        tests.refused()
        tests.own_parameters()
        tests.orders()
        tests.tampered()
        if os.path.isdir(SHARED):
            tests.shared()
            tests.split()
            tests.stages()
        else:
            print("shared graphs: left out, there is no ../shared/graphs/paddle beside the clone")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
