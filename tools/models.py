"""The model families that export_onnx.py and reference.py know by name: GPT-2, Llama, RoBERTa and BART as Hugging Face
defines them, each with a training loss, forward(x, y) -> scalar.

Random initial weights from a fixed seed, no dropout (of gpt2 what --dropout says), a byte vocabulary by default.
Attention is "eager", whose ops the exporter knows, unless options.attention names another of transformers'. FAMILIES
is the one list: a family is a row {builder, path of its list of layers}.
"""


def lm(config, model, **fields):
    """A model of transformers and its configuration, by their names."""
    import transformers

    return getattr(transformers, model)(getattr(transformers, config)(**fields))


def gpt2(o):
    """Tied embedding, fused query/key/value, tanh-GELU, LayerNorm, learned positions."""
    return lm(
        "GPT2Config",
        "GPT2LMHeadModel",
        vocab_size=o.vocab,
        n_layer=o.layers,
        n_embd=o.dim,
        n_head=o.heads,
        n_positions=o.seq,
        resid_pdrop=getattr(o, "dropout", 0.0),
        embd_pdrop=getattr(o, "dropout", 0.0),
        attn_pdrop=getattr(o, "dropout", 0.0),
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation=getattr(o, "attention", "eager"),
    )


def llama(o):
    """Untied embedding, grouped-query attention, rotary positions, SwiGLU, RMSNorm, no biases."""
    return lm(
        "LlamaConfig",
        "LlamaForCausalLM",
        vocab_size=o.vocab,
        num_hidden_layers=o.layers,
        hidden_size=o.dim,
        intermediate_size=max(32, o.dim * 8 // 3 // 32 * 32),
        num_attention_heads=o.heads,
        num_key_value_heads=max(1, o.heads // 2),
        max_position_embeddings=o.seq,
        tie_word_embeddings=False,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation=getattr(o, "attention", "eager"),
    )


def roberta(o):
    """Bidirectional, tied embedding, positions counted by a running sum over what is no padding."""
    return lm(
        "RobertaConfig",
        "RobertaForMaskedLM",
        vocab_size=o.vocab,
        num_hidden_layers=o.layers,
        hidden_size=o.dim,
        intermediate_size=2 * o.dim,
        num_attention_heads=o.heads,
        max_position_embeddings=o.seq + 2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def bart(o):
    """An encoder of one layer and a decoder, which reads the labels, moved by one place."""
    return lm(
        "BartConfig",
        "BartForConditionalGeneration",
        vocab_size=o.vocab,
        encoder_layers=1,
        decoder_layers=o.layers,
        d_model=o.dim,
        encoder_ffn_dim=o.dim,
        decoder_ffn_dim=o.dim,
        encoder_attention_heads=o.heads,
        decoder_attention_heads=o.heads,
        max_position_embeddings=o.seq,
        dropout=0.0,
    )


def sdpa(builder):
    """The same model with scaled_dot_product_attention, as transformers has it by default."""

    def build(o):
        model = builder(o)
        model.set_attn_implementation("sdpa")
        return model

    return build


# pad: rows are padded on that side, and the model is called as people call it, with attention_mask and labels.
FAMILIES = {
    "gpt2": dict(build=gpt2, layers="lm.transformer.h"),
    "llama": dict(build=llama, layers="lm.model.layers"),
    "llama-padded": dict(build=sdpa(llama), layers="lm.model.layers", pad="left"),
    "roberta": dict(build=roberta, layers="lm.roberta.encoder.layer", pad="right"),
    "bart": dict(build=bart, layers="lm.model.decoder.layers", pad="right"),
}

# Options of a family with their defaults; both scripts take them.
OPTIONS = dict(layers=8, dim=128, heads=4, seq=128, batch=4, vocab=256, seed=0)


def add_options(parser):
    for name, default in OPTIONS.items():
        parser.add_argument("--" + name, type=int, default=default, help=f"default {default}")
    parser.add_argument("--dropout", type=float, default=0.0, help="of gpt2: the share that is dropped; default 0")


def build(family, options):
    """The module of a family, in training mode; the same seed gives the same weights."""
    import torch

    class WithLoss(torch.nn.Module):
        """x, y: int64 [batch, seq]; the loss is the mean cross-entropy of predicting y."""

        def __init__(self, lm):
            super().__init__()
            self.lm = lm

        def forward(self, x, y):
            logits = self.lm(input_ids=x, use_cache=False).logits
            return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))

    class Padded(torch.nn.Module):
        """x, y: int64 [batch, seq], of which a part that x's first column says is padding; every third label is ignored
        where no decoder reads labels (it would read padding there, whose embedding PyTorch does not train)."""

        def __init__(self, lm, side):
            super().__init__()
            self.lm, self.side = lm, side

        def forward(self, x, y):
            seq = x.shape[1]
            places, length = torch.arange(seq)[None], seq // 2 + x[:, :1] % (seq // 2)
            mask = places < length if self.side == "right" else places >= seq - length
            tokens = torch.where(mask, x, self.lm.config.pad_token_id or 0)
            counted = mask if self.lm.config.is_encoder_decoder else mask & ((y + places) % 3 != 0)
            labels = torch.where(counted, y, -100)
            return self.lm(input_ids=tokens, attention_mask=mask.long(), labels=labels).loss

    torch.manual_seed(options.seed)
    row = FAMILIES[family]
    model = row["build"](options)
    return (Padded(model, row["pad"]) if "pad" in row else WithLoss(model)).train()
