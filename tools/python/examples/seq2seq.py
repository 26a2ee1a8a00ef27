"""An encoder-decoder with padded batches, as dictionaries: training, evaluation, a checkpoint in between.

    python seq2seq.py [--ranks 2] [--steps 60] [--check]

The task is to write a word backwards; words have different lengths, so there are padding masks, and targets of padding
are ignored. --check trains with PyTorch beside it.
"""
import argparse
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

import compare
import zb

MICRO_BATCHES, ROWS, LENGTH, LETTERS, BEGIN = 4, 4, 12, 20, 20


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, memory, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(memory)), self.split(self.value(memory))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, width, heads, crosses):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.cross_norm = nn.LayerNorm(width) if crosses else None
        self.cross = Attention(width, heads) if crosses else None
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.ReLU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x, mask, memory=None, memory_mask=None):
        y = self.norm(x)
        x = x + self.attention(y, y, mask)
        if self.cross is not None:
            x = x + self.cross(self.cross_norm(x), memory, memory_mask)
        return x + self.mlp(x)


class Seq2Seq(nn.Module):
    def __init__(self, width=48, heads=4, layers=2):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(LETTERS + 1, width), nn.Embedding(LENGTH, width)
        self.encoder = nn.ModuleList(Layer(width, heads, False) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(width, heads, True) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, LETTERS)

    def forward(self, source, source_mask, target, labels):
        places = self.positions(torch.arange(LENGTH))
        seen = source_mask[:, None, None, :]
        memory = self.embedding(source) + places
        for layer in self.encoder:
            memory = layer(memory, seen)
        causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        x = self.embedding(target) + places
        for layer in self.decoder:
            x = layer(x, causal, memory, seen)
        scores = self.head(self.norm(x))
        return F.cross_entropy(scores.view(-1, LETTERS), labels.view(-1), ignore_index=-100)


class Words(torch.utils.data.Dataset):
    def __init__(self, count, seed):
        random = torch.Generator().manual_seed(seed)
        lengths = torch.randint(3, LENGTH + 1, (count,), generator=random)
        self.words = [torch.randint(LETTERS, (int(n),), generator=random) for n in lengths]

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return self.words[i]


def collate(words):
    """Padded to one length: a dictionary, as forward() names its arguments."""
    source, target = torch.zeros(len(words), LENGTH, dtype=torch.int64), torch.full((len(words), LENGTH), BEGIN)
    mask, labels = torch.zeros(len(words), LENGTH, dtype=torch.bool), torch.full((len(words), LENGTH), -100)
    for row, word in enumerate(words):
        source[row, :len(word)], mask[row, :len(word)] = word, True
        labels[row, :len(word)] = word.flip(0)
        target[row, 1:len(word)] = word.flip(0)[:-1]
    return {"source": source, "source_mask": mask, "target": target, "labels": labels}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    model, rows = Seq2Seq(), MICRO_BATCHES * ROWS
    loader = torch.utils.data.DataLoader(Words(rows * arguments.steps, 2), batch_size=rows, collate_fn=collate)
    validation = torch.utils.data.DataLoader(Words(rows * 4, 3), batch_size=rows, collate_fn=collate)
    batches, half = list(loader), arguments.steps // 2

    example = collate(Words(ROWS, 4).words)
    plan = zb.compile(model, example, ranks=arguments.ranks, micro_batches=MICRO_BATCHES, schedule="zb-h1")
    losses, trained = [], Seq2Seq()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = os.path.join(folder, "checkpoint")
        with zb.Session(plan) as run:
            losses += [run.step(batch).loss for batch in batches[:half]]
            run.save(checkpoint)
            print("after %d steps: %.4f, of other words %.4f" % (half, losses[-1], run.evaluate(validation).loss))
        with zb.Session(plan, resume=checkpoint) as run:
            losses += [run.step(batch).loss for batch in batches[half:]]
            found = run.evaluate(validation).loss
            print("after %d steps: %.4f, of other words %.4f" % (run.steps, losses[-1], found))
            run.load_into(trained)
    if arguments.check:
        compare.check(model, lambda batch: model(**batch), batches, MICRO_BATCHES, losses, trained)
        with torch.no_grad():  # an evaluation is the mean over micro-batches
            parts = [trained(**part) for batch in validation for part in compare.split(batch, MICRO_BATCHES)]
        compare.same("the evaluation", found, float(torch.stack(parts).double().mean()))


if __name__ == "__main__":
    main()
