#!/usr/bin/env python3
"""tools/export_onnx.py: what it refuses and what it says of it, what it takes, and that what it writes trains as
PyTorch does.

    export.py [--bin BUILD/bin] [--part refused|taken|trained|evaluator] [--only NAME ...]

Every model of export_models.py: REFUSED ones end in the error that names the cause, write no OUT.onnx, and zbc
refuses what was kept of them; TAKEN ones are written; LOSSES are trained for 5 steps on 1, 2 and 4 ranks, and each
loss is PyTorch's within 1e-5. Then the evaluator of the exporter on the cases of test/ir/import, and on the special
points of points.py. What needs no torch is checked always: that every operator of zbc has its row in the evaluator.

ZB_PYTHON: a Python with torch and onnx (default python3); without them the script says so and skips the rest.
"N passed, N failed".
"""

import base64
import contextlib
import glob
import io
import json
import os
import re
import subprocess
import sys
import types
import zipfile

import common

TOOLS = os.path.join(common.SOURCE, "tools")
STEPS, MICRO_BATCHES, BATCH, LENGTH = 5, 4, 4, 16
RATE = 1e-3
PARTS = ("evaluator", "refused", "taken", "trained")


def evaluated_later():
    """Names of LATER, without torch."""
    with open(os.path.join(TOOLS, "evaluate.py")) as file:
        text = file.read()
    return re.findall(r'^    "(\w+)": "', text[text.index("LATER = {"):text.index("DTYPES = {")], re.M)


def check_rows(suite):
    """Every operator that zbc imports can be compared: names are read from the two tables."""
    with open(os.path.join(common.SOURCE, "ir", "import", "onnx", "onnx_ops.def")) as file:
        text = "\n".join(line for line in file if not line.startswith("#define"))
    wanted = set(re.findall(r"^\s*[A-Z_]+\(([A-Z]\w+),", text, re.M)) - {"Name"}  # of the #defines
    with open(os.path.join(TOOLS, "evaluate.py")) as file:
        text = file.read()
    table = text[text.index("ROWS = dict(") :]
    rows = set(re.findall(r"\b([A-Z]\w+)=", table)) | set(evaluated_later())
    rows.update(*(names.split() for names in re.findall(r'named\(\w+, "([^"]*)"', table)))
    suite.check(len(wanted) > 100, f"operators of zbc: {len(wanted)}")
    rows.update(("Bernoulli", *(f"Random{kind}{like}" for kind in ("Normal", "Uniform") for like in ("", "Like"))))
    # Models that draw are refused by the exporter, since no two runs of them can be compared.
    suite.check(wanted <= rows, f"tools/evaluate.py has no row for {sorted(wanted - rows)}")


def outside(options):
    """Without torch: what can be checked, and why the rest is not."""
    suite = common.Suite(options.bin)
    check_rows(suite)
    python = os.environ.get("ZB_PYTHON", "python3")
    try:
        probe = subprocess.run(
            [python, "-c", "import torch, onnx, onnxscript"], capture_output=True, text=True,
            timeout=common.patience(300)
        )
        reason = probe.stderr.strip().split("\n")[-1] if probe.returncode else None
    except OSError as error:
        reason = str(error)
    if reason is None:
        return subprocess.run([python, os.path.abspath(__file__), "--inside", *sys.argv[1:]]).returncode
    print(f"exports are left out: {reason}; set ZB_PYTHON")
    print(f"{suite.passed} passed, {suite.failed} failed, 1 skipped")
    return 1 if suite.failed else 0


class Exports:
    def __init__(self, suite, folder):
        import export_onnx

        self.tool, self.suite, self.folder = export_onnx, suite, folder

    def path(self, cls, end=".onnx"):
        return os.path.join(self.folder, cls.__name__ + end)

    def export(self, cls, **given):
        """(error or None, what it says on the way, the model)."""
        options = types.SimpleNamespace(
            out=self.path(cls), raw=False, no_dropout=False, no_compare=False, ranges={}, outputs=[]
        )
        vars(options).update(given)
        inputs = [self.tool.parse_input(text, options.ranges) for text in cls.inputs.split()]
        self.tool.torch.manual_seed(0)
        model, said, error = cls(), io.StringIO(), None
        with contextlib.redirect_stderr(said):
            try:
                self.tool.export(model, inputs, options)
            except SystemExit as end:
                error = str(end)
        return error, said.getvalue(), model

    def refuse(self, cls, texts, given):
        error, _, _ = self.export(cls, **given)
        missing = [text for text in texts if not re.search(text, error or "")]
        self.suite.check(not missing and "hint:" in error, f"{cls.__name__}: no {missing} in\n{error}")
        self.suite.check(
            not os.path.exists(self.path(cls)), f"{cls.__name__}: a file that must not be trained is written"
        )
        kept = self.path(cls, ".rejected.onnx")
        if "is not written; the graph is in" in (error or ""):
            process = self.suite.run("zbc", kept, "-o", self.path(cls, ".plan"))
            good = process.returncode == 1 and re.search(
                "the exporter refused this graph|is not supported", process.stderr
            )
            self.suite.check(good, f"{cls.__name__}: zbc takes what was refused: {process.returncode} {process.stderr}")

    def take(self, cls, given):
        error, said, model = self.export(cls, **given)
        self.suite.check(error is None and os.path.exists(self.path(cls)), f"{cls.__name__}: {error}")
        self.suite.check(re.search(getattr(cls, "says", ""), said), f"{cls.__name__}: said {said}")
        self.check_metadata(cls, model)

    def check_metadata(self, cls, model):
        """The file says what its parameters are, and that it was compared."""
        import onnx

        found = (
            {row.key: row.value for row in onnx.load(self.path(cls)).metadata_props}
            if os.path.exists(self.path(cls))
            else {}
        )
        for key, trained in (("zb.trained", True), ("zb.frozen", False)):
            wanted = [name for name, p in model.named_parameters() if p.requires_grad == trained]
            self.suite.check(
                found.get(key, "").split() == wanted, f"{cls.__name__}: {key} is {found.get(key)}, expected {wanted}"
            )
        self.suite.check(
            re.fullmatch("loss and gradients, [1-4] draws", found.get("zb.compared", "")),
            f"{cls.__name__}: {found.get('zb.compared')}",
        )

    def without_comparison(self, cls):
        """--no-compare: the file says that nobody looked, and zbc repeats it."""
        error, _, _ = self.export(cls, no_compare=True)
        said = self.suite.must("zbc", self.path(cls), "-o", self.path(cls, ".plan"), "--micro-batches", 2)
        self.suite.check(
            error is None and "whether this trains as the model that it was exported from is not known" in said,
            f"--no-compare: {error} {said}",
        )
        self.suite.check(
            self.suite.compile(self.path(cls), self.path(cls, ".plan"), "--micro-batches", 2)["uncompared"],
            "--no-compare: not in --json",
        )

    # ---- Training ----

    def losses_of_pytorch(self, model):
        """With what zbc drops, where the model drops something."""
        import reference

        place = reference.Place()
        with self.tool.compare.Drawn(model, place.stays):
            return self.steps_of_pytorch(model, place)

    def steps_of_pytorch(self, model, place):
        torch = self.tool.torch
        named = dict(model.named_parameters())
        groups = [
            dict(params=[p for p in named.values() if (p.dim() >= 2) == high], weight_decay=0.1 * high)
            for high in (True, False)
        ]
        optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.95), eps=1e-8)
        with open(common.CORPUS, "rb") as file:
            text = torch.tensor(list(file.read()))
        losses = []
        for step in range(STEPS):
            optimizer.zero_grad()
            total = 0.0
            for i in range(MICRO_BATCHES):
                place.step, place.micro_batch = step, i
                starts = [
                    ((step * MICRO_BATCHES + i) * BATCH + r) * LENGTH % (len(text) - LENGTH - 1) for r in range(BATCH)
                ]
                loss = model(
                    torch.stack([text[s : s + LENGTH] for s in starts]),
                    torch.stack([text[s + 1 : s + LENGTH + 1] for s in starts]),
                )
                (loss / MICRO_BATCHES).backward()
                total += loss.item() / MICRO_BATCHES
            losses.append(total)
            optimizer.step()
        return losses

    def train(self, cls):
        error, _, model = self.export(cls)
        if not self.suite.check(error is None, f"{cls.__name__}: {error}"):
            return
        wanted, worst = self.losses_of_pytorch(model), 0.0
        self.suite.check(wanted[0] != wanted[-1], f"{cls.__name__}: the loss does not move")
        for ranks in (1, 2, 4):
            plan = self.path(cls, f".{ranks}")
            try:
                self.suite.compile(
                    self.path(cls),
                    plan,
                    "--ranks",
                    ranks,
                    "--micro-batches",
                    MICRO_BATCHES,
                    "--optimizer",
                    f"adamw:lr={RATE}",
                )
                got = [row["loss"] for row in self.suite.train(plan, STEPS)]
            except common.Failure as failure:
                self.suite.check(False, f"{cls.__name__}, {ranks} ranks: {failure}")
                continue
            error = max(abs(g - w) / max(abs(w), 1e-3) for g, w in zip(got, wanted, strict=True))
            worst = max(worst, error)
            self.suite.check(error <= 1e-5, f"{cls.__name__}, {ranks} ranks: {error:.1e} from PyTorch: {got}, {wanted}")
        print(f"  {cls.__name__:20s} {worst:.1e}", flush=True)


def check_evaluator(suite):
    """The cases of the importer, whose losses are onnxruntime's."""
    import evaluate
    import onnx
    import onnx_ir
    import torch

    kinds = dict(f32=torch.float32, i64=torch.int64, i32=torch.int32, i1=torch.bool)
    with open(os.path.join(common.SOURCE, "test", "ir", "import", "cases.json")) as file:
        cases = [case for case in json.load(file) if "loss" in case and "zb.counter" not in case["inputs"]]
    compared = 0
    for case in cases:
        proto = onnx.ModelProto.FromString(base64.b64decode(case["model"]))
        outside_file = any(t.data_location == onnx.TensorProto.EXTERNAL for t in proto.graph.initializer)
        old = any(s.domain in ("", "ai.onnx") and s.version < 13 for s in proto.opset_import)
        if outside_file or old or proto.functions or len(proto.graph.output) > 1:
            continue
        graph = onnx_ir.serde.deserialize_model(proto).graph
        if any(op in evaluate.LATER for op in evaluate.find_unknown(graph)):
            continue
        given = {
            k: torch.tensor(v["values"]).to(kinds[v["dtype"]]).reshape(v["shape"]) for k, v in case["inputs"].items()
        }
        found = float(evaluate.run(graph, given, {}))
        compared += 1
        suite.check(
            abs(found - case["loss"]) <= 1e-5 * max(1.0, abs(case["loss"])),
            f"{case['name']}: {found}, onnxruntime {case['loss']}",
        )
    print(f"evaluator: {compared} of {len(cases)} cases of test/ir/import", flush=True)


def check_points(suite):
    """Gradients at special points are those of PyTorch, as points.py asks of zbc; rounding is no matter here."""
    import evaluate
    import onnx
    import onnx_ir
    import points
    import rules
    import torch
    from onnx_ir.passes.common import InlinePass

    allowed, rows = points.allowed_rows()["onnx"], 0
    own = {"hardsigmoid__x0": {45}, "by_hand_group_norm__g": set(range(96, 100)),  # where sums or products cancel
           "by_hand_instance_norm__g": set(range(16, 20))}
    for archive in sorted(glob.glob(os.path.join(points.DATA, "onnx-*.zip"))):
        with common.scratch() as folder:
            with zipfile.ZipFile(archive) as files:
                files.extractall(folder)
            model = onnx_ir.serde.deserialize_model(onnx.load(os.path.join(folder, "model.onnx")))
            expected, metadata = common.read_safetensors(os.path.join(folder, "expected.safetensors"))
            values = common.read_safetensors(os.path.join(folder, "values.safetensors"))[0]
        rules.VERSION = tuple(map(int, re.findall(r"\d+", metadata["framework"])[:2]))
        graph, ulps = InlinePass()(model).model.graph, json.loads(metadata["ulps"])
        if any(op in evaluate.LATER for op in evaluate.find_unknown(graph)):
            continue
        leaves = {name: torch.tensor(points.floats(entry)).reshape(entry[1]).requires_grad_()
                  for name, entry in values.items()}
        evaluate.run(graph, {"x": torch.zeros(1)}, leaves).backward()
        for name, entry in expected.items():
            key, theirs = name.rpartition(".")[2], points.floats(entry)
            if name.endswith(".exact"):
                continue
            exact, gradient = points.floats(expected.get(name + ".exact", entry)), leaves[name].grad
            ours = gradient.reshape(-1).tolist() if gradient is not None else [0.0] * len(theirs)
            _, width, least = ulps.get(key.partition("__")[0], [4, 0, 0.0])
            scales = points.scales(exact, width if key.partition("__")[2] != "g" else 0)
            wrong = [(i, a, b) for i, (a, b, c) in enumerate(zip(ours, theirs, exact))
                     if not points.agrees(a, b, c, 20000, max(scales[i], least))
                     and i not in allowed.get(key, set()) | own.get(key, set())]
            rows += len(theirs)
            suite.check(not wrong, f"evaluator: {key} at special points: {wrong[:6]}")
    rules.VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
    print(f"evaluator: {rows} values and gradients at special points", flush=True)


def inside(options):
    sys.path[:0] = [TOOLS]
    import export_models

    suite = common.Suite(options.bin)
    parts = [options.part] if options.part else PARTS
    check_rows(suite)
    if "evaluator" in parts:
        check_evaluator(suite)
        check_points(suite)

    def wanted(cls):
        return not options.only or cls.__name__ in options.only

    with common.scratch() as folder:
        exports = Exports(suite, folder)
        for cls, texts, given in filter(lambda row: wanted(row[0]), export_models.REFUSED * ("refused" in parts)):
            exports.refuse(cls, texts, given)
        for cls, given in filter(lambda row: wanted(row[0]), export_models.TAKEN * ("taken" in parts)):
            exports.take(cls, given)
        if "taken" in parts:
            exports.without_comparison(export_models.Classifier)
        if "trained" in parts:
            print("trained against PyTorch, largest relative difference of a loss:", flush=True)
        for cls in filter(wanted, export_models.LOSSES * ("trained" in parts)):
            exports.train(cls)
    return suite.finish()


def main():
    options = common.arguments(
        __doc__,
        ("--only", dict(nargs="*", metavar="NAME")),
        ("--part", dict(choices=PARTS)),
        ("--inside", dict(action="store_true", help="with torch")),
    )
    return inside(options) if options.inside else outside(options)


if __name__ == "__main__":
    sys.exit(main())
