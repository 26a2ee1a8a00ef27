#!/usr/bin/env python3
"""Records for points.py what PyTorch computes at special points: make_points.py [FOLDER [CASE...]], with its Python.

The cases of points_aten.py become one model: for each a part of the loss that is sum(y * CASE__g), so that the
gradient of CASE__g is the value y, and those of CASE__x0, CASE__x1, ... are its gradients, weighted with CASE__g. A
file of expectations has each as the framework computes it in f32, and, where its name ends in .exact, in f64 at the
same points. Other doors have the same archive (record()): model, values.safetensors, expected.safetensors."""
import json
import os
import re
import struct
import sys
import tempfile
import warnings
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data", "points")


def safetensors(tensors, metadata=None):
    """{name: (dtype as "F32", shape, bytes)} as a file."""
    header, offset = {"__metadata__": metadata} if metadata else {}, 0
    for name, (dtype, shape, body) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + len(body)]}
        offset += len(body)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(body for _, _, body in tensors.values())


def record(path, model, values, expected, framework, ulps, options=()):
    """Writes the archive of a door. model: (name of the file, text). values, expected: tensors as above. ulps: {case:
    [units in the last place, elements of a row or 0, the least value whose last place
    counts]}. options: further ones of the tool `points`."""
    metadata = {"framework": framework, "ulps": json.dumps(ulps), "options": json.dumps(list(options))}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, body in (model, ("values.safetensors", safetensors(values)),
                           ("expected.safetensors", safetensors(expected, metadata))):
            archive.writestr(zipfile.ZipInfo(name), body, zipfile.ZIP_DEFLATED)


def main():
    import torch

    sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tools", "python")]
    import points_aten
    from zb import aten

    warnings.simplefilter("ignore")

    def exported(names):
        """The text, without places, which are those of this script, and its values."""
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "model.mlir")
            aten.export(points_aten.Points(names, torch.float32), (torch.zeros(1),), path=path)
            with open(path) as file:
                text = re.sub(r"^#f.*\n", "", file.read(), flags=re.M)
            with open(os.path.join(scratch, "model.safetensors"), "rb") as file:
                return re.sub(r' loc\("([^"]*)"(\(#f\d+\))?\)', "", text), file.read()

    folder = sys.argv[1] if len(sys.argv) > 1 else DATA
    own = torch.export.default_decompositions
    version = ".".join(torch.__version__.split(".")[:2])
    os.makedirs(folder, exist_ok=True)
    for label, names, table in ((version, list(points_aten.CASES), own),
                                (version + "-rows", points_aten.ROWS_ALONE, dict)):
        names = [name for name in names if name in sys.argv[2:] or not sys.argv[2:]]
        if not names:
            continue
        expected, values, ulps = points_aten.of_framework(names)
        torch.export.default_decompositions = table
        text, stored = exported(names)
        torch.export.default_decompositions = own
        path = os.path.join(folder, f"aten-{label}.zip")
        record(path, ("model.mlir", text), values, expected, f"torch {torch.__version__.partition('+')[0]}", ulps)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr(zipfile.ZipInfo("model.safetensors"), stored, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
