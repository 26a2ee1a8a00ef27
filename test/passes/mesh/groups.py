#!/usr/bin/env python3
"""Groups of ranks and layouts of layers against definitions.py, which has their definitions alone: published examples,
and inputs drawn at random, right and wrong ones.

    groups.py [--bin BUILD/bin] [--seed N] [--draws N]

A difference is printed with the command line that shows it; the seed is always printed.
"""
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
import common  # noqa: E402
import definitions  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


class Asked:
    """zb-sched with one input: what it says, and what the definitions do."""

    def __init__(self, suite):
        self.suite = suite
        self.right = self.wrong = 0

    def compare(self, words, expect, read):
        """expect() gives the right answer or raises Wrong; read(object) is what was got."""
        process = self.suite.run("zb-sched", *words, "--json", timeout=common.patience(60))
        line = "zb-sched " + " ".join("'%s'" % word for word in map(str, words))
        try:
            wanted = expect()
        except definitions.Wrong as wrong:
            self.wrong += 1
            return self.suite.check(process.returncode == 2 and process.stderr.startswith("zb-sched: error: ") and
                                    not process.stdout and "\n" in process.stderr.strip() + "\n",
                                    f"{line}: expected an error ({wrong}), got exit {process.returncode}: "
                                    f"{process.stdout[:200]}{process.stderr[:300]}")
        self.right += 1
        if process.returncode:
            return self.suite.check(False, f"{line}: exit {process.returncode}: {process.stderr[:300]}")
        got = read(json.loads(process.stdout))
        return self.suite.check(got == wanted, f"{line}: expected {str(wanted)[:400]}, got {str(got)[:400]}")


# ---- Groups ----

def shuffled(draw, items):
    items = list(items)
    draw.shuffle(items)
    return items


def draw_order(draw):
    kind = draw.random()
    if kind < 0.3:
        return definitions.DEFAULT_ORDER
    axes = shuffled(draw, definitions.AXES)
    if kind < 0.6:
        axes.remove("pp")
        axes.append("pp")
    if kind > 0.85:
        axes = axes[:draw.randint(1, 5)]
    if kind > 0.97:
        axes[draw.randrange(len(axes))] = draw.choice(["tp", "dpp", "xp", ""])
    return "-".join(axes)


def draw_mesh(draw):
    """Options of --groups; mostly such that fit."""
    sizes = {axis: draw.choice([1, 1, 2, 2, 3, 4]) for axis in ("tp", "cp", "pp", "ep")}
    expert_tp = draw.choice([None, None, 1, 2, 3])
    if draw.random() < 0.3:
        sizes["ep"] = 1
    dense, expert = sizes["tp"] * sizes["cp"], (expert_tp or sizes["tp"]) * sizes["ep"]
    world = sizes["pp"] * dense * expert // [g for g in range(1, 999) if dense % g == 0 and expert % g == 0][-1]
    world *= draw.choice([1, 1, 2, 3])
    if draw.random() < 0.05:
        world += draw.randint(1, 5)
    named = [axis for axis in sizes if sizes[axis] > 1 or draw.random() < 0.3] or ["tp"]
    words = [axis + str(sizes[axis]) for axis in shuffled(draw, named)]
    if draw.random() < 0.1:
        words.insert(draw.randint(0, len(words)), "dp%d" % draw.choice([world // (dense * sizes["pp"]) or 1, 2]))
    mesh = {"sizes": "-".join(words), "world": world, "order": draw_order(draw), "expert_tp": expert_tp}
    if draw.random() < 0.2:
        mesh["instances"] = draw.choice([1, 2, 3, 4])
    if draw.random() < 0.2:
        mesh["levels"] = draw.choice(["2x2", "2", "3", "4", "1x2", "2x1x2", "1"])
    return mesh


def mesh_words(mesh):
    names = {"sizes": "--groups", "world": "--world", "order": "--order", "expert_tp": "--expert-tp",
             "instances": "--optimizer-instances", "levels": "--cp-levels"}
    return [word for key, value in mesh.items() if value is not None for word in (names[key], value)]


def rank_of(kinds, dense, expert, rank):
    """What --at says of a rank."""
    groups = {kind: next((group for group in lists if rank in group), None) for kind, lists in kinds.items()}
    return {"rank": rank, "coordinates": {axis: at for axis, at in dense.coordinates[rank].items() if axis != "ep"},
            "expert_coordinates": {axis: at for axis, at in expert.coordinates[rank].items() if axis != "cp"},
            "groups": groups}


def check_rank(asked, draw, mesh):
    kinds, dense, expert = definitions.all_groups(**mesh)
    rank = draw.randrange(len(dense.coordinates))
    place = "-".join("%s%d" % at for at in shuffled(draw, dense.coordinates[rank].items()) if at[1]) or "tp0"
    wanted = rank_of(kinds, dense, expert, rank)

    def read(got):
        names = got.pop("communicators")
        made = [tuple(got["groups"][name]) for name in names]
        several = {tuple(group) for group in got["groups"].values() if group and len(group) > 1}
        asked.suite.check(len(made) == len(set(made)) and set(made) == several,
                          f"{mesh}: rank {rank}: communicators {names}")
        return got
    for word in (rank, place):
        asked.compare([*mesh_words(mesh), "--at", word], lambda: wanted, read)


def random_groups(asked, draw, count):
    for _ in range(count):
        mesh = draw_mesh(draw)
        asked.compare(mesh_words(mesh), lambda mesh=mesh: definitions.all_groups(**mesh)[0], lambda got: got)
        try:
            definitions.all_groups(**mesh)
        except definitions.Wrong:
            continue
        if draw.random() < 0.2:
            check_rank(asked, draw, mesh)


def published_groups(asked):
    """The examples of groups.json: each of one kind."""
    with open(os.path.join(HERE, "groups.json")) as file:
        examples = json.load(file)["examples"]
    for example in examples:
        sizes = example["sizes"]
        words = ["--groups", "-".join("%s%d" % (axis, sizes[axis]) for axis in ("tp", "cp", "ep", "pp")), "--world",
                 example["world"], "--order", example["order"], "--expert-tp", sizes["expert_tp"]]
        asked.compare(words, lambda example=example: example["groups"],
                      lambda got, example=example: got[example["kind"]])


def large_groups(asked):
    """All kinds of 65,536 ranks: time, and that each rank is once in each kind."""
    start = time.monotonic()
    text = asked.suite.must("zb-sched", "--groups", "tp8-pp16-ep8-cp2", "--expert-tp", 1, "--world", 65536, "--json")
    took = time.monotonic() - start
    got = json.loads(text)
    for kind, lists in got.items():
        ranks = sorted(rank for group in lists for rank in group)
        if kind not in ("embd", "pos-embd"):
            asked.suite.check(ranks == list(range(65536)), f"65,536 ranks: {kind} has {len(ranks)} ranks")
    asked.suite.check(common.soon(took, 20), f"65,536 ranks took {took:.2f} s")
    print(f"65,536 ranks: {took:.2f} s")


# ---- Layouts ----

def stages_of(got):
    """(embedding, layers, heads, losses) of each stage; checks all that the object says twice."""
    layer = 0
    chunks = {}
    for number, stage in enumerate(got["stages"]):
        rank = stage["rank"]
        assert stage["stage"] == number and stage["chunk"] == chunks.get(rank, 0), stage
        chunks[rank] = chunks.get(rank, 0) + 1
        for own in stage["layers"]:
            assert own == layer, stage
            place = {"layer": layer, "rank": rank, "stage": number, "chunk": stage["chunk"]}
            assert got["layers"][layer] == place, stage
            layer += 1
    assert layer == len(got["layers"]) and set(chunks.values()) == {got["chunks"]} and len(chunks) == got["ranks"]
    return [(int(s["embedding"]), len(s["layers"]), s["heads"], s["losses"]) for s in got["stages"]]


def looped(got):
    assert [s["rank"] for s in got["stages"]] == [i % got["ranks"] for i in range(len(got["stages"]))]
    return stages_of(got)


def whole(counts):
    last = len(counts) - 1
    return [(int(i == 0), count, 0, int(i == last)) for i, count in enumerate(counts)]


def draw_rule(draw):
    ranks, chunks = draw.randint(1, 6), draw.choice([1, 1, 2, 3])
    options = {}
    if draw.random() < 0.35:
        options = {key: draw.randint(1, 4) * chunks for key in ("first", "last") if draw.random() < 0.6}
    elif draw.random() < 0.5:
        options = {key: True for key in ("embedding", "loss") if draw.random() < 0.6}
    others = ranks - len(options) if "first" in options or "last" in options else ranks
    layers = draw.randint(1, 4) * max(others, 0) * chunks + sum(options.get(key, 0) for key in ("first", "last"))
    layers -= sum(options.get(key, 0) for key in ("embedding", "loss"))
    if draw.random() < 0.2:
        layers += draw.randint(-3, 3)
    if draw.random() < 0.05:
        options["embedding"] = True
    return max(layers, 1), ranks, chunks, options


def random_rules(asked, draw, count):
    for _ in range(count):
        layers, ranks, chunks, options = draw_rule(draw)
        keys = ",".join(f"{key}={'true' if value is True else value}" for key, value in options.items())
        words = ["--layers", layers, "--ranks", ranks, "--chunks", chunks]
        asked.compare(["--layout", "even" + (":" + keys if keys else ""), *words],
                      lambda: whole(definitions.even(layers, ranks, chunks, **options)), looped)
        asked.compare(["--layout", "balanced", *words], lambda: whole(definitions.balanced(layers, ranks, chunks)),
                      looped)


def draw_string(draw):
    """Mostly a good one: parts that make the sequence, in which something may be changed."""
    def repeated(letter, count):
        return letter * count if draw.random() < 0.5 else f"{letter}*{count}"

    def run():
        return "".join(draw.choice(["t", "tt", "t*3", "|", "t|", ",", f"(t|)*{draw.randint(0, 4)}",
                                    f"(t*{draw.randint(0, 3)},|t)*2"]) for _ in range(draw.randint(0, 5)))
    heads = draw.choice([0, 0, 0, 1, 2, 3])
    losses = draw.choice([1, heads + 1])
    text = draw.choice(["E", "E", "E", "|E", "E*1", "||E"]) + run()
    apart = losses > 1 and draw.random() < 0.6  # heads and losses on several stages
    text += draw.choice(["", "|"]) + "|".join(repeated("m", n) for n in split(draw, heads, apart))
    text += draw.choice(["", "|", ","]) + "|".join(repeated("L", n) for n in split(draw, losses, apart))
    text += draw.choice(["", "", "", "|"])
    if draw.random() < 0.3:
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.choice(["t", "E", "L", "m", "(", ")", "*", "2", "|", "x", " ", "*2"]) + \
            text[at + draw.randint(0, 1):]
    return text


def split(draw, count, apart):
    """As parts of several stages, or of one; rarely the wrong one of both."""
    if count < 2 or apart == (draw.random() < 0.1):
        return [count]
    first = draw.randint(1, count - 1)
    return [first, count - first]


def random_strings(asked, draw, count):
    for _ in range(count):
        text = draw_string(draw)
        try:
            read = definitions.read_string(text)
        except definitions.Wrong:
            read = [(1, 1, 0, 0), (0, 1, 0, 1)]
        stages, own = len(read), sum(stage[1] for stage in read)
        ranks = draw.choice([n for n in range(1, stages + 1) if stages % n == 0] + [2])
        layers = draw.choice([None, own, own + (draw.random() < 0.2)])
        words = ["--layout", text, "--ranks", ranks, *(["--layers", layers] if layers else [])]

        def read(got, words=words, ranks=ranks):
            again = asked.suite.run("zb-sched", "--layout", got["string"], "--ranks", ranks, "--json")
            same = json.loads(again.stdout or "{}")
            asked.suite.check(same.get("stages") == got["stages"], f"{words}: the string {got['string']} is another")
            return looped(got)
        asked.compare(words, lambda text=text, layers=layers, ranks=ranks: definitions.read_string(text, layers, ranks),
                      read)


def published_layouts(asked):
    """Megatron-Core's table of layouts, its string of 61 layers, losses on several stages, and Paddle's numbers."""
    def ranks_of(got):
        return {r: [s["layers"] for s in got["stages"] if s["rank"] == r] for r in range(got["ranks"])}

    def rows(*rows):
        return {r: [list(range(a, b + 1)) for a, b in row] for r, row in enumerate(rows)}
    table = [
        (16, 4, 2, "even", rows([(0, 1), (8, 9)], [(2, 3), (10, 11)], [(4, 5), (12, 13)], [(6, 7), (14, 15)])),
        (16, 4, None, "even:stage=2",
         rows([(0, 1), (8, 9)], [(2, 3), (10, 11)], [(4, 5), (12, 13)], [(6, 7), (14, 15)])),
        (29, 4, 1, "even:first=5", rows([(0, 4)], [(5, 12)], [(13, 20)], [(21, 28)])),
        (28, 4, 2, "even:first=6,last=6",
         rows([(0, 2), (14, 16)], [(3, 6), (17, 20)], [(7, 10), (21, 24)], [(11, 13), (25, 27)])),
        (30, 4, 1, "even:embedding=true,loss=true", rows([(0, 6)], [(7, 14)], [(15, 22)], [(23, 29)])),
        (6, 2, 2, "even:embedding=true,loss=true", rows([(0, 0), (3, 4)], [(1, 2), (5, 5)])),
        (7, 4, 1, "balanced", rows([(0, 1)], [(2, 3)], [(4, 5)], [(6, 6)])),
        (9, 4, 2, "balanced", rows([(0, 1), (5, 5)], [(2, 2), (6, 6)], [(3, 3), (7, 7)], [(4, 4), (8, 8)])),
    ]

    def refused():
        raise definitions.Wrong("published")
    for layers, ranks, chunks, layout, wanted in table:
        words = ["--layout", layout, "--layers", layers, "--ranks", ranks, *(["--chunks", chunks] if chunks else [])]
        asked.compare(words, lambda wanted=wanted: wanted, ranks_of)
    for layers, ranks, chunks in ((30, 4, 1), (12, 4, 2)):
        asked.compare(["--layout", "even", "--layers", layers, "--ranks", ranks, "--chunks", chunks], refused, None)
    asked.compare(["--layout", "Et*3|(tt|)*29,m|L", "--ranks", 16, "--layers", 61],
                  lambda: [(1, 3, 0, 0)] + [(0, 2, 0, 0)] * 29 + [(0, 0, 1, 0), (0, 0, 0, 1)], looped)
    asked.compare(["--layout", "E|(t|)*10m|m|m|LL|LL", "--ranks", 8],
                  lambda: [(1, 0, 0, 0)] + [(0, 1, 0, 0)] * 10 + [(0, 0, 1, 0)] * 3 + [(0, 0, 0, 2)] * 2, looped)


def main():
    options = common.arguments(__doc__, ("--seed", {"type": int, "default": None}),
                               ("--draws", {"type": int, "default": 150}))
    suite = common.Suite(options.bin)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"--seed {seed}")
    draw = random.Random(seed)
    for name, run in (("published groups", published_groups), ("published layouts", published_layouts),
                      ("large groups", large_groups),
                      ("groups", lambda asked: random_groups(asked, draw, options.draws)),
                      ("rules of layouts", lambda asked: random_rules(asked, draw, options.draws // 2)),
                      ("strings of layouts", lambda asked: random_strings(asked, draw, options.draws // 2))):
        asked = Asked(suite)
        run(asked)
        print(f"{name}: {asked.right} right ones, {asked.wrong} wrong ones")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
