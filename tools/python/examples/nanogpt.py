"""A GPT like nanoGPT's, on the bytes of a text, trained with zb: the script that trained with PyTorch, and three lines.

    python nanogpt.py TEXT [--ranks 2] [--steps 100] [--check]

--check trains the same model with PyTorch beside it, and compares losses and weights.
"""
import argparse
import math

import torch
from torch import nn
from torch.nn import functional as F

import compare
import zb

MICRO_BATCHES, ROWS = 4, 2


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = (t.view(rows, length, self.heads, width // self.heads).transpose(1, 2)
                   for t in self.c_attn(x).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(rows, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary=256, length=64, width=64, heads=4, layers=4):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02 / (math.sqrt(2 * layers) if "c_proj" in name else 1))

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1], device=idx.device))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class Text(torch.utils.data.Dataset):
    """Rows of a text: what comes, and what comes next."""

    def __init__(self, path, length):
        with open(path, "rb") as file:
            self.data = torch.tensor(list(file.read()))
        self.length = length

    def __len__(self):
        return (len(self.data) - 1) // self.length

    def __getitem__(self, i):
        row = self.data[i * self.length:(i + 1) * self.length + 1]
        return row[:-1], row[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    model = GPT()
    loader = torch.utils.data.DataLoader(Text(arguments.text, 64), batch_size=MICRO_BATCHES * ROWS, shuffle=True,
                                         drop_last=True, generator=torch.Generator().manual_seed(2))
    batches = compare.take(loader, arguments.steps)

    example = tuple(t[:ROWS] for t in batches[0])
    plan = zb.compile(model, example, ranks=arguments.ranks, micro_batches=MICRO_BATCHES, schedule="zb-h1")
    losses = []
    with zb.Session(plan) as run:
        for batch in batches:
            result = run.step(batch)
            losses.append(result.loss)
            print("step %d  loss %.6f  %.2f ms  idle %.1f%%" %
                  (result.step + 1, result.loss, 1e3 * result.seconds, 100 * result.idle))
        trained = GPT()
        run.load_into(trained)
        names = run.state_dict()
    assert set(names) == set(model.state_dict()), "every name of PyTorch's, tied ones too"
    if arguments.check:
        compare.check(model, lambda batch: model(*batch)[1], batches, MICRO_BATCHES, losses, trained)


if __name__ == "__main__":
    main()
