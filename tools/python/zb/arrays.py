"""Arrays of any library as the C API wants them: an address, a type and a shape, without a copy where that can be.

An array is taken by the buffer protocol (NumPy's arrays, bytes, array.array, memoryview) or by DLPack (PyTorch's
tensors, and those of other libraries).
"""
from __future__ import annotations

import ctypes
import struct
import sys
from typing import Any, Callable, Optional, Sequence, Tuple

from . import _c
from ._library import invalid, library

# Character of a buffer's format, or code of DLPack, and bits: the type's name in zb.
FORMATS = {"?": {8: "i1"}, "e": {16: "f16"}, "f": {32: "f32"}, "d": {64: "f64"},
           **{c: {32: "i32", 64: "i64"} for c in "ilqn"}}
CODES = {0: {32: "i32", 64: "i64"}, 2: {16: "f16", 32: "f32", 64: "f64"}, 4: {16: "bf16"}, 6: {8: "i1"}}
OTHERS = {**{c: "int" for c in "bhilq"}, **{c: "uint" for c in "BHILQ"}, "Zf": "complex", "Zd": "complex"}
# The same in NumPy's and PyTorch's words; buffers without NumPy have the format.
NUMPY = {"f32": "float32", "f64": "float64", "f16": "float16", "i64": "int64", "i32": "int32", "i1": "bool"}
TORCH = dict(NUMPY, bf16="bfloat16")
BUFFER = {"f32": "f", "f64": "d", "f16": "e", "i64": "q", "i32": "i", "i1": "?", "bf16": "H"}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


class _Buffer(ctypes.Structure):
    """Py_buffer, as far as it has the address."""
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("rest", ctypes.c_void_p * 5)]


_python = ctypes.PyDLL(None)  # not ctypes.pythonapi, which others declare otherwise
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyObject_GetBuffer.argtypes = [ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int]
_python.PyBuffer_Release.argtypes = [ctypes.POINTER(_Buffer)]
_CPU, _PINNED = 1, 3  # devices of DLPack whose memory the CPU reads
_SIMPLE = 0


class View:
    """Contiguous memory of an array, which lives as long as this does."""
    __slots__ = ("address", "dtype", "shape", "keeps", "__weakref__")

    def __init__(self, address: int, dtype: str, shape: Tuple[int, ...], keeps: Any):
        self.address, self.dtype, self.shape, self.keeps = address, dtype, shape, keeps

    def __str__(self) -> str:
        return shape_text(self.shape, self.dtype)


def shape_text(shape: Sequence[int], dtype: str) -> str:
    return "x".join([str(size) for size in shape] + [dtype])


def _address_of(buffer: Any) -> int:
    found = _Buffer()
    _python.PyObject_GetBuffer(buffer, ctypes.byref(found), _SIMPLE)
    address = found.buf or 0
    _python.PyBuffer_Release(ctypes.byref(found))
    return address


def _of_buffer(buffer: memoryview, what: str) -> View:
    character, bits = buffer.format.lstrip("@=<"), 8 * buffer.itemsize
    if buffer.format[:1] in (">", "!") and bits > 8:
        raise invalid("%s has its bytes in the order of another machine (format '%s')" % (what, buffer.format),
                      "convert it: array.astype(array.dtype.newbyteorder('='))")
    dtype = FORMATS.get(character, {}).get(bits) or "%s%d" % (OTHERS.get(character, "'%s', " % character), bits)
    shape = tuple(buffer.shape or ())
    kept: Any = buffer if buffer.c_contiguous else buffer.tobytes()
    return View(_address_of(kept), dtype, shape, kept)


def _of_capsule(array: Any, what: str) -> View:
    try:
        capsule = array.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library from before versions
        capsule = array.__dlpack__()
    if _python.PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        at = _python.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        tensor = _Versioned.from_address(at).tensor
        if _Versioned.from_address(at).major != 1:
            raise invalid("%s comes by version %d of DLPack: expected 1" % (what, _Versioned.from_address(at).major))
    else:
        tensor = _Tensor.from_address(_python.PyCapsule_GetPointer(capsule, b"dltensor"))
    if tensor.device_type not in (_CPU, _PINNED):
        raise invalid("%s is not in the memory of the CPU" % what, "bring it there: tensor.cpu()")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    dtype = CODES.get(tensor.code, {}).get(tensor.bits)
    if dtype is None or tensor.lanes != 1:
        kind = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}.get(tensor.code, "type %d, " % tensor.code)
        dtype = "%s%d" % (kind, tensor.bits)
    expected = 1
    for i in reversed(range(tensor.ndim if tensor.strides else 0)):
        if shape[i] != 1 and tensor.strides[i] != expected and 0 not in shape:
            raise invalid("%s is not contiguous" % what, "copy it: tensor.contiguous()")
        expected *= shape[i]
    return View((tensor.data or 0) + tensor.byte_offset, dtype, shape, (capsule, array))


def _of_numbers(values: Any, what: str, dtype: str) -> Tuple[Tuple[int, ...], bytes]:
    """Shape and bytes of a list, of lists, of numbers, as that type; rows may be arrays."""
    if isinstance(values, (list, tuple)) and any(isinstance(one, (list, tuple)) or hasattr(one, "shape")
                                                 for one in values):
        rows = [_of_numbers(one, what, dtype) for one in values]
        if any(shape != rows[0][0] for shape, _ in rows):
            raise invalid("%s is a list whose rows have different lengths" % what, "pad them to one length")
        return (len(rows),) + rows[0][0], b"".join(row for _, row in rows)
    if not isinstance(values, (list, tuple)):
        row = view(values, what)
        if row.dtype != dtype:
            raise invalid("%s is a list of arrays of %s: expected %s" % (what, row.dtype, dtype))
        return row.shape, ctypes.string_at(row.address, _count(row.shape) * library().zb_dtype_bytes(code_of(dtype)))
    if dtype == "i1" and all(isinstance(one, bool) for one in values):
        return (len(values),), bytes(values)
    try:
        return (len(values),), struct.pack("=%d%s" % (len(values), BUFFER[dtype]), *values)
    except (struct.error, TypeError, OverflowError):
        wrong = next((one for one in values if not isinstance(one, (int, float))), None)
        wrong = wrong if wrong is not None else next((one for one in values if isinstance(one, float)), values[0])
        raise invalid("%s is a list with %r: expected numbers of %s" % (what, wrong, dtype)) from None


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def view(array: Any, what: str, dtype: Optional[str] = None) -> View:
    """The array's memory. what: how errors call it ("the input 'x'"). dtype: what a list of numbers becomes."""
    if isinstance(array, View):
        return array
    if isinstance(array, (list, tuple)) and dtype in BUFFER and dtype != "bf16":
        shape, data = _of_numbers(array, what, dtype)
        return View(_address_of(data), dtype, shape, data)
    try:
        buffer = memoryview(array)
    except (TypeError, ValueError, BufferError):
        pass
    else:
        return _of_buffer(buffer, what)
    if not hasattr(array, "__dlpack__"):
        raise invalid("%s is a %s: expected an array or a tensor" % (what, type(array).__name__),
                      "numpy.asarray(...) or torch.tensor(...) makes one")
    if hasattr(array, "detach"):  # PyTorch: a tensor with a gradient hands out nothing
        array = array.detach()
    for pending in ("resolve_neg", "resolve_conj"):  # signs that PyTorch has not written yet
        if hasattr(array, pending):
            array = getattr(array, pending)()
    if hasattr(array, "contiguous"):
        array = array.contiguous()
    return _of_capsule(array, what)


# ---- New arrays, for what C writes ----

def _numpy() -> Optional[Any]:
    try:
        import numpy
        return numpy
    except ImportError:
        return None


def framework(name: Optional[str] = None) -> str:
    """Whose arrays results are: "torch" if the program has imported PyTorch, else "numpy" if it is there, else
    "buffer" (memoryview)."""
    if name is not None:
        if name not in ("torch", "numpy", "buffer"):
            raise invalid("there are no arrays of '%s'" % name, "write 'torch', 'numpy' or 'buffer'")
        return name
    return "torch" if "torch" in sys.modules else "numpy" if _numpy() else "buffer"


def empty(shape: Sequence[int], dtype: str, kind: str) -> Tuple[Any, int]:
    """(array, address) for that many elements."""
    shape = tuple(shape)
    if kind == "torch":
        import torch
        tensor = torch.empty(shape, dtype=getattr(torch, TORCH[dtype]), device="cpu")
        return tensor, tensor.data_ptr()
    numpy = _numpy() if kind == "numpy" else None
    if numpy is not None:
        array = numpy.empty(shape, dtype=NUMPY.get(dtype, "uint16"))  # NumPy knows no bf16: its bits
        return array, array.ctypes.data
    count = _count(shape)
    memory = bytearray(max(1, count * library().zb_dtype_bytes(code_of(dtype))))
    flat: Any = memoryview(memory)[:count * library().zb_dtype_bytes(code_of(dtype))]
    if count > 0:
        flat = flat.cast(BUFFER[dtype], shape) if shape else flat.cast(BUFFER[dtype])
    return flat, _address_of(memory)


def of_tensor(tensor: Any, kind: str) -> Optional[Any]:
    """A copy of a tensor as an array of that kind; None: there are none of its type."""
    if kind == "torch":
        return tensor.clone()
    dtype = next((ours for ours, name in TORCH.items() if str(tensor.dtype) == "torch." + name), None)
    if dtype is None:
        return None
    array, address = empty(tuple(tensor.shape), dtype, kind)
    tensor = tensor.cpu().contiguous()
    ctypes.memmove(address, tensor.data_ptr(), tensor.numel() * tensor.element_size())
    return array


def code_of(dtype: str) -> int:
    code = ctypes.c_int()
    library().zb_dtype_parse(dtype.encode(), ctypes.byref(code))
    return code.value


def dtype_and_shape(shape: "_c.zb_shape") -> Tuple[str, Tuple[int, ...]]:
    return library().zb_dtype_name(shape.dtype).decode(), tuple(shape.dims[:shape.rank])


class Places:
    """For zb_session_values: `place(name, shape, dtype)` gives an address or 0."""

    def __init__(self, place: Callable[[str, Tuple[int, ...], str], int]):
        self.failure: Optional[BaseException] = None

        def call(_, name, shape):
            try:
                dtype, sizes = dtype_and_shape(shape[0])
                return place(name.decode(), sizes, dtype) or None
            except BaseException as error:  # pylint: disable=broad-except
                self.failure = self.failure or error
                return None

        self.function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p,
                                         ctypes.POINTER(_c.zb_shape))(call)
