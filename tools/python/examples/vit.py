"""A vision transformer on images as floats, with zb: training, accuracy on images that were not trained on, and the
weights back in the module.

    python vit.py [--ranks 2] [--steps 60] [--check]

The images are drawn: a bright bar, whose direction is the class. --check trains with PyTorch beside it.
"""
import argparse

import torch
from torch import nn
from torch.nn import functional as F

import compare
import zb

MICRO_BATCHES, ROWS, SIZE, PATCH, CLASSES = 4, 4, 16, 4, 2


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.qkv, self.proj = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.fc1, self.fc2 = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        rows, count, width = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(rows, count, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])
        x = x + self.proj(y.transpose(1, 2).reshape(rows, count, width))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class ViT(nn.Module):
    def __init__(self, width=48, heads=4, layers=4):
        super().__init__()
        self.patch = nn.Linear(3 * PATCH * PATCH, width)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, 1 + (SIZE // PATCH) ** 2, width))
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def scores(self, images):
        side = SIZE // PATCH
        x = images.reshape(-1, 3, side, PATCH, side, PATCH).permute(0, 2, 4, 1, 3, 5)
        x = self.patch(x.reshape(-1, side * side, 3 * PATCH * PATCH))
        x = torch.cat([self.token.expand(x.shape[0], 1, -1), x], dim=1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])

    def forward(self, images, labels):
        return F.cross_entropy(self.scores(images), labels)


class Bars(torch.utils.data.Dataset):
    def __init__(self, count, seed):
        self.random = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(CLASSES, (count,), generator=self.random)
        self.places = torch.randint(SIZE, (count,), generator=self.random)
        self.images = 0.3 * torch.randn(count, 3, SIZE, SIZE, generator=self.random)
        for image, label, place in zip(self.images, self.labels, self.places):
            (image if label else image.transpose(1, 2))[:, place] += 1

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


def accuracy(model, loader):
    right = total = 0
    with torch.no_grad():
        for images, labels in loader:
            right += int((model.scores(images).argmax(dim=1) == labels).sum())
            total += len(labels)
    return right / total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    model, rows = ViT(), MICRO_BATCHES * ROWS
    loader = torch.utils.data.DataLoader(Bars(rows * arguments.steps, 2), batch_size=rows, drop_last=True)
    validation = torch.utils.data.DataLoader(Bars(rows * 4, 3), batch_size=rows)

    example = next(iter(torch.utils.data.DataLoader(Bars(ROWS, 4), batch_size=ROWS)))
    plan = zb.compile(model, tuple(example), ranks=arguments.ranks, micro_batches=MICRO_BATCHES, schedule="zb-h1",
                      optimizer="adamw:lr=1e-3,weight_decay=0.05")
    print(plan)
    losses, trained = [], ViT()
    with zb.Session(plan) as run:
        for batch in loader:
            losses.append(run.step(batch).loss)
        print("losses: %.4f ... %.4f; of other images: %.4f" % (losses[0], losses[-1], run.evaluate(validation).loss))
        run.load_into(trained)
    print("accuracy on other images: %.3f" % accuracy(trained, validation))
    if arguments.check:
        compare.check(model, lambda batch: model(*batch), list(loader), MICRO_BATCHES, losses, trained,
                      weight_decay=0.05)


if __name__ == "__main__":
    main()
