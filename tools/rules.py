"""What PyTorch means by nodes that its exporter writes, for evaluate.py: rows of ir/import/onnx/rules.def, which says
how they read. One table, and another reading of it than that of zbc: slopes that are wrong there part from those of the
model that is exported, and test/e2e/points.py compares what zbc makes of them."""

import os
import re

import torch
import torch.nn.functional as F

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ir", "import", "onnx", "rules.def")
TURN = ("Add", "Mul", "Max", "Min", "And", "Or", "Equal")
OPS = {"max": torch.maximum, "mod": torch.remainder, "equal": torch.eq, "greater_equal": torch.ge,
       "is_nan": torch.isnan, "less_equal": torch.le, "and": torch.logical_and, "or": torch.logical_or, "softplus": F.softplus}


def parse(text):
    """A number, a name, or (name, part of it that has a letter, terms)."""
    words = re.findall(r"[A-Za-z]:|\w+(?=\()|[\w.-]+|[(),]", text)

    def term():
        letter = words.pop(0)[0] if words[0][-1] == ":" else None
        word, terms = words.pop(0), []
        if not words or words[0] != "(":
            return float(word) if word[0] in "-0123456789" else word
        while words.pop(0) in "(,":
            terms.append(term())
            if words[0] == ")":
                words.pop(0)
                break
        return word, letter, terms

    return term()


def read_rules():
    """[(function, formula, value or None, [(letter, slope)])]; conditions are slopes, too."""
    with open(TABLE, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    rules = []
    for kind, row in re.findall(r"^ZB_(\w+)\((.*?)\)$", text, re.M | re.S):
        function, formula, *rest = ["".join(re.findall(r'"([^"]*)"', part)) for part in re.split(r'(?<="),', row)]
        value = parse(rest.pop(0)) if kind != "SLOPES" else None
        slopes = [(letter, parse(slope.lstrip("?"))) for letter, slope in zip("abc", rest) if slope]
        rules.append((function, parse(formula), value, slopes))
    return rules


RULES = read_rules()
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])  # of the exporter


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
        tensor = self.constant_of(value)
        if tensor is None or tensor.numel() == 0 or (tensor != tensor.reshape(-1)[0]).any():
            return None
        return float(tensor.reshape(-1)[0])

    def matches(self, term, value, found):
        """What letters are, of those that are found and this term; None."""
        if isinstance(term, float):
            number = None if value is None else self.number(value)
            return found if number is not None and abs(number - term) <= 1e-6 * abs(term) else None
        letter = term if isinstance(term, str) else term[1]
        if value is None:
            return found if letter == "_" else None
        if letter in found:
            known = self.number(value)
            same = found[letter] is value or (known is not None and known == self.number(found[letter]))
            return found if same else None
        if isinstance(term, str) and term.isupper() and self.number(value) is None:
            return None
        found = {**found, letter: value} if letter else found
        return found if isinstance(term, str) else self.matches_node(term, value.producer(), found)

    def matches_node(self, term, node, found):
        name, _, terms = term
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
            found = self.matches_node(rule[1], node, {}) if rule[1][0] == node.op_type else None
            if found is not None and (not rule[0] or is_within(node, rule[0])):
                return rule, found
        return None


def build(term, tensors):
    if isinstance(term, float):
        return torch.tensor(term, dtype=tensors["out"].dtype)
    if isinstance(term, str):
        return tensors[term]
    return (OPS.get(term[0]) or getattr(torch, term[0]))(*(build(own, tensors) for own in term[2]))


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
    if not out.is_floating_point():
        return out
    _, _, value, slopes = rule
    out = out if value is None else build(value, {**given, "out": out})
    if not slopes:
        return out
    with torch.no_grad():
        fixed = {"out": out.detach()} | {letter: tensor.detach() for letter, tensor in given.items()}
        found = [build(slope, fixed) for _, slope in slopes]
    return Sloped.apply(fixed["out"], found, *(given[letter] for letter, _ in slopes))
