"""Small models with convolutions, pooling, BatchNorm and interpolation for windows.py, in plain PyTorch. Each row of
MODELS gives a module whose forward() gives a scalar loss, and the shapes of its inputs for a micro-batch: "x" floats
from a normal distribution, "y" integers from 0 to a number."""
import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = 5


class Basic(nn.Module):
    """ResNet's basic block."""

    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels)
        self.down = None
        if stride != 1 or before != channels:
            self.down = nn.Sequential(nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(out + (x if self.down is None else self.down(x)))


class ResNet(nn.Module):
    """layers: blocks of each of the stages, of which each but the first halves the image."""

    def __init__(self, width=8, layers=(1, 1), classes=CLASSES, stem=(3, 1)):
        super().__init__()
        kernel, stride = stem
        self.conv1, self.bn1 = nn.Conv2d(3, width, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(width)
        blocks, before = [], width
        for i, count in enumerate(layers):
            for k in range(count):
                blocks.append(Basic(before, width << i, 2 if i and k == 0 else 1))
                before = width << i
        self.blocks, self.fc = nn.ModuleList(blocks), nn.Linear(before, classes)

    def forward(self, x, y):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1)), y)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dwconv, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width, eps=1e-6)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(torch.full((width,), 0.5))

    def forward(self, x):
        h = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        return x + (self.gamma * self.down(F.gelu(self.up(h)))).permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.first = nn.Conv2d(3, 8, 4, 4), ConvNeXtBlock(8)
        self.shrink, self.second = nn.Conv2d(8, 12, 2, 2), ConvNeXtBlock(12)
        self.norm, self.head = nn.LayerNorm(12), nn.Linear(12, CLASSES)

    def forward(self, x, y):
        x = self.second(self.shrink(self.first(self.stem(x))))
        return F.cross_entropy(self.head(self.norm(x.mean((-2, -1)))), y)


def twice(before, after):
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
                         nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU())


class UNet(nn.Module):
    """Two levels, whose skip connections cross the cuts of a pipeline; one goes up by a transposed convolution, the
    other by interpolation."""

    def __init__(self, transposed=False):
        super().__init__()
        self.down = nn.ModuleList([twice(3, 6), twice(6, 8), twice(8, 10)])
        self.up1 = nn.ConvTranspose2d(10, 8, 2, 2)
        self.up2 = nn.ConvTranspose2d(8, 6, 3, 2, 1, output_padding=1) if transposed else nn.Sequential(
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.Conv2d(8, 6, 1))
        self.end1, self.end2, self.out = twice(16, 8), twice(12, 6), nn.Conv2d(6, CLASSES, 1)

    def forward(self, x, y):
        first = self.down[0](x)
        second = self.down[1](F.max_pool2d(first, 2))
        x = self.up1(self.down[2](F.max_pool2d(second, 2)))
        x = self.up2(self.end1(torch.cat([x, second], 1)))
        return F.cross_entropy(self.out(self.end2(torch.cat([x, first], 1))), y)


class Audio(nn.Module):
    """Whisper's stem of two convolutions over time, a causal depthwise one as of Mamba, and attention."""

    def __init__(self, width=16):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(6, width, 3, padding=1), nn.Conv1d(width, width, 3, 2, 1)
        self.causal = nn.Conv1d(width, width, 4, padding=3, groups=width)
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, CLASSES)

    def forward(self, x, y):
        x = F.gelu(self.conv2(F.gelu(self.conv1(x))))
        x = x + F.silu(self.causal(x)[..., : x.shape[-1]])
        x = x.transpose(1, 2)
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        x = x + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return F.cross_entropy(self.out(x.mean(1)), y)


class Video(nn.Module):
    """Three spatial dimensions, groups, dilation, GroupNorm and InstanceNorm."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv3d(2, 8, 3, (1, 2, 2), 1), nn.GroupNorm(2, 8)
        self.conv2, self.norm2 = nn.Conv3d(8, 8, (1, 3, 2), dilation=(1, 1, 2), groups=4), nn.InstanceNorm3d(8)
        self.up, self.bn = nn.ConvTranspose3d(8, 4, 2, (1, 2, 1), groups=2, bias=False), nn.BatchNorm3d(4, momentum=0.3)
        self.out = nn.Linear(4, CLASSES)

    def forward(self, x, y):
        x = F.max_pool3d(F.silu(self.norm1(self.conv1(x))), (1, 2, 2), 1)
        x = F.avg_pool3d(self.norm2(self.conv2(x)), 2, 1, 1, ceil_mode=True, count_include_pad=False)
        return F.cross_entropy(self.out(self.bn(self.up(x)).mean((2, 3, 4))), y)


class Windows(nn.Module):
    """Each kind of pooling and interpolation once, of a convolution over three channels."""

    def __init__(self):
        super().__init__()
        self.conv, self.mix = nn.Conv2d(3, 4, 3, padding="same", dilation=2), nn.Conv2d(1, 8, (1, 3), stride=2)

    def forward(self, x, y):
        h = self.conv(x)
        line, cube = h.flatten(2), h[:, None]
        parts = [
            F.max_pool2d(h, 3, 2, 1, ceil_mode=True), F.max_pool2d(h, (2, 3), (1, 2), dilation=(2, 1)),
            F.avg_pool2d(h, 3, 2, 1), F.avg_pool2d(h, 3, 2, 1, ceil_mode=True),
            F.avg_pool2d(h, 2, 3, count_include_pad=False, ceil_mode=True), F.avg_pool2d(h, 3, divisor_override=5),
            F.adaptive_avg_pool2d(h, (5, 3)), F.adaptive_avg_pool2d(h, (1, 7)), F.adaptive_avg_pool1d(line, 6),
            F.max_pool1d(line, 3), F.avg_pool1d(line, 4, 3, 2), F.max_pool3d(cube, 2), F.avg_pool3d(cube, 2, 1),
            F.lp_pool2d(h, 2, 2), F.interpolate(h, scale_factor=2), F.interpolate(h, size=(7, 15)),
            F.interpolate(h, scale_factor=1.7), F.interpolate(line, scale_factor=0.6, mode="linear"),
            F.interpolate(h, size=(5, 17), mode="bilinear"), F.interpolate(h, scale_factor=(1.5, 0.7), mode="bilinear"),
            F.interpolate(h, size=(9, 4), mode="bilinear", align_corners=True),
            F.interpolate(cube, scale_factor=(2, 1, 1.5), mode="trilinear"), F.interpolate(cube, size=(3, 5, 20)),
            F.pixel_shuffle(h, 2), F.pixel_unshuffle(h, 2), F.unfold(h, 3, stride=2), self.mix(h[:, :1]),
            F.conv2d(h[0], self.conv.weight[:, :, :2].transpose(0, 1)), F.adaptive_max_pool2d(h, 2),
        ]
        return sum((part * part).mean() for part in parts) + F.cross_entropy(h.mean((2, 3)), y % 4)


IMAGE = {"x": (2, 3, 16, 16), "y": (2,)}
MODELS = {
    "resnet": (ResNet, IMAGE),
    "convnext": (ConvNeXt, IMAGE),
    "unet": (UNet, {"x": (2, 3, 16, 16), "y": (2, 16, 16)}),
    "unet-transposed": (lambda: UNet(True), {"x": (2, 3, 16, 16), "y": (2, 16, 16)}),
    "audio": (Audio, {"x": (2, 6, 20), "y": (2,)}),
    "video": (Video, {"x": (2, 2, 5, 9, 12), "y": (2,)}),
    "windows": (Windows, {"x": (2, 3, 12, 10), "y": (2,)}),
    # At its own size: windows.py --resnet18.
    "resnet18": (lambda: ResNet(64, (2, 2, 2, 2), 1000, (7, 2)), {"x": (2, 3, 224, 224), "y": (2,)}),
}
MICRO_BATCHES, STEPS = 2, 5
OPTIMIZER = "sgd:lr=0.05,momentum=0.9,weight_decay=0"


def build(name):
    """(module in training mode, shapes of its inputs), of a fixed seed; its scales and biases are not all alike."""
    torch.manual_seed(0)
    model = MODELS[name][0]().train()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model, MODELS[name][1]


def draw(shapes, micro_batches, seed=1):
    """{name: rows of so many micro-batches}."""
    generator = torch.Generator().manual_seed(seed)
    rows = {name: (shape[0] * micro_batches, *shape[1:]) for name, shape in shapes.items()}
    return {"x": torch.randn(rows["x"], generator=generator),
            "y": torch.randint(0, CLASSES, rows["y"], generator=generator)}


def trained(model, shapes, data, steps=STEPS):
    """PyTorch's losses, micro-batch after micro-batch; the model is trained."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    rows, losses = shapes["y"][0], []
    for step in range(steps):
        optimizer.zero_grad()
        total = 0
        for i in range(MICRO_BATCHES):
            first = (step * MICRO_BATCHES + i) * rows
            loss = model(data["x"][first : first + rows], data["y"][first : first + rows]) / MICRO_BATCHES
            loss.backward()
            total += loss.item()
        optimizer.step()
        losses.append(total)
    return losses
