"""Complex values of an exported graph as two real ones each, for zbc has none: rotary positions that are written as
products of complex numbers, and Fourier transforms, which become products with tables of cosines and sines.

    _complex.separate(program, ExportError)         # an ExportedProgram in core ATen ops; changed in place
"""
from __future__ import annotations

import contextlib
import math
import operator

import torch

aten = torch.ops.aten

# What does to each part what it does to the whole.
BY_PARTS = """
    _unsafe_view alias cat clone constant_pad_nd expand flip flatten.using_ints gather getitem index.Tensor index_select
    mean mean.dim neg permute repeat reshape roll select.int slice.Tensor split.Tensor split_with_sizes squeeze
    squeeze.dim squeeze.dims stack sum sum.dim_IntList t transpose.int unbind.int unflatten.int unsqueeze view
    where.self detach
""".split()
PRODUCTS = "bmm dot matmul mm mul.Scalar mul.Tensor".split()
LONGEST = 4096  # of a transform, whose table has its square


def is_complex(value):
    values = value if isinstance(value, (list, tuple)) else [value]
    return any(isinstance(one, torch.Tensor) and one.is_complex() for one in values)


class Separation:
    """parts: node -> (real part, imaginary part or None), which are nodes or numbers."""

    def __init__(self, program, failure):
        self.program, self.graph, self.failure = program, program.graph_module.graph, failure
        self.parts, self.node = {}, None
        self.mode = next((value.fake_mode for value in (node.meta.get("val") for node in self.graph.nodes)
                          if hasattr(value, "fake_mode")), contextlib.nullcontext())

    def refuse(self, what):
        raise self.failure(f"{self.node.name}: {what}")

    def emit(self, target, *args, **kwargs):
        """A new op before the one that is written, with the place of that in the model."""
        with self.graph.inserting_before(self.node):
            node = self.graph.call_function(target, args, kwargs)
        args, kwargs = torch.fx.map_arg((args, kwargs), lambda source: source.meta["val"])
        with self.mode:
            node.meta = {**self.node.meta, "val": target(*args, **kwargs)}
        return node

    def of(self, value):
        if isinstance(value, complex):
            return value.real, value.imag
        return self.parts.get(value, (value, None)) if isinstance(value, torch.fx.Node) else (value, None)

    # -- arithmetic; None is zero --

    def minus(self, x):
        return None if x is None else self.emit(aten.neg.default, x) if isinstance(x, torch.fx.Node) else -x

    def sum(self, x, y, target=aten.add.Tensor):
        if x is None or y is None:
            return x if y is None else y if target is aten.add.Tensor else self.minus(y)
        return self.emit(target, *((x, y) if isinstance(x, torch.fx.Node) or target is not aten.add.Tensor else (y, x)))

    def times(self, x, y, target=aten.mul.Tensor):
        if x is None or y is None:
            return None
        if not isinstance(x, torch.fx.Node):
            x, y = y, x
        return self.emit(target, x, y)

    def product(self, one, other, target=aten.mul.Tensor):
        (a, b), (c, d) = one, other
        return (self.sum(self.times(a, c, target), self.times(b, d, target), aten.sub.Tensor),
                self.sum(self.times(a, d, target), self.times(b, c, target)))

    def quotient(self, one, other):
        c, d = other
        if d is None:
            return tuple(None if part is None else self.emit(aten.div.Tensor, part, c) for part in one)
        length = self.sum(self.times(c, c), self.times(d, d))
        return tuple(self.emit(aten.div.Tensor, part, length) for part in self.product(one, (c, self.minus(d))))

    def whole(self, value):
        """Both parts, as the last dimension."""
        re, im = value
        im = self.emit(aten.zeros_like.default, re) if im is None else im
        return self.emit(aten.stack.default, [re, im], -1)

    # -- Fourier transforms --

    def table(self, rows, columns, length, dtype):
        """Cosines and sines of 2 pi j k / length: of jk mod length, which stays exact."""
        j = self.emit(aten.unsqueeze.default, self.emit(aten.arange.default, rows, dtype=torch.int64), 1)
        k = self.emit(aten.arange.default, columns, dtype=torch.int64)
        turns = self.emit(aten.remainder.Scalar, self.emit(aten.mul.Tensor, j, k), length)
        angle = self.emit(aten.mul.Tensor, self.emit(aten._to_copy.default, turns, dtype=dtype),
                          2 * math.pi / length)
        return self.emit(aten.cos.default, angle), self.emit(aten.sin.default, angle)

    def along(self, dim, rank, call, *values):
        """call of values whose dimension dim is the last, put back."""
        order = [i for i in range(rank) if i != dim] + [dim]
        back = [order.index(i) for i in range(rank)]
        moved = [None if one is None else self.emit(aten.permute.default, one, order) for one in values]
        return tuple(None if one is None else self.emit(aten.permute.default, one, back) for one in call(*moved))

    def transform(self, value, dim, sign, count=None, length=None, weights=None):
        """Sums over k of value[k] exp(sign 2 pi i j k / length), for j below count. weights: of the frequencies k of a
        real signal, of which half are left out; only the real part is made then."""
        shape = value[0].meta["val"].shape
        length = length or shape[dim]
        if length > LONGEST:
            self.refuse(f"a Fourier transform of {length} elements: at most {LONGEST} can be written")
        cosines, sines = self.table(shape[dim], count or length, length, value[0].meta["val"].dtype)
        if weights is not None:
            cosines, sines = (self.emit(aten.mul.Tensor, one, weights) for one in (cosines, sines))

        def products(re, im):
            turned = cosines, sines if sign > 0 else self.minus(sines)
            if weights is None:
                return self.product((re, im), turned, aten.matmul.default)
            return self.sum(self.times(re, cosines, aten.matmul.default), self.times(
                im, turned[1], aten.matmul.default), aten.sub.Tensor), None

        return self.along(dim, len(shape), products, *value)

    def scaled(self, value, lengths, norm):
        """norm: 0 none, 1 by the root of the number of elements, 2 by their number."""
        factor = (1, 1 / math.sqrt(math.prod(lengths)), 1 / math.prod(lengths))[norm]
        return value if norm == 0 else tuple(self.times(part, factor) for part in value)

    def fourier(self, name, x, dims, norm, last):
        value = self.of(x)
        shape = list(value[0].meta["val"].shape)
        dims = [dim % len(shape) for dim in dims]
        lengths = [shape[dim] for dim in dims]
        if name == "_fft_c2c":
            for dim in dims:
                value = self.transform(value, dim, -1 if last else 1)
        elif name == "_fft_r2c":
            for i, dim in enumerate(reversed(dims)):
                value = self.transform(value, dim, -1, shape[dim] // 2 + 1 if last and i == 0 else None)
        else:
            lengths[-1] = last
            for dim in dims[:-1]:
                value = self.transform(value, dim, 1)
            k = self.emit(aten.unsqueeze.default, self.emit(aten.arange.default, shape[dims[-1]], dtype=torch.int64), 1)
            alone = self.emit(aten.eq.Scalar, self.emit(aten.remainder.Scalar, self.emit(aten.mul.Tensor, k, 2), last),
                              0)
            alone = self.emit(aten._to_copy.default, alone, dtype=value[0].meta["val"].dtype)
            weights = self.emit(aten.add.Tensor, self.emit(aten.neg.default, alone), 2)
            value = self.transform(value, dims[-1], 1, last, last, weights)
        value = self.scaled(value, lengths, norm)
        return value[0] if name == "_fft_c2r" else value

    # -- ops --

    def converted(self, x, dtype=None, **_):
        re, im = self.of(x)
        if dtype is None:
            return re, im
        real = torch.empty((), dtype=dtype).real.dtype if dtype.is_complex else dtype
        parts = [None if one is None else self.emit(aten._to_copy.default, one, dtype=real) for one in (re, im)]
        return (parts[0], parts[1]) if dtype.is_complex else parts[0]

    def part_by_part(self, node):
        found = []
        for i in range(2):
            def part(source, i=i):
                pair = self.of(source)
                return pair[i] if pair[i] is not None or source not in self.parts else None

            sources = [source for source in node.all_input_nodes if source in self.parts]
            if i and any(self.parts[source][1] is None for source in sources):
                for source in sources:
                    re, im = self.parts[source]
                    self.parts[source] = re, self.emit(aten.zeros_like.default, re) if im is None else im
            if node.target is operator.getitem:
                found.append(self.emit(node.target, part(node.args[0]), node.args[1]))
            else:
                found.append(self.emit(node.target, *torch.fx.map_arg(node.args, part),
                                       **torch.fx.map_arg(node.kwargs, part)))
        return tuple(found)

    def written(self, node):
        """What stands for the node: two parts, or a node that is real."""
        name = getattr(node.target, "_schema", None)
        name = name.name.partition("::")[2] + ("." + name.overload_name if name.overload_name else "") if name else \
            node.target.__name__
        args = node.args
        if name in BY_PARTS:
            return self.part_by_part(node)
        if name in PRODUCTS:
            target = aten.mul.Tensor if name == "mul.Scalar" else node.target
            return self.product(self.of(args[0]), self.of(args[1]), target)
        if name in ("add.Tensor", "sub.Tensor", "add.Scalar", "sub.Scalar") and not node.kwargs and len(args) == 2:
            (a, b), (c, d) = map(self.of, args)
            target = aten.sub.Tensor if name.startswith("sub") else aten.add.Tensor
            return self.sum(a, c, target), self.sum(b, d, target)
        if name in ("div.Tensor", "div.Scalar"):
            return self.quotient(self.of(args[0]), self.of(args[1]))
        if name.startswith("_fft_"):
            return self.fourier(name, *args)
        if name == "_to_copy":
            return self.converted(*args, **node.kwargs)
        return self.named(name, node)

    def named(self, name, node):
        args = node.args
        if name == "view_as_complex":
            return tuple(self.emit(aten.select.int, args[0], -1, i) for i in range(2))
        if name == "complex":
            return args
        if name == "polar":
            return tuple(self.times(args[0], self.emit(op, args[1])) for op in (aten.cos.default, aten.sin.default))
        re, im = self.of(args[0])
        if name == "view_as_real":
            return self.whole((re, im))
        if name in ("_conj", "_conj_physical", "conj_physical"):
            return re, self.minus(im)
        if name == "abs":
            return self.emit(aten.linalg_vector_norm.default, self.whole((re, im)), 2, [-1])
        if name == "exp":
            length = self.emit(aten.exp.default, re)
            angle = self.emit(aten.zeros_like.default, re) if im is None else im
            return tuple(self.times(length, self.emit(op, angle)) for op in (aten.cos.default, aten.sin.default))
        return self.refuse(f"{node.target} of complex values cannot be written")

    def constant(self, node, spec):
        """A complex buffer or constant is kept as both parts in one tensor, which is a constant then."""
        kinds = torch.export.graph_signature.InputKind
        if spec.kind not in (kinds.BUFFER, kinds.CONSTANT_TENSOR):
            what = "parameter" if spec.kind == kinds.PARAMETER else "input"
            self.refuse(f"the {what} '{spec.target or node.name}' is complex: hold it as real numbers, and write "
                        "torch.view_as_complex(x) in forward()")
        program, name = self.program, spec.target
        held = {**program.constants, **program.state_dict}[name]
        program._state_dict = {key: value for key, value in program.state_dict.items() if key != name}
        program._constants = {**program.constants, name: torch.view_as_real(held.detach().resolve_conj()).contiguous()}
        spec.kind, spec.persistent = kinds.CONSTANT_TENSOR, None
        node.meta["val"] = torch.ops.aten.view_as_real.default(node.meta["val"])
        first = next(one for one in self.graph.nodes if one.op != "placeholder")
        self.node = first
        self.parts[node] = tuple(self.emit(aten.select.int, node, -1, i) for i in range(2))

    def run(self):
        specs = {spec.arg.name: spec for spec in self.program.graph_signature.input_specs if hasattr(spec.arg, "name")}
        for node in list(self.graph.nodes):
            self.node = node
            if node.op == "placeholder" and is_complex(node.meta.get("val")):
                self.constant(node, specs[node.name])
            elif node.op == "output" and any(source in self.parts for source in node.all_input_nodes):
                self.refuse("a result is complex: give torch.view_as_real(z)")
            elif node.target is aten._assert_tensor_metadata.default:
                self.graph.erase_node(node)
            elif node.op == "call_function" and (is_complex(node.meta.get("val")) or any(
                    source in self.parts for source in node.all_input_nodes)):
                found = self.written(node)
                if isinstance(found, torch.fx.Node):
                    node.replace_all_uses_with(found)
                else:
                    self.parts[node] = found
        self.graph.eliminate_dead_code()
        self.program.graph_module.recompile()


def separate(program, failure):
    """failure: what is raised for what cannot be written. Returns the program."""
    if any(is_complex(node.meta.get("val")) for node in program.graph.nodes):
        Separation(program, failure).run()
    return program
