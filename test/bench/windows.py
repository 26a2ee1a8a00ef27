#!/usr/bin/env python3
"""Steps of one convolution each, forward and both gradients, here and in PyTorch, on one thread.

    windows.py [--bin BUILD/bin] [--steps 4]

Prints both times of the fastest step, and their ratio. Needs torch. On a shared machine numbers move by half.
"""
import os
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e")]
import common  # noqa: E402

sys.path[:0] = [os.path.join(common.SOURCE, "tools", "python")]
import torch  # noqa: E402
from zb import aten  # noqa: E402

# Channels, filters, kernel, stride, groups, size of the image; four images.
ROWS = [(64, 64, 3, 1, 1, 56), (128, 256, 3, 2, 1, 28), (512, 512, 3, 1, 1, 7), (64, 256, 1, 1, 1, 56),
        (3, 64, 7, 2, 1, 224), (128, 128, 3, 1, 32, 28), (96, 96, 7, 1, 96, 56), (96, 96, 3, 1, 96, 56),
        (384, 384, 7, 1, 384, 14)]


class One(torch.nn.Module):
    """The scale lets a gradient flow to the image."""

    def __init__(self, channels, filters, kernel, stride, groups):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(channels, 1, 1))
        self.conv = torch.nn.Conv2d(channels, filters, kernel, stride, kernel // 2, groups=groups)

    def forward(self, x):
        return self.conv(x * self.scale).square().mean()


def main():
    options = common.arguments(__doc__, ("--steps", dict(type=int, default=4)))
    suite = common.Suite(options.bin)
    torch.set_num_threads(1)
    with common.scratch() as folder:
        for row in ROWS:
            model, x = One(*row[:5]), torch.randn(4, row[0], row[5], row[5])
            path, plan, data = (os.path.join(folder, name) for name in ("m.mlir", "m", "data"))
            aten.export(model, (x,), path=path)
            aten.write_values(data, {"x": x})
            suite.compile(path, plan, "--ranks", 1, "--micro-batches", 1, "--optimizer", "sgd:lr=0.01")
            lines = common.json_lines(suite.must("zb-run", plan, "--data", "safetensors:" + data, "--steps",
                                                 options.steps, "--threads", 1, "--json"))
            ours = min(line["seconds"] for line in lines if "seconds" in line)
            optimizer, times = torch.optim.SGD(model.parameters(), lr=0.01), []
            for _ in range(options.steps):
                start = time.perf_counter()
                optimizer.zero_grad()
                model(x).backward()
                optimizer.step()
                times.append(time.perf_counter() - start)
            text = "{} -> {}, kernel {}, stride {}, groups {}, image {}".format(*row)
            print(f"{text}: {1e3 * ours:.1f} ms, PyTorch {1e3 * min(times):.1f} ms, ratio {ours / min(times):.2f}",
                  flush=True)


if __name__ == "__main__":
    main()
