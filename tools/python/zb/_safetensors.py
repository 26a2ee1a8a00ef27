"""Files of safetensors, of arrays in memory, whichever framework has them."""
from __future__ import annotations

import ctypes
import json
import math
import struct
from typing import Any, Dict, Mapping, Sequence, Tuple

# Names of element types here and in a file, and their bytes.
STORED = {"f32": ("F32", 4), "f64": ("F64", 8), "bf16": ("BF16", 2), "f16": ("F16", 2), "i64": ("I64", 8),
          "i32": ("I32", 4), "i1": ("BOOL", 1)}


def write(path: str, values: Mapping[str, Tuple[str, Sequence[int], int]]) -> None:
    """values: element type, shape and address of each, contiguous. Length of the header, header, data."""
    header: Dict[str, Any] = {}
    end = 0
    for name, (dtype, shape, _) in values.items():
        kind, size = STORED[dtype]
        begin, end = end, end + math.prod(shape) * size
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, (_, _, address) in values.items():
            begin, end = header[name]["data_offsets"]
            if end > begin:
                file.write((ctypes.c_char * (end - begin)).from_address(address))
