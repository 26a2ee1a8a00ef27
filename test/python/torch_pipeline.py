#!/usr/bin/env python3
"""zb.torch.pipeline: PyTorch's runtime on stages and orders of plans, in processes of gloo, against sessions of zb and
PyTorch on one process, and what it refuses.

    torch_pipeline.py [BUILD] [--all] [--only NAME:SCHEDULE ...]

Every process compiles the plan by itself, as programs under torchrun do. --all: more modules and schedules, and the
GPT-2 of ../shared/graphs with the five of SCHEDULES, whose losses are compared with those of zb-run as well. Needs
PyTorch in this Python or that of ZB_PYTHON, and prints that it is left out where there is none. Ends with
"N passed, N failed".
"""
import argparse
import os
import pathlib
import queue
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tools/python", "test/e2e", "test/python")]
import common  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

RANKS, MICRO_BATCHES, STEPS, SECONDS = 4, 6, 4, 600
SGD = dict(lr=0.05, momentum=0.9)
SCHEDULES = ("1f1b", "zb-h1", "zb-v", "interleaved-1f1b", "search")
ROWS = [("nanogpt", schedule) for schedule in SCHEDULES] + [("seq2seq", "zb-v"), ("resnet", "1f1b"),
                                                            ("uneven", "zb-h1"), ("pair", "zb-h1")]
MORE = [("stopped", "1f1b"), ("gpt2", "zb-h2"), ("llama", "zb-v-auto"), ("t5", "zb-h1"), ("bart", "looped-bfs"),
        ("uneven", "zb-v"),
        ("nanogpt", "eager-1f1b"), ("low-rank", "zb-h1"), ("vision", "zb")]
SHARED = "shared-gpt2"
GRAPHS = ROOT.parent / "shared" / "graphs"


def uneven():
    """What PyTorch's split backward passes have trouble with: frozen layers in front, so that the first stages send
    values without gradients; a weight that many layers share, whose gradient is that of a sum; values made of weights
    alone, or of weights and frozen values, which many stages hand on."""

    class Uneven(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = torch.nn.Embedding(32, 8), torch.nn.Linear(8, 32)
            self.front, self.layers = (torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(5)) for _ in "ab")
            self.shared, self.side = torch.nn.Linear(8, 8, bias=False), torch.nn.Parameter(torch.rand(8))
            self.gate = torch.nn.Parameter(torch.rand(8))
            self.embed.requires_grad_(False)
            self.front.requires_grad_(False)

        def forward(self, x, y):
            h = self.embed(x)
            for layer in self.front:
                h = h + torch.tanh(layer(h))
            side, gate = h * self.side, torch.sigmoid(self.gate + self.shared.weight.sum(0))
            for layer in self.layers:
                h = h + torch.tanh(self.shared(layer(h))) * gate
            return torch.nn.functional.cross_entropy(self.head(h + side).flatten(0, 1), y.flatten())

    torch.manual_seed(0)
    return Uneven(), {key: ("int64", (2, 5), 0, 32) for key in "xy"}


def pair():
    """A module that gives what it predicts, nothing, and a loss without a name."""

    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(5))

        def forward(self, x):
            h = x
            for layer in self.layers:
                h = torch.tanh(layer(h))
            return h, None, h.square().mean()

    torch.manual_seed(0)
    return Pair(), {"x": ("float32", (2, 8))}


def shared_gpt2():
    """The one of ../shared/graphs, with shorter rows of bytes."""
    sys.path.insert(0, str(GRAPHS))
    import models
    return models.build("gpt2"), {key: ("int64", (2, 64), 0, 256) for key in "xy"}


OWN = {SHARED: shared_gpt2, "uneven": uneven, "pair": pair}


def compiled(name, schedule):
    """(plan, module, batches of whole steps), the same wherever they are made."""
    import aten_models
    import window_models
    import zb
    if name in window_models.MODELS:
        module, shapes = window_models.build(name)
        inputs = {"x": ("float32", shapes["x"]), "y": ("int64", shapes["y"], 0, 2)}
    else:
        module, inputs = OWN[name]() if name in OWN else aten_models.build(name)
    rows = [{key: torch.cat(values) for key, values in
             ((key, [part[key] for part in aten_models.draw(inputs, MICRO_BATCHES, seed)]) for key in inputs)}
            for seed in range(STEPS)]
    optimizer = "sgd:lr=%g,momentum=%g" % (SGD["lr"], SGD["momentum"])
    plan = zb.compile(module, aten_models.draw(inputs, 1)[0], ranks=RANKS, micro_batches=MICRO_BATCHES,
                      schedule=schedule, optimizer=optimizer)
    return plan, module, rows


def train(rank, store, rows, results):
    import warnings
    warnings.simplefilter("ignore")
    import zb.torch
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=RANKS)
    for name, schedule in rows:
        try:
            plan, module, batches = compiled(name, schedule)
            pipeline = zb.torch.pipeline(module, plan)
            optimizer = torch.optim.SGD(pipeline.parameters(), **SGD)
            losses = []
            for k, batch in enumerate(batches):
                losses.append(pipeline.step(**batch).item())
                if k == STEPS - 1:  # gradients of a second step are added to those of the first
                    pipeline.step(**batch)
                    for parameter in pipeline.parameters():
                        if parameter.grad is not None:
                            parameter.grad /= 2
                optimizer.step()
                optimizer.zero_grad()
            values = dict(pipeline.named_parameters())
            for part in pipeline.modules.values():
                values.update(part.named_buffers())
            results.put((rank, losses, {key: value.detach().clone().numpy() for key, value in values.items()},
                         plan.stages))
        except Exception as error:  # said by the parent, which ends the others
            results.put((rank, "%s: %s" % (type(error).__name__, error), {}, 0))
            return
        torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def whole_model(module, batches):
    """Losses of PyTorch on one process; the module is trained."""
    optimizer, losses = torch.optim.SGD(module.parameters(), **SGD), []
    for batch in batches:
        parts = [{key: value.chunk(MICRO_BATCHES)[i] for key, value in batch.items()} for i in range(MICRO_BATCHES)]
        found = [module(**part) for part in parts]
        loss = sum(one["loss"] if isinstance(one, dict) else one[-1] if isinstance(one, tuple) else one
                   for one in found) / MICRO_BATCHES
        optimizer.zero_grad()
        loss.backward()
        if len(losses) == STEPS - 1:  # buffers of the second pass there
            for part in parts:
                module(**part)
        optimizer.step()
        losses.append(loss.item())
    return losses


def by_program(suite, folder, plan, batches):
    """Losses of zb-run on the plan."""
    from zb import aten
    data = os.path.join(folder, "data.safetensors")
    aten.write_values(data, {key: torch.cat([batch[key] for batch in batches]) for key in batches[0]})
    out = suite.must("zb-run", plan.directory, "--data", "safetensors:" + data, "--steps", STEPS, "--json")
    return [row["loss"] for row in common.json_lines(out)]


def distance(one, other):
    return max(abs(a - b) for a, b in zip(one, other))


def check_row(suite, folder, row, found):
    """What the processes said of one row: {rank: (losses, parameters, stages)}."""
    import zb
    plan, module, batches = compiled(*row)
    with zb.Session(plan) as run:
        ours = [run.step(batch).loss for batch in batches]
    if row[0] == SHARED:
        suite.check(by_program(suite, folder, plan, batches) == ours,
                    "%s %s: losses of zb-run are those of a session" % row)
    theirs = whole_model(module, batches)
    weights = dict(module.named_parameters(remove_duplicate=False))
    values = {**weights, **dict(module.named_buffers())}
    what = "%s %s, %d stages: " % (*row, plan.stages)
    suite.check(all(losses == found[0][0] for losses, _, _ in found.values()), what + "all processes have one loss")
    off = distance(found[0][0], ours)
    suite.check(off <= 1e-5, what + "losses are those of a session within %.2g" % off)
    suite.check(distance(theirs, ours) <= 1e-5, what + "and of PyTorch on one process")
    names = {name for _, parameters, _ in found.values() for name in parameters}
    trained = {id(p) for p in module.parameters() if p.requires_grad}
    suite.check({id(weights[name]) for name in names & set(weights)} >= trained,
                what + "every parameter is on a stage")
    wrong = [name for _, parameters, _ in found.values() for name, value in parameters.items()
             if "lifted_tensor" not in name and  # a constant of the graph
             not torch.allclose(torch.from_numpy(value), values[name], rtol=1e-4, atol=2e-6)]
    suite.check(not wrong, what + "weights and buffers after %d steps are those of one process: %s" %
                (STEPS, wrong[:3]))


def check_training(suite, folder, rows):
    import multiprocessing
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=train, args=(rank, os.path.join(folder, "store"), rows, results))
                 for rank in range(RANKS)]
    for process in processes:
        process.start()
    said = {rank: [] for rank in range(RANKS)}
    failed = None
    try:
        for _ in range(len(rows) * RANKS):
            rank, losses, parameters, stages = results.get(timeout=common.patience(SECONDS))
            if isinstance(losses, str):
                failed = "%s: process %d: %s" % (rows[len(said[rank])], rank, losses)
                break
            said[rank].append((losses, parameters, stages))
    except queue.Empty:
        failed = "nothing for %d seconds" % SECONDS
    for process in processes:
        process.join(10 if not failed else 1)
        if process.is_alive():
            process.kill()
            process.join()
    suite.check(not failed, "processes train: %s" % failed)
    for i, row in enumerate(rows):
        if all(len(rows_of_rank) > i for rows_of_rank in said.values()):
            check_row(suite, folder, row, {rank: said[rank][i] for rank in said})


def check_refused(suite, folder):
    import zb
    import zb.torch

    def raises(words, call):
        try:
            call()
            suite.check(False, "nothing was raised for: " + words)
        except zb.Error as error:
            suite.check(words in str(error), "expected '%s', got: %s" % (words, error))

    plan, module, batches = compiled("stopped", "1f1b")
    raises("no process group", lambda: zb.torch.pipeline(module, plan))
    raises("that zb.compile made of the module", lambda: zb.torch.pipeline(module, zb.Plan(plan.directory)))
    torch.distributed.init_process_group("gloo", init_method="file://" + os.path.join(folder, "alone"), rank=0,
                                         world_size=1)
    raises("the plan has 4 ranks and the process group 1", lambda: zb.torch.pipeline(module, plan))
    replicas = zb.compile(module, {key: value[:2] for key, value in batches[0].items()}, ranks=2, micro_batches=2,
                          data_parallel=2)
    raises("no replicas or shards", lambda: zb.torch.pipeline(module, replicas))
    small = zb.compile(module, {key: value[:2] for key, value in batches[0].items()}, ranks=1, micro_batches=2)
    pipeline = zb.torch.pipeline(module, small)
    norms = compiled("batchnorm", "1f1b")[:2]
    norms[0]._about["ranks"] = 1  # the process group of this process; refused before anything is built of it
    raises("'rows.running_mean' is read on stage 2 and updated on stage 3", lambda: zb.torch.pipeline(*norms[::-1]))
    raises("no value for input 'y'", lambda: pipeline.step(batches[0]["x"]))
    raises("'z' is no input of the module", lambda: pipeline.step(z=1))
    raises("'x' is given twice", lambda: pipeline.step(batches[0]["x"], x=1))
    raises("was the plan compiled from it", lambda: zb.torch.pipeline(
        type("Other", (torch.nn.Module,), {"forward": lambda self, x, y: (x.float().sum() * y).sum()})(), small))
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=str(ROOT / "build"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", nargs="*", metavar="NAME:SCHEDULE")
    options = parser.parse_args()
    if torch is None or not torch.distributed.is_available():
        other = os.environ.get("ZB_PYTHON")
        if other and os.environ.pop("ZB_PYTHON"):
            os.execvp(other, [other, *sys.argv])
        print("ok - torch_pipeline # SKIP no PyTorch with torch.distributed; set ZB_PYTHON")
        return 0
    os.environ["ZB_LIBRARY"] = os.path.join(options.build, "lib")
    suite = common.Suite(os.path.join(options.build, "bin"))
    with common.scratch() as folder:
        more = MORE + [(SHARED, schedule) for schedule in SCHEDULES if GRAPHS.is_dir()]
        if not options.only:
            check_refused(suite, folder)
        only = [tuple(row.split(":")) for row in options.only or ()]
        check_training(suite, folder, only or ROWS + (more if options.all else []))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
