#!/usr/bin/env python3
"""Writes Inputs/: small train steps and losses of JAX as text, their first values and batches, and JAX's losses.

    make_files.py                    JAX 0.10.2, optax 0.2.8 (another version writes other text, which is fine)

NAME.mlir is what as_text() or the generic form gives; Inputs/values.safetensors has parameters and batches of all of
them, Inputs/losses.json the losses that JAX computes, or what zbc must refuse. test/e2e/stablehlo.py compares.
"""
import json
import os
import struct

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import optax

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs")
STEPS, ROWS, WIDTH, CLASSES, LAYERS = 6, 8, 16, 10, 3
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
jax.config.update("jax_include_full_tracebacks_in_locations", False)


def draw(seed, *shape):
    return (np.random.RandomState(seed).randn(*shape) * 0.3).astype(np.float32)


def mlp_params():
    return {"first": {"w": draw(1, WIDTH, WIDTH), "b": draw(2, WIDTH)},
            "last": {"w": draw(3, WIDTH, CLASSES), "b": draw(4, CLASSES)}}


def mlp_loss(params, x, y):
    h = jax.nn.gelu(x @ params["first"]["w"] + params["first"]["b"], approximate=False)
    logits = h @ params["last"]["w"] + params["last"]["b"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


def scan_params():
    return {"table": draw(5, 32, WIDTH), "layers": {"w": draw(6, LAYERS, WIDTH, WIDTH), "b": draw(7, LAYERS, WIDTH)},
            "head": draw(8, WIDTH, 32)}


def scan_loss(params, x, y):
    """Layers in a lax.scan, which becomes a while; causal attention without heads."""
    h = params["table"][x]
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))

    def layer(h, p):
        scores = jnp.einsum("btd,bsd->bts", h, h) / jnp.sqrt(h.shape[-1])
        h = h + jnp.einsum("bts,bsd->btd", jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1), h)
        h = h + jax.nn.silu(h @ p["w"] + p["b"])
        return h / jnp.sqrt(jnp.mean(h * h, axis=-1, keepdims=True) + 1e-5), jnp.mean(h)

    h, means = jax.lax.scan(layer, h, params["layers"])
    logits = h @ params["head"]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], axis=-1)
    return -picked.mean() + 1e-3 * jnp.sum(means ** 2)


def logistic_loss(params, x, y):
    """Begins at 0, where the pieces of log_sigmoid meet."""
    logits = x @ params["w"] + params["b"]
    return -jnp.mean(jnp.where(y % 2 == 1, jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits)))


def odd_loss(params, x, y):
    """Ops that the others do not have."""
    w = params["first"]["w"].at[y % 4].add(0.25 * x).at[3, 1].add(1.0)
    h = jnp.concatenate([x[:, ::2], jnp.pad(x[:, 1:5], ((0, 0), (1, 3)))], axis=1) @ w
    h = jnp.clip(h, -2.0, 2.0) + jnp.log1p(jnp.exp(-jnp.abs(h))) + jnp.expm1(0.1 * h) + jax.scipy.special.erfc(h)
    h = jnp.where(jnp.isfinite(h), jnp.minimum(h, 3.0), 0.0) * jnp.cos(h) / (1 + jnp.sin(h) ** 2)
    h = h + jax.lax.dynamic_slice(params["first"]["b"], (y[0] % 1,), (WIDTH,)) + 0.1 * jnp.max(h, axis=0)
    h = h + 0.1 * h[::-1, ::-1]
    logits = jnp.transpose(jnp.tanh(h)).reshape(WIDTH, ROWS).T @ params["last"]["w"] + params["last"]["b"]
    one_hot = jax.nn.one_hot(y, CLASSES) * jnp.prod(jnp.full((3,), 1.5))
    return -jnp.mean(jnp.sum(one_hot * jax.nn.log_softmax(logits), axis=-1)) / 4 + 0.1 * jnp.mean(logits ** 4) ** 0.5


def stopped_loss(params, x, y):
    """Of which JAX's text does not show that the first layer gets half of its gradient."""
    w = params["first"]["w"]
    half = 0.5 * w + jax.lax.stop_gradient(0.5 * w)
    return mlp_loss({**params, "first": {**params["first"], "w": half}}, x, y)


def penalized_loss(params, x, y):
    return mlp_loss(params, x, y) + 0.01 * jnp.sum(params["first"]["w"] ** 2)


def alone_params():
    return {"w": draw(21, WIDTH, CLASSES), **{name: draw(22 + i, CLASSES) for i, name in enumerate(
        ("deviation", "shift", "mixture", "bound", "decay"))}, "heat": np.full((), 0.3, np.float32),
            "power": np.full((), 0.2, np.float32)}


def alone_loss(params, x, y):
    """Formulas of a parameter alone: their gradients have magnitudes and sums of the loss in them."""
    p = params
    deviation, least = jax.nn.softplus(p["deviation"]), jnp.clip(jnp.abs(p["bound"]), 0.1, 2.0)
    logits = (x @ p["w"]) * jnp.minimum(jnp.exp(p["heat"]), 100.0) + jax.nn.log_softmax(p["shift"])
    logits = logits * jax.nn.softmax(p["mixture"]) / deviation + jnp.maximum(p["decay"] - p["decay"].max(), least)
    own = jnp.log(deviation).mean() + jnp.sum(jnp.abs(logits) ** (1.5 + p["power"])) * 1e-3
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean() + own


def step_beside(beside):
    """Returns another loss than it differentiates: without what it adds to that."""
    def step(params, x, y):
        gradients = jax.grad(lambda p, x, y: mlp_loss(p, x, y) + beside(p, x))(params, x, y)
        return mlp_loss(params, x, y), jax.tree.map(lambda p, g: p - 0.25 * g, params, gradients)
    return step


# A penalty is a decay of SGD, and so the same step; a term of activations is not.
hidden_step = step_beside(lambda p, x: 0.01 * jnp.sum(p["first"]["w"] ** 2))
other_step = step_beside(lambda p, x: 0.3 * jnp.mean((x @ p["first"]["w"]) ** 2))


def aux_loss(params, x, y):
    """Layers that are computed again for the gradient, and an accuracy beside the loss (argmax)."""
    layer = jax.checkpoint(lambda h: jnp.tanh(h @ params["first"]["w"] + params["first"]["b"]))
    logits = layer(layer(x)) @ params["last"]["w"] + params["last"]["b"]
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    return loss, (jnp.argmax(logits, axis=-1) == y).mean()


def aux_step(params, x, y):
    (loss, accuracy), gradients = jax.value_and_grad(aux_loss, has_aux=True)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.25 * g, params, gradients), {"loss": loss, "accuracy": accuracy}


def step_of(loss, optimizer):
    def step(params, state, x, y):
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimizer.update(gradients, state, params)
        return value, optax.apply_updates(params, updates), state
    return step


def plain_sgd(params, x, y):
    value, gradients = jax.value_and_grad(mlp_loss)(params, x, y)
    return value, jax.tree.map(lambda p, g: p - 0.25 * g, params, gradients)


def mlp_batches(seed):
    labels = np.random.RandomState(seed).randint(0, CLASSES, (STEPS, ROWS))
    return draw(seed, STEPS, ROWS, WIDTH), labels.astype(np.int32)


def token_batches(seed):
    tokens = np.random.RandomState(seed).randint(0, 32, (STEPS, 4, 13)).astype(np.int32)
    return tokens[:, :, :-1].copy(), tokens[:, :, 1:].copy()


MASKED = optax.adamw(3e-3, weight_decay=0.1, mask=lambda p: jax.tree.map(lambda leaf: leaf.ndim > 1, p))
# Name, form, loss, optimizer. Form: text, debug (text with locations), generic, donated.
STEP_FILES = [
    ("sgd", "debug", mlp_loss, optax.sgd(0.2)),
    ("momentum", "text", mlp_loss, optax.sgd(0.1, momentum=0.9)),
    ("nesterov", "generic", mlp_loss, optax.sgd(0.1, momentum=0.8, nesterov=True)),
    ("adam", "text", mlp_loss, optax.adam(1e-2, b1=0.8, b2=0.99)),
    ("adamw", "donated", mlp_loss, MASKED),
    ("lion", "debug", mlp_loss, optax.lion(1e-3, b1=0.9, b2=0.99, weight_decay=0.01)),
    ("decayed", "text", mlp_loss, optax.chain(optax.add_decayed_weights(0.01), optax.sgd(0.2))),
    ("scan", "debug", scan_loss, optax.adamw(1e-2)),
    ("odd", "text", odd_loss, optax.sgd(0.02)),
    ("logistic", "text", logistic_loss, optax.sgd(1.0)),
    ("penalized", "text", penalized_loss, optax.sgd(0.2)),
    ("alone", "text", alone_loss, optax.sgd(0.2)),
    ("alone_adam", "text", alone_loss, optax.adam(1e-2)),
]
REFUSED = [
    ("clipped", optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1)), "a norm that is taken behind the loss"),
    ("scheduled", optax.sgd(optax.linear_schedule(0.1, 0.0, 10)), "no known optimizer"),
    ("rmsprop", optax.rmsprop(1e-2), "no known optimizer"),
    ("clamped", optax.chain(optax.clip(0.1), optax.adam(1e-3)), "no known optimizer"),
    ("clamped_far", optax.chain(optax.clip(5.0), optax.sgd(0.1)), "no known optimizer"),
    ("rectified", optax.radam(1e-2), "no known optimizer"),
    ("centralized", optax.chain(optax.centralize(), optax.adam(1e-3)), "not those of the loss that it returns"),
]
OTHER = "not those of the loss that it returns"


def text_of(lowered, form):
    if form in ("text", "donated"):
        return lowered.as_text()
    if form == "debug":
        return lowered.as_text(debug_info=True)
    return lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True, enable_debug_info=False)


def leaves(prefix, tree):
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        yield prefix + ".".join(str(key.key) for key in path), np.asarray(leaf)


def write_safetensors(path, tensors):
    header, body = {}, b""
    for name, array in tensors.items():
        data = np.ascontiguousarray(array).tobytes()
        dtype = {"float32": "F32", "int32": "I32"}[str(array.dtype)]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def write(name, text):
    with open(os.path.join(FOLDER, name + ".mlir"), "w") as file:
        file.write(text)


def main():
    losses, refused = {}, {}
    mlp, tokens = mlp_batches(11), token_batches(12)
    zeros = {"w": np.zeros(WIDTH, np.float32), "b": np.zeros((), np.float32)}
    sets = {"mlp": (mlp_params(), mlp), "scan": (scan_params(), tokens), "logistic": (zeros, mlp_batches(13)),
            "alone": (alone_params(), mlp_batches(11))}
    kinds = {scan_loss: "scan", logistic_loss: "logistic", alone_loss: "alone"}
    for kind, (params, (x, y)) in sets.items():
        write_safetensors(os.path.join(FOLDER, kind + ".params.safetensors"), dict(leaves("", params)))
        write_safetensors(os.path.join(FOLDER, kind + ".data.safetensors"), {"x": x, "y": y})
    for name, form, loss, optimizer in STEP_FILES:
        kind = kinds.get(loss, "mlp")
        params, (x, y) = sets[kind]
        state = optimizer.init(params)
        step = step_of(loss, optimizer)
        jitted = jax.jit(step, donate_argnums=(0, 1) if form == "donated" else ())
        write(name, text_of(jitted.lower(params, state, x[0], y[0]), form))
        run, values = jax.jit(step), []
        for i in range(STEPS):
            value, params, state = run(params, state, x[i], y[i])
            values.append(float(value))
        losses[name] = {"of": kind, "losses": values}
    params, (x, y) = sets["mlp"]
    for name, step in (("plain", plain_sgd), ("hidden", hidden_step)):
        params, values = mlp_params(), []
        write(name, text_of(jax.jit(step).lower(params, x[0], y[0]), "text"))
        for i in range(STEPS):
            value, params = step(params, x[i], y[i])
            values.append(float(value))
        losses[name] = {"of": "mlp", "losses": values}
    for name, optimizer, why in REFUSED:
        params, (x, y) = sets["mlp"]
        step = step_of(mlp_loss, optimizer)
        write(name, text_of(jax.jit(step).lower(params, optimizer.init(params), x[0], y[0]), "text"))
        refused[name] = why
    params, values = mlp_params(), []
    write("aux", text_of(jax.jit(aux_step).lower(params, x[0], y[0]), "debug"))
    for i in range(STEPS):
        params, results = aux_step(params, x[i], y[i])
        values.append(float(results["loss"]))
    losses["aux"] = {"of": "mlp", "losses": values}
    params, (x, y) = sets["mlp"]
    stopped, sgd = step_of(stopped_loss, optax.sgd(0.1)), optax.sgd(0.1)
    write("stopped", text_of(jax.jit(stopped).lower(params, sgd.init(params), x[0], y[0]), "text"))
    write("other", text_of(jax.jit(other_step).lower(params, x[0], y[0]), "text"))
    refused["stopped"] = refused["other"] = OTHER
    with open(os.path.join(FOLDER, "losses.json"), "w") as file:
        json.dump({"steps": losses, "refused": refused}, file, indent=1)


if __name__ == "__main__":
    main()
