"""Small models of many families for aten.py: LANGUAGE of transformers, OWN written here. Each row gives a module whose
forward() gives a scalar loss, and its example inputs {name: (dtype, shape, low, high)}; integers are drawn from low to
high, floats from a normal distribution."""
import math

import torch
import torch.nn.functional as F
import torch.utils.checkpoint

BATCH, LENGTH, VOCABULARY, WIDTH, HEADS, LAYERS = 2, 12, 40, 16, 4, 2
TOKENS = ("int64", (BATCH, LENGTH), 3, VOCABULARY)


class WithLoss(torch.nn.Module):
    """A causal or masked language model that is given labels, as people call it."""

    def __init__(self, lm, mask=False):
        super().__init__()
        self.lm, self.mask = lm, mask

    def forward(self, input_ids, labels):
        more = dict(attention_mask=(input_ids % 5 != 0).long()) if self.mask else {}
        return self.lm(input_ids=input_ids, labels=labels, **more).loss


def language(model, config, mask=False, **fields):
    """A model of transformers and its configuration, by their names."""
    import transformers

    made = getattr(transformers, config)(**fields)
    return WithLoss(getattr(transformers, model)(made).train(), mask)


DECODER = dict(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
               intermediate_size=2 * WIDTH, max_position_embeddings=32, bos_token_id=0, eos_token_id=1, pad_token_id=2,
               use_cache=False)
NO_DROPOUT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
GROUPED = dict(DECODER, num_key_value_heads=2)

# name: (model, configuration, fields)
LANGUAGE = {
    "llama": ("LlamaForCausalLM", "LlamaConfig", GROUPED),
    "mistral": ("MistralForCausalLM", "MistralConfig", dict(GROUPED, sliding_window=4)),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", GROUPED),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", dict(GROUPED, head_dim=8)),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", dict(GROUPED, head_dim=8)),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", dict(GROUPED, head_dim=8, sliding_window=4)),
    "phi": ("PhiForCausalLM", "PhiConfig", DECODER),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", GROUPED),
    "stablelm": ("StableLmForCausalLM", "StableLmConfig", GROUPED),
    "olmo": ("OlmoForCausalLM", "OlmoConfig", GROUPED),
    "neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", DECODER),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", dict(
        vocab_size=VOCABULARY, n_layer=LAYERS, n_embd=WIDTH, n_head=HEADS, n_positions=32, resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)),
    "gptj": ("GPTJForCausalLM", "GPTJConfig", dict(
        vocab_size=VOCABULARY, n_layer=LAYERS, n_embd=WIDTH, n_head=HEADS, n_positions=32, rotary_dim=2,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)),
    "opt": ("OPTForCausalLM", "OPTConfig", dict(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, ffn_dim=32,
        max_position_embeddings=32, dropout=0.0, word_embed_proj_dim=WIDTH, pad_token_id=1)),
    "bloom": ("BloomForCausalLM", "BloomConfig", dict(
        vocab_size=VOCABULARY, hidden_size=WIDTH, n_layer=LAYERS, n_head=HEADS, hidden_dropout=0.0,
        attention_dropout=0.0)),
    "falcon": ("FalconForCausalLM", "FalconConfig", dict(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        hidden_dropout=0.0, attention_dropout=0.0)),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", dict(GROUPED, num_local_experts=4, num_experts_per_tok=2)),
    "mamba": ("MambaForCausalLM", "MambaConfig", dict(
        vocab_size=VOCABULARY, hidden_size=WIDTH, state_size=4, num_hidden_layers=LAYERS, use_mambapy=False,
        use_cache=False)),
    "bert": ("BertForMaskedLM", "BertConfig", dict(DECODER, **NO_DROPOUT)),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", dict(DECODER, **NO_DROPOUT)),
    "distilbert": ("DistilBertForMaskedLM", "DistilBertConfig", dict(
        vocab_size=VOCABULARY, dim=WIDTH, n_layers=LAYERS, n_heads=HEADS, hidden_dim=32, max_position_embeddings=32,
        dropout=0.0, attention_dropout=0.0)),
    "albert": ("AlbertForMaskedLM", "AlbertConfig", dict(DECODER, embedding_size=8, **NO_DROPOUT)),
    "electra": ("ElectraForMaskedLM", "ElectraConfig", dict(DECODER, embedding_size=8, **NO_DROPOUT)),
    "t5": ("T5ForConditionalGeneration", "T5Config", dict(
        vocab_size=VOCABULARY, d_model=WIDTH, d_kv=4, d_ff=32, num_layers=LAYERS, num_heads=HEADS, dropout_rate=0.0,
        decoder_start_token_id=0, use_cache=False)),
    "bart": ("BartForConditionalGeneration", "BartConfig", dict(
        vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=1, decoder_layers=LAYERS, encoder_ffn_dim=32,
        decoder_ffn_dim=32, encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, max_position_embeddings=32,
        dropout=0.0, use_cache=False)),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", dict(GROUPED, head_dim=8, sliding_window=4)),
    "cohere": ("CohereForCausalLM", "CohereConfig", GROUPED),
    "olmo2": ("Olmo2ForCausalLM", "Olmo2Config", GROUPED),
    "granite": ("GraniteForCausalLM", "GraniteConfig", GROUPED),
    "starcoder2": ("Starcoder2ForCausalLM", "Starcoder2Config", GROUPED),
    "nemotron": ("NemotronForCausalLM", "NemotronConfig", GROUPED),
    "deberta": ("DebertaV2ForMaskedLM", "DebertaV2Config", dict(
        DECODER, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8, **NO_DROPOUT)),
    "mobilebert": ("MobileBertForMaskedLM", "MobileBertConfig", dict(
        vocab_size=VOCABULARY, hidden_size=WIDTH, embedding_size=WIDTH, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, intermediate_size=32, intra_bottleneck_size=16, max_position_embeddings=32,
        **NO_DROPOUT)),
    "modernbert": ("ModernBertForMaskedLM", "ModernBertConfig", dict(
        DECODER, attention_dropout=0.0, local_attention=8)),
    "xlnet": ("XLNetLMHeadModel", "XLNetConfig", dict(
        vocab_size=VOCABULARY, d_model=WIDTH, n_layer=LAYERS, n_head=HEADS, d_inner=32, dropout=0)),
    "rwkv": ("RwkvForCausalLM", "RwkvConfig", dict(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, attention_hidden_size=WIDTH,
        intermediate_size=32, context_length=32, use_cache=False)),
}
MASKED = {"bert", "roberta", "distilbert", "albert", "electra", "t5", "bart", "llama", "bloom", "opt"}


# ---- Models written here ----


class Block(torch.nn.Module):
    """As nanoGPT's: fused query, key and value, scaled_dot_product_attention, an MLP of four widths."""

    def __init__(self, dropout, bias):
        super().__init__()
        self.ln_1, self.ln_2 = torch.nn.LayerNorm(WIDTH, bias=bias), torch.nn.LayerNorm(WIDTH, bias=bias)
        self.c_attn = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=bias)
        self.c_proj = torch.nn.Linear(WIDTH, WIDTH, bias=bias)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH, bias=bias), torch.nn.GELU(),
                                       torch.nn.Linear(4 * WIDTH, WIDTH, bias=bias), torch.nn.Dropout(dropout))
        self.dropout = dropout

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (y.view(b, t, HEADS, c // HEADS).transpose(1, 2) for y in self.c_attn(self.ln_1(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.ln_2(x))


class NanoGPT(torch.nn.Module):
    def __init__(self, dropout=0.0, bias=False):
        super().__init__()
        self.wte, self.wpe = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(LENGTH, WIDTH)
        self.h = torch.nn.ModuleList(Block(dropout, bias) for _ in range(LAYERS))
        self.ln_f = torch.nn.LayerNorm(WIDTH, bias=bias)
        self.lm_head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, x, y):
        h = self.wte(x) + self.wpe(torch.arange(x.size(1), device=x.device))
        for block in self.h:
            h = block(h)
        logits = self.lm_head(self.ln_f(h))
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1), ignore_index=-1)
        return {"loss": loss, "logits": logits}


class Scan(torch.nn.Module):
    """A selective scan as Mamba has it, one step after the other, with a short causal sum in place of a convolution."""

    STATE = 4

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.RMSNorm(WIDTH)
        self.in_proj = torch.nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.taps = torch.nn.Parameter(torch.randn(3, WIDTH) / 3)
        self.x_proj = torch.nn.Linear(WIDTH, 1 + 2 * self.STATE, bias=False)
        self.dt_proj = torch.nn.Linear(1, WIDTH)
        self.A_log = torch.nn.Parameter(torch.log(torch.arange(1, self.STATE + 1).float()).repeat(WIDTH, 1))
        self.D = torch.nn.Parameter(torch.ones(WIDTH))
        self.out_proj = torch.nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        u, gate = self.in_proj(self.norm(x)).chunk(2, dim=-1)
        u = F.silu(sum(F.pad(u, (0, 0, k, 0))[:, : u.shape[1]] * tap for k, tap in enumerate(self.taps)))
        dt, b, c = self.x_proj(u).split([1, self.STATE, self.STATE], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        decay = torch.exp(dt.unsqueeze(-1) * -torch.exp(self.A_log))
        inner = (dt * u).unsqueeze(-1) * b.unsqueeze(2)
        state, outs = torch.zeros_like(inner[:, 0]), []
        for i in range(x.shape[1]):
            state = decay[:, i] * state + inner[:, i]
            outs.append((state * c[:, i].unsqueeze(1)).sum(-1))
        y = torch.stack(outs, dim=1) + u * self.D
        return x + self.out_proj(y * F.silu(gate))


class MambaLike(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.layers = torch.nn.Sequential(*(Scan() for _ in range(LAYERS)))
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.layers(self.embed(x))).transpose(1, 2), y)


class Vision(torch.nn.Module):
    """A ViT whose patches are cut by reshape, with PyTorch's own encoder layers and a class token."""

    def __init__(self):
        super().__init__()
        self.patch = torch.nn.Linear(3 * 16, WIDTH)
        self.token = torch.nn.Parameter(torch.randn(1, 1, WIDTH))
        self.places = torch.nn.Parameter(torch.randn(1, 17, WIDTH))
        self.layers = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 32, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, 10)

    def forward(self, pixels, labels):
        b = pixels.shape[0]
        x = pixels.reshape(b, 3, 4, 4, 4, 4).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
        x = torch.cat([self.token.expand(b, -1, -1), self.patch(x)], dim=1) + self.places
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.head(x[:, 0]), labels, label_smoothing=0.1)


class Experts(torch.nn.Module):
    """A dense mixture: every expert sees every token, and a softmax weighs them."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
        self.router = torch.nn.Linear(WIDTH, 3)
        self.up = torch.nn.Parameter(torch.randn(3, WIDTH, 32) / math.sqrt(WIDTH))
        self.down = torch.nn.Parameter(torch.randn(3, 32, WIDTH) / math.sqrt(32))
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x, y):
        h = self.embed(x)
        weights = self.router(h).softmax(-1)
        each = torch.einsum("beth,ehd->betd", F.relu(torch.einsum("btd,edh->beth", h, self.up)), self.down)
        return F.cross_entropy(self.head(h + torch.einsum("betd,bte->btd", each, weights)).flatten(0, 1), y.flatten())


class Normalized(torch.nn.Module):
    """BatchNorm over rows and over sequences, one of them called twice, GroupNorm, and activations."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.rows, self.sequences = torch.nn.BatchNorm1d(WIDTH), torch.nn.BatchNorm1d(LENGTH, momentum=0.3)
        self.groups = torch.nn.GroupNorm(4, LENGTH)
        self.fc1 = torch.nn.Linear(WIDTH, WIDTH, bias=False)  # its gradient would be rounding alone
        self.fc2 = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x, y):
        h = self.groups(self.sequences(self.embed(x)))
        h = self.rows(F.hardswish(self.fc1(h.flatten(0, 1))))
        return F.cross_entropy(self.fc2(F.leaky_relu(self.rows(h + 1))), y.flatten())


# Functions of a trained p [4, 6] (between 0.3 and 1.7), an input x [4, 6] and indices i [4] (0 to 3), by the op that
# they are for. Each gives a tensor of floats.
FUNCTIONS = {
    "abs": lambda p, x, i: (p * x).abs(),
    "acos": lambda p, x, i: torch.acos(p / 3) + torch.asin(p / 2) + torch.atan(p * x),
    "acosh": lambda p, x, i: torch.acosh(p + 1) + torch.asinh(p * x) + torch.atanh(p / 2),
    "cosh": lambda p, x, i: torch.cosh(p) + torch.sinh(p * x) + torch.tan(p / 2) + torch.cos(p) * torch.sin(x),
    "erf": lambda p, x, i: torch.erf(p) + torch.erfc(p * x) + torch.special.expm1(p),
    "exp2": lambda p, x, i: torch.exp2(p) + torch.log2(p) + torch.log10(p) + torch.log1p(p),
    "sqrt": lambda p, x, i: p.sqrt() + p.rsqrt() + p.reciprocal() + p.log() + p.neg() + p.exp().tanh(),
    "elu": lambda p, x, i: F.elu(p * x, 0.7) + F.celu(p * x, 1.3) + F.selu(p * x) + F.leaky_relu(p * x, 0.2),
    "hardswish": lambda p, x, i: F.hardswish(3 * p * x) + F.hardsigmoid(3 * p * x) + F.hardtanh(p * x, -0.4, 0.9),
    "mish": lambda p, x, i: F.mish(p * x) + F.softplus(p * x) + F.softplus(p * x, beta=2.0) + F.silu(p * x),
    "gelu": lambda p, x, i: F.gelu(p * x) + F.gelu(p * x, approximate="tanh") + F.logsigmoid(p * x),
    "shrink": lambda p, x, i: F.softshrink(p * x, 0.3) + F.hardshrink(p * x, 0.4) + F.threshold(p * x, 0.2, 0.0),
    "relu6": lambda p, x, i: F.relu6(p * x) + F.relu(x * p) + torch.sigmoid(p) + F.softsign(p * x) + F.tanhshrink(p),
    "glu": lambda p, x, i: F.glu(p * x, dim=1),
    "clamp": lambda p, x, i: p.clamp(0.5, 1.2) + (p * x).clamp(min=-0.3) + p.clamp(max=x) + p.clamp_min(0.9),
    "rounding": lambda p, x, i: p * (x.floor() + x.ceil() + x.round() + x.sign() + x.trunc()),
    "alpha": lambda p, x, i: (
        torch.add(p, x, alpha=3) + torch.sub(p, x, alpha=0.5) + (2 - p) + torch.rsub(p, 1, alpha=2)
    ),
    "div": lambda p, x, i: p / 3 + p / (x.abs() + 1) + 2 / p + p * torch.div(i[:, None], 3, rounding_mode="floor"),
    "floor_divide": lambda p, x, i: (
        p * ((i - 2) // 2)[:, None] + p * (5 * x // 2) + p * torch.div(x, 0.3, rounding_mode="trunc")
    ),
    "remainder": lambda p, x, i: p * (torch.remainder(5 * x, 3) + torch.fmod(5 * x, 3) + (i[:, None] - 3) % 2),
    "pow": lambda p, x, i: p ** 2 + p ** 0.5 + p ** (-1.5) + 2 ** p + p ** (x.abs() + 0.5) + p * i[:, None] ** 2,
    "maximum": lambda p, x, i: torch.maximum(p, x) + torch.minimum(p, 2 * x) + torch.max(p, x.abs()),
    "compare": lambda p, x, i: p * ((x > 0.2) & ~(x >= 0.5) | (x < -1) ^ (i[:, None] == 2)) + p * (i != 1)[:, None],
    "logic": lambda p, x, i: p * torch.logical_or(x > 1, torch.logical_not(torch.logical_and(x < 0, x > -1))).float(),
    "bits": lambda p, x, i: p * (3 * (i & 1) + (i | 2) + (i ^ 3) + ~i)[:, None],
    "where": lambda p, x, i: torch.where(x > 0, p, 2.0) + torch.where(x > 1, 0.5, p * p) + p.masked_fill(x > 0, 0.1),
    "addcmul": lambda p, x, i: torch.addcmul(p, p, x, value=0.3) + torch.addcdiv(x, p, p + 1) + torch.lerp(p, x, 0.3),
    "cast": lambda p, x, i: p * (x > 0).float() + p * i.float()[:, None] + p * x.long() + p.to(torch.float32),
    "sum": lambda p, x, i: p.sum(0) + p.mean(0, keepdim=True) + p.sum() * p.mean() + (p * x).sum((0, 1)),
    "amax": lambda p, x, i: p.amax(1) + p.amin(1) + p.max() + p.min() + p.max(1).values + p.prod(1) + p[:, :2].prod(),
    "variance": lambda p, x, i: p.var(1) + p.std(1) + p.var(dim=1, unbiased=False) + torch.var_mean(p, 1)[1],
    "logsumexp": lambda p, x, i: p.logsumexp(1) + p.norm(dim=1) + torch.linalg.vector_norm(p * x, 1, dim=1),
    "cumsum": lambda p, x, i: p.cumsum(1) + p.flip(1).cumsum(0) + p * (i > 1).cumsum(0)[:, None],
    "any": lambda p, x, i: (
        p * (x > 1).any(1, keepdim=True) + p * (x > -1).all(0) + p * (x > 9).any() + p * x.gt(-9).all()
    ),
    "softmax": lambda p, x, i: p.softmax(0) + (p * x).log_softmax(1) + F.softmin(p, dim=1),
    "norm": lambda p, x, i: F.layer_norm(p * x, (6,)) + F.rms_norm(p * x, (6,)) + F.normalize(p, dim=1),
    "product": lambda p, x, i: (
        p @ x.T @ p + torch.mv(p, x[0])[:, None] + torch.dot(p[0], x[1]) + torch.outer(p[0, :4], p[1])
    ),
    "bmm": lambda p, x, i: (
        torch.baddbmm(p[None], x[None, :, :4], p[None], beta=0.5, alpha=2.0)[0]
        + F.linear(p, x[:, :6], x[0, :4]).sum()
    ),
    "einsum": lambda p, x, i: torch.einsum("ij,kj->ik", p, x) + torch.einsum("ij,ij->i", p, x),
    "shape": lambda p, x, i: (
        (p * x).reshape(2, 2, 6).permute(2, 0, 1).flatten(1).unflatten(0, (3, 2)).transpose(0, 1)
    ),
    "cat": lambda p, x, i: torch.cat([p, x, p * x], 1) + torch.stack([p, x], 1).flatten(1).repeat(1, 2)[:, :18],
    "split": lambda p, x, i: (
        sum((k * part for k, part in enumerate((p * x).split(2, 1), 1))) + sum(p.unbind(0))[:2] + sum(p.chunk(3, 1))
    ),
    "roll": lambda p, x, i: (
        torch.roll(p * x, (1, -2), (0, 1)) + p.flip((0, 1)) * x + torch.tile(p[:, :3], (1, 2)) * x
    ),
    "pad": lambda p, x, i: (
        F.pad(p * x, (1, 2, 3, 0), value=0.5) * torch.arange(1, 8)[:, None] + F.pad(p, (-1, 4, 0, 3))
    ),
    "slices": lambda p, x, i: (p * x)[:, 1:5:2] + p[1:, -3:-1].sum() + p.select(1, -2)[:, None] + p.narrow(1, 2, 2),
    "triangles": lambda p, x, i: p.tril(1) + (p * x).triu(-1) + p * torch.eye(4, 6) + p * torch.ones_like(x).tril(),
    "put": lambda p, x, i: torch.slice_scatter(p * x, p[:, :2], 1, 1, 3) + torch.select_scatter(x, p[0], 0, 2),
    "steps": lambda p, x, i: (
        torch.slice_scatter(p * x, p[:, ::2], 1, 1, 6, 2) + F.bilinear(p, x, p.view(2, 2, 6).repeat(1, 3, 1)).sum()
    ),
    "index": lambda p, x, i: (
        p[i] + p[i, i][:, None] + p[:, i].sum(1, keepdim=True) + p[[1, 0, 3, 2]]
        + p[torch.arange(4)[:, None], i[None, :]].sum(1, keepdim=True)
    ),
    "index_select": lambda p, x, i: (
        p.index_select(1, i) * x[:, :4] + torch.gather(p, 1, i[:, None]) + F.embedding(i, p)[:, :4]
    ),
    "index_put": lambda p, x, i: torch.index_put(p, (i,), x, accumulate=True) + torch.index_put(x, (i[:1],), p[:1]),
    "index_put2": lambda p, x, i: (
        torch.ops.aten.index_put((p * x).view(4, 2, 3), [None, i[:2] % 2, i[2:] % 3], p[:, :2], True).view(4, 6)
        + torch.ops.aten.index_put(x, [None, i[:1]], p[:, :1])
    ),
    "scatter": lambda p, x, i: (
        torch.scatter_add(p, 1, i[:, None], x[:, :1]) + torch.scatter(p, 1, i[:, None], 0.5)
        + torch.scatter(x, 1, i[:, None], p[:, :1])
    ),
    "one_hot": lambda p, x, i: (
        p[:, :4] * F.one_hot(i, 4) + torch.full_like(p[:, :4], 0.5) * p[:, :4] + p.new_zeros(4)
    ),
    "order": lambda p, x, i: (
        p.topk(4, 1).values + p.topk(4, 1, largest=False)[0] * x[:, :4] + p.sort(1, descending=True)[0][:, 2:]
        + p.sort(0)[0][:, 1:5] + p[:, :4] * (x.argmax(1) + x.argmin(0)[:4] + torch.argmax(x))
        + p.max(1, keepdim=True).values + (p * x).min(0).values[:4] + p[:, :4] * p.max(0).indices[:4]
        + p[:, :4] * torch.argsort(x[:, :4], 1) + p.median(1, keepdim=True)[0] + p.kthvalue(2, 1)[0][:, None]
    ),
    "angles": lambda p, x, i: (
        torch.atan2(p, x) + torch.atan2(x, p * x) + torch.hypot(p, x) + torch.cumprod(p, 1) + p.logcumsumexp(0)
        + torch.logaddexp(p, x) + torch.sinc(p) + torch.xlogy(x.abs(), p) + torch.nan_to_num(p / x.abs())
    ),
    "distances": lambda p, x, i: (
        torch.cdist(p, x) + torch.cdist(p, x + 1, 1.0) + torch.pdist(p).sum() + torch.diagonal(p * x)
        + (p * x).diagonal(1)[:4] + torch.as_strided(p * x, (4, 4), (3, 2), 1) + p.unfold(1, 3, 1).sum(-1)
    ),
    "masked": lambda p, x, i: (
        x.masked_scatter(x > 0, p) + x.masked_scatter(torch.arange(6) > 2, p * p)
        + torch.scatter_reduce(p, 0, i[:, None].expand(4, 6), p * x, "sum")
        + torch.scatter_reduce(p, 0, i[:, None].expand(4, 6), p * x, "mean", include_self=False)
        + torch.index_add(p, 0, i, x) + p * torch.searchsorted(torch.arange(3.0), x) + p * torch.bucketize(
            x, torch.arange(3.0), right=True) + p[:, :1] * torch.histc(x, 6, -1.0, 1.0)
    ),
    "borders": lambda p, x, i: (
        F.pad((p * x)[None], (2, 1), mode="reflect") + F.pad((p * x)[None], (1, 2), mode="replicate")
        + F.pad((p * x)[None], (3, 0), mode="circular") + F.pad((p * x)[None, None], (1, 2, 1, 2), mode="reflect")[
            0, :, 2:6] + F.pad((p * x)[None, None], (3, 0, 0, 3), mode="replicate")[0, :, 1:5]
    ),
    "sampled": lambda p, x, i: (
        F.grid_sample(p[None, None], torch.tanh(x[None, :, :4].reshape(1, 4, 2, 2)), align_corners=False).sum()
        + F.fold(p[None].reshape(1, 4, 6)[:, :, :6], (3, 4), 2)[0] .sum(0, keepdim=True)[:, :1, :]
        + F.interpolate(p[None, None], scale_factor=2, mode="bicubic")[0, 0, :4, :4]
        + F.embedding_bag(i.view(2, 2), p).sum(0)[:4] + F.embedding_bag(i.view(2, 2), p * x, mode="sum")[:, :4].sum(0)
        + F.embedding_bag(i, p * x, torch.tensor([0, 1, 1]), mode="max", padding_idx=1)[:, :4].sum(0)
    ),
    "losses": lambda p, x, i: (
        F.mse_loss(p, x) + F.l1_loss(p, x, reduction="sum") + F.huber_loss(p, x) + F.smooth_l1_loss(p, x, beta=0.5)
        + F.kl_div(p.log_softmax(1), x.softmax(1), reduction="batchmean")
    ),
    "entropies": lambda p, x, i: (
        F.cross_entropy(p, i) + F.nll_loss(p.log_softmax(1), i, reduction="sum") + F.cross_entropy(p[0], i[0])
        + F.cross_entropy(p, i, ignore_index=2, label_smoothing=0.2) + F.cross_entropy(p, i, reduction="none")
    ),
    "binary": lambda p, x, i: (
        F.binary_cross_entropy_with_logits(p * x, (x > 0).float())
        + F.binary_cross_entropy(p.sigmoid(), x.sigmoid()) + F.soft_margin_loss(p, x.sign())
        + F.cosine_similarity(p, x, dim=1)
    ),
    "attention": lambda p, x, i: (
        F.scaled_dot_product_attention(*(y.view(1, 2, 4, 3) for y in (p, p * x, x))).flatten()
    ),
    "attention-masks": lambda p, x, i: (
        F.scaled_dot_product_attention(p.view(1, 2, 4, 3), x.view(1, 2, 4, 3), p.view(1, 2, 4, 3),
        attn_mask=(i >= 1).view(1, 1, 4), scale=0.3)
        + F.scaled_dot_product_attention(*[p.view(1, 2, 4, 3)] * 3, attn_mask=torch.zeros(4, 4))
    ),
    "attention-groups": lambda p, x, i: (
        F.scaled_dot_product_attention(torch.cat([p, x]).view(1, 4, 4, 3), p.view(1, 2, 4, 3), x.view(1, 2, 4,
        3), is_causal=True, enable_gqa=True)
    ),
    "group_norm": lambda p, x, i: (
        F.group_norm((p * x).view(2, 4, 3), 2) + F.instance_norm((p + x).view(2, 4, 3))
        + F.batch_norm((p * x).view(2, 4, 3), None, None, training=True)
    ),
}


class Function(torch.nn.Module):
    """The sum of some functions of FUNCTIONS, each of a parameter of its own and with its own weights of elements."""

    def __init__(self, names):
        super().__init__()
        self.names = names
        self.p = torch.nn.ParameterList(torch.rand(4, 6) * 1.4 + 0.3 for _ in names)

    def forward(self, x, i):
        total = x.mean()  # an input of every model
        for name, p in zip(self.names, self.p):
            out = FUNCTIONS[name](p, x, i)
            total = total + (out * torch.linspace(-1, 1.5, out.numel()).view(out.shape)).sum() / len(self.names)
        return total


class Recurrent(torch.nn.Module):
    def __init__(self, kind, both):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.rnn = getattr(torch.nn, kind)(WIDTH, WIDTH, LAYERS, batch_first=True, bidirectional=both)
        self.head = torch.nn.Linear(WIDTH * (1 + both), VOCABULARY)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.rnn(self.embed(x))[0]).flatten(0, 1), y.flatten())


class Seq2Seq(torch.nn.Module):
    """PyTorch's own encoder and decoder, with a padding mask and a causal one."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.body = torch.nn.Transformer(WIDTH, HEADS, 1, 1, 32, 0.0, batch_first=True)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x, y):
        h, mask = self.embed(x), torch.nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        h = self.body(h, h, tgt_mask=mask, tgt_is_causal=True, src_key_padding_mask=x % 7 == 3)
        return F.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


class LowRank(torch.nn.Module):
    """A frozen model beside two trained factors (LoRA)."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Linear(WIDTH, VOCABULARY)
        self.full = torch.nn.Linear(WIDTH, WIDTH)
        self.requires_grad_(False)
        self.a, self.b = torch.nn.Linear(WIDTH, 2, bias=False), torch.nn.Linear(2, WIDTH, bias=False)

    def forward(self, x, y):
        h = self.embed(x)
        h = torch.tanh(self.full(h) + self.b(self.a(h)) * 2)
        return F.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


class InPlace(torch.nn.Module):
    """Assignments to parts, ops that end in _, a mask and positions as buffers."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("mask", torch.tril(torch.ones(LENGTH, LENGTH)).bool())
        self.register_buffer("places", torch.arange(LENGTH), persistent=False)

    def forward(self, x, y):
        h = self.embed(x)
        moved = torch.zeros_like(h)
        moved[:, 1:] = h[:, :-1]
        moved[:, 0] += h[:, 0]
        h = h.clone()
        h *= 0.5
        h.add_(moved)
        h[..., ::2] = h[..., 1::2] * self.places[:, None]
        weights = (h @ h.transpose(1, 2)).masked_fill(~self.mask, float("-inf")).softmax(-1)
        return F.cross_entropy(self.head(F.relu(weights @ h, inplace=True)).flatten(0, 1), y.flatten())


class Stopped(torch.nn.Module):
    """Gradients that stop: detach(), no_grad, and a padding token, which is read."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH, padding_idx=5)
        self.embed.weight.data[5] = 0.3
        self.first, self.second = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x, y):
        h = self.embed(torch.where(x % 3 == 0, 5, x))
        with torch.no_grad():
            scale = self.first(h).exp().mean(-1, keepdim=True)
        h = self.first(h) * scale + self.second(h).detach() * self.second(h)
        return F.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


class Again(torch.nn.Module):
    """Layers whose forward pass is made again for the backward pass, in both of PyTorch's ways."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Linear(WIDTH, VOCABULARY)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x, y):
        h = self.embed(x)
        for i, layer in enumerate(self.layers):
            h = torch.utils.checkpoint.checkpoint(lambda h, layer=layer: h + layer(h).tanh(), h,
                                                  use_reentrant=i % 2 == 0)
        return F.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


class Flow(torch.nn.Module):
    """A normalizing flow: a matrix with its determinant, masked couplings, a normal distribution with covariances."""

    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Parameter(torch.eye(6) + 0.3 * torch.randn(6, 6))
        self.scale, self.shift = torch.nn.Linear(6, 6), torch.nn.Linear(6, 6)
        self.root = torch.nn.Parameter(torch.eye(6) + 0.1 * torch.randn(6, 6))
        self.register_buffer("mask", torch.arange(6) % 2 == 0)

    def forward(self, x):
        h = x @ self.mix
        kept = torch.where(self.mask, h, 0.0)
        scale = torch.where(self.mask, 0.0, torch.tanh(self.scale(kept)))
        h = kept + torch.where(self.mask, 0.0, h * scale.exp() + self.shift(kept))
        normal = torch.distributions.MultivariateNormal(torch.zeros(6), self.root @ self.root.T + 0.1 * torch.eye(6))
        return -(normal.log_prob(h) + scale.sum(1)).mean() - torch.linalg.slogdet(self.mix)[1]


class Speech(torch.nn.Module):
    """Frames to letters by the CTC loss, with lengths as data."""

    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.GRU(8, WIDTH, batch_first=True), torch.nn.Linear(WIDTH, 7)

    def forward(self, x, y, frames, letters):
        log_probs = self.head(self.body(x)[0]).log_softmax(-1).transpose(0, 1)
        return torch.nn.CTCLoss(zero_infinity=True)(log_probs, y, frames, letters)


class DropPath(torch.nn.Module):
    """Leaves rows of a batch out, in the two ways that people write it."""

    def __init__(self, kept, floors):
        super().__init__()
        self.kept, self.floors = kept, floors

    def forward(self, x):
        if not self.training:
            return x
        shape = (x.shape[0],) + (1,) * (x.dim() - 1)
        if self.floors:
            return x.div(self.kept) * (self.kept + torch.rand(shape, dtype=x.dtype)).floor_()
        return x * x.new_empty(shape).bernoulli_(self.kept).div_(self.kept)


class Noisy(torch.nn.Module):
    """Random numbers of many kinds. In an evaluation only the mask of inputs and the choice of tokens are drawn."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(256, WIDTH)  # of bytes: test/e2e/dropout.py trains it on text
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.paths = torch.nn.ModuleList([DropPath(0.8, False), DropPath(0.7, True)])
        self.drops = torch.nn.ModuleList([torch.nn.AlphaDropout(0.2), torch.nn.Dropout1d(0.2), torch.nn.RReLU()])
        self.spread, self.head = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, 256)

    def forward(self, x, y):
        x = torch.where(torch.rand(x.shape) < 0.1, torch.randint(0, VOCABULARY, x.shape), x)
        h = self.embed(x) * (torch.rand_like(self.embed(x)) > 0.05)
        h = h + self.paths[0](self.layers[0](h))
        h = self.drops[1](h + self.paths[1](self.drops[0](self.layers[1](h))))
        if self.training:
            h = h + 0.1 * torch.randn_like(h) * self.spread(h).tanh()
        h = h + self.drops[2](self.layers[2](h))
        gates = F.gumbel_softmax(self.layers[3](h), tau=2.0) if self.training else self.layers[3](h).softmax(-1)
        h = h * gates * WIDTH
        return F.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


class WeightNorm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Linear(WIDTH, VOCABULARY)
        self.layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(WIDTH, WIDTH))
        self.other = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(WIDTH, WIDTH), dim=None)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.other(self.layer(self.embed(x)).tanh())).flatten(0, 1), y.flatten())


TEXT = {"x": TOKENS, "y": TOKENS}
FUNCTION_INPUTS = {"x": ("float32", (4, 6)), "i": ("int64", (4,), 0, 4)}
OWN = {
    "nanogpt": (NanoGPT, TEXT),
    "nanogpt-bias": (lambda: NanoGPT(bias=True), TEXT),
    "mamba-like": (MambaLike, TEXT),
    "vision": (Vision, {"pixels": ("float32", (BATCH, 3, 16, 16)), "labels": ("int64", (BATCH,), 0, 10)}),
    "experts": (Experts, TEXT),
    "batchnorm": (Normalized, TEXT),
    "stopped": (Stopped, TEXT),
    "lstm": (lambda: Recurrent("LSTM", False), TEXT),
    "gru": (lambda: Recurrent("GRU", True), TEXT),
    "seq2seq": (Seq2Seq, TEXT),
    "low-rank": (LowRank, TEXT),
    "weight-norm": (WeightNorm, TEXT),
    "in-place": (InPlace, TEXT),
    "checkpoints": (Again, TEXT),
    "flow": (Flow, {"x": ("float32", (5, 6))}),
    "speech": (Speech, {"x": ("float32", (3, 12, 8)), "y": ("int64", (3, 4), 1, 7), "frames": ("int64", (3,), 8, 13),
                        "letters": ("int64", (3,), 0, 5)}),
    "breadth": (lambda: Function(list(FUNCTIONS)), FUNCTION_INPUTS),
    "dropout": (lambda: NanoGPT(dropout=0.2, bias=True), TEXT),
    "noisy": (Noisy, TEXT),
}


def build(name):
    """(module in training mode, its inputs), of a fixed seed."""
    torch.manual_seed(0)
    if name in FUNCTIONS:
        return Function([name]).train(), FUNCTION_INPUTS
    if name in OWN:
        make, inputs = OWN[name]
        return make().train(), inputs
    model, config, fields = LANGUAGE[name]
    return language(model, config, name in MASKED, **fields), {"input_ids": TOKENS, "labels": TOKENS}


def draw(inputs, steps, seed=1):
    """[{name: tensor}], one a step."""
    generator = torch.Generator().manual_seed(seed)

    def one(spec):
        kind, shape = spec[:2]
        if kind.startswith("float"):
            return torch.randn(shape, generator=generator)
        return torch.randint(spec[2], spec[3], shape, generator=generator)

    return [{name: one(spec) for name, spec in inputs.items()} for _ in range(steps)]


DRAWING = ("dropout", "noisy")  # models whose losses depend on random numbers

ADAMW = dict(lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
DECAY = 0.1


def losses(model, batches):
    """What PyTorch trains, with the optimizer that zbc takes by default."""
    named = [p for p in model.parameters() if p.requires_grad]
    groups = [dict(params=[p for p in named if p.dim() >= 2], weight_decay=DECAY),
              dict(params=[p for p in named if p.dim() < 2], weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, **ADAMW)
    found = []
    for batch in batches:
        optimizer.zero_grad()
        out = model(**batch)
        loss = out["loss"] if isinstance(out, dict) else out
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found
