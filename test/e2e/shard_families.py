"""Models of transformers that shards.py cuts: what is in test/data/families, beside those of tools/models.py.

    tools/export_onnx.py test/e2e/shard_families.py:bert bert.onnx --input x:int64:2x32 --input y:int64:2x32
    zbc bert.onnx -o DIR --dump-ir IR      IR/06_zb-dce.mlir, without values, is test/data/families/bert.mlir

Two layers of 4 heads x 8, but `six`: 6 heads x 32 and 257 tokens, which three shards do not divide. What is different
in them: bias of positions (bloom), heads of keys that all share (falcon, gemma), layers that share their parameters
(albert), attention beside the MLP (neox, phi), norms of heads (qwen3), windows (gptneo).
"""
import torch
import transformers

SEQ = 32
COMMON = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=256, intermediate_size=64)
POSITIONS = dict(max_position_embeddings=SEQ + 2, attention_dropout=0.0)
ENCODER = dict(max_position_embeddings=SEQ, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


class WithLoss(torch.nn.Module):
    """x, y: int64 [batch, seq]; the mean cross-entropy of predicting y."""

    def __init__(self, lm, call):
        super().__init__()
        self.lm, self.call = lm, call

    def forward(self, x, y):
        logits = self.lm(input_ids=x, **self.call).logits
        return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


def family(name, model, fields, **call):
    def build():
        torch.manual_seed(0)
        config = getattr(transformers, name + "Config")(**fields)
        config._attn_implementation = "eager"
        return WithLoss(getattr(transformers, name + model)(config), call).train()

    return build


def causal(name, **fields):
    return family(name, "ForCausalLM", fields, use_cache=False)


bert = family("Bert", "ForMaskedLM", {**COMMON, **ENCODER})
albert = family("Albert", "ForMaskedLM", {**COMMON, **ENCODER, "embedding_size": 16})
neox = causal("GPTNeoX", **COMMON, **POSITIONS)
phi = causal("Phi", **COMMON, **POSITIONS)
qwen3 = causal("Qwen3", **COMMON, **POSITIONS, num_key_value_heads=2, head_dim=8)
gemma = causal("Gemma", **COMMON, **POSITIONS, num_key_value_heads=1, head_dim=8)
gptneo = causal("GPTNeo", hidden_size=32, num_layers=2, num_heads=4, vocab_size=256, max_position_embeddings=SEQ,
                attention_types=[[["global", "local"], 1]], window_size=8, embed_dropout=0.0, attention_dropout=0.0,
                resid_dropout=0.0)
bloom = causal("Bloom", hidden_size=32, n_layer=2, n_head=4, vocab_size=256, hidden_dropout=0.0, attention_dropout=0.0)
falcon = causal("Falcon", hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=256,
                hidden_dropout=0.0, attention_dropout=0.0, new_decoder_architecture=False, multi_query=True)
six = family("GPT2", "LMHeadModel", dict(vocab_size=257, n_layer=2, n_embd=192, n_head=6, n_positions=SEQ,
                                         resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0), use_cache=False)
