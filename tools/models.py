"""The model families that export_onnx.py and reference.py know by name: GPT-2 and Llama as Hugging Face defines
them, each with a training loss, forward(x, y) -> scalar.

Random initial weights from a fixed seed, no dropout, a byte vocabulary by default. Attention is "eager", whose ops the exporter knows,
unless options.attention names another of transformers'. FAMILIES is the one list: a
family is a row {builder, path of its list of layers}.
"""


def gpt2(o):
    """Tied embedding, fused query/key/value, tanh-GELU, LayerNorm, learned positions."""
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=o.vocab,
            n_layer=o.layers,
            n_embd=o.dim,
            n_head=o.heads,
            n_positions=o.seq,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=0,
            attn_implementation=getattr(o, "attention", "eager"),
        )
    )


def llama(o):
    """Untied embedding, grouped-query attention, rotary positions, SwiGLU, RMSNorm, no biases."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
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
    )


FAMILIES = {
    "gpt2": dict(build=gpt2, layers="lm.transformer.h"),
    "llama": dict(build=llama, layers="lm.model.layers"),
}

# Options of a family with their defaults; both scripts take them.
OPTIONS = dict(layers=8, dim=128, heads=4, seq=128, batch=4, vocab=256, seed=0)


def add_options(parser):
    for name, default in OPTIONS.items():
        parser.add_argument("--" + name, type=int, default=default, help=f"default {default}")


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

    torch.manual_seed(options.seed)
    return WithLoss(FAMILIES[family]["build"](options)).train()
