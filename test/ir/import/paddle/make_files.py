#!/usr/bin/env python3
"""Programs of Paddle with Paddle's losses, for test/e2e/paddle.py and the tests here. Writes Inputs/.

    FLAGS_enable_pir_api=0 python make_files.py   ProgramDesc: paddlepaddle 2.6.2, numpy<2, protobuf 3.20.3, setuptools
    FLAGS_enable_pir_api=1 python make_files.py   PIR JSON: paddlepaddle 3.3.1, numpy, setuptools

Both begin with the same parameters, so they have the same losses. losses.json has those of both, by file.
"""
import json
import os
import struct
import sys

os.environ.setdefault("FLAGS_enable_pir_api", "1")
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["FLAGS_new_executor_serial_run"] = "1"
PIR = os.environ["FLAGS_enable_pir_api"] not in ("0", "false", "False")

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs")
STEPS = 4


def write_safetensors(path, tensors):
    kinds = {"float32": "F32", "int64": "I64"}
    header, at = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": kinds[str(value.dtype)], "shape": list(value.shape),
                        "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            file.write(np.ascontiguousarray(value).tobytes())


def linear(name, n_in, n_out, **more):
    return nn.Linear(n_in, n_out, weight_attr=paddle.ParamAttr(name + ".w", **more),
                     bias_attr=paddle.ParamAttr(name + ".b"))


def floats(name, shape):
    return paddle.static.data(name, shape, "float32")


def whole(name, shape):
    return paddle.static.data(name, shape, "int64")


# ---- Models: each gives its loss ----

def mlp():
    x, y = floats("x", [6, 5]), whole("y", [6])
    h = F.relu(linear("a", 5, 8)(x))
    h = paddle.tanh(linear("b", 8, 8)(h))
    h = F.sigmoid(linear("c", 8, 7)(h))
    return F.cross_entropy(linear("d", 7, 4)(h), y)


def rated():
    x, y = floats("x", [6, 5]), whole("y", [6])
    h = F.gelu(linear("a", 5, 8, learning_rate=0.5)(x), approximate=True)
    return F.cross_entropy(linear("b", 8, 4)(h), y)


def zoo():
    """Many ops, each with a gradient."""
    x, y = floats("x", [4, 6]), floats("y", [4, 6])
    h = linear("a", 6, 6)(x)
    parts = [F.elu(h, 0.7), F.leaky_relu(h, 0.2), F.softplus(h), F.mish(h), F.hardswish(h * 3), F.hardsigmoid(h),
             F.relu6(h * 5), F.swish(h), paddle.exp(h * 0.3), paddle.log(h * h + 1), paddle.sqrt(paddle.abs(h) + 1),
             paddle.rsqrt(h * h + 0.5), paddle.sin(h), paddle.cos(h), paddle.erf(h),
             paddle.pow(paddle.abs(h) + 0.1, 1.5),
             paddle.clip(h, -0.5, 0.6), paddle.square(h), 1.0 / (h * h + 1), F.log_sigmoid(h), F.softsign(h),
             paddle.maximum(h, y), paddle.minimum(h, y), paddle.where(y > 0, h, h * h), F.log_softmax(h),
             F.softmax(h, 0), paddle.tril(h), paddle.triu(h, 1), F.silu(h)]
    total = paddle.add_n(parts) * 0.1
    s = paddle.stack([total, h, total - h], axis=1)                       # 4 x 3 x 6
    a, b = paddle.split(s, [2, 4], axis=2)
    c, d = paddle.split(paddle.concat([b, a], axis=-1), 2, axis=2)          # 4 x 3 x 3 each
    e = paddle.bmm(c, paddle.transpose(d, [0, 2, 1]))                       # 4 x 3 x 3
    e = paddle.squeeze(paddle.unsqueeze(e, [1]), [1]) + paddle.expand(c[:, 0:1, :], [4, 3, 3])
    e = paddle.tile(e, [1, 1, 2]) - paddle.flatten(s, 1, 2).reshape([4, 3, 6])
    # Along the first dimension: gradients along another one are wrong in Paddle 2.6.2 (those of one batch are in all).
    g = paddle.gather(e, paddle.assign(np.array([2, 0, 3, 1], "int64")), axis=0)
    m = paddle.max(g, axis=2) + paddle.min(g, axis=[2]) + paddle.sum(g, axis=-1) + paddle.mean(g, axis=2)
    q = paddle.unbind(paddle.reshape(m, [2, 2, 3]), axis=1)
    w = (q[0] / (q[1] * q[1] + 1.0)).sum() + F.mse_loss(linear("b", 6, 6)(total), y)
    return w * 0.05


def llama():
    """A tied table, RMSNorm, rotary positions, groups of heads, SwiGLU, a mask of constants."""
    batch, tokens, dim, heads, groups = 2, 6, 8, 4, 2
    size = dim // heads
    x, y = whole("x", [batch, tokens]), whole("y", [batch, tokens])
    table = nn.Embedding(11, dim, weight_attr=paddle.ParamAttr("wte"))
    places = np.outer(np.arange(tokens), 10000.0 ** (-np.arange(0, size, 2) / size)).astype("float32")
    cos, sin = (paddle.assign(np.concatenate([f(places)] * 2, -1).reshape(1, tokens, 1, size))
                for f in (np.cos, np.sin))
    mask = paddle.triu(paddle.full([tokens, tokens], -1e9, "float32"), 1)

    def rms(name, h):
        scale = paddle.create_parameter([dim], "float32", attr=paddle.ParamAttr(name),
                                        default_initializer=nn.initializer.Constant(1.0))
        return h * paddle.rsqrt(paddle.mean(h * h, -1, keepdim=True) + 1e-6) * scale

    def turn(h):
        left, right = paddle.split(h, 2, axis=-1)
        return h * cos + paddle.concat([-right, left], -1) * sin

    def flat(name, n_in, n_out):
        return nn.Linear(n_in, n_out, weight_attr=paddle.ParamAttr(name), bias_attr=False)

    h = table(x)
    for i in range(1):
        n = rms(f"b{i}.n1", h)
        q = turn(flat(f"b{i}.q", dim, dim)(n).reshape([0, 0, heads, size])).transpose([0, 2, 1, 3])
        k = turn(flat(f"b{i}.k", dim, groups * size)(n).reshape([0, 0, groups, size])).transpose([0, 2, 1, 3])
        v = flat(f"b{i}.v", dim, groups * size)(n).reshape([0, 0, groups, size]).transpose([0, 2, 1, 3])
        k, v = (paddle.reshape(paddle.expand(paddle.unsqueeze(t, 2), [batch, groups, heads // groups, tokens, size]),
                               [batch, heads, tokens, size]) for t in (k, v))
        score = paddle.matmul(q, k, transpose_y=True) / size ** 0.5 + mask
        mixed = paddle.matmul(F.softmax(score), v).transpose([0, 2, 1, 3]).reshape([0, 0, dim])
        h = h + flat(f"b{i}.o", dim, dim)(mixed)
        n = rms(f"b{i}.n2", h)
        h = h + flat(f"b{i}.down", 12, dim)(F.silu(flat(f"b{i}.gate", dim, 12)(n)) * flat(f"b{i}.up", dim, 12)(n))
    logits = paddle.matmul(rms("nf", h), table.weight, transpose_y=True)
    return F.cross_entropy(logits.reshape([-1, 11]), y.reshape([-1]), ignore_index=3)


def cnn():
    """Windows of all kinds, and what normalizes channels."""
    x, y = floats("x", [4, 3, 9, 8]), whole("y", [4])

    def attrs(name):
        return {"weight_attr": paddle.ParamAttr(name + ".w"), "bias_attr": paddle.ParamAttr(name + ".b")}

    h = nn.Conv2D(3, 6, 3, stride=2, padding=[1, 0], **attrs("c1"))(x)                  # 4 x 6 x 5 x 3
    h = F.relu(nn.BatchNorm2D(6, momentum=0.7, **attrs("n1"))(h))
    h = F.max_pool2d(h, 2, stride=1, padding=1)                                         # 4 x 6 x 6 x 4
    h = nn.Conv2D(6, 6, [3, 2], stride=[1, 2], padding="SAME", groups=6, **attrs("c2"))(h)   # 4 x 6 x 6 x 2
    h = F.gelu(nn.GroupNorm(2, 6, **attrs("n2"))(h))
    h = nn.Conv2DTranspose(6, 4, 3, stride=2, padding=1, output_padding=[1, 0], groups=2, **attrs("c3"))(h)
    h = F.tanh(nn.InstanceNorm2D(4, **attrs("n3"))(h))                                  # 4 x 4 x 12 x 3
    h = F.avg_pool2d(h, [2, 3], stride=[2, 1], padding=[1, 1], exclusive=False) + F.avg_pool2d(h, [2, 3], [2, 1], 1)
    h = nn.Conv2D(4, 8, 2, dilation=[2, 1], groups=2, **attrs("c4"))(h)                 # 4 x 8 x 5 x 2
    top = paddle.flatten(F.adaptive_max_pool2d(h, [1, 2]), 1)
    means = paddle.flatten(F.adaptive_avg_pool2d(h, [2, 1]), 1)
    return F.cross_entropy(linear("d", 32, 4)(paddle.concat([top, means], 1)), y)


def losses():
    """Every loss, of labels and of probabilities, along the last dimension and another one."""
    x, y = floats("x", [6, 5]), whole("y", [6])
    h = linear("a", 5, 4)(x)
    hot, wanted = F.one_hot(y, 4), x[:, :4]
    weights = paddle.assign(np.array([1, 2, 0.5, 3], "float32"))
    pixels = paddle.reshape(linear("b", 4, 12)(h), [6, 4, 3])
    total = F.binary_cross_entropy_with_logits(h, hot) + F.binary_cross_entropy(F.sigmoid(h), hot)
    total += F.smooth_l1_loss(h, wanted, delta=0.7) + F.mse_loss(h, wanted) + F.l1_loss(h, wanted)
    total += F.kl_div(F.log_softmax(h, -1), F.softmax(wanted, -1), reduction="batchmean")
    total += F.nll_loss(F.log_softmax(h, -1), y) + F.cross_entropy(h, F.label_smooth(hot, epsilon=0.1), soft_label=True)
    total += F.cross_entropy(h, y, weight=weights) + F.cross_entropy(pixels, paddle.stack([y, y, y], 1), axis=1)
    total += F.cross_entropy(pixels, F.softmax(paddle.tile(wanted.unsqueeze(2), [1, 1, 3]), 1), soft_label=True, axis=1)
    total += paddle.logsumexp(h, 1).mean() + paddle.linalg.norm(h, axis=1).mean()
    return total + F.cosine_similarity(h, wanted).mean()


def places():
    """Elements by their places, shapes that change, and functions of one operand that zoo has not."""
    x, y = floats("x", [4, 6]), whole("y", [4])
    h = linear("a", 6, 8)(x)
    s = F.sigmoid(h)
    slope = paddle.create_parameter([1], "float32", attr=paddle.ParamAttr("slope"))
    parts = [paddle.tan(s), paddle.sinh(h), paddle.cosh(s), paddle.atan(h), paddle.asin(s * 0.9), paddle.acos(s * 0.9),
             paddle.asinh(h), paddle.acosh(s + 1.5), paddle.atanh(s * 0.9), paddle.expm1(s), paddle.log2(s + 1),
             paddle.log10(s + 1), F.selu(h), F.celu(h, 0.8), F.hardtanh(h, -0.7, 0.9), F.hardshrink(h, 0.3),
             F.softshrink(h, 0.3), F.tanhshrink(h), F.thresholded_relu(h, 0.2), F.prelu(h, slope),
             paddle.cumsum(h, 1), paddle.roll(h, 3, 1), paddle.flip(h, [0, 1]), paddle.lerp(h, s, s.detach()),
             paddle.repeat_interleave(h[:, ::2], 2, 1), h[:, 6:0:-1][:, 0:1].expand_as(h),
             paddle.prod(s + 0.5, 1, keepdim=True) * h,
             paddle.where(paddle.isnan(h), s, h), h * (paddle.argmax(x, 1, keepdim=True).astype("float32") + 1)]
    total = paddle.add_n(parts) * 0.1
    best, _ = paddle.topk(total, 5, axis=1)
    chosen = paddle.index_select(total, paddle.assign(np.array([7, 0, 3, 2, 3], "int64")), axis=1)
    rows = paddle.gather_nd(total, paddle.stack([y, y], 1)).unsqueeze(1)
    rows = (rows + paddle.take_along_axis(total, y.unsqueeze(1), 1)) / paddle.numel(x).astype("float32")
    h = paddle.addmm(best, chosen, paddle.matmul(chosen, best, transpose_x=True), beta=0.5, alpha=0.1) + rows
    image = F.pad(paddle.reshape(total, [1, 8, 2, 2]), [1, 0, 2, 1], value=0.25)                    # 1 x 8 x 5 x 3
    image = F.interpolate(F.pixel_shuffle(image, 2), scale_factor=2, mode="nearest")                # 1 x 2 x 20 x 12
    image = F.interpolate(image, size=[4, 5], mode="bilinear").flatten(1)                           # 1 x 40
    conv = nn.Conv1D(1, 2, 3, padding=1, weight_attr=paddle.ParamAttr("c.w"), bias_attr=paddle.ParamAttr("c.b"))
    line = conv(h.unsqueeze(1))
    return F.cross_entropy(linear("b", 10, 4)(line.flatten(1) + image.reshape([4, 10])), y)     # 4 x 10


def stopped():
    x, y = floats("x", [6, 5]), whole("y", [6])
    h = F.relu(linear("a", 5, 8)(x))
    return F.cross_entropy(linear("b", 8, 4)(h + h.detach()), y)


def summed():
    x, y = floats("x", [6, 5]), whole("y", [6])
    return F.cross_entropy(paddle.einsum("ij,jk->ik", linear("a", 5, 4)(x), paddle.ones([4, 4])), y)


def targets():
    """Ones as targets, which a gradient begins with as well, and the number that Paddle leaves behind such a loss."""
    h = linear("a", 5, 4)(floats("x", [6, 5]))
    rest = F.mse_loss(h, paddle.ones_like(h)) + F.soft_margin_loss(h, paddle.ones_like(h))
    return F.binary_cross_entropy_with_logits(h, paddle.ones_like(rest).expand([6, 4])) + rest


def target():
    return F.binary_cross_entropy_with_logits(linear("a", 5, 4)(floats("x", [6, 5])), floats("y", [6, 4]))


def ordered():
    """Three inputs of one type, read from the last to the first, and one that nobody reads."""
    early, _, late = floats("early", [2, 4]), floats("unread", [2, 4]), floats("late", [2, 4])
    w = paddle.create_parameter([4, 1], "float32", attr=paddle.ParamAttr("net.w"))
    return paddle.matmul(late, w).sum() + 3 * paddle.matmul(early, w).sum()


def decayed(name):
    return not name.endswith(".b")


OPTIMIZERS = {
    "sgd": lambda: paddle.optimizer.SGD(0.5),
    "sgd_decay": lambda: paddle.optimizer.SGD(0.3, weight_decay=0.02),
    "momentum": lambda: paddle.optimizer.Momentum(0.1, 0.8, use_nesterov=True,
                                                  weight_decay=paddle.regularizer.L2Decay(0.01)),
    "adam": lambda: paddle.optimizer.Adam(0.02, 0.8, 0.95, 1e-6),
    "adam_decay": lambda: paddle.optimizer.Adam(0.02, weight_decay=0.05),
    "adamw": lambda: paddle.optimizer.AdamW(0.02, weight_decay=0.1, apply_decay_param_fun=decayed),
    "clipped": lambda: paddle.optimizer.SGD(0.5, grad_clip=nn.ClipGradByGlobalNorm(0.1)),
    "lamb": lambda: paddle.optimizer.Lamb(0.01),
    "slow": lambda: paddle.optimizer.SGD(0.001),
    "none": None,
}
# File: model, optimizer.
PROGRAMS = {
    "sgd": (mlp, "sgd"), "sgd_decay": (mlp, "sgd_decay"), "momentum": (mlp, "momentum"),
    "adam": (mlp, "adam"), "adam_decay": (mlp, "adam_decay"), "adamw": (mlp, "adamw"), "rated": (rated, "adamw"),
    "zoo": (zoo, "slow"), "llama": (llama, "adamw"), "loss": (mlp, "none"), "stopped": (stopped, "sgd"),
    "cnn": (cnn, "momentum"), "losses": (losses, "slow"), "places": (places, "slow"),
    "targets": (targets, "sgd"),
}
UNTRAINED = {"ordered": (ordered, "none"), "targets_loss": (targets, "none"), "target": (target, "none")}
REFUSED = {"clipped": (mlp, "clipped"), "lamb": (mlp, "lamb"), "einsum": (summed, "sgd")}


def build(model, optimizer):
    paddle.seed(1)
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
        loss = model()
        if OPTIMIZERS[optimizer]:
            OPTIMIZERS[optimizer]().minimize(loss)
    return main, startup, loss


def save(name, main, startup):
    parts = (("main", main), ("startup", startup)) if name in PROGRAMS and name != "loss" else (("main", main),)
    for part, program in parts:
        path = os.path.join(OUT, f"{name}.{part}")
        if PIR:
            paddle.base.core.serialize_pir_program(program, path + ".json", True, False, True)
            continue
        for op in program.global_block().ops:
            op._remove_attr("op_callstack")
        with open(path + ".pb", "wb") as file:
            file.write(program.desc.serialize_to_string())


def inputs(main):
    if PIR:
        return [(op.attrs()["name"], list(op.results()[0].shape)) for op in main.global_block().ops
                if op.name() == "pd_op.data" and not any((op.attrs().get("persistable") or [False]))]
    return [(v.name, list(v.shape)) for v in main.global_block().vars.values() if v.name in ("x", "y")]


def draw(seed, shapes, classes):
    rng, out = np.random.RandomState(seed), {}
    for name, shape, is_whole in shapes:
        out[name] = rng.randint(0, classes, [STEPS, *shape]).astype("int64") if is_whole else \
            rng.randn(STEPS, *shape).astype("float32")
    return out


def train(name, model, main, startup, loss):
    exe, scope = paddle.static.Executor(paddle.CPUPlace()), paddle.static.Scope()
    block = main.global_block()
    kinds = {"llama": 11}
    with paddle.static.scope_guard(scope):
        exe.run(startup)
        names = sorted(p.name for p in (block.all_parameters()))
        kept = {p.name for p in block.all_parameters() if p.stop_gradient}  # running statistics, as they begin
        shapes = {n: scope.find_var(n).get_tensor().shape() for n in names}
        rng, values = np.random.RandomState(7), {}
        for n in names:
            value = 0.4 * rng.randn(*shapes[n])
            values[n] = (value + (1 if ".n" in n or n == "nf" else 0)).astype("float32")
            if n in kept:
                values[n] = np.array(scope.find_var(n).get_tensor())
            scope.find_var(n).get_tensor().set(values[n], paddle.CPUPlace())
        is_whole = {"x": model.__name__ == "llama", "y": model.__name__ != "zoo"}
        data = draw(3, [(n, s, is_whole[n]) for n, s in sorted(inputs(main))], kinds.get(model.__name__, 4))
        losses = []
        for i in range(STEPS):
            feed = {n: v[i] for n, v in data.items()}
            losses.append(float(np.asarray(exe.run(main, feed=feed, fetch_list=[loss])[0]).reshape(-1)[0]))
    write_safetensors(os.path.join(OUT, f"{model.__name__}.params.safetensors"), values)
    write_safetensors(os.path.join(OUT, f"{model.__name__}.data.safetensors"), data)
    print(name, losses)
    return losses


def main():
    os.makedirs(OUT, exist_ok=True)
    paddle.enable_static()
    known_path = os.path.join(OUT, "losses.json")
    known = json.load(open(known_path)) if os.path.exists(known_path) else {"steps": {}}
    for name, (model, optimizer) in {**PROGRAMS, **UNTRAINED, **REFUSED}.items():
        try:
            built = build(model, optimizer)
        except Exception as error:
            print(name, "cannot be built:", error)
            continue
        save(name, built[0], built[1])
        if name in PROGRAMS:
            file = name + (".main.json" if PIR else ".main.pb")
            known["steps"][file] = {"of": model.__name__, "losses": train(name, model, *built)}
    with open(known_path, "w") as file:
        json.dump({"steps": dict(sorted(known["steps"].items()))}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
