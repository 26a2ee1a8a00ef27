#!/usr/bin/env python3
"""Writes test/data/windows: models of window_models.py as zb.aten exports them and, where it does so, as PyTorch's
exporter writes ONNX, inputs, and what PyTorch trains on them.

    make_windows.py [NAME ...]

For each NAME: NAME.mlir and NAME.safetensors, NAME.onnx, NAME.data.safetensors (rows of all steps), NAME.json (losses,
and the numbers of buffers behind the last step). Needs PyTorch and onnxscript (tools/requirements.txt)."""
import json
import os
import sys
import types

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, "tools", "python"), os.path.join(SOURCE, "tools")]

import torch

import window_models as models
from zb import aten

FOLDER = os.path.join(SOURCE, "test", "data", "windows")
NAMES = ("resnet", "convnext", "unet", "unet-transposed", "audio", "video", "windows")
# What the ONNX file of a model cannot say yet: interpolation, and what PyTorch writes as sequences of pads.
WITH_ONNX = ("resnet", "convnext", "unet-transposed", "audio")


def write_onnx(name, out):
    import export_onnx

    model, shapes = models.build(name)
    options = types.SimpleNamespace(out=out, raw=False, no_dropout=False, no_compare=False, outputs=[],
                                    ranges={"y": (0, models.CLASSES - 1)})
    specs = [export_onnx.parse_input(f"{key}:{'float32' if key == 'x' else 'int64'}:{'x'.join(map(str, shape))}",
                                     options.ranges) for key, shape in shapes.items()]
    export_onnx.export(model, specs, options)


def main():
    torch.set_num_threads(1)
    os.makedirs(FOLDER, exist_ok=True)
    for name in sys.argv[1:] or NAMES:
        model, shapes = models.build(name)
        out = os.path.join(FOLDER, name)
        example = models.draw(shapes, 1, seed=7)
        aten.export(model, (example["x"], example["y"]), path=out + ".mlir")
        data = models.draw(shapes, models.MICRO_BATCHES * models.STEPS)
        aten.write_values(out + ".data.safetensors", data)
        losses = models.trained(model, shapes, data)
        buffers = {key: value.flatten().tolist() for key, value in model.named_buffers()}
        with open(out + ".json", "w") as file:
            json.dump({"losses": losses, "buffers": buffers}, file, indent=1)
            file.write("\n")
        if name in WITH_ONNX:
            write_onnx(name, out + ".onnx")
        print(f"{name}: losses {losses}")


if __name__ == "__main__":
    main()
