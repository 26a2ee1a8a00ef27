#!/usr/bin/env python3
"""Step time of PyTorch on a family of tools/models.py: one JSON object a mode. Needs torch and
transformers (tools/requirements.txt).

    pytorch.py gpt2 [--mode eager,compile] [--device cpu|cuda] [--precision f32|bf16] [--threads 2] [--steps 10]
               [--warmup 2] [--layers 8 --dim 128 ...]

A step is what zb-run's is: M micro-batches forward and backward, gradients summed, one AdamW update. bf16 is autocast
over f32 weights. Times are the median of --steps.
"""
import argparse
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import models  # noqa: E402

try:
    import torch
    import transformers  # noqa: F401
except ImportError as e:
    print(f"SKIP: the Python package '{e.name}' is not installed: pip install -r tools/requirements.txt",
          file=sys.stderr)
    sys.exit(77)


def measure(o, mode):
    model = models.build(o.family, o).to(o.device)
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    plain = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([dict(params=decayed, weight_decay=0.1), dict(params=plain, weight_decay=0.0)],
                                  lr=1e-3, betas=(0.9, 0.95), eps=1e-8, fused=True if o.device == "cuda" else None)
    forward = torch.compile(model) if mode == "compile" else model
    generator = torch.Generator().manual_seed(1)
    batches = [torch.randint(0, o.vocab, (2, o.batch, o.seq), generator=generator).to(o.device)
               for _ in range(o.micro_batches)]
    seconds = []
    for step in range(o.warmup + o.steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        total = torch.zeros((), device=o.device)
        for x, y in batches:
            with torch.autocast(o.device, torch.bfloat16, enabled=o.precision == "bf16"):
                loss = forward(x, y)
            (loss / o.micro_batches).backward()
            total += loss.detach()
        optimizer.step()
        total = total.item()  # waits for all of the step
        if step >= o.warmup:
            seconds.append(time.perf_counter() - begin)
    return dict(mode=mode, device=o.device, precision=o.precision, threads=o.threads,
                seconds=statistics.median(seconds), best=min(seconds),
                loss=total / o.micro_batches, torch=torch.__version__)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=list(models.FAMILIES))
    parser.add_argument("--mode", default="eager,compile")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--attention", default="eager", help="an attn_implementation of transformers: eager, sdpa")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--micro-batches", type=int, default=8)
    models.add_options(parser)
    o = parser.parse_args()
    if o.device == "cuda" and not torch.cuda.is_available():
        print(f"SKIP: PyTorch {torch.__version__} finds no CUDA device", file=sys.stderr)
        sys.exit(77)
    torch.set_num_threads(o.threads)
    for mode in o.mode.split(","):
        print(json.dumps(measure(o, mode)), flush=True)


if __name__ == "__main__":
    main()
