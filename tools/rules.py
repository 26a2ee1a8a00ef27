"""What PyTorch means by nodes that its exporter writes, for evaluate.py: rows of ir/import/onnx/rules.def, which says
how they read. One table, and another reading of it than that of zbc: slopes that are wrong there part from those of the
model that is exported, and test/e2e/points.py compares what zbc makes of them."""

import ast
import os
import re

import torch
import torch.nn.functional as F

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ir", "import", "onnx", "rules.def")
TURN = ("Add", "Mul", "Max", "Min", "And", "Or", "Equal")
OPS = {"max": torch.maximum, "mod": torch.remainder, "and_": torch.logical_and, "or_": torch.logical_or,
       "softplus": F.softplus, "is_nan": torch.isnan, "equal": torch.eq}
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])  # of the exporter


def term_of(text):
    """As Python reads it: the part D of D:Sub(b,c) is D == Sub(b,c)."""
    text = re.sub(r"([A-Za-z]):", r"\1==", re.sub(r"\b(and|or)\(", r"\1_(", text.lstrip("?")))
    return ast.parse(text, mode="eval").body if text else None


def read_rules():
    """[(function, formula, value or None, [(letter, slope)])]; conditions are slopes, too."""
    with open(TABLE, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    rules = []
    for kind, row in re.findall(r"^ZB_(\w+)\((.*?)\)$", text, re.M | re.S):
        function, *terms = ["".join(re.findall(r'"([^"]*)"', part)) for part in re.split(r'(?<="),', row)]
        formula, value, *slopes = [term_of(text) for text in [terms[0], *[""] * (kind == "SLOPES"), *terms[1:]]]
        rules.append((function, formula, value, [pair for pair in zip("abc", slopes) if pair[1]]))
    return rules


RULES = read_rules()


def is_within(node, function):
    """As is_within of ir/import/onnx/rules.c."""
    function, *version = function.split()
    if version and (VERSION >= (2, int(version[1]))) != (version[0] == "from"):
        return False
    op = re.search(r"torch\.ops\.aten\.([\w.]+)\]", node.metadata_props.get("pkg.torch.onnx.fx_node", ""))
    scopes = re.findall(r"'([^']*)'", node.metadata_props.get("pkg.torch.onnx.name_scopes", ""))
    name = op[1] if op else scopes[-1] if scopes else ""
    if function[-1] == "*":
        return name.startswith(function[:-1])
    return re.fullmatch(re.escape(function) + r"(_\d*)?" + (r"(\..*)?" if op else ""), name) is not None


class Matcher:
    def __init__(self, constant_of):
        """constant_of(value): its tensor; None where it depends on what a step is given."""
        self.constant_of = constant_of

    def number(self, value):
        tensor = None if value is None else self.constant_of(value)
        if tensor is None or tensor.numel() == 0 or (tensor != tensor.reshape(-1)[0]).any():
            return None
        return float(tensor.reshape(-1)[0])

    def matches(self, term, value, found):
        """What letters are, of those that are found and this term; None."""
        if isinstance(term, ast.Compare):
            found = {**found, term.left.id: value}
            term = term.comparators[0]
        if isinstance(term, ast.Call):
            return None if value is None else self.matches_node(term, value.producer(), found)
        number = self.number(value)
        if not isinstance(term, ast.Name):
            wanted = ast.literal_eval(term)
            return found if number is not None and abs(number - wanted) <= 1e-6 * abs(wanted) else None
        if term.id == "_" or value is None:
            return found if term.id == "_" and value is None else None
        if term.id in found:
            same = found[term.id] is value or (number is not None and number == self.number(found[term.id]))
            return found if same else None
        return {**found, term.id: value} if term.id.islower() or number is not None else None

    def matches_node(self, term, node, found):
        terms, name = term.args, term.func.id
        if node is None or node.op_type != name or len(node.inputs) != len(terms) or len(node.outputs) != 1:
            return None
        for values in [node.inputs, node.inputs[::-1]][: 2 if name in TURN and len(terms) == 2 else 1]:
            now = found
            for own, value in zip(terms, values):
                now = self.matches(own, value, now) if now is not None else None
            if now is not None:
                return now
        return None

    def find(self, node):
        """(rule, {letter: value}) of a node, or None."""
        for rule in RULES:
            found = self.matches_node(rule[1], node, {})
            if found is not None and (not rule[0] or is_within(node, rule[0])):
                return rule, found
        return None


def build(term, given):
    if isinstance(term, ast.Name):
        return given[term.id]
    if isinstance(term, ast.Call):
        return (OPS.get(term.func.id) or getattr(torch, term.func.id))(*(build(own, given) for own in term.args))
    return torch.tensor(ast.literal_eval(term), dtype=given["out"].dtype)


class Sloped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, slopes, *operands):
        ctx.slopes, ctx.shapes = slopes, [x.shape for x in operands]
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        whole = [torch.where(s, gradient, 0) if s.dtype == torch.bool else gradient * s for s in ctx.slopes]
        return None, None, *(g.sum_to_size(shape) for g, shape in zip(whole, ctx.shapes))


def apply(rule, out, given):
    """What a node gives by a rule, of what it gives without, and the tensors of letters."""
    _, _, value, slopes = rule
    if out.is_floating_point() and value is not None:
        out = build(value, {**given, "out": out})
    if not out.is_floating_point() or not slopes:
        return out
    with torch.no_grad():
        fixed = {"out": out.detach()} | {letter: tensor.detach() for letter, tensor in given.items()}
        found = [build(slope, fixed) for _, slope in slopes]
    return Sloped.apply(fixed["out"], found, *(given[letter] for letter, _ in slopes))
