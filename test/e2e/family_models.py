"""The modules of families.py: those of aten_models.py and window_models.py, and of transformers, torchvision, timm and
peft where they can be imported, in small configurations with weights that are drawn. Each row of FAMILIES gives a
module whose forward() gives a loss, and its inputs of a micro-batch {name: (dtype, shape, low, high)}."""
import torch
import torch.nn as nn
import torch.nn.functional as F

import aten_models
import window_models
from aten_models import BATCH, DECODER, GROUPED, HEADS, LAYERS, LENGTH, NO_DROPOUT, TEXT, TOKENS, VOCABULARY, WIDTH

CLASSES = 5
LABELS = ("int64", (BATCH,), 0, CLASSES)
LANGUAGE = {"input_ids": TOKENS, "labels": TOKENS}
SENTENCES = {"input_ids": TOKENS, "labels": LABELS}
TRANSLATION = {"input_ids": TOKENS, "attention_mask": ("int64", (BATCH, LENGTH), 1, 2), "labels": TOKENS}


def pixels(size, channels=3):
    return ("float32", (BATCH, channels, size, size))


def images(size, channels=3):
    return {"pixel_values": pixels(size, channels), "labels": LABELS}


def hugging(model, config, inputs, **fields):
    """A model of transformers by the names of its class and its configuration."""

    def make():
        import transformers

        transformers.logging.set_verbosity_error()
        module = getattr(transformers, model)(getattr(transformers, config)(**fields))
        return module.train()

    return make, inputs


class Classifier(nn.Module):
    """Any module with logits, trained by cross entropy."""

    def __init__(self, body, field=None):
        super().__init__()
        self.body, self.field = body, field

    def forward(self, x, y):
        out = self.body(x)
        return F.cross_entropy(getattr(out, self.field) if self.field else out, y)


class Mean(nn.Module):
    """A model without a loss of its own: the mean square of one of its results."""

    def __init__(self, body, field):
        super().__init__()
        self.body, self.field = body, field

    def forward(self, **inputs):
        return getattr(self.body(**inputs), self.field).square().mean()


def mean_of(row, field):
    make, inputs = row

    def wrapped():
        body = make()
        if list(inputs) == ["pixel_values"]:
            return MeanOfPixels(body, field)
        return MeanOfTokens(body, field)

    return wrapped, inputs


class MeanOfPixels(Mean):
    def forward(self, pixel_values):
        return super().forward(pixel_values=pixel_values)


class MeanOfTokens(Mean):
    def forward(self, input_ids):
        return super().forward(input_ids=input_ids)


def torchvision(name, size=64, **fields):
    def make():
        import torchvision.models

        return Classifier(getattr(torchvision.models, name)(num_classes=CLASSES, **fields)).train()

    return make, {"x": ("float32", (4, 3, size, size)), "y": ("int64", (4,), 0, CLASSES)}


def timm(name, size=32, **fields):
    def make():
        import timm as models

        return Classifier(models.create_model(name, num_classes=CLASSES, **fields)).train()

    return make, {"x": ("float32", (8, 3, size, size)), "y": ("int64", (8,), 0, CLASSES)}


def adapted(frozen_base=True, **options):
    """peft's LoRA over a GPT-2."""

    def make():
        import peft
        import transformers

        base = transformers.GPT2LMHeadModel(transformers.GPT2Config(**aten_models.LANGUAGE["gpt2"][2]))
        config = peft.LoraConfig(r=2, lora_alpha=4, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True,
                                 init_lora_weights=False, task_type="CAUSAL_LM", **options)
        return peft.get_peft_model(base, config).train()

    return make, {"input_ids": TOKENS, "labels": TOKENS}


# ---- Written here ----


class ClipLoss(nn.Module):
    def __init__(self):
        super().__init__()
        import transformers

        text = dict(vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=32, num_hidden_layers=LAYERS,
                    num_attention_heads=HEADS, max_position_embeddings=32, projection_dim=8, eos_token_id=1,
                    pad_token_id=2, bos_token_id=0)
        vision = dict(hidden_size=WIDTH, intermediate_size=32, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                      image_size=16, patch_size=4, projection_dim=8)
        self.clip = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision,
                                                                   projection_dim=8))

    def forward(self, input_ids, pixel_values):
        return self.clip(input_ids=input_ids, pixel_values=pixel_values, return_loss=True).loss


class Routed(nn.Module):
    """Experts of which each token takes two: topk, one-hot masks, gates that are scaled to one."""

    def __init__(self, experts=4, taken=2):
        super().__init__()
        self.taken = taken
        self.embed, self.router = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, experts, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, 32), nn.SiLU(), nn.Linear(32, WIDTH))
                                     for _ in range(experts))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x, y):
        h = self.embed(x)
        scores = self.router(h).softmax(-1)
        gates, chosen = scores.topk(self.taken, dim=-1)
        gates = gates / gates.sum(-1, keepdim=True)
        weights = torch.zeros_like(scores).scatter(-1, chosen, gates)
        mixed = sum(weights[..., k : k + 1] * expert(h) for k, expert in enumerate(self.experts))
        share = F.one_hot(chosen, len(self.experts)).float().mean((0, 1, 2)) * scores.mean((0, 1))
        return F.cross_entropy(self.head(h + mixed).flatten(0, 1), y.flatten()) + 0.01 * share.sum()


class Graph(nn.Module):
    """Two layers of a graph convolution over a dense adjacency matrix, normalized by degrees."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x, edges, y):
        adjacency = ((edges + edges.transpose(1, 2)) > 0).float() + torch.eye(edges.shape[-1])
        degree = adjacency.sum(-1).clamp(min=1).pow(-0.5)
        adjacency = degree[..., None] * adjacency * degree[:, None]
        h = F.relu(adjacency @ self.first(x))
        return F.nll_loss(F.log_softmax(adjacency @ self.second(h), dim=-1).flatten(0, 1), y.flatten())


class Mixer(nn.Module):
    class Layer(nn.Module):
        def __init__(self, tokens):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.tokens = nn.Sequential(nn.Linear(tokens, 32), nn.GELU(), nn.Linear(32, tokens))
            self.channels = nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))

        def forward(self, x):
            x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.channels(self.norm2(x))

    def __init__(self):
        super().__init__()
        self.patches, self.layers = nn.Conv2d(3, WIDTH, 4, 4), nn.Sequential(self.Layer(16), self.Layer(16))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.norm(self.layers(self.patches(x).flatten(2).mT)).mean(1)), y)


class Autoencoder(nn.Module):
    """A variational one; the noise comes with the batch."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU(),
                                     nn.Flatten())
        self.mean, self.spread = nn.Linear(128, 6), nn.Linear(128, 6)
        self.decoder = nn.Sequential(nn.Linear(6, 128), nn.ReLU(), nn.Unflatten(1, (8, 4, 4)),
                                     nn.ConvTranspose2d(8, 8, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 3, 4, 2, 1))

    def forward(self, x, noise):
        h = self.encoder(x)
        mean, spread = self.mean(h), self.spread(h)
        image = self.decoder(mean + noise * torch.exp(0.5 * spread))
        apart = -0.5 * torch.mean(1 + spread - mean.pow(2) - spread.exp())
        return F.binary_cross_entropy_with_logits(image, torch.sigmoid(x)) + apart


class Denoiser(nn.Module):
    """A U-Net of diffusion: embedded times, residual blocks with GroupNorm, attention at the lowest level."""

    class Residual(nn.Module):
        def __init__(self, before, after):
            super().__init__()
            self.norm1, self.conv1 = nn.GroupNorm(4, before), nn.Conv2d(before, after, 3, padding=1)
            self.norm2, self.conv2 = nn.GroupNorm(4, after), nn.Conv2d(after, after, 3, padding=1)
            self.time, self.skip = nn.Linear(16, after), nn.Conv2d(before, after, 1)

        def forward(self, x, time):
            h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
            return self.skip(x) + self.conv2(F.silu(self.norm2(h)))

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 16))
        self.first, self.last = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 3, 3, padding=1)
        self.down1, self.down2 = self.Residual(8, 8), self.Residual(8, 16)
        self.shrink, self.grow = nn.Conv2d(8, 8, 3, 2, 1), nn.Upsample(scale_factor=2)
        self.middle, self.attention = self.Residual(16, 16), nn.MultiheadAttention(16, 4, batch_first=True)
        self.up = self.Residual(24, 8)
        self.register_buffer("kept", torch.linspace(0.99, 0.1, 50).cumprod(0))

    def forward(self, x, noise, steps):
        kept = self.kept[steps][:, None, None, None]
        angles = steps[:, None].float() * torch.exp(-torch.arange(4) * 2.0)
        time = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        first = self.down1(self.first(kept.sqrt() * x + (1 - kept).sqrt() * noise), time)
        h = self.middle(self.down2(self.shrink(first), time), time)
        flat = h.flatten(2).transpose(1, 2)
        h = h + self.attention(flat, flat, flat)[0].transpose(1, 2).unflatten(2, h.shape[2:])
        return F.mse_loss(self.last(self.up(torch.cat([self.grow(h), first], 1), time)), noise)


class Retention(nn.Module):
    """As RetNet's parallel form: products weighed by a decay, GroupNorm, a gate."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.q, self.k, self.v, self.gate = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.norm, self.out = nn.GroupNorm(HEADS, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.decay = nn.Parameter(torch.linspace(1.0, 3.0, HEADS))

    def forward(self, x, y):
        h = self.embed(x)
        q, k, v = (f(h).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        distance = torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])
        weights = torch.sigmoid(self.decay)[:, None, None] ** distance.clamp(min=0) * (distance >= 0)
        mixed = ((q @ k.mT / 2) * weights @ v).transpose(1, 2).flatten(2)
        mixed = self.norm(mixed.flatten(0, 1)).view_as(h)
        return F.cross_entropy(self.head(h + self.out(F.silu(self.gate(h)) * mixed)).flatten(0, 1), y.flatten())


class Attending(nn.Module):
    """An encoder and a decoder of cells with additive attention, one token after the other."""

    def __init__(self):
        super().__init__()
        self.embed, self.encoder = nn.Embedding(VOCABULARY, WIDTH), nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.cell, self.head = nn.GRUCell(2 * WIDTH, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.keys, self.query, self.score = nn.Linear(WIDTH, 8), nn.Linear(WIDTH, 8), nn.Linear(8, 1)

    def forward(self, x, y):
        memory, last = self.encoder(self.embed(x))
        state, keys, logits = last[0], self.keys(memory), []
        inputs = self.embed(F.pad(y[:, :-1], (1, 0)))
        for i in range(y.shape[1]):
            weights = self.score(torch.tanh(keys + self.query(state)[:, None])).softmax(1)
            state = self.cell(torch.cat([inputs[:, i], (weights * memory).sum(1)], -1), state)
            logits.append(self.head(state))
        return F.cross_entropy(torch.stack(logits, 1).flatten(0, 1), y.flatten())


class Volume(nn.Module):
    """A U-Net over three dimensions with InstanceNorm and a Dice loss."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv3d(1, 4, 3, padding=1), nn.InstanceNorm3d(4, affine=True), nn.LeakyReLU())
        self.second = nn.Sequential(nn.Conv3d(4, 8, 3, padding=1), nn.BatchNorm3d(8), nn.PReLU())
        self.up, self.out = nn.ConvTranspose3d(8, 4, 2, 2), nn.Conv3d(8, 2, 1)

    def forward(self, x, y):
        first = self.first(x)
        logits = self.out(torch.cat([first, self.up(self.second(F.max_pool3d(first, 2)))], 1))
        share, wanted = logits.softmax(1), F.one_hot(y, 2).permute(0, 4, 1, 2, 3).float()
        dice = 2 * (share * wanted).sum((2, 3, 4)) / (share + wanted).sum((2, 3, 4)).clamp(min=1e-6)
        return F.cross_entropy(logits, y) + 1 - dice.mean()


class Factored(nn.Module):
    """LoRA as people write it: a frozen layer and two factors, which are merged by forward()."""

    def __init__(self):
        super().__init__()
        self.base = aten_models.NanoGPT(bias=True).requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.randn(2, WIDTH) / 4), nn.Parameter(torch.zeros(VOCABULARY, 2))

    def forward(self, x, y):
        h = self.base.wte(x) + self.base.wpe.weight[: x.shape[1]]
        for block in self.base.h:
            h = block(h)
        return F.cross_entropy(F.linear(self.base.ln_f(h), self.base.lm_head.weight + self.b @ self.a).flatten(0, 1),
                               y.flatten())


class Heads(nn.Module):
    """nn.MultiheadAttention with masks of both kinds, without batch_first, and its weights in the loss."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, bias=True, add_bias_kv=True)

    def forward(self, x, y):
        h = self.embed(x).transpose(0, 1)
        mask = torch.ones(len(h), len(h), dtype=torch.bool).triu(1)
        out, weights = self.attention(h, h, h, key_padding_mask=x % 7 == 3, attn_mask=mask)
        return F.cross_entropy(self.head(h + out).transpose(0, 1).flatten(0, 1), y.flatten()) + weights.square().mean()


class Bags(nn.Module):
    """Embedding bags of each mode, one with weights, and an adaptive softmax whose last cluster has no width."""

    def __init__(self):
        super().__init__()
        self.mean, self.top = nn.EmbeddingBag(30, 8, mode="mean"), nn.EmbeddingBag(30, 8, mode="max", padding_idx=2)
        self.sum, self.mix = nn.EmbeddingBag(30, 8, mode="sum", padding_idx=1), nn.Linear(24, 8)
        self.loss = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])

    def forward(self, x, weights, y):
        h = torch.cat([self.mean(x), self.top(x), self.sum(x, per_sample_weights=weights)], -1)
        return -self.loss.log_prob(self.mix(h)).gather(1, y[:, None]).mean()


class Mixture(nn.Module):
    """A mixture of normal distributions, by torch.distributions."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3, 25)

    def forward(self, x, y):
        share, (mean, spread) = self.out(x)[:, :5].log_softmax(1), self.out(x)[:, 5:].view(-1, 2, 5, 2).unbind(1)
        parts = torch.distributions.Normal(mean, F.softplus(spread) + 0.1)
        apart = torch.distributions.kl_divergence(parts, torch.distributions.Normal(0.0, 1.0)).mean()
        return 0.1 * apart - (share + parts.log_prob(y[:, None]).sum(-1)).logsumexp(1).mean()


class Chain(nn.Module):
    """A conditional random field over what two directions of an LSTM of two layers say."""

    def __init__(self):
        super().__init__()
        self.body, self.scores = nn.LSTM(8, 6, 2, bidirectional=True, batch_first=True), nn.Linear(12, 4)
        self.begin, self.step = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4, 4))

    def forward(self, x, y):
        scores = self.scores(self.body(x)[0])
        total = self.begin + scores[:, 0]
        for i in range(1, x.shape[1]):
            total = torch.logsumexp(total[:, :, None] + self.step + scores[:, i, None], 1)
        path = scores.gather(2, y[..., None])[..., 0].sum(1) + self.step[y[:, :-1], y[:, 1:]].sum(1)
        return (torch.logsumexp(total, 1) - path - self.begin[y[:, 0]]).mean()


class Siamese(nn.Module):
    """One body, three inputs: triplet, cosine and contrastive losses."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, WIDTH), nn.BatchNorm1d(WIDTH), nn.ELU(), nn.Linear(WIDTH, 6))

    def forward(self, anchor, near, far):
        a, b, c = self.body(anchor), self.body(near), self.body(far)
        return (F.triplet_margin_loss(a, b, c) + F.cosine_embedding_loss(a, b, torch.ones(len(a)))
                + F.pairwise_distance(a, c).mean() + (1 - F.cosine_similarity(a, b)).mean())


class Tabular(nn.Module):
    """Categories and numbers, EmbeddingBag's mean, dropout in evaluation, BCE."""

    def __init__(self):
        super().__init__()
        self.kinds = nn.ModuleList(nn.Embedding(9, 4) for _ in range(3))
        self.body = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU6(), nn.Linear(32, 1))

    def forward(self, numbers, kinds, y):
        parts = [numbers, *(embed(kinds[:, i]) for i, embed in enumerate(self.kinds))]
        return F.binary_cross_entropy(torch.sigmoid(self.body(torch.cat(parts, -1)))[:, 0], y.float())


class Cell(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embed, self.cell = nn.Embedding(VOCABULARY, WIDTH), getattr(nn, kind)(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x, y):
        h, state, outs = self.embed(x), None, []
        for i in range(x.shape[1]):
            state = self.cell(h[:, i], state)
            outs.append(state[0] if isinstance(state, tuple) else state)
        return F.cross_entropy(self.head(torch.stack(outs, 1)).flatten(0, 1), y.flatten())


class Recurrent(nn.Module):
    """Recurrent layers with initial states that are trained, projections, and sequences in front."""

    def __init__(self, kind, **options):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(VOCABULARY, WIDTH), getattr(nn, kind)(WIDTH, WIDTH, **options)
        out = options.get("proj_size", WIDTH)
        layers = options.get("num_layers", 1)
        self.kind, self.head = kind, nn.Linear(out, VOCABULARY)
        self.first = nn.Parameter(torch.randn(layers, 1, out) / 3)

    def forward(self, x, y):
        h, first = self.embed(x).transpose(0, 1), self.first.expand(-1, len(x), -1).contiguous()
        state = (first, torch.zeros(first.shape[0], len(x), WIDTH)) if self.kind == "LSTM" else first
        out, last = self.rnn(h, state)
        last = last[0] if self.kind == "LSTM" else last
        return F.cross_entropy(self.head(out).flatten(0, 1), y.T.flatten()) + last.square().mean()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, 0.0, batch_first=True)
        self.embed, self.body = nn.Embedding(VOCABULARY, WIDTH, padding_idx=3), nn.TransformerEncoder(layer, LAYERS)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, y):
        kept = x != 3
        h = self.body(self.embed(x), src_key_padding_mask=~kept) * kept[..., None]
        return F.cross_entropy(self.head(h.sum(1) / kept.sum(1, keepdim=True)), y)


FLOATS = ("float32", (4, 8))
WAVES = {"input_values": ("float32", (BATCH, 400)), "labels": LABELS}
SPEECH = dict(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=32,
              conv_dim=(8, 8), conv_kernel=(10, 3), conv_stride=(5, 2), num_feat_extract_layers=2, hidden_dropout=0.0,
              activation_dropout=0.0, attention_dropout=0.0, feat_proj_dropout=0.0, final_dropout=0.0, layerdrop=0.0,
              apply_spec_augment=False, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
              classifier_proj_size=8, num_labels=CLASSES)
VIT = dict(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=32, image_size=16,
           patch_size=4, num_labels=CLASSES, **NO_DROPOUT)
T5 = dict(vocab_size=VOCABULARY, d_model=WIDTH, d_kv=4, d_ff=32, num_layers=LAYERS, num_heads=HEADS, dropout_rate=0.0,
          decoder_start_token_id=0)
SEQUENCES = dict(vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_ffn_dim=32,
                 decoder_ffn_dim=32, encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, dropout=0.0,
                 max_position_embeddings=32, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
IMAGE = {"x": pixels(16), "y": LABELS}


def window(name):
    shape = dict(window_models.MODELS[name][1])
    return (window_models.MODELS[name][0],
            {"x": ("float32", shape["x"]), "y": ("int64", shape["y"], 0, CLASSES)})


def own(name):
    return aten_models.OWN[name]


# The families of the issue first, then others.
FAMILIES = {
    "resnet18": torchvision("resnet18"),
    "resnet (transformers)": hugging("ResNetForImageClassification", "ResNetConfig", images(32), embedding_size=8,
                                     hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=CLASSES),
    "resnet": window("resnet"),
    "convnext": hugging("ConvNextForImageClassification", "ConvNextConfig", images(32), hidden_sizes=[8, 16],
                        depths=[1, 2], num_stages=2, num_labels=CLASSES),
    "convnext (torchvision)": torchvision("convnext_tiny", stochastic_depth_prob=0.0),
    "vit": hugging("ViTForImageClassification", "ViTConfig", images(16), **VIT),
    "vit (torchvision)": (lambda: __import__("torchvision").models.VisionTransformer(
        image_size=16, patch_size=4, num_layers=2, num_heads=4, hidden_dim=16, mlp_dim=32, num_classes=CLASSES), None),
    "swin": hugging("SwinForImageClassification", "SwinConfig", images(32), image_size=32, patch_size=4, embed_dim=8,
                    depths=[2, 2], num_heads=[2, 2], window_size=4, num_labels=CLASSES, drop_path_rate=0.0,
                    **NO_DROPOUT),
    "swin v2": hugging("Swinv2ForImageClassification", "Swinv2Config", images(32), image_size=32, patch_size=4,
                       embed_dim=8, depths=[2, 2], num_heads=[2, 2], window_size=4, num_labels=CLASSES,
                       drop_path_rate=0.0, **NO_DROPOUT),
    "clip": (ClipLoss, {"input_ids": TOKENS, "pixel_values": pixels(16)}),
    "u-net": window("unet"),
    "u-net, transposed": window("unet-transposed"),
    "t5": hugging("T5ForConditionalGeneration", "T5Config", TRANSLATION, **T5),
    "bart": hugging("BartForConditionalGeneration", "BartConfig", TRANSLATION, **SEQUENCES),
    "whisper": hugging("WhisperForConditionalGeneration", "WhisperConfig",
                       {"input_features": ("float32", (BATCH, 8, 32)), "labels": TOKENS}, **dict(
                           SEQUENCES, num_mel_bins=8, max_source_positions=16, max_target_positions=32)),
    "mixtral": hugging("MixtralForCausalLM", "MixtralConfig", LANGUAGE, num_local_experts=4, num_experts_per_tok=2,
                       **GROUPED),
    "mamba": hugging("MambaForCausalLM", "MambaConfig", LANGUAGE, vocab_size=VOCABULARY, hidden_size=WIDTH,
                     state_size=4, num_hidden_layers=LAYERS, use_mambapy=False),
    "mamba2": hugging("Mamba2ForCausalLM", "Mamba2Config", LANGUAGE, vocab_size=VOCABULARY, hidden_size=WIDTH,
                      state_size=4, num_hidden_layers=LAYERS, num_heads=4, head_dim=8, n_groups=2, chunk_size=4),
    "lstm": own("lstm"),
    "gru": own("gru"),
    "rnn": (lambda: aten_models.Recurrent("RNN", False), TEXT),
    "lstm, states and projection": (lambda: Recurrent("LSTM", num_layers=2, proj_size=8), TEXT),
    "rnn of relu": (lambda: Recurrent("RNN", num_layers=2, nonlinearity="relu"), TEXT),
    "lstm cell": (lambda: Cell("LSTMCell"), TEXT),
    "gru cell": (lambda: Cell("GRUCell"), TEXT),
    "batchnorm": own("batchnorm"),
    "lora": own("low-rank"),
    "lora, merged": (Factored, TEXT),
    "lora (peft)": adapted(),
    "dora (peft)": adapted(use_dora=True),
}
for _name in aten_models.LANGUAGE:
    if _name in ("t5", "bart", "mixtral", "mamba"):
        continue
    _model, _config, _fields = aten_models.LANGUAGE[_name]
    FAMILIES[_name] = hugging(_model, _config, LANGUAGE,
                              **{k: v for k, v in _fields.items() if k != "use_cache"})
FAMILIES.update({
    "gpt-neo": hugging("GPTNeoForCausalLM", "GPTNeoConfig", LANGUAGE, vocab_size=VOCABULARY, hidden_size=WIDTH,
                       num_layers=2, num_heads=HEADS, attention_types=[[["global", "local"], 1]], window_size=4,
                       max_position_embeddings=32),
    "mpt": hugging("MptForCausalLM", "MptConfig", LANGUAGE, vocab_size=VOCABULARY, d_model=WIDTH, n_heads=HEADS,
                   n_layers=LAYERS, max_seq_len=32),
    "bert, classes": hugging("BertForSequenceClassification", "BertConfig", SENTENCES, num_labels=CLASSES, **DECODER,
                             **NO_DROPOUT),
    "roberta, classes": hugging("RobertaForSequenceClassification", "RobertaConfig", SENTENCES, num_labels=CLASSES,
                                **DECODER, **NO_DROPOUT),
    "mt5": hugging("MT5ForConditionalGeneration", "MT5Config", TRANSLATION, **T5),
    "pegasus": hugging("PegasusForConditionalGeneration", "PegasusConfig", TRANSLATION, **SEQUENCES),
    "mbart": hugging("MBartForConditionalGeneration", "MBartConfig", TRANSLATION, **SEQUENCES),
    "marian": hugging("MarianMTModel", "MarianConfig", TRANSLATION, **SEQUENCES),
    "led": hugging("LEDForConditionalGeneration", "LEDConfig", TRANSLATION, attention_window=4,
                   max_encoder_position_embeddings=32, max_decoder_position_embeddings=32,
                   **{k: v for k, v in SEQUENCES.items() if k != "max_position_embeddings"}),
    "longformer": hugging("LongformerForMaskedLM", "LongformerConfig", LANGUAGE, attention_window=4, **DECODER,
                          **NO_DROPOUT),
    "blenderbot": hugging("BlenderbotForConditionalGeneration", "BlenderbotConfig", TRANSLATION, **SEQUENCES),
    "qwen2-moe": hugging("Qwen2MoeForCausalLM", "Qwen2MoeConfig", LANGUAGE, num_experts=4, num_experts_per_tok=2,
                         moe_intermediate_size=16, shared_expert_intermediate_size=16, **GROUPED),
    "qwen3-moe": hugging("Qwen3MoeForCausalLM", "Qwen3MoeConfig", LANGUAGE, num_experts=4, num_experts_per_tok=2,
                         moe_intermediate_size=16, head_dim=8, **GROUPED),
    "switch": hugging("SwitchTransformersForConditionalGeneration", "SwitchTransformersConfig", TRANSLATION,
                      num_experts=4, expert_capacity=8, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1, **T5),
    "deepseek v3": hugging("DeepseekV3ForCausalLM", "DeepseekV3Config", LANGUAGE, n_routed_experts=4, n_group=2,
                           topk_group=1, num_experts_per_tok=2, moe_intermediate_size=16, kv_lora_rank=8,
                           q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=4, first_k_dense_replace=1,
                           **DECODER),
    "falcon (new)": hugging("FalconForCausalLM", "FalconConfig", LANGUAGE, vocab_size=VOCABULARY, hidden_size=WIDTH,
                            num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_kv_heads=2,
                            new_decoder_architecture=True, hidden_dropout=0.0, attention_dropout=0.0),
    "jamba-like": own("mamba-like"),
    "fnet": hugging("FNetForMaskedLM", "FNetConfig", LANGUAGE, vocab_size=VOCABULARY, hidden_size=WIDTH,
                    num_hidden_layers=LAYERS, intermediate_size=32, hidden_dropout_prob=0.0,
                    max_position_embeddings=32),
    "wav2vec2": hugging("Wav2Vec2ForSequenceClassification", "Wav2Vec2Config", WAVES, **SPEECH),
    "hubert": hugging("HubertForSequenceClassification", "HubertConfig", WAVES, **SPEECH),
    "wavlm": hugging("WavLMForSequenceClassification", "WavLMConfig", WAVES, num_buckets=16, max_bucket_distance=20,
                     **SPEECH),
    "wav2vec2, ctc": hugging("Wav2Vec2ForCTC", "Wav2Vec2Config", {
        "input_values": WAVES["input_values"], "labels": ("int64", (BATCH, 5), 3, VOCABULARY)}, **dict(
            SPEECH, vocab_size=VOCABULARY)),
    "ast": hugging("ASTForAudioClassification", "ASTConfig", {"input_values": ("float32", (BATCH, 24, 16)),
                                                              "labels": LABELS}, max_length=24, num_mel_bins=16,
                   frequency_stride=8, time_stride=8, **dict({k: v for k, v in VIT.items() if k != "image_size"},
                                                             patch_size=8)),
    "deit": hugging("DeiTForImageClassification", "DeiTConfig", images(16), **VIT),
    "beit": hugging("BeitForImageClassification", "BeitConfig", images(16), drop_path_rate=0.0,
                    use_relative_position_bias=True, **VIT),
    "dinov2": hugging("Dinov2ForImageClassification", "Dinov2Config", images(16), **{
        k: v for k, v in VIT.items() if k != "intermediate_size"}),
    "vit, masked": hugging("ViTMAEForPreTraining", "ViTMAEConfig", {
        "pixel_values": pixels(16), "noise": ("float32", (BATCH, 16))}, decoder_hidden_size=WIDTH,
        decoder_num_hidden_layers=1, decoder_num_attention_heads=HEADS, decoder_intermediate_size=32, **{
            k: v for k, v in VIT.items() if k != "num_labels"}),
    "segformer": hugging("SegformerForSemanticSegmentation", "SegformerConfig", {
        "pixel_values": pixels(32), "labels": ("int64", (BATCH, 32, 32), 0, CLASSES)}, num_encoder_blocks=2,
        depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16], patch_sizes=[7, 3], strides=[4, 2],
        num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=16, num_labels=CLASSES, drop_path_rate=0.0,
        classifier_dropout_prob=0.0, **NO_DROPOUT),
    "detr": mean_of(hugging("DetrModel", "DetrConfig", {"pixel_values": pixels(32)}, use_timm_backbone=False,
                            use_pretrained_backbone=False, backbone=None, backbone_config=None, num_queries=6,
                            **{k: v for k, v in SEQUENCES.items() if k in (
                                "d_model", "encoder_layers", "decoder_layers", "encoder_ffn_dim", "decoder_ffn_dim",
                                "encoder_attention_heads", "decoder_attention_heads", "dropout")}),
                    "last_hidden_state"),
    "mobilevit": hugging("MobileViTForImageClassification", "MobileViTConfig", images(64), image_size=64,
                         hidden_sizes=[16, 16, 16], neck_hidden_sizes=[8, 8, 8, 8, 8, 8, 16], num_attention_heads=2,
                         num_labels=CLASSES, classifier_dropout_prob=0.0, **NO_DROPOUT),
    "convnext v2": hugging("ConvNextV2ForImageClassification", "ConvNextV2Config", images(32), hidden_sizes=[8, 16],
                           depths=[1, 2], num_stages=2, num_labels=CLASSES),
    "regnet": hugging("RegNetForImageClassification", "RegNetConfig", images(32), embedding_size=8,
                      hidden_sizes=[8, 16], depths=[1, 1], groups_width=4, num_labels=CLASSES),
    "poolformer": hugging("PoolFormerForImageClassification", "PoolFormerConfig", images(32), depths=[1, 1],
                          hidden_sizes=[8, 16], num_encoder_blocks=2, patch_sizes=[7, 3], strides=[4, 2],
                          padding=[2, 1], drop_path_rate=0.0, num_labels=CLASSES),
    "siglip": hugging("SiglipForImageClassification", "SiglipConfig", images(16), num_labels=CLASSES, vision_config={
        k: v for k, v in VIT.items() if k != "num_labels"}),
    "mobilenet v2": torchvision("mobilenet_v2", dropout=0.0),
    "mobilenet v3": torchvision("mobilenet_v3_small", dropout=0.0),
    "efficientnet": torchvision("efficientnet_b0", dropout=0.0, stochastic_depth_prob=0.0),
    "densenet": torchvision("densenet121"),
    "vgg": (lambda: Classifier(__import__("torchvision").models.vgg.VGG(
        __import__("torchvision").models.vgg.make_layers([8, "M", 16, 16, "M"], batch_norm=True), CLASSES,
        dropout=0.0).features.append(nn.AdaptiveAvgPool2d(1)).append(nn.Flatten()).append(nn.Linear(16, CLASSES))),
            {"x": pixels(32), "y": LABELS}),
    "inception": torchvision("googlenet", aux_logits=False, init_weights=False, dropout=0.0),
    "squeezenet": torchvision("squeezenet1_1", dropout=0.0),
    "shufflenet": torchvision("shufflenet_v2_x0_5"),
    "mnasnet": torchvision("mnasnet0_5", dropout=0.0),
    "swin (torchvision)": (lambda: Classifier(__import__("torchvision").models.SwinTransformer(
        patch_size=[4, 4], embed_dim=8, depths=[2, 2], num_heads=[2, 2], window_size=[4, 4], num_classes=CLASSES,
        stochastic_depth_prob=0.0)), {"x": pixels(32), "y": LABELS}),
    "maxvit": (lambda: Classifier(__import__("torchvision").models.MaxVit(
        input_size=(32, 32), stem_channels=8, partition_size=2, block_channels=[8, 8], block_layers=[1, 1],
        head_dim=4, stochastic_depth_prob=0.0, num_classes=CLASSES)), {"x": pixels(32), "y": LABELS}),
    "deeplab": (lambda: Segments(), {"x": pixels(32), "y": ("int64", (BATCH, 32, 32), 0, CLASSES)}),
    "vit (timm)": timm("vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=16, depth=2, num_heads=2),
    "resnet (timm)": timm("resnet10t"),
    "mlp-mixer": (Mixer, IMAGE),
    "u-net, 3-d": (Volume, {"x": ("float32", (BATCH, 1, 6, 8, 8)), "y": ("int64", (BATCH, 6, 8, 8), 0, 2)}),
    "video": window("video"),
    "audio": window("audio"),
    "vae": (Autoencoder, {"x": pixels(16), "noise": ("float32", (BATCH, 6))}),
    "diffusion": (Denoiser, {"x": pixels(8), "noise": pixels(8), "steps": ("int64", (BATCH,), 0, 50)}),
    "retention": (Retention, TEXT),
    "top-k experts": (Routed, TEXT),
    "graph convolution": (Graph, {"x": ("float32", (2, 7, 8)), "edges": ("int64", (2, 7, 7), 0, 2),
                                  "y": ("int64", (2, 7), 0, CLASSES)}),
    "seq2seq with attention": (Attending, TEXT),
    "nn.Transformer": own("seq2seq"),
    "nn.TransformerEncoder": (Encoder, {"x": TOKENS, "y": LABELS}),
    "nn.MultiheadAttention": (Heads, TEXT),
    "siamese": (Siamese, {"anchor": FLOATS, "near": FLOATS, "far": FLOATS}),
    "tabular": (Tabular, {"numbers": ("float32", (4, 4)), "kinds": ("int64", (4, 3), 0, 9),
                          "y": ("int64", (4,), 0, 2)}),
    "glm": hugging("GlmForCausalLM", "GlmConfig", LANGUAGE, **dict(GROUPED, head_dim=4, pad_token_id=0)),
    "exaone4": hugging("Exaone4ForCausalLM", "Exaone4Config", LANGUAGE, **dict(GROUPED, sliding_window=4)),
    "olmoe": hugging("OlmoeForCausalLM", "OlmoeConfig", LANGUAGE, **GROUPED, num_experts=4, num_experts_per_tok=2),
    "codegen": hugging("CodeGenForCausalLM", "CodeGenConfig", LANGUAGE, vocab_size=VOCABULARY, n_positions=32,
                       n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, rotary_dim=2, embd_pdrop=0.0, attn_pdrop=0.0,
                       resid_pdrop=0.0),
    "persimmon": hugging("PersimmonForCausalLM", "PersimmonConfig", LANGUAGE, **DECODER),
    "xlm": hugging("XLMWithLMHeadModel", "XLMConfig", LANGUAGE, vocab_size=VOCABULARY, emb_dim=WIDTH, n_layers=LAYERS,
                   n_heads=HEADS, dropout=0.0, attention_dropout=0.0, max_position_embeddings=32, n_langs=1),
    "canine": hugging("CanineForSequenceClassification", "CanineConfig", {
        "input_ids": ("int64", (BATCH, 16), 0, 30), "labels": LABELS}, hidden_size=WIDTH, num_hidden_layers=1,
        num_attention_heads=HEADS, intermediate_size=32, num_hash_functions=4, num_hash_buckets=16,
        downsampling_rate=4, local_transformer_stride=8, num_labels=CLASSES, **NO_DROPOUT),
    "longt5": hugging("LongT5ForConditionalGeneration", "LongT5Config", TRANSLATION, **T5, local_radius=3),
    "m2m100": hugging("M2M100ForConditionalGeneration", "M2M100Config", TRANSLATION, **SEQUENCES,
                      encoder_layerdrop=0.0, decoder_layerdrop=0.0, attention_dropout=0.0, activation_dropout=0.0),
    "videomae": hugging("VideoMAEForVideoClassification", "VideoMAEConfig", {
        "pixel_values": ("float32", (BATCH, 4, 3, 16, 16)), "labels": LABELS}, **VIT, num_frames=4, tubelet_size=2),
    "pvt v2": hugging("PvtV2ForImageClassification", "PvtV2Config", images(32), image_size=32,
                      hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 1, 1],
                      mlp_ratios=[2, 2, 2, 2], drop_path_rate=0.0, num_labels=CLASSES, **NO_DROPOUT),
    "sew": hugging("SEWForSequenceClassification", "SEWConfig", WAVES, **SPEECH, squeeze_factor=2),
    "embedding bags": (Bags, {"x": ("int64", (4, 6), 0, 30), "weights": ("float32", (4, 6)),
                              "y": ("int64", (4,), 0, 20)}),
    "mixture density": (Mixture, {"x": ("float32", (4, 3)), "y": ("float32", (4, 2))}),
    "bilstm and crf": (Chain, {"x": ("float32", (2, 6, 8)), "y": ("int64", (2, 6), 0, 4)}),
    "llama4": hugging("Llama4ForCausalLM", "Llama4TextConfig", LANGUAGE, **dict(
        GROUPED, head_dim=8, num_local_experts=4, num_experts_per_tok=1, intermediate_size_mlp=32)),
    "normalizing flow": own("flow"),
    "ctc loss": own("speech"),
    "checkpoints": own("checkpoints"),
    "in-place": own("in-place"),
    "nanogpt": own("nanogpt"),
})
# Mixtures of experts: what a token takes, in the words of each configuration.
LOCAL, COUNTED = (dict(num_experts_per_tok=2, **{name: 4}) for name in ("num_local_experts", "num_experts"))
ROUTED = dict(n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=16, n_group=1,
              topk_group=1)
LATENT = dict(kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=4)
NARROW = dict(moe_intermediate_size=16, head_dim=4)


def experts(name, configuration=None, **fields):
    return hugging(name + "ForCausalLM", (configuration or name) + "Config", LANGUAGE, **fields)


FAMILIES.update({
    "deepseek v2": experts("DeepseekV2", **DECODER, **LATENT, **dict(ROUTED, n_group=None, topk_group=None),
                           first_k_dense_replace=1, topk_method="greedy"),
    "phimoe": experts("Phimoe", **GROUPED, **LOCAL, input_jitter_noise=0.0, router_jitter_noise=0.0),  # else it draws
    "granitemoe": experts("GraniteMoe", **GROUPED, **LOCAL),
    "granitemoe, shared": experts("GraniteMoeShared", **GROUPED, **LOCAL, shared_intermediate_size=16),
    "granitemoe, hybrid": experts("GraniteMoeHybrid", **GROUPED, **LOCAL, shared_intermediate_size=16,
                                  layer_types=["mamba", "attention"], mamba_n_heads=4, mamba_d_head=8, mamba_d_state=4,
                                  mamba_n_groups=1, mamba_expand=2, mamba_chunk_size=4),
    "gpt-oss": experts("GptOss", **GROUPED, **LOCAL, head_dim=8, sliding_window=4,
                       layer_types=["sliding_attention", "full_attention"]),
    "ernie4.5-moe": experts("Ernie4_5_Moe", **GROUPED, moe_num_experts=4, moe_k=2, moe_intermediate_size=16,
                            moe_num_shared_experts=1, moe_layer_start_index=1),
    "glm4-moe": experts("Glm4Moe", **GROUPED, **ROUTED, first_k_dense_replace=1, head_dim=4),
    "glm4-moe, lite": experts("Glm4MoeLite", **DECODER, **ROUTED, **LATENT, mlp_layer_types=["dense", "sparse"]),
    "dots1": experts("Dots1", **GROUPED, **ROUTED, first_k_dense_replace=1, head_dim=4),
    "hunyuan-moe": experts("HunYuanMoEV1", **GROUPED, num_experts=4, moe_topk=2, head_dim=4),
    "minimax": experts("MiniMax", **GROUPED, **LOCAL, head_dim=4, block_size=4),
    "minimax m2": experts("MiniMaxM2", **GROUPED, **LOCAL, head_dim=4, rotary_dim=4),
    "flex-olmo": experts("FlexOlmo", **GROUPED, **COUNTED),
    "jamba": experts("Jamba", **GROUPED, **COUNTED, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2,
                     expert_layer_offset=1, use_mamba_kernels=False, mamba_d_state=4, mamba_d_conv=2, mamba_expand=1),
    "lfm2-moe": experts("Lfm2Moe", **GROUPED, **COUNTED, moe_intermediate_size=16, num_dense_layers=1,
                        layer_types=["conv", "full_attention"]),
    "exaone-moe": experts("ExaoneMoe", **GROUPED, **COUNTED, moe_intermediate_size=16, sliding_window=4),
    "afmoe": experts("Afmoe", **GROUPED, **COUNTED, **NARROW, num_dense_layers=1, sliding_window=4),
    "qwen3.5-moe": experts("Qwen3_5Moe", "Qwen3_5MoeText", **GROUPED, **COUNTED, **NARROW,
                           shared_expert_intermediate_size=16, linear_key_head_dim=4, linear_value_head_dim=4,
                           linear_num_key_heads=2, linear_num_value_heads=4,
                           layer_types=["linear_attention", "full_attention"]),
    "cohere2-moe": experts("Cohere2Moe", **GROUPED, **COUNTED, sliding_window=4),
    "jetmoe": experts("JetMoe", **{k: v for k, v in GROUPED.items() if k != "num_attention_heads"}, **LOCAL,
                      kv_channels=8),
    "dbrx": experts("Dbrx", vocab_size=VOCABULARY, d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS, max_seq_len=32,
                    attn_config=dict(kv_n_heads=2, clip_qkv=8.0, rope_theta=10000.0), use_cache=False, pad_token_id=0,
                    ffn_config=dict(ffn_hidden_size=16, moe_num_experts=4, moe_top_k=2, hidden_size=WIDTH)),
    "nllb-moe": hugging("NllbMoeForConditionalGeneration", "NllbMoeConfig", TRANSLATION, **SEQUENCES, num_experts=4,
                        expert_capacity=8, encoder_sparse_step=1, decoder_sparse_step=1, attention_dropout=0.0,
                        activation_dropout=0.0, encoder_layerdrop=0.0, decoder_layerdrop=0.0),
})
FAMILIES["vit (torchvision)"] = (
    lambda make=FAMILIES["vit (torchvision)"][0]: Classifier(make()), IMAGE)


class Segments(nn.Module):
    """A dilated pyramid over torchvision's ResNet, resized to the image."""

    def __init__(self):
        super().__init__()
        from torchvision.models.segmentation.deeplabv3 import ASPP

        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.pyramid, self.out = ASPP(8, [2, 4], 8), nn.Conv2d(8, CLASSES, 1)
        self.pyramid.project[3].p = 0.0

    def forward(self, x, y):
        logits = F.interpolate(self.out(self.pyramid(self.body(x))), x.shape[-2:], mode="bilinear")
        return F.cross_entropy(logits, y)


# Deep networks with BatchNorm of few rows, which diverge at the learning rates of others.
STEEP = ("resnet18", "convnext (torchvision)", "mobilenet v2", "mobilenet v3", "efficientnet", "densenet", "vgg",
         "inception", "squeezenet", "shufflenet", "mnasnet", "resnet (timm)")


def build(name):
    """(module in training mode, its inputs), of a fixed seed; scales and biases are not all alike."""
    make, inputs = FAMILIES[name]
    torch.manual_seed(0)
    module = make().train()
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1 and parameter.is_floating_point():
                parameter.add_(0.1 * torch.randn_like(parameter))
    return module, inputs
