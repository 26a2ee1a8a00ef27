"""Modules whose parameters have shapes and no values yet: those of 70 billion numbers need no memory to be compiled.

PyTorch keeps such tensors on its device meta. torch.export refuses to mix them with inputs that have values, so while a
module is exported they are fake tensors of the CPU, which have no values either.
"""
from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Tuple

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils.weak import WeakTensorKeyDictionary


def has_no_value(tensor: Any) -> bool:
    return isinstance(tensor, FakeTensor) or tensor.is_meta


@contextlib.contextmanager
def exported_by_shape(model: torch.nn.Module) -> Iterator[None]:
    """Meanwhile parameters and buffers on the device meta are fake ones; tied ones stay tied."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    places: List[Tuple[Dict[str, Any], str, torch.Tensor]] = [
        (held, name, tensor) for module in model.modules() for held in (module._parameters, module._buffers)
        for name, tensor in held.items() if tensor is not None and tensor.is_meta]
    fakes: Dict[int, Any] = {}
    try:
        for held, name, tensor in places:
            if id(tensor) not in fakes:
                with mode:
                    fake = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
                    fakes[id(tensor)] = torch.nn.Parameter(fake, requires_grad=tensor.requires_grad) \
                        if isinstance(tensor, torch.nn.Parameter) else fake
            held[name] = fakes[id(tensor)]
        yield
    finally:
        for held, name, tensor in places:
            held[name] = tensor


@contextlib.contextmanager
def without_values() -> Iterator[None]:
    """with zb.without_values(): model = Model(config)

    The parameters of modules that are made meanwhile have no values, so that they take no memory, and are not
    initialized. Buffers have theirs, which a module computes (with torch.device("meta") it could not)."""
    register = torch.nn.Module.register_parameter
    made = WeakTensorKeyDictionary()  # what several modules share stays shared

    def register_without(module: torch.nn.Module, name: str, parameter: Any) -> None:
        register(module, name, parameter)
        if parameter is not None and not parameter.is_meta:
            if parameter not in made:
                made[parameter] = torch.nn.Parameter(parameter.detach().to("meta"), parameter.requires_grad)
            module._parameters[name] = made[parameter]

    torch.nn.Module.register_parameter = register_without  # type: ignore
    try:
        yield
    finally:
        torch.nn.Module.register_parameter = register  # type: ignore
