"""torch.autograd.Function as ops: its forward pass, and its own backward pass where that is another than what the
forward pass gives. zbc differentiates ops, so the gradient of f(x) that is B(g) for a gradient g of the result is

    f(x.detach()) + L(x - x.detach()),

where L is the transpose of B: L is 0 there, and its gradient is B(g). Any B has one that is linear in g, as backward
passes are: L(v) is the derivative by g of the sum of B(g) * v. All of it is compared with the Function at drawn values.
"""
from __future__ import annotations

import inspect
from typing import Any, Callable, List, Sequence, Tuple

import torch
from torch.fx.experimental.proxy_tensor import make_fx

_BASE_SETUP = torch.autograd.function._SingleLevelFunction.setup_context
_leaves = torch.utils._pytree.tree_leaves


class Refused(Exception):
    """Why a Function cannot be written."""


class _Context:
    """What forward() and backward() of a Function get, where they are called as functions of their own."""

    saved_tensors: Tuple[Any, ...] = ()
    silent: Tuple[Any, ...] = ()  # results without a gradient

    def __init__(self, needs_input_grad: Sequence[bool] = ()):
        self.needs_input_grad = tuple(needs_input_grad)

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    save_for_forward = save_for_backward

    def mark_dirty(self, *tensors: Any) -> None:
        raise Refused("it changes what it is given (mark_dirty)")

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self.silent = tensors

    def set_materialize_grads(self, value: bool) -> None:
        pass


def _forward(function: Any, context: _Context, args: Sequence[Any]) -> Any:
    if type.__getattribute__(function, "setup_context") is _BASE_SETUP:
        return function.forward(context, *args)
    out = function.forward(*args)
    function.setup_context(context, args, out)
    return out


def _is_real(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _still(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def _transposed(function: Any, args: Sequence[Any], directions: Sequence[Any]) -> Tuple[Any, List[Any]]:
    """(results, L(v) for each, or None), without gradients. directions: v of each real argument."""
    context = _Context([_is_real(value) for value in args])
    out = _forward(function, context, [_still(value) for value in args])
    seeds = [torch.zeros_like(leaf).requires_grad_(_is_real(leaf)) for leaf in _leaves(out)]
    with torch.enable_grad():
        back = inspect.unwrap(function.backward)(context, *seeds)
    back = back if isinstance(back, (tuple, list)) else (back,)
    of_real = [gradient for gradient, value in zip(back, args) if _is_real(value)]
    pairs = [(gradient, v) for gradient, v in zip(of_real, directions) if gradient is not None]
    if not any(gradient.requires_grad for gradient, _ in pairs):
        return out, [None] * len(seeds)
    with torch.enable_grad():
        total = sum((gradient * v).sum() for gradient, v in pairs)
    found = iter(torch.autograd.grad(total, [seed for seed in seeds if seed.requires_grad], allow_unused=True))
    parts = [next(found) if seed.requires_grad else None for seed in seeds]
    return out, [None if any(leaf is one for one in context.silent) else part
                 for leaf, part in zip(_leaves(out), parts)]


def _with_own_backward(function: Any, args: Sequence[Any]) -> Callable[..., Any]:
    """f(x.detach()) + L(x - x.detach()), for arguments like these."""
    tensors = [i for i, value in enumerate(args) if isinstance(value, torch.Tensor)]
    real = [i for i in tensors if _is_real(args[i])]

    def both(*given: Any) -> Any:
        whole = list(args)
        for i, value in zip(tensors, given):
            whole[i] = value
        return _transposed(function, whole, given[len(tensors):])

    plain = [torch.zeros(args[i].shape, dtype=args[i].dtype) for i in [*tensors, *real]]
    graph = make_fx(both, tracing_mode="fake")(*plain)

    def call(*given: Any) -> Any:
        still = [_still(value) for value in given]
        out, parts = graph(*[still[i] for i in tensors], *[given[i] - still[i] for i in real])
        leaves, spec = torch.utils._pytree.tree_flatten(out)
        return torch.utils._pytree.tree_unflatten(
            [leaf if part is None else leaf + part for leaf, part in zip(leaves, parts)], spec)

    return call


def _drawn_like(value: Any) -> Any:
    """Another tensor of that shape and type, of numbers that no part of a function is for alone."""
    if not isinstance(value, torch.Tensor):
        return value
    if not value.is_floating_point():
        return torch.ones(value.shape, dtype=value.dtype)
    generator = torch.Generator().manual_seed(value.dim())
    return (torch.randn(value.shape, generator=generator, dtype=torch.float64) * 1.5).requires_grad_()


def _gradients(call: Callable[..., Any], drawn: Sequence[Any], scale: float) -> Sequence[Any]:
    """scale: the size of the gradients of results."""
    total = sum(((part * torch.linspace(-scale, 2 * scale, part.numel(), dtype=torch.float64).view(part.shape)).sum()
                 for part in _leaves(call(*drawn)) if _is_real(part) and part.requires_grad),
                start=torch.zeros((), dtype=torch.float64, requires_grad=True))
    inputs = [value for value in drawn if _is_real(value)]
    return torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True) if inputs else ()


def _same(one: Callable[..., Any], other: Callable[..., Any], args: Sequence[Any]) -> bool:
    """Whether two functions have the same gradients, to rounding, whatever the size of those of their results."""
    drawn = [_drawn_like(value) for value in args]
    return all(torch.allclose(a, b, rtol=1e-6, atol=1e-8 * abs(scale)) for scale in (1e-3, -1.0, 1e3)
               for a, b in zip(_gradients(one, drawn, scale), _gradients(other, drawn, scale)))


def as_ops(function: Any, apply: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> Callable[..., Any]:
    """A function of the same arguments, of ops alone. apply: PyTorch's own. Refused says why there is none."""
    if kwargs:
        raise Refused("apply() is given arguments by name")

    def plain(*given: Any) -> Any:
        return _forward(function, _Context(), given)

    with torch.utils._python_dispatch._disable_current_modes(), torch.enable_grad():
        drawn = [_drawn_like(value) for value in args]
        try:
            if _same(apply, plain, args):
                return plain
        except Exception:  # its forward pass alone has no derivative: its own backward pass is there for that
            pass
        try:
            if _same(apply, _with_own_backward(function, drawn), args):
                return _with_own_backward(function, args)
        except Refused:
            raise
        except Exception as error:
            raise Refused("%s: %s" % (type(error).__name__, str(error).strip().split("\n")[0][:200])) from error
    raise Refused("it is not in proportion to the gradients that it is given, as where it clips them, or it draws "
                  "random numbers")
