#!/usr/bin/env python3
"""GPT-2 of any size as a graph of the zb dialect, without PyTorch: what the benchmarks compile where there is none.

    gpt.py [--layers 12 --dim 768 --heads 12 --seq 1024 --batch 4 --vocab 50304] FILE.mlir

Fused query/key/value, tanh-GELU, LayerNorm, learned positions, tied embedding; parameters are called as in Hugging
Face's checkpoints. zbc draws their values from their names. Only the standard library.
"""
import argparse
import dataclasses


@dataclasses.dataclass(frozen=True)
class Size:
    layers: int = 12
    dim: int = 768
    heads: int = 12
    seq: int = 1024
    batch: int = 4
    vocab: int = 50304

    def parameters(self):
        """Elements of all parameters; the tied embedding once."""
        block = 12 * self.dim**2 + 13 * self.dim
        return (self.vocab + self.seq + 2) * self.dim + self.layers * block


def tensor(*shape, dtype="f32"):
    return f"tensor<{'x'.join(map(str, shape))}x{dtype}>" if shape else f"tensor<{dtype}>"


class Graph:
    """Text of a graph-level function; a value is a (name, shape, dtype)."""

    def __init__(self, size):
        self.size, self.arguments, self.lines, self.count = size, [], [], 0

    def argument(self, attribute, name, *shape, dtype="f32"):
        value = f"%a{len(self.arguments)}"
        self.arguments.append(f'{value}: {tensor(*shape, dtype=dtype)} {{zb.{attribute} = "{name}"}}')
        return value, shape, dtype

    def parameter(self, name, *shape):
        return self.argument("param", name, *shape)

    def op(self, name, operands, attributes, *shapes):
        self.count += 1
        value = f"%{self.count}"
        results = ", ".join(tensor(*s) for s in shapes)
        types = ", ".join(tensor(*s, dtype=d) for _, s, d in operands)
        results = f"({results})" if len(shapes) > 1 else results
        bind = f"{value}:{len(shapes)}" if len(shapes) > 1 else value
        inner = f" {{{attributes}}}" if attributes else ""
        self.lines.append(f'  {bind} = "zb.{name}"({", ".join(v for v, _, _ in operands)}){inner} : '
                          f'({types}) -> {results}')
        if len(shapes) == 1:
            return value, shapes[0], "f32"
        return [(f"{value}#{i}", s, "f32") for i, s in enumerate(shapes)]

    def reshape(self, x, *shape):
        return self.op("reshape", [x], f"shape = array<i64: {', '.join(map(str, shape))}>", shape)

    def linear(self, x, name, width):
        rows, depth = x[1]
        product = self.op("matmul", [x, self.parameter(name + ".weight", depth, width)], "", (rows, width))
        return self.op("add", [product, self.parameter(name + ".bias", width)], "", (rows, width))

    def norm(self, x, name):
        scale, bias = self.parameter(name + ".weight", self.size.dim), self.parameter(name + ".bias", self.size.dim)
        rows = x[1][0]
        return self.op("layer_norm", [x, scale,
                                      bias], "axis = 1 : i64, epsilon = 1.0e-5 : f64", x[1], (rows, 1), (rows, 1))[0]

    def positions(self, x):
        s = self.size
        rows = self.reshape(x, s.batch, s.seq, s.dim)
        return self.reshape(self.op("add", [rows, self.parameter("transformer.wpe.weight", s.seq, s.dim)], "", rows[1]),
                            *x[1])

    def block(self, x, name):
        s = self.size
        rows, heads = s.batch * s.seq, (s.batch, s.seq, s.heads, s.dim // s.heads)
        fused = self.linear(self.norm(x, name + ".ln_1"), name + ".attn.c_attn", 3 * s.dim)
        parts = self.op("split", [fused],
                        f"axis = 1 : i64, sizes = array<i64: {s.dim}, {s.dim}, {s.dim}>", *[(rows, s.dim)] * 3)
        q, k, v = [self.reshape(p, *heads) for p in parts]
        scale = heads[3] ** -0.5
        attributes = f"causal = true, scale = {scale:.17e} : f64"
        out = self.op("attention", [q, k, v], attributes, heads, (s.batch, s.heads, s.seq))[0]
        x = self.op("add", [self.linear(self.reshape(out, rows, s.dim), name + ".attn.c_proj", s.dim), x], "", x[1])
        wide = self.linear(self.norm(x, name + ".ln_2"), name + ".mlp.c_fc", 4 * s.dim)
        wide = self.op("gelu", [wide], "tanh = true", (rows, 4 * s.dim))
        return self.op("add", [x, self.linear(wide, name + ".mlp.c_proj", s.dim)], "", x[1])


def program(size):
    """The model and its loss as text: input tokens x and targets y, [batch, seq]."""
    g = Graph(size)
    rows = size.batch * size.seq
    x = g.argument("input", "x", size.batch, size.seq, dtype="i64")
    y = g.argument("input", "y", size.batch, size.seq, dtype="i64")
    table = g.parameter("transformer.wte.weight", size.vocab, size.dim)
    h = g.op("gather", [table, x], "axis = 0 : i64", (size.batch, size.seq, size.dim))
    h = g.positions(g.reshape(h, rows, size.dim))
    for i in range(size.layers):
        h = g.block(h, f"transformer.h.{i}")
    logits = g.op("matmul", [g.norm(h, "transformer.ln_f"), table], "transpose_rhs = true", (rows, size.vocab))
    logits = g.reshape(logits, size.batch, size.seq, size.vocab)
    loss = g.op("cross_entropy", [logits, y], 'reduction = "mean"', (), (size.batch, size.seq))[0]
    return (f"func.func @model({', '.join(g.arguments)}) -> (tensor<f32> {{zb.loss}}) {{\n" + "\n".join(g.lines) +
            f"\n  return {loss[0]} : tensor<f32>\n}}\n")


def add_options(parser):
    for field in dataclasses.fields(Size):
        parser.add_argument("--" + field.name, type=int, default=field.default)


def size_of(options):
    return Size(**{field.name: getattr(options, field.name) for field in dataclasses.fields(Size)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    add_options(parser)
    options = parser.parse_args()
    with open(options.file, "w") as file:
        file.write(program(size_of(options)))


if __name__ == "__main__":
    main()
