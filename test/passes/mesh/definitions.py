"""Groups of ranks and layouts of layers by their definitions alone, slowly: every rank gets its coordinates by
counting, ranks are put together by what they must have in common, strings are written out by substitution. What
passes/mesh computes by formulas is compared with this.

A wrong input raises Wrong.
"""
import itertools
import re

AXES = ("tp", "cp", "ep", "dp", "pp")
DEFAULT_ORDER = "tp-cp-ep-dp-pp"
RANKS_MAX = 2**31 - 1
LAYERS_MAX = 1000000


class Wrong(Exception):
    pass


# ---- Groups ----

class Grid:
    """sizes: {axis: size}. Rank 0, 1, ... count with the leftmost axis fastest."""

    def __init__(self, order, sizes):
        axes = order.lower().split("-")
        if any(axis not in AXES for axis in axes) or len(set(axes)) != len(axes):
            raise Wrong("order")
        if sizes["cp"] > 1 and sizes["ep"] > 1:
            raise Wrong("cp and ep")
        for axis in AXES:
            if axis not in axes:
                if sizes[axis] > 1:
                    raise Wrong("missing in the order")
                axes.append(axis)
        self.axes = axes
        counted = itertools.product(*(range(sizes[axis]) for axis in reversed(axes)))
        self.coordinates = [dict(zip(reversed(axes), values)) for values in counted]

    def groups(self, wanted):
        """Lists of ranks that differ on the wanted axes only."""
        def key(rank, axes):
            return tuple(self.coordinates[rank][axis] for axis in reversed(axes))
        inside = [axis for axis in self.axes if axis in wanted]
        outside = [axis for axis in self.axes if axis not in wanted]
        found = {}
        for rank in range(len(self.coordinates)):
            found.setdefault(key(rank, outside), []).append(rank)
        return [sorted(found[k], key=lambda rank: key(rank, inside)) for k in sorted(found)]


def read_sizes(text):
    sizes = {}
    for word in text.lower().split("-"):
        match = re.fullmatch(r"([a-z]+)([0-9]+)", word)
        if not match or match[1] not in AXES or match[1] in sizes or not 1 <= int(match[2]) <= RANKS_MAX:
            raise Wrong("sizes")
        sizes[match[1]] = int(match[2])
    return sizes


def make_grids(sizes, world, order=DEFAULT_ORDER, expert_tp=None):
    """The grids of what is no expert and of experts."""
    given = read_sizes(sizes)
    tp, cp, ep, pp = (given.get(axis, 1) for axis in ("tp", "cp", "ep", "pp"))
    etp = expert_tp or tp
    if world is None:
        if "dp" not in given:
            raise Wrong("no world")
        world = tp * cp * pp * given["dp"]
    if not 1 <= world <= RANKS_MAX:
        raise Wrong("world")
    if world % (tp * cp * pp) or world % (etp * ep * pp):
        raise Wrong("does not divide")
    dp, edp = world // (tp * cp * pp), world // (etp * ep * pp)
    if given.get("dp", dp) != dp:
        raise Wrong("dp")
    if not order.lower().endswith("pp") and pp > 1 and dp != edp:
        raise Wrong("pp is not last")
    dense = Grid(order, {"tp": tp, "cp": cp, "ep": 1, "dp": dp, "pp": pp})
    expert = Grid(order, {"tp": etp, "cp": 1, "ep": ep, "dp": edp, "pp": pp})
    if dense.groups(["pp"]) != expert.groups(["pp"]):
        raise Wrong("pipelines differ")
    return dense, expert


DENSE_KINDS = {"dp-cp": "dp cp", "dp": "dp", "cp": "cp", "mp": "tp pp", "tp": "tp", "pp": "pp", "tp-dp": "tp dp",
               "tp-dp-cp": "tp dp cp", "tp-cp": "tp cp"}
EXPERT_KINDS = {"ep": "ep", "expert-tp": "tp", "tp-ep": "tp ep", "tp-ep-pp": "tp ep pp", "expert-dp": "dp"}


def all_groups(sizes, world, order=DEFAULT_ORDER, expert_tp=None, instances=1, levels=None):
    """{kind: lists}, and the two grids."""
    dense, expert = make_grids(sizes, world, order, expert_tp)
    kinds = {kind: dense.groups(axes.split()) for kind, axes in DENSE_KINDS.items()}
    kinds.update({kind: expert.groups(axes.split()) for kind, axes in EXPERT_KINDS.items()})
    kinds["embd"] = [[group[0], group[-1]] if len(group) > 1 else group for group in kinds["pp"]]
    kinds["pos-embd"] = [group[:1] for group in kinds["pp"]]
    if instances < 1 or len(kinds["dp-cp"][0]) % instances:
        raise Wrong("instances")
    if instances > 1:
        length = len(kinds["dp-cp"][0]) // instances
        parts = [[group[i * length:(i + 1) * length] for i in range(instances)] for group in kinds["dp-cp"]]
        kinds["intra-dp-cp"] = [part for group in parts for part in group]
        kinds["inter-dp-cp"] = [[part[i] for part in group] for group in parts for i in range(length)]
    if levels is not None:
        sizes_of_levels = [int(word) for word in levels.split("x")]
        product = 1
        for size in sizes_of_levels:
            product *= size
        if product != len(kinds["cp"][0]) or min(sizes_of_levels) < 1:
            raise Wrong("levels")
        step = 1
        for level, size in enumerate(sizes_of_levels):
            kinds["hierarchical-cp-%d" % level] = [
                [group[outer * step * size + member * step + inner] for member in range(size)]
                for group in kinds["cp"] for outer in range(len(group) // (step * size)) for inner in range(step)]
            step *= size
    return kinds, dense, expert


# ---- Layouts ----

def write_out(text):
    """A string without repetitions and commas."""
    text = text.replace(",", "")
    while True:
        match = re.search(r"\(([EtmL|*0-9]+)\)\*([0-9]+)", text)
        if not match:
            break
        inside = write_letters(match[1])
        if len(inside) * int(match[2]) > 2 * LAYERS_MAX or text[match.end():match.end() + 1] == "*":
            raise Wrong("repetition")
        before = text[:match.start()]  # what stands there is no number that would go on in what is written out
        text = before + inside * int(match[2]) + text[match.end():]
    return write_letters(text)


def write_letters(text):
    if not re.fullmatch(r"([EtmL|](\*[0-9]+)?)*", text):
        raise Wrong("letters")
    return re.sub(r"(.)\*([0-9]+)", lambda match: match[1] * int(match[2]), text)


def read_string(text, layers=None, ranks=None, chunks=None):
    """A list of stages, each (embedding, layers, heads, losses)."""
    written = write_out(text)
    if len(written) > LAYERS_MAX:
        raise Wrong("too long")
    if not re.fullmatch(r"\|*E(t|\|)*(m|\|)*(L|\|)+", written) or "L" not in written:
        raise Wrong("sequence")
    stages = [(part.count("E"), part.count("t"), part.count("m"), part.count("L")) for part in written.split("|")]
    heads, losses = written.count("m"), written.count("L")
    if losses not in (1, heads + 1):
        raise Wrong("losses")
    if sum(s[2] > 0 for s in stages) > 1 and sum(s[3] > 0 for s in stages) == 1:
        raise Wrong("heads")
    if layers and layers != written.count("t"):
        raise Wrong("layers")
    if ranks and len(stages) % ranks or chunks and len(stages) % chunks:
        raise Wrong("stages")
    if ranks and chunks and ranks * chunks != len(stages):
        raise Wrong("chunks")
    return stages


def even(layers, ranks, chunks=1, first=None, last=None, embedding=False, loss=False):
    """Layers of each stage, stage k * ranks + r being chunk k of rank r."""
    counted = layers + embedding + loss
    if (first or last) and counted != layers:
        raise Wrong("first with embedding")
    named = {}
    if first:
        named[0] = first
    if last:
        if ranks == 1 and first:
            raise Wrong("one rank")
        named[ranks - 1] = last
    others = [rank for rank in range(ranks) if rank not in named]
    left = counted - sum(named.values())
    if left < 0 or (not others and left) or (others and left % len(others)) or (named and others and not left):
        raise Wrong("others")
    per_rank = [named[rank] if rank in named else left // len(others) for rank in range(ranks)]
    if any(count % chunks for count in per_rank):
        raise Wrong("chunks")
    stages = [per_rank[stage % ranks] // chunks for stage in range(ranks * chunks)]
    stages[0] -= embedding
    stages[-1] -= loss
    return stages


def balanced(layers, ranks, chunks=1):
    stages = ranks * chunks
    if layers < stages:
        raise Wrong("few layers")
    return [layers // stages + (stage < layers % stages) for stage in range(stages)]
