"""The operators that formats share, as each of them writes it: for meaning.py."""
from meaning_doors import B, F, I, Aten, Hlo, Onnx, Paddle


def hlo1(op, kind="4x6xf32"):
    return Hlo(f"%y = stablehlo.{op} %w : tensor<{kind}>")


def chlo1(op, kind="4x6xf32"):
    return Hlo(f"%y = chlo.{op} %w : tensor<{kind}> -> tensor<{kind}>")


def hlo2(op, kind="4x6xf32"):
    return Hlo(f"%y = stablehlo.{op} %w, %v : tensor<{kind}>")


def compare(direction):
    return Hlo(f"%y = stablehlo.compare {direction}, %w, %v, FLOAT : (tensor<4x6xf32>, tensor<4x6xf32>) -> "
               "tensor<4x6xi1>")


W = {"w": "4x6xf32"}
WV = {"w": "4x6xf32", "v": "4x6xf32"}
IMAGE = {"w": "2x4x6x6xf32"}
LABELS = {"w": "4x6xf32", "i": "4xi64"}


def ints(*values):
    return [len(values)], I, list(values)


def unary(name, onnx=None, paddle=None, hlo=None, aten=None):
    doors = [Aten(aten or name)]
    doors += [Onnx(onnx)] if onnx else []
    doors += [Paddle(paddle or name)] if paddle != "" else []
    doors += [hlo] if hlo else []
    return name, W, ["4x6xf32"], doors


def binary(name, aten, onnx, paddle, hlo, kind=F):
    return name, WV, ["4x6x" + kind], [Aten(aten, "w v"), Onnx(onnx, "w v"), Paddle(paddle, "w v"), hlo]


PAIRS = [
    unary("abs", "Abs", "abs", hlo1("abs")),
    unary("acos", "Acos", "acos", chlo1("acos")),
    unary("acosh", "Acosh", "acosh", chlo1("acosh")),
    unary("asin", "Asin", "asin", chlo1("asin")),
    unary("asinh", "Asinh", "asinh", chlo1("asinh")),
    unary("atan", "Atan", "atan", chlo1("atan")),
    unary("atanh", "Atanh", "atanh", chlo1("atanh")),
    unary("ceil", "Ceil", "ceil", hlo1("ceil")),
    unary("cos", "Cos", "cos", hlo1("cosine")),
    unary("cosh", "Cosh", "cosh", chlo1("cosh")),
    unary("erf", "Erf", "erf", chlo1("erf")),
    unary("erfc", None, "", chlo1("erfc")),
    unary("exp", "Exp", "exp", hlo1("exponential")),
    unary("expm1", None, "expm1", hlo1("exponential_minus_one")),
    unary("floor", "Floor", "floor", hlo1("floor")),
    unary("hardswish", "HardSwish"),
    unary("log", "Log", "log", hlo1("log")),
    unary("log10"),
    unary("log1p", None, "log1p", hlo1("log_plus_one")),
    unary("log2"),
    unary("log_sigmoid", None, "logsigmoid"),
    unary("mish", "Mish"),
    unary("neg", "Neg", "", hlo1("negate")),
    unary("reciprocal", "Reciprocal"),
    unary("relu", "Relu"),
    unary("rsqrt", None, "rsqrt", hlo1("rsqrt")),
    unary("sigmoid", "Sigmoid", "sigmoid", hlo1("logistic")),
    unary("sign", "Sign", "sign", hlo1("sign")),
    unary("silu", "Swish"),
    unary("sin", "Sin", "sin", hlo1("sine")),
    unary("sinh", "Sinh", "sinh", chlo1("sinh")),
    unary("softplus", "Softplus"),
    unary("sqrt", "Sqrt", "sqrt", hlo1("sqrt")),
    unary("tan", "Tan", "tan", hlo1("tan")),
    unary("tanh", "Tanh", "tanh", hlo1("tanh")),
    ("is_finite", W, ["4x6xi1"], [Aten("isfinite"), Hlo("%y = stablehlo.is_finite %w : (tensor<4x6xf32>) -> "
                                                        "tensor<4x6xi1>")]),
    ("is_nan", W, ["4x6xi1"], [Aten("isnan"), Onnx("IsNaN"), Paddle("isnan")]),
    ("gelu", W, ["4x6xf32"], [Aten("gelu", approximate="none"), Onnx("Gelu"), Paddle("gelu", approximate=False)]),
    ("gelu tanh", W, ["4x6xf32"], [Aten("gelu", approximate="tanh"), Onnx("Gelu", approximate="tanh"),
                                   Paddle("gelu", approximate=True)]),
    ("elu", W, ["4x6xf32"], [Aten("elu", alpha=0.5), Onnx("Elu", alpha=0.5), Paddle("elu", alpha=0.5)]),
    ("celu", W, ["4x6xf32"], [Aten("celu", alpha=0.5), Onnx("Celu", alpha=0.5), Paddle("celu", alpha=0.5)]),
    ("leaky_relu", W, ["4x6xf32"], [Aten("leaky_relu", negative_slope=0.25), Onnx("LeakyRelu", alpha=0.25),
                                    Paddle("leaky_relu", negative_slope=0.25)]),
    ("hard_sigmoid", W, ["4x6xf32"], [Onnx("HardSigmoid", alpha=0.25, beta=0.5),
                                      Paddle("hardsigmoid", slope=0.25, offset=0.5)]),
    ("soft_shrink", W, ["4x6xf32"], [Aten("softshrink", lambd=0.25), Onnx("Shrink", lambd=0.25, bias=0.25),
                                     Paddle("softshrink", threshold=0.25)]),
    ("hardtanh", W, ["4x6xf32"], [Aten("hardtanh", min_val=-0.5, max_val=0.25),
                                  Paddle("hardtanh", t_min=-0.5, t_max=0.25)]),
    ("softplus beta", W, ["4x6xf32"], [Aten("softplus", beta=2.0), Paddle("softplus", beta=2.0, threshold=20.0)]),
    ("clip", W, ["4x6xf32"], [Aten("clamp", min=-0.5, max=0.25),
                              Onnx("Clip", "w lo hi", constants={"lo": ([], F, [-0.5]), "hi": ([], F, [0.25])}),
                              Paddle("clip", "w lo hi", constants={"lo": (-0.5, F), "hi": (0.25, F)})]),
    ("clip below", W, ["4x6xf32"], [Aten("clamp_min", min=-0.5),
                                    Onnx("Clip", "w lo", constants={"lo": ([], F, [-0.5])})]),
    binary("add", "add.Tensor", "Add", "add", hlo2("add")),
    binary("sub", "sub.Tensor", "Sub", "subtract", hlo2("subtract")),
    binary("mul", "mul.Tensor", "Mul", "multiply", hlo2("multiply")),
    binary("div", "div.Tensor", "Div", "divide", hlo2("divide")),
    binary("max", "maximum", "Max", "maximum", hlo2("maximum")),
    binary("min", "minimum", "Min", "minimum", hlo2("minimum")),
    binary("pow", "pow.Tensor_Tensor", "Pow", "elementwise_pow", hlo2("power")),
    binary("equal", "eq.Tensor", "Equal", "equal", compare("EQ"), B),
    binary("less", "lt.Tensor", "Less", "less_than", compare("LT"), B),
    binary("less_equal", "le.Tensor", "LessOrEqual", "less_equal", compare("LE"), B),
    binary("greater", "gt.Tensor", "Greater", "greater_than", compare("GT"), B),
    binary("greater_equal", "ge.Tensor", "GreaterOrEqual", "greater_equal", compare("GE"), B),
    ("differs", WV, ["4x6xi1"], [Aten("ne.Tensor", "w v"), Paddle("not_equal", "w v"), compare("NE")]),
    ("lerp", {**WV, "u": "4x6xf32"}, ["4x6xf32"], [Aten("lerp.Tensor", "w v u"), Paddle("lerp", "w v u")]),
    ("sum", W, ["4xf32"], [Aten("sum.dim_IntList", dim=[1]), Onnx("ReduceSum", "w a", constants={"a": ints(1)},
                                                                 keepdims=0),
                           Paddle("sum", "w a", lists={"a": [1]}, keepdim=False),
                           Hlo("%c = stablehlo.constant dense<0.000000e+00> : tensor<f32>",
                               "%y = stablehlo.reduce(%w init: %c) applies stablehlo.add across dimensions = [1] : "
                               "(tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>")]),
    ("mean", W, ["4x1xf32"], [Aten("mean.dim", dim=[1], keepdim=True), Onnx("ReduceMean", "w a", constants={
        "a": ints(1)}), Paddle("mean", "w a", lists={"a": [1]}, keepdim=True)]),
    ("max of rows", W, ["4xf32"], [Aten("amax", dim=[1]), Onnx("ReduceMax", "w a", constants={"a": ints(1)},
                                                              keepdims=0),
                                   Paddle("max", "w a", lists={"a": [1]}, keepdim=False),
                                   Hlo("%c = stablehlo.constant dense<0xFF800000> : tensor<f32>",
                                       "%y = stablehlo.reduce(%w init: %c) applies stablehlo.maximum across "
                                       "dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>")]),
    ("prod", W, ["4xf32"], [Aten("prod.dim_int", dim=1), Onnx("ReduceProd", "w a", constants={"a": ints(1)},
                                                             keepdims=0)]),
    ("logsumexp", W, ["4xf32"], [Aten("logsumexp", dim=[1]), Onnx("ReduceLogSumExp", "w a", constants={"a": ints(1)},
                                                                 keepdims=0),
                                 Paddle("logsumexp", axis=[1], keepdim=False)]),
    ("norm 2", W, ["4xf32"], [Aten("linalg_vector_norm", dim=[1], ord=2.0),
                              Onnx("ReduceL2", "w a", constants={"a": ints(1)}, keepdims=0),
                              Paddle("p_norm", porder=2.0, axis=1, keepdim=False)]),
    ("softmax", W, ["4x6xf32"], [Aten("softmax.int", dim=-1), Onnx("Softmax"), Paddle("softmax", axis=-1)]),
    ("log_softmax", W, ["4x6xf32"], [Aten("log_softmax.int", dim=0), Onnx("LogSoftmax", axis=0),
                                     Paddle("log_softmax", axis=0)]),
    ("cumsum", W, ["4x6xf32"], [Aten("cumsum", dim=1), Onnx("CumSum", "w a", constants={"a": ([], I, [1])}),
                                Paddle("cumsum", "w a", constants={"a": (1, I)}, exclusive=False, reverse=False)]),
    ("layer_norm", {**W, "v": "6xf32", "u": "6xf32"}, ["4x6xf32"],
     [Aten("layer_norm", "w v u", normalized_shape=[6], eps=1e-5), Onnx("LayerNormalization", "w v u", epsilon=1e-5),
      Paddle("layer_norm", "w v u", begin_norm_axis=1, epsilon=1e-5)]),
    ("rms_norm", {**W, "v": "6xf32"}, ["4x6xf32"],
     [Aten("rms_norm", "w v", normalized_shape=[6], eps=1e-5),
      Onnx("RMSNormalization", "w v", opset=23, epsilon=1e-5)]),
    ("group_norm", {**IMAGE, "v": "4xf32", "u": "4xf32"}, ["2x4x6x6xf32", "2x2xf32", "2x2xf32"],
     [Aten("native_group_norm", "w v u", N=2, C=4, HxW=36, group=2, eps=1e-5),
      Onnx("GroupNormalization", "w v u", outputs=1, num_groups=2, epsilon=1e-5),
      Paddle("group_norm", "w v u", groups=2, epsilon=1e-5, data_format="NCHW")]),
    ("instance_norm", {**IMAGE, "v": "4xf32", "u": "4xf32"}, ["2x4x6x6xf32"],
     [Onnx("InstanceNormalization", "w v u", epsilon=1e-5), Paddle("instance_norm", "w v u", epsilon=1e-5)]),
    ("cross_entropy", LABELS, ["4xf32"],
     [Aten("cross_entropy_loss", "w i", reduction=0, ignore_index=-100),
      Onnx("SoftmaxCrossEntropyLoss", "w i", reduction="none", ignore_index=-100)]),
    ("nll_loss", LABELS, ["f32"], [Aten("nll_loss_nd", "w i", reduction=1, ignore_index=-100),
                                   Onnx("NegativeLogLikelihoodLoss", "w i", ignore_index=-100),
                                   Paddle("nll_loss", "w i", reduction="mean", ignore_index=-100)]),
    ("weighted loss", {**LABELS, "v": "6xf32"}, ["f32"],
     [Aten("nll_loss_nd", "w i v", reduction=1, ignore_index=-100),
      Onnx("NegativeLogLikelihoodLoss", "w i v", ignore_index=-100)]),
    ("matmul", {"w": "4x6xf32", "v": "6x5xf32"}, ["4x5xf32"],
     [Aten("matmul", "w v"), Onnx("MatMul", "w v"), Paddle("matmul", "w v", transpose_x=False, transpose_y=False),
      Hlo("%y = stablehlo.dot_general %w, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> "
          "tensor<4x5xf32>")]),
    ("addmm", {"u": "5xf32", "w": "4x6xf32", "v": "6x5xf32"}, ["4x5xf32"],
     [Aten("addmm", "u w v", alpha=0.5, beta=2.0), Onnx("Gemm", "w v u", alpha=0.5, beta=2.0),
      Paddle("addmm", "u w v", alpha=0.5, beta=2.0)]),
    ("conv", {"w": "2x4x6x6xf32", "v": "3x4x3x3xf32"}, ["2x3x6x6xf32"],
     [Aten("convolution", "w v", stride=[1, 1], padding=[1, 1], dilation=[1, 1], transposed=False,
           output_padding=[0, 0], groups=1), Onnx("Conv", "w v", pads=[1, 1, 1, 1]),
      Paddle("conv2d", "w v", strides=[1, 1], paddings=[1, 1], dilations=[1, 1], groups=1)]),
    ("max_pool", IMAGE, ["2x4x3x3xf32", "2x4x3x3xi64"],
     [Aten("max_pool2d_with_indices", kernel_size=[2, 2]), Onnx("MaxPool", kernel_shape=[2, 2], strides=[2, 2])]),
    ("avg_pool", IMAGE, ["2x4x3x3xf32"],
     [Aten("avg_pool2d", kernel_size=[2, 2]), Onnx("AveragePool", kernel_shape=[2, 2], strides=[2, 2])]),
    ("global mean", IMAGE, ["2x4x1x1xf32"], [Aten("_adaptive_avg_pool2d", output_size=[1, 1]),
                                             Onnx("GlobalAveragePool")]),
    ("reshape", W, ["3x8xf32"], [Aten("view", size=[3, 8]), Onnx("Reshape", "w s", constants={"s": ints(3, -1)}),
                                 Paddle("reshape", "w s", lists={"s": [3, -1]}),
                                 Hlo("%y = stablehlo.reshape %w : (tensor<4x6xf32>) -> tensor<3x8xf32>")]),
    ("transpose", W, ["6x4xf32"], [Aten("permute", dims=[1, 0]), Onnx("Transpose", perm=[1, 0]),
                                   Paddle("transpose", perm=[1, 0]),
                                   Hlo("%y = stablehlo.transpose %w, dims = [1, 0] : (tensor<4x6xf32>) -> "
                                       "tensor<6x4xf32>")]),
    ("unsqueeze", W, ["4x1x6xf32"], [Aten("unsqueeze", dim=1), Onnx("Unsqueeze", "w a", constants={"a": ints(1)}),
                                     Paddle("unsqueeze", "w a", lists={"a": [1]})]),
    ("squeeze", {"w": "4x1x6xf32"}, ["4x6xf32"], [Aten("squeeze.dim", dim=1),
                                                  Onnx("Squeeze", "w a", constants={"a": ints(1)}),
                                                  Paddle("squeeze", "w a", lists={"a": [1]})]),
    ("flatten", {"w": "4x2x3xf32"}, ["4x6xf32"], [Onnx("Flatten"), Paddle("flatten", start_axis=1, stop_axis=-1)]),
    ("expand", {"w": "1x6xf32"}, ["4x6xf32"], [Aten("expand", size=[4, 6]),
                                               Onnx("Expand", "w s", constants={"s": ints(4, 6)}),
                                               Paddle("expand", "w s", lists={"s": [4, -1]})]),
    ("slice", W, ["4x3xf32"], [Aten("slice.Tensor", dim=1, start=1, end=9223372036854775807, step=2),
                               Onnx("Slice", "w s e a t", constants={"s": ints(1), "e": ints(99), "a": ints(1),
                                                                     "t": ints(2)}),
                               Paddle("strided_slice", "w s e t", axes=[1], lists={"s": [1], "e": [99], "t": [2]}),
                               Hlo("%y = stablehlo.slice %w [0:4, 1:6:2] : (tensor<4x6xf32>) -> tensor<4x3xf32>")]),
    ("slice back", W, ["4x3xf32"], [Onnx("Slice", "w s e a t", constants={"s": ints(-1), "e": ints(-99), "a": ints(1),
                                                                          "t": ints(-2)}),
                                    Paddle("strided_slice", "w s e t", axes=[1],
                                           lists={"s": [-1], "e": [-99], "t": [-2]})]),
    ("split", W, ["4x2xf32", "4x4xf32"], [Aten("split_with_sizes", split_sizes=[2, 4], dim=1),
                                          Onnx("Split", "w s", constants={"s": ints(2, 4)}, axis=1)]),
    ("concat", {"w": "4x6xf32", "v": "4x2xf32"}, ["4x8xf32"],
     [Aten("cat", "w v", dim=1), Onnx("Concat", "w v", axis=1),
      Hlo("%y = stablehlo.concatenate %w, %v, dim = 1 : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>")]),
    ("tile", W, ["8x18xf32"], [Aten("repeat", repeats=[2, 3]), Onnx("Tile", "w r", constants={"r": ints(2, 3)}),
                               Paddle("tile", "w r", lists={"r": [2, 3]})]),
    ("pad", W, ["4x9xf32"], [Aten("constant_pad_nd", pad=[1, 2], value=0.5),
                             Onnx("Pad", "w b f", constants={"b": ints(0, 1, 0, 2), "f": ([], F, [0.5])}),
                             Paddle("pad", paddings=[0, 0, 1, 2], pad_value=0.5),
                             Hlo("%c = stablehlo.constant dense<5.000000e-01> : tensor<f32>",
                                 "%y = stablehlo.pad %w, %c, low = [0, 1], high = [0, 2], interior = [0, 0] : "
                                 "(tensor<4x6xf32>, tensor<f32>) -> tensor<4x9xf32>")]),
    ("flip", W, ["4x6xf32"], [Aten("flip", dims=[1]), Paddle("flip", axis=[1]),
                              Hlo("%y = stablehlo.reverse %w, dims = [1] : tensor<4x6xf32>")]),
    ("roll", W, ["4x6xf32"], [Aten("roll", shifts=[2], dims=[1]),
                              Paddle("roll", "w s", lists={"s": [2]}, axis=[1])]),
    ("tril", W, ["4x6xf32"], [Aten("tril", diagonal=1), Onnx("Trilu", "w k", constants={"k": ([], I, [1])}, upper=0),
                              Paddle("tril", diagonal=1)]),
    ("triu", W, ["4x6xf32"], [Aten("triu", diagonal=-1), Onnx("Trilu", "w k", constants={"k": ([], I, [-1])}),
                              Paddle("triu", diagonal=-1)]),
    ("pixel_shuffle", IMAGE, ["2x1x12x12xf32"], [Onnx("DepthToSpace", blocksize=2, mode="CRD"),
                                                 Paddle("pixel_shuffle", upscale_factor=2, data_format="NCHW")]),
    ("top_k", W, ["4x2xf32", "4x2xi64"], [Aten("topk", k=2, dim=-1), Onnx("TopK", "w k", constants={"k": ints(2)}),
                                          Paddle("topk", "w k", constants={"k": (2, I)}, axis=-1, largest=True)]),
    ("argmax", W, ["4xi64"], [Aten("argmax", dim=1), Onnx("ArgMax", axis=1, keepdims=0),
                              Paddle("argmax", "w a", constants={"a": (1, I)}, keepdims=False, flatten=False)]),
    ("argmin", W, ["4xi64"], [Aten("argmin", dim=1), Onnx("ArgMin", axis=1, keepdims=0),
                              Paddle("argmin", "w a", constants={"a": (1, I)}, keepdims=False, flatten=False)]),
    ("embedding", {"w": "4x6xf32", "i": "3xi64"}, ["3x6xf32"],
     [Aten("embedding", "w i"), Onnx("Gather", "w i"), Paddle("embedding", "i w", padding_idx=-1)]),
    ("gather_elements", {"w": "4x6xf32", "i": "4x2xi64"}, ["4x2xf32"],
     [Aten("gather", "w i", dim=1), Onnx("GatherElements", "w i", axis=1),
      Paddle("take_along_axis", "w i", axis=1)]),
    ("gather_nd", {"w": "4x6xf32", "i": "3x2xi64"}, ["3xf32"], [Onnx("GatherND", "w i"), Paddle("gather_nd", "w i")]),
    ("scatter_add", {"w": "4x6xf32", "i": "4x2xi64", "v": "4x2xf32"}, ["4x6xf32"],
     [Aten("scatter_add", "w i v", dim=1), Onnx("ScatterElements", "w i v", axis=1, reduction="add")]),
]


def constant(value, kind=F, name="c"):
    """A scalar of ONNX."""
    return {name: ([], kind, [value])}


def splat(value, kind="4x6xf32", name="c"):
    """A line of StableHLO."""
    number = value if isinstance(value, int) else f"{value:e}"
    return f"%{name} = stablehlo.constant dense<{number}> : tensor<{kind}>"


def number(name, aten, onnx, hlo, result=F, turned=False, paddle=None, value=0.5):
    """An operator of w and a number."""
    order = "c w" if turned else "w c"
    doors = [Aten(aten, **{"self" if aten == "pow.Scalar" else "exponent" if "pow" in aten else "other": value}),
             Onnx(onnx, order, constants=constant(float(value)))]
    doors += [paddle] if paddle else []
    operands = "%c, %w" if turned else "%w, %c"
    if result == F:
        doors.append(Hlo(splat(float(value)), f"%y = stablehlo.{hlo} {operands} : tensor<4x6xf32>"))
    else:
        doors.append(Hlo(splat(float(value)), f"%y = stablehlo.{hlo}, {operands}, FLOAT : (tensor<4x6xf32>, "
                         "tensor<4x6xf32>) -> tensor<4x6xi1>"))
    return "number: " + name, W, ["4x6x" + result], doors


WORDS = {"i": "4x6xi64", "j": "4x6xi64"}
FLAGS = {"c": "4x6xi1", "d": "4x6xi1"}


def words(name, aten, onnx, hlo, paddle=None, values=WORDS):
    kind, names = ("4x6xi64", "i j") if values is WORDS else ("4x6xi1", "c d")
    doors = [Aten(aten, names), Onnx(onnx, names)] + ([Paddle(paddle, names)] if paddle else [])
    first, second = names.split()
    return "integers: " + name, values, [kind], [*doors,
                                                 Hlo(f"%y = stablehlo.{hlo} %{first}, %{second} : tensor<{kind}>")]


def reduced(name, aten, onnx, paddle, body=None, start=None, dims=(1,), made="4xf32"):
    """A reduction over dimension 1, or over all."""
    every = len(dims) == 2
    doors = [aten, Onnx(onnx, "w" if every else "w a", constants={} if every else {"a": ints(*dims)}, keepdims=0)]
    doors += [paddle] if paddle else []
    if body:
        doors.append(Hlo(f"%c = stablehlo.constant dense<{start}> : tensor<f32>",
                         f"%y = stablehlo.reduce(%w init: %c) applies stablehlo.{body} across dimensions = "
                         f"{list(dims)} : (tensor<4x6xf32>, tensor<f32>) -> tensor<{made}>"))
    return name, W, [made], doors


VOLUME = {"w": "2x4x6x6x6xf32"}
LINE = {"w": "2x4x6xf32"}
RESIZED = {"s": ints(2, 4, 12, 12)}

PAIRS += [
    unary("selu", "Selu", "selu"),
    ("softsign", W, ["4x6xf32"], [Onnx("Softsign"), Paddle("softsign")]),
    ("square", W, ["4x6xf32"], [Paddle("square"), chlo1("square")]),
    unary("round", "Round", "round", hlo1("round_nearest_even")),
    ("is_inf", W, ["4x6xi1"], [Aten("isinf"), Onnx("IsInf"), Paddle("isinf")]),
    ("not", FLAGS, ["4x6xi1"], [Aten("logical_not", "c"), Onnx("Not", "c"), Paddle("logical_not", "c"),
                                Hlo("%y = stablehlo.not %c : tensor<4x6xi1>")]),
    ("integers: not", WORDS, ["4x6xi64"], [Aten("bitwise_not", "i"), Onnx("BitwiseNot", "i"),
                                           Hlo("%y = stablehlo.not %i : tensor<4x6xi64>")]),
    words("and", "bitwise_and.Tensor", "BitwiseAnd", "and"),
    words("or", "bitwise_or.Tensor", "BitwiseOr", "or"),
    words("xor", "bitwise_xor.Tensor", "BitwiseXor", "xor"),
    words("flags and", "logical_and", "And", "and", "logical_and", FLAGS),
    words("flags or", "logical_or", "Or", "or", "logical_or", FLAGS),
    words("flags xor", "logical_xor", "Xor", "xor", "logical_xor", FLAGS),
    *(("integers: number " + name, WORDS, ["4x6xi64"],
       [Aten(f"bitwise_{name}.Scalar", "i", other=3), Onnx("Bitwise" + name.title(), "i c", constants=constant(3, I))])
      for name in ("and", "or", "xor")),
    ("hardsigmoid", W, ["4x6xf32"], [Aten("hardsigmoid"), Onnx("HardSigmoid", alpha=1 / 6, beta=0.5),
                                     Paddle("hardsigmoid", slope=1 / 6, offset=0.5)]),
    ("hard_shrink", W, ["4x6xf32"], [Aten("hardshrink", lambd=0.25), Onnx("Shrink", lambd=0.25, bias=0.0),
                                     Paddle("hardshrink", threshold=0.25)]),
    ("threshold", W, ["4x6xf32"], [Aten("threshold", threshold=0.25, value=0.0),
                                   Onnx("ThresholdedRelu", alpha=0.25),
                                   Paddle("thresholded_relu", threshold=0.25, value=0.0)]),
    ("relu6", W, ["4x6xf32"], [Aten("hardtanh", min_val=0.0, max_val=6.0), Paddle("relu6")]),
    ("silu of beta", W, ["4x6xf32"], [Onnx("Swish", alpha=1.0), Paddle("swish", beta=1.0), Paddle("silu")]),
    ("clip above", W, ["4x6xf32"], [Aten("clamp_max", max=0.25),
                                    Onnx("Clip", "w _ hi", constants=constant(0.25, name="hi"))]),
    ("clip by tensors", {**WV, "u": "4x6xf32"}, ["4x6xf32"],
     [Aten("clamp.Tensor", "w u v"), Hlo("%y = stablehlo.clamp %u, %w, %v : tensor<4x6xf32>")]),

    number("add", "add.Scalar", "Add", "add", paddle=Paddle("scale", scale=1.0, bias=0.5)),
    number("add tensor", "add.Tensor", "Add", "add"),
    number("sub", "sub.Scalar", "Sub", "subtract"),
    number("sub from", "rsub.Scalar", "Sub", "subtract", turned=True),
    number("mul", "mul.Scalar", "Mul", "multiply", paddle=Paddle("scale", scale=0.5, bias=0.0)),
    number("div", "div.Scalar", "Div", "divide"),
    number("pow", "pow.Tensor_Scalar", "Pow", "power", paddle=Paddle("pow", y=3.0), value=3.0),
    number("power of", "pow.Scalar", "Pow", "power", turned=True, value=2.0),
    number("equal", "eq.Scalar", "Equal", "compare EQ", B),
    number("greater", "gt.Scalar", "Greater", "compare GT", B),
    number("greater_equal", "ge.Scalar", "GreaterOrEqual", "compare GE", B),
    number("less", "lt.Scalar", "Less", "compare LT", B),
    number("less_equal", "le.Scalar", "LessOrEqual", "compare LE", B),
    ("number: differs", W, ["4x6xi1"],
     [Aten("ne.Scalar", other=0.5), Hlo(splat(0.5), "%y = stablehlo.compare NE, %w, %c, FLOAT : (tensor<4x6xf32>, "
                                        "tensor<4x6xf32>) -> tensor<4x6xi1>")]),
    ("fmod", WV, ["4x6xf32"], [Aten("fmod.Tensor", "w v"), Onnx("Mod", "w v", fmod=1), hlo2("remainder")]),
    ("fmod of a number", W, ["4x6xf32"], [Aten("fmod.Scalar", other=0.5),
                                          Onnx("Mod", "w c", constants=constant(0.5), fmod=1)]),
    ("integers: fmod", WORDS, ["4x6xi64"], [Aten("fmod.Tensor", "i j"), Onnx("Mod", "i j", fmod=1),
                                            Hlo("%y = stablehlo.remainder %i, %j : tensor<4x6xi64>")]),
    ("integers: mod", WORDS, ["4x6xi64"], [Aten("remainder.Tensor", "i j"), Onnx("Mod", "i j", fmod=0)]),
    ("integers: mod of a number", WORDS, ["4x6xi64"],
     [Aten("remainder.Scalar", "i", other=3), Onnx("Mod", "i c", constants=constant(3, I), fmod=0)]),
    ("prelu", {**W, "v": "1xf32"}, ["4x6xf32"], [Aten("prelu", "w v"), Aten("_prelu_kernel", "w v"), Onnx("PRelu",
                                                                                                          "w v"),
                                                 Paddle("prelu", "w v", mode="all", data_format="NCHW")]),
    ("where", {**WV, "c": "4x6xi1"}, ["4x6xf32"], [Aten("where.self", "c w v"), Onnx("Where", "c w v"),
                                                   Paddle("where", "c w v"),
                                                   Hlo("%y = stablehlo.select %c, %w, %v : tensor<4x6xi1>, "
                                                       "tensor<4x6xf32>")]),
    ("where else a number", {**W, "c": "4x6xi1"}, ["4x6xf32"],
     [Aten("where.ScalarOther", "c w", other=0.5), Onnx("Where", "c w n", constants=constant(0.5, name="n"))]),
    ("where a number", {**W, "c": "4x6xi1"}, ["4x6xf32"],
     [Aten("where.ScalarSelf", "c w", self=0.5), Onnx("Where", "c n w", constants=constant(0.5, name="n")),
      Aten("masked_fill.Scalar", "w c", value=0.5)]),
    ("masked_fill", {**W, "c": "4x6xi1", "v": "1xf32"}, ["4x6xf32"],
     [Aten("masked_fill.Tensor", "w c v"), Paddle("masked_fill", "w c v")]),
    ("sum of three", {**WV, "u": "4x6xf32"}, ["4x6xf32"], [Onnx("Sum", "w v u"), Paddle("add_n", "w v u")]),
    ("cast", {"i": "4x6xi64"}, ["4x6xf32"], [Aten("_to_copy", "i", dtype="f32"), Onnx("Cast", "i", to=1),
                                             Onnx("CastLike", "i p"), Paddle("cast", "i"),
                                             Hlo("%y = stablehlo.convert %i : (tensor<4x6xi64>) -> tensor<4x6xf32>")]),
    ("identity", W, ["4x6xf32"], [Aten("alias"), Aten("clone"), Aten("contiguous"), Aten("lift_fresh_copy"),
                                  Onnx("Identity"), Paddle("assign"), Paddle("share_data"),
                                  Hlo("%y = stablehlo.optimization_barrier %w : tensor<4x6xf32>")]),

    ("random: uniform", {}, ["4x6xf32"], [Aten("random_uniform", "", size=[4, 6]),
                                          Onnx("RandomUniform", "", shape=[4, 6], low=0.0, high=1.0),
                                          Onnx("RandomUniformLike", "z", constants={"z": ([4, 6], F, [0.0] * 24)}),
                                          Paddle("uniform", "s l h", lists={"s": [4, 6]}, seed=0,
                                                 constants={"l": (0.0, F), "h": (1.0, F)})]),
    ("random: normal", {}, ["4x6xf32"], [Aten("random_normal", "", size=[4, 6]),
                                         Onnx("RandomNormal", "", shape=[4, 6]),
                                         Onnx("RandomNormalLike", "z", constants={"z": ([4, 6], F, [0.0] * 24)}),
                                         Paddle("gaussian", "s", lists={"s": [4, 6]}, mean=0.0, std=1.0, seed=0)]),
    ("bernoulli", W, ["4x6xf32"], [Aten("random_bernoulli", training=True), Onnx("Bernoulli"), Paddle("bernoulli")]),
    ("dropout", W, ["4x6xf32"], [Aten("dropout", p=0.25, train=True), Aten("native_dropout", p=0.25, train=True),
                                 Onnx("Dropout", "w r t", constants={"r": ([], F, [0.25]), "t": ([], B, [True])}),
                                 Paddle("dropout", "w _ r", constants={"r": (0.25, F)}, is_test=False,
                                        mode="upscale_in_train", seed=0, fix_seed=False)]),

    reduced("min of rows", Aten("amin", dim=[1]), "ReduceMin", Paddle("min", "w a", lists={"a": [1]}, keepdim=False),
            "minimum", "0x7F800000"),
    reduced("max of all", Aten("max"), "ReduceMax", Paddle("max", "w a", lists={"a": []}, keepdim=False), "maximum",
            "0xFF800000", (0, 1), F),
    reduced("min of all", Aten("min"), "ReduceMin", Paddle("min", "w a", lists={"a": []}, keepdim=False), "minimum",
            "0x7F800000", (0, 1), F),
    reduced("sum of all", Aten("sum"), "ReduceSum", Paddle("sum", "w a", lists={"a": []}, keepdim=False), "add",
            "0.0", (0, 1), F),
    reduced("mean of all", Aten("mean"), "ReduceMean", Paddle("mean_all"), None, None, (0, 1), F),
    reduced("prod of all", Aten("prod"), "ReduceProd",
            Paddle("prod", "w a", lists={"a": []}, keepdim=False, reduce_all=True), None, None, (0, 1), F),
    ("prod of rows", W, ["4xf32"], [Aten("prod.dim_int", dim=1),
                                    Paddle("prod", "w a", lists={"a": [1]}, keepdim=False, reduce_all=False)]),
    *((name, FLAGS, ["4xi1"], [Aten(name + ".dim", "c", dim=1), Aten(name + ".dims", "c", dim=[1]),
                               Paddle(name, "c", axis=[1], keepdim=False)]) for name in ("any", "all")),
    *((name + " of all", FLAGS, ["i1"], [Aten(name, "c"), Paddle(name, "c", axis=[], keepdim=False)])
      for name in ("any", "all")),
    ("norm 1", W, ["4xf32"], [Aten("linalg_vector_norm", dim=[1], ord=1.0),
                              Onnx("ReduceL1", "w a", constants={"a": ints(1)}, keepdims=0),
                              Paddle("p_norm", porder=1.0, axis=1, keepdim=False)]),
    ("softmax inner", W, ["4x6xf32"], [Aten("_softmax", dim=1, half_to_float=False), Onnx("Softmax", axis=1)]),
    ("log_softmax inner", W, ["4x6xf32"], [Aten("_log_softmax", dim=1, half_to_float=False), Onnx("LogSoftmax",
                                                                                                  axis=1)]),
    ("native layer_norm", {**W, "v": "6xf32", "u": "6xf32"}, ["4x6xf32", "4x1xf32", "4x1xf32"],
     [Aten("native_layer_norm", "w v u", normalized_shape=[6], eps=1e-5),
      Onnx("LayerNormalization", "w v u", epsilon=1e-5)]),
    ("rms_norm of Paddle", {**W, "v": "6xf32"}, ["4x6xf32"],
     [Aten("rms_norm", "w v", normalized_shape=[6], eps=1e-5),
      Paddle("rms_norm", "w v", made=["4x6xf32", "4xf32"], normalized_shape=[6], epsilon=1e-5)]),
    ("batch_norm", {**IMAGE, "v": "4xf32", "u": "4xf32", "m": "4xf32", "s": "4xf32"}, ["2x4x6x6xf32"],
     [Aten("_native_batch_norm_legit_functional", "w v u m s", training=True, momentum=0.1, eps=1e-5,
           made=["2x4x6x6xf32", "4xf32", "4xf32", "4xf32", "4xf32"]),
      Aten("_native_batch_norm_legit.no_stats", "w v u", training=True, momentum=0.1, eps=1e-5,
           made=["2x4x6x6xf32", "4xf32", "4xf32"]),
      Onnx("BatchNormalization", "w v u m s", training_mode=1, epsilon=1e-5, outputs=3)]),
    ("batch_norm with buffers", {**IMAGE, "v": "4xf32", "u": "4xf32", "b": "4xf32", "d": "4xf32"}, ["2x4x6x6xf32"],
     [Onnx("BatchNormalization", "w v u b d", training_mode=1, epsilon=1e-5, outputs=3),
      Paddle("batch_norm", "w b d v u", made=["2x4x6x6xf32", "4xf32", "4xf32", "4xf32", "4xf32"], epsilon=1e-5,
             momentum=0.9, is_test=False, data_format="NCHW", use_global_stats=False)]),
    ("batch_norm of kept", {**IMAGE, "v": "4xf32", "u": "4xf32", "m": "4xf32", "s": "4xf32"}, ["2x4x6x6xf32"],
     [Aten("_native_batch_norm_legit_no_training", "w v u m s", momentum=0.1, eps=1e-5,
           made=["2x4x6x6xf32", "0xf32", "0xf32"]),
      Onnx("BatchNormalization", "w v u m s", epsilon=1e-5)]),
    ("cross_entropy of Paddle", LABELS, ["4xf32"],
     [Aten("cross_entropy_loss", "w i", reduction=0, ignore_index=-100),
      Paddle("cross_entropy_with_softmax", "w i", made=["4x1xf32"], soft_label=False, use_softmax=True,
             numeric_stable_mode=True, ignore_index=-100, axis=-1)]),
    ("nll_loss inner", LABELS, ["f32"], [Aten("nll_loss", "w i", reduction=1, ignore_index=-100),
                                         Onnx("NegativeLogLikelihoodLoss", "w i", ignore_index=-100)]),
    ("nll_loss_forward", LABELS, ["f32", "f32"], [Aten("nll_loss_forward", "w i", reduction=1, ignore_index=-100),
                                                  Onnx("NegativeLogLikelihoodLoss", "w i", ignore_index=-100,
                                                       outputs=1)]),
    ("one_hot", {"i": "4xi64"}, ["4x6xf32"],
     [Paddle("one_hot", "i d", constants={"d": (6, I)}, allow_out_of_range=False),
      Onnx("OneHot", "i d v", constants={"d": ([], I, [6]), "v": ([2], F, [0.0, 1.0])})]),

    ("matmul inner", {"w": "4x6xf32", "v": "6x5xf32"}, ["4x5xf32"], [Aten("mm", "w v"), Onnx("Gemm", "w v"),
                                                                    Onnx("MatMul", "w v"),
                                                                    Paddle("mul", "w v", x_num_col_dims=1,
                                                                           y_num_col_dims=1)]),
    ("bmm", {"w": "3x4x6xf32", "v": "3x6x5xf32"}, ["3x4x5xf32"],
     [Aten("bmm", "w v"), Onnx("MatMul", "w v"), Paddle("bmm", "w v"),
      Hlo("%y = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
          "(tensor<3x4x6xf32>, tensor<3x6x5xf32>) -> tensor<3x4x5xf32>")]),
    ("mv", {"w": "4x6xf32", "v": "6xf32"}, ["4xf32"], [Aten("mv", "w v"), Onnx("MatMul", "w v"),
                                                       Hlo("%y = stablehlo.dot_general %w, %v, contracting_dims = "
                                                           "[1] x [0] : (tensor<4x6xf32>, tensor<6xf32>) -> "
                                                           "tensor<4xf32>")]),
    ("dot", {"w": "6xf32", "v": "6xf32"}, ["f32"], [Aten("dot", "w v"), Onnx("MatMul", "w v")]),
    ("baddbmm", {"u": "3x4x5xf32", "w": "3x4x6xf32", "v": "3x6x5xf32"}, ["3x4x5xf32"],
     [Aten("baddbmm", "u w v", alpha=0.5, beta=2.0), Paddle("addmm", "u w v", alpha=0.5, beta=2.0)]),
    ("addmv", {"u": "4xf32", "w": "4x6xf32", "v": "6xf32"}, ["4xf32"],
     [Aten("addmv", "u w v", alpha=0.5, beta=2.0), Paddle("addmm", "u w v", alpha=0.5, beta=2.0)]),
    ("linear", {"w": "4x6xf32", "v": "5x6xf32", "u": "5xf32"}, ["4x5xf32"],
     [Aten("linear", "w v u"), Onnx("Gemm", "w v u", transB=1)]),
    ("matmul transposed", {"w": "4x6xf32", "v": "5x6xf32"}, ["4x5xf32"],
     [Aten("linear", "w v"), Onnx("Gemm", "w v", transB=1),
      Paddle("matmul", "w v", transpose_x=False, transpose_y=True),
      Hlo("%y = stablehlo.dot_general %w, %v, contracting_dims = [1] x [1] : (tensor<4x6xf32>, tensor<5x6xf32>) -> "
          "tensor<4x5xf32>")]),
    ("matmul left transposed", {"w": "6x4xf32", "v": "6x5xf32"}, ["4x5xf32"],
     [Onnx("Gemm", "w v", transA=1), Paddle("matmul", "w v", transpose_x=True, transpose_y=False),
      Hlo("%y = stablehlo.dot_general %w, %v, contracting_dims = [0] x [0] : (tensor<6x4xf32>, tensor<6x5xf32>) -> "
          "tensor<4x5xf32>")]),
    ("attention", {name: "2x2x4x8xf32" for name in "wuv"}, ["2x2x4x8xf32"],
     [Aten("scaled_dot_product_attention", "w u v"), Onnx("Attention", "w u v", opset=23)]),

    ("conv of Paddle's channels", {"w": "2x4x6x6xf32", "v": "4x1x3x3xf32"}, ["2x4x6x6xf32"],
     [Onnx("Conv", "w v", pads=[1, 1, 1, 1], group=4),
      Paddle("depthwise_conv2d", "w v", strides=[1, 1], paddings=[1, 1], dilations=[1, 1], groups=4),
      Hlo("%y = stablehlo.convolution(%w, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = "
          "{pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : "
          "(tensor<2x4x6x6xf32>, tensor<4x1x3x3xf32>) -> tensor<2x4x6x6xf32>")]),
    ("conv of volumes", {**VOLUME, "v": "3x4x3x3x3xf32"}, ["2x3x4x4x4xf32"],
     [Onnx("Conv", "w v"), Paddle("conv3d", "w v", strides=[1, 1, 1], paddings=[0, 0, 0], dilations=[1, 1, 1],
                                  groups=1)]),
    ("conv_transpose", {"w": "2x4x6x6xf32", "v": "4x3x3x3xf32"}, ["2x3x8x8xf32"],
     [Aten("convolution", "w v", stride=[1, 1], padding=[0, 0], dilation=[1, 1], transposed=True,
           output_padding=[0, 0], groups=1), Onnx("ConvTranspose", "w v"),
      Paddle("conv2d_transpose", "w v", strides=[1, 1], paddings=[0, 0], dilations=[1, 1], groups=1)]),
    ("conv_transpose of channels", {"w": "2x4x6x6xf32", "v": "4x1x3x3xf32"}, ["2x4x8x8xf32"],
     [Onnx("ConvTranspose", "w v", group=4), Paddle("depthwise_conv2d_transpose", "w v", strides=[1, 1],
                                                   paddings=[0, 0], dilations=[1, 1], groups=4)]),
    ("conv_transpose of volumes", {**VOLUME, "v": "4x3x3x3x3xf32"}, ["2x3x8x8x8xf32"],
     [Onnx("ConvTranspose", "w v"), Paddle("conv3d_transpose", "w v", strides=[1, 1, 1], paddings=[0, 0, 0],
                                          dilations=[1, 1, 1], groups=1)]),
    ("max_pool of Paddle", IMAGE, ["2x4x3x3xf32"],
     [Onnx("MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
      Paddle("pool2d", "w k", lists={"k": [2, 2]}, strides=[2, 2], paddings=[0, 0], pooling_type="max"),
      Paddle("max_pool2d_with_index", made=["2x4x3x3xf32", "2x4x3x3xi64"], kernel_size=[2, 2], strides=[2, 2],
             paddings=[0, 0]),
      Hlo("%c = stablehlo.constant dense<0xFF800000> : tensor<f32>",
          '%y = "stablehlo.reduce_window"(%w, %c) <{window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = '
          "array<i64: 1, 1, 2, 2>}> ({", "^bb0(%l: tensor<f32>, %r: tensor<f32>):",
          "%m = stablehlo.maximum %l, %r : tensor<f32>", "stablehlo.return %m : tensor<f32>",
          "}) : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x3x3xf32>")]),
    ("max_pool of volumes", VOLUME, ["2x4x3x3x3xf32", "2x4x3x3x3xi64"],
     [Aten("max_pool3d_with_indices", kernel_size=[2, 2, 2]),
      Onnx("MaxPool", kernel_shape=[2, 2, 2], strides=[2, 2, 2], outputs=1),
      Paddle("pool3d", made=["2x4x3x3x3xf32"], kernel_size=[2, 2, 2], strides=[2, 2, 2], paddings=[0, 0, 0],
             pooling_type="max")]),
    ("avg_pool of lines", LINE, ["2x4x3xf32"], [Aten("avg_pool1d", kernel_size=[2]),
                                                Onnx("AveragePool", kernel_shape=[2], strides=[2])]),
    ("avg_pool of volumes", VOLUME, ["2x4x3x3x3xf32"],
     [Aten("avg_pool3d", kernel_size=[2, 2, 2]), Onnx("AveragePool", kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
      Paddle("pool3d", kernel_size=[2, 2, 2], strides=[2, 2, 2], paddings=[0, 0, 0], pooling_type="avg")]),
    ("adaptive mean", IMAGE, ["2x4x4x4xf32"],
     [Aten("_adaptive_avg_pool2d", output_size=[4, 4]), Aten("adaptive_avg_pool2d", output_size=[4, 4]),
      Paddle("pool2d", "w k", lists={"k": [4, 4]}, adaptive=True, pooling_type="avg")]),
    ("adaptive mean of lines", LINE, ["2x4x1xf32"], [Aten("adaptive_avg_pool1d", output_size=[1]),
                                                     Onnx("GlobalAveragePool")]),
    ("adaptive mean of volumes", VOLUME, ["2x4x1x1x1xf32"], [Aten("_adaptive_avg_pool3d", output_size=[1, 1, 1]),
                                                             Onnx("GlobalAveragePool")]),
    ("adaptive max", IMAGE, ["2x4x3x3xf32", "2x4x3x3xi64"],
     [Aten("adaptive_max_pool2d", output_size=[3, 3]),
      Paddle("pool2d", "w k", made=["2x4x3x3xf32"], lists={"k": [3, 3]}, adaptive=True, pooling_type="max")]),
    ("adaptive max of volumes", VOLUME, ["2x4x3x3x3xf32", "2x4x3x3x3xi64"],
     [Aten("adaptive_max_pool3d", output_size=[3, 3, 3]),
      Paddle("pool3d", made=["2x4x3x3x3xf32"], kernel_size=[3, 3, 3], adaptive=True, pooling_type="max")]),
    ("global max", IMAGE, ["2x4x1x1xf32", "2x4x1x1xi64"], [Aten("adaptive_max_pool2d", output_size=[1, 1]),
                                                          Onnx("GlobalMaxPool", outputs=1)]),
    ("grid_sample", {**IMAGE, "v": "2x3x3x2xf32"}, ["2x4x3x3xf32"],
     [Aten("grid_sampler_2d", "w v", interpolation_mode=0, padding_mode=0, align_corners=False),
      Onnx("GridSample", "w v", mode="linear", padding_mode="zeros", align_corners=0),
      Paddle("grid_sample", "w v", mode="bilinear", padding_mode="zeros", align_corners=False)]),
    ("grid_sample of volumes", {**VOLUME, "v": "2x3x3x3x3xf32"}, ["2x4x3x3x3xf32"],
     [Aten("grid_sampler_3d", "w v", interpolation_mode=0, padding_mode=0, align_corners=False),
      Onnx("GridSample", "w v", mode="linear", padding_mode="zeros", align_corners=0),
      Paddle("grid_sample", "w v", mode="bilinear", padding_mode="zeros", align_corners=False)]),
    ("nearest", IMAGE, ["2x4x12x12xf32"],
     [Aten("upsample_nearest2d.vec", output_size=[12, 12]),
      Onnx("Resize", "w _ _ s", constants=RESIZED, mode="nearest", nearest_mode="floor",
           coordinate_transformation_mode="asymmetric"),
      Onnx("Upsample", "w s", opset=9, constants={"s": ([4], F, [1.0, 1.0, 2.0, 2.0])}, mode="nearest"),
      Paddle("nearest_interp", data_format="NCHW", out_h=12, out_w=12, interp_method="nearest", align_corners=False,
             align_mode=0)]),
    ("nearest of lines", LINE, ["2x4x12xf32"],
     [Aten("upsample_nearest1d.vec", output_size=[12]),
      Onnx("Resize", "w _ _ s", constants={"s": ints(2, 4, 12)}, mode="nearest", nearest_mode="floor",
           coordinate_transformation_mode="asymmetric")]),
    ("nearest of volumes", VOLUME, ["2x4x12x9x12xf32"],
     [Aten("upsample_nearest3d.vec", output_size=[12, 9, 12]),
      Onnx("Resize", "w _ _ s", constants={"s": ints(2, 4, 12, 9, 12)}, mode="nearest", nearest_mode="floor",
           coordinate_transformation_mode="asymmetric")]),
    ("bilinear", IMAGE, ["2x4x12x9xf32"],
     [Aten("upsample_bilinear2d.vec", output_size=[12, 9], align_corners=False),
      Onnx("Resize", "w _ _ s", constants={"s": ints(2, 4, 12, 9)}, mode="linear",
           coordinate_transformation_mode="half_pixel"),
      Paddle("bilinear_interp", data_format="NCHW", out_h=12, out_w=9, interp_method="bilinear", align_corners=False,
             align_mode=0)]),
    ("bilinear of corners", IMAGE, ["2x4x11x11xf32"],
     [Aten("upsample_bilinear2d.vec", output_size=[11, 11], align_corners=True),
      Onnx("Resize", "w _ _ s", constants={"s": ints(2, 4, 11, 11)}, mode="linear",
           coordinate_transformation_mode="align_corners")]),
    ("linear of lines", LINE, ["2x4x12xf32"],
     [Aten("upsample_linear1d.vec", output_size=[12], align_corners=False),
      Onnx("Resize", "w _ _ s", constants={"s": ints(2, 4, 12)}, mode="linear"),
      Paddle("linear_interp", data_format="NCHW", out_w=12, interp_method="linear", align_corners=False,
             align_mode=0)]),
    ("trilinear", VOLUME, ["2x4x12x12x9xf32"],
     [Aten("upsample_trilinear3d.vec", output_size=[12, 12, 9], align_corners=False),
      Onnx("Resize", "w _ _ s", constants={"s": ints(2, 4, 12, 12, 9)}, mode="linear"),
      Paddle("trilinear_interp", data_format="NCDHW", out_d=12, out_h=12, out_w=9, interp_method="trilinear",
             align_corners=False, align_mode=0)]),

    ("views", W, ["3x8xf32"], [Onnx("Reshape", "w s", constants={"s": ints(3, 8)}),
                               *(Aten(op, size=[3, 8]) for op in ("_unsafe_view", "view_copy")),
                               Aten("reshape", shape=[3, 8])]),
    ("flatten of PyTorch", {"w": "4x2x3xf32"}, ["4x6xf32"], [Aten("flatten.using_ints", start_dim=1, end_dim=-1),
                                                            Onnx("Flatten")]),
    ("unflatten", W, ["4x2x3xf32"], [Aten("unflatten.int", dim=1, sizes=[2, 3]),
                                     Onnx("Reshape", "w s", constants={"s": ints(4, 2, 3)})]),
    ("squeeze all", {"w": "4x1x6x1xf32"}, ["4x6xf32"], [Aten("squeeze"), Aten("squeeze.dims", dim=[1, 3]),
                                                        Onnx("Squeeze"),
                                                        Paddle("squeeze", "w a", lists={"a": []})]),
    ("swap", W, ["6x4xf32"], [Aten("t"), Aten("transpose.int", dim0=0, dim1=1), Onnx("Transpose")]),
    ("expand like", {"w": "1x6xf32", "v": "4x6xf32"}, ["4x6xf32"],
     [Aten("copy", "v w"), Paddle("expand_as", "w v", target_shape=[4, 6]),
      Hlo("%y = stablehlo.broadcast_in_dim %w, dims = [0, 1] : (tensor<1x6xf32>) -> tensor<4x6xf32>")]),
    ("concat of a list", {"w": "4x6xf32", "v": "4x2xf32"}, ["4x8xf32"],
     [Aten("cat", "w v", dim=1), Paddle("concat", "w v a", constants={"a": (1, I)})]),
    ("stack", WV, ["2x4x6xf32"], [Aten("stack", "w v", dim=0), Paddle("stack", "w v", axis=0)]),
    ("tile of PyTorch", W, ["8x18xf32"], [Aten("tile", dims=[2, 3]), Onnx("Tile", "w r", constants={"r": ints(2, 3)})]),
    ("select", W, ["4xf32"], [Aten("select.int", dim=1, index=2),
                              Paddle("slice", "w s e", axes=[1], decrease_axis=[1], infer_flags=[1],
                                     lists={"s": [2], "e": [3]})]),
    ("slice of Paddle", W, ["4x3xf32"], [Aten("slice.Tensor", dim=1, start=1, end=4),
                                         Paddle("slice", "w s e", axes=[1], lists={"s": [1], "e": [4]}),
                                         Hlo("%z = stablehlo.constant dense<0> : tensor<i32>",
                                             "%o = stablehlo.constant dense<1> : tensor<i32>",
                                             "%y = stablehlo.dynamic_slice %w, %z, %o, sizes = [4, 3] : "
                                             "(tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>")]),
    ("slice_scatter", {**W, "v": "4x3xf32"}, ["4x6xf32"],
     [Aten("slice_scatter", "w v", dim=1, start=1, end=4),
      Hlo("%z = stablehlo.constant dense<0> : tensor<i32>", "%o = stablehlo.constant dense<1> : tensor<i32>",
          "%y = stablehlo.dynamic_update_slice %w, %v, %z, %o : (tensor<4x6xf32>, tensor<4x3xf32>, tensor<i32>, "
          "tensor<i32>) -> tensor<4x6xf32>")]),
    ("split of one size", W, ["4x4xf32", "4x2xf32"], [Aten("split.Tensor", split_size=4, dim=1),
                                                      Onnx("Split", "w s", constants={"s": ints(4, 2)}, axis=1)]),
    ("split of Paddle", W, ["4x2xf32", "4x4xf32"],
     [Aten("split_with_sizes", split_sizes=[2, 4], dim=1),
      Paddle("split", "w s a", lists={"s": [2, 4]}, constants={"a": (1, I)})]),
    ("split in halves", W, ["4x3xf32", "4x3xf32"], [Aten("split.Tensor", split_size=3, dim=1),
                                                    Paddle("split_with_num", "w a", constants={"a": (1, I)}, num=2),
                                                    Onnx("Split", num_outputs=2, axis=1, opset=18)]),
    ("unbind", {"w": "2x6xf32"}, ["6xf32", "6xf32"], [Aten("unbind.int", dim=0), Paddle("unbind", axis=0)]),
    ("pad of volumes", VOLUME, ["2x4x6x6x9xf32"],
     [Aten("constant_pad_nd", pad=[1, 2], value=0.5),
      Paddle("pad3d", "w s", lists={"s": [1, 2, 0, 0, 0, 0]}, mode="constant", pad_value=0.5, data_format="NCDHW")]),
    ("triangle", W, ["4x6xf32"], [Aten("tril", diagonal=1), Paddle("tril_triu", diagonal=1, lower=True)]),
    ("sort", W, ["4x6xf32", "4x6xi64"], [Aten("sort", dim=-1), Aten("sort.stable", stable=True, dim=-1),
                                         Onnx("TopK", "w k", constants={"k": ints(6)}, largest=0)]),
    ("lerp of a number", WV, ["4x6xf32"], [Aten("lerp.Scalar", "w v", weight=0.75),
                                           Paddle("lerp", "w v c", constants={"c": (0.75, F)})]),
    ("sort of JAX", W, ["4x6xf32"],
     [Aten("sort", dim=-1, made=["4x6xf32", "4x6xi64"]),
      Hlo('%y = "stablehlo.sort"(%w) <{dimension = 1 : i64, is_stable = true}> ({',
          "^bb0(%l: tensor<f32>, %r: tensor<f32>):",
          "%m = stablehlo.compare LT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>",
          "stablehlo.return %m : tensor<i1>", "}) : (tensor<4x6xf32>) -> tensor<4x6xf32>")]),
    ("sort down", W, ["4x6xf32", "4x6xi64"], [Aten("sort", dim=-1, descending=True),
                                              Paddle("argsort", axis=-1, descending=True, stable=False)]),
    ("top_k of JAX", W, ["4x2xf32"], [Aten("topk", k=2, dim=-1, made=["4x2xf32", "4x2xi64"]),
                                      Hlo("%y, %n = chlo.top_k(%w, k = 2) : tensor<4x6xf32> -> (tensor<4x2xf32>, "
                                          "tensor<4x2xi32>)")]),
    ("index", {**W, "i": "3xi64"}, ["4x3xf32"], [Aten("index.Tensor", "w none i"), Onnx("Gather", "w i", axis=1),
                                                 Paddle("index_select", "w i", axis=1),
                                                 Paddle("gather", "w i a", constants={"a": (1, I)})]),
    ("index_select", {**W, "i": "3xi64"}, ["3x6xf32"],
     [Aten("index_select", "w i", dim=0), Aten("embedding", "w i"),
      Hlo('%y = "stablehlo.gather"(%w, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
          "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> "
          ": (tensor<4x6xf32>, tensor<3xi64>) -> tensor<3x6xf32>")]),
    ("index_put", {**W, "i": "3xi64", "v": "3x6xf32"}, ["4x6xf32"],
     [Aten("index_put", "w i v", accumulate=True),
      Hlo('%y = "stablehlo.scatter"(%w, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = '
          "[1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({",
          "^bb0(%l: tensor<f32>, %r: tensor<f32>):", "%m = stablehlo.add %l, %r : tensor<f32>",
          "stablehlo.return %m : tensor<f32>", "}) : (tensor<4x6xf32>, tensor<3xi64>, tensor<3x6xf32>) -> "
          "tensor<4x6xf32>")]),
    ("scatter", {**W, "i": "4x2xi64", "v": "4x2xf32"}, ["4x6xf32"],
     [Aten("scatter.src", "w i v", dim=1), Onnx("ScatterElements", "w i v", axis=1),
      Onnx("Scatter", "w i v", axis=1, opset=9)]),
    ("scatter a number", {**W, "i": "4x2xi64"}, ["4x6xf32"],
     [Aten("scatter.value", "w i", dim=1, value=0.5),
      Onnx("ScatterElements", "w i n", axis=1, constants={"n": ([4, 2], F, [0.5] * 8)})]),

    *((f"of_number: {name}", {}, ["4x6xf32"], doors) for name, doors in {
        "zeros": [Aten("zeros", "", size=[4, 6]), Aten("full", "", size=[4, 6], fill_value=0.0),
                  Onnx("ConstantOfShape", "s", constants={"s": ints(4, 6)}),
                  Paddle("full", "", shape=[4, 6], value=0.0)],
        "ones": [Aten("ones", "", size=[4, 6]), Paddle("full", "", shape=[4, 6], value=1.0),
                 Hlo("%y = stablehlo.constant dense<1.0> : tensor<4x6xf32>")],
        "eye": [Aten("eye.m", "", n=4, m=6), Onnx("EyeLike", "z", constants={"z": ([4, 6], F, [0.0] * 24)})],
    }.items()),
    ("of_number: like", W, ["4x6xf32"], [Aten("full_like", fill_value=0.0), Aten("zeros_like"),
                                         Aten("new_zeros", size=[4, 6]), Aten("new_full", size=[4, 6], fill_value=0.0),
                                         Paddle("full_like", "w n", constants={"n": (0.0, F)}),
                                         Paddle("fill_zeros_like")]),
    ("of_number: ones like", W, ["4x6xf32"], [Aten("ones_like"), Aten("new_ones", size=[4, 6]),
                                              Paddle("full_like", "w n", constants={"n": (1.0, F)})]),
    ("of_number: eye of one", {}, ["4x4xf32"], [Aten("eye", "", n=4),
                                               Onnx("EyeLike", "z", constants={"z": ([4, 4], F, [0.0] * 16)})]),
    ("of_number: scalar", {}, ["f32"], [Aten("scalar_tensor", "", s=0.5), Onnx("Identity", "c",
                                                                               constants=constant(0.5)),
                                        Paddle("full", "", shape=[], value=0.5),
                                        Paddle("full_with_tensor", "n s", constants={"n": (0.5, F)}, lists={"s": []})]),
    ("of_number: range", {}, ["4xf32"],
     [Aten("arange", "", end=4), Aten("arange.start", "", start=0, end=4),
      Aten("arange.start_step", "", start=0, end=4, step=1),
      Onnx("Range", "a b c", constants={"a": ([], F, [0.0]), "b": ([], F, [4.0]), "c": ([], F, [1.0])}),
      Paddle("arange", "a b c", constants={"a": (0.0, F), "b": (4.0, F), "c": (1.0, F)}),
      Hlo("%y = stablehlo.iota dim = 0 : tensor<4xf32>")]),
    ("of_sizes: shape", W, ["2xi64"], [Onnx("Shape"), Paddle("shape"), Paddle("shape64")]),
    ("of_sizes: count", W, ["i64"], [Onnx("Size"), Paddle("numel")]),
    ("of_number: values", {}, ["2xf32"], [Onnx("Constant", "", value_floats=[0.5, 2.0]),
                                          Paddle("assign_value", "", shape=[2], values=[0.5, 2.0])]),
]

# Forms that differ from those of PyTorch's door, and why: the frameworks do.
DIFFER = {
    **{("sign", door): "PyTorch's sign of what is no number is 0" for door in ("Onnx", "Paddle", "Hlo")},
    ("abs", "Hlo"): "JAX's slope of |x| at 0 is 1",
    ("leaky_relu", "Paddle"): "Paddle's slope of leaky_relu at 0 is 1",
    ("logsumexp", "Paddle"): "Paddle's logsumexp of an infinite maximum is no number",
    **{(row, "Onnx"): "ONNX counts negative indices from the end, and PyTorch refuses them"
       for row in ("embedding", "gather_elements", "scatter_add")},
    ("gather_elements", "Paddle"): "so does Paddle",
    ("hard_shrink", "Paddle"): "Paddle's keeps what is at its bounds",
    ("hardsigmoid", "Onnx"): "a file of ONNX says 1/6 as f32",
    ("clip by tensors", "Hlo"): "JAX's slope at a bound is 0 for both, or shared",
    ("cross_entropy of Paddle", "Paddle"): "Paddle keeps the dimension of classes, as 1",
    ("one_hot", "Onnx"): "Paddle refuses what is no class, and ONNX counts negative indices from the end",
    ("attention", "Onnx"): "ONNX has one operator, PyTorch's is written out: zb-raise makes the same of it",
    ("max_pool of Paddle", "Hlo"): "windows of StableHLO combine by any region, in their order",
    ("global max", "Onnx"): "a reduction shares its gradient among equal elements, a window gives it to the first",
    ("top_k of JAX", "Hlo"): "JAX's order is the total one: -0 below 0, and numbers that are none by their sign",
    ("sort of JAX", "Hlo"): "StableHLO sorts by any comparison",
    ("index_select", "Hlo"): "StableHLO clamps indices, PyTorch refuses them",
    ("index_put", "Hlo"): "what StableHLO would write out of range is left out",
    **{(row, "Onnx"): "ONNX counts negative indices from the end, and PyTorch refuses them"
       for row in ("scatter", "scatter a number")},
}

# Rows that no other format has an operator for, and why.
ALONE = {
    "Aten": [("PyTorch's own functions: others write them out",
              "addcdiv addcmul detach div.Scalar_mode div.Tensor_mode exp2 floor_divide glu l1_loss mse_loss "
              "select_scatter trunc _trilinear"),
             ("variances, which others write as means of squares",
              "std.correction std_mean.correction var.correction var_mean.correction"),
             ("a value and its place by one operator: others have one for each", "max.dim min.dim"),
             ("written by zb.aten alone", "by_mode slope")],
    "Onnx": [("ONNX's own functions", "BitShift Einsum Hardmax LRN LpNormalization Mean MeanVarianceNormalization "
              "ReduceLogSum ReduceSumSquare ReverseSequence RotaryEmbedding"),
             ("windows that no other format has", "GlobalLpPool LpPool MaxUnpool SpaceToDepth"),
             ("layers of many steps, which others write out", "GRU LSTM RNN"),
             ("control flow, and sequences, which only exist while importing",
              "If ConcatFromSequence SequenceAt SequenceConstruct SequenceLength SplitToSequence"),
             ("tuples of indices: StableHLO's scatter has windows, too", "ScatterND")],
    "Paddle": [("Paddle's own functions and losses: others write them out",
                "bce_loss huber_loss kldiv_loss label_smooth median repeat_interleave swiglu tanh_shrink "
                "sigmoid_cross_entropy_with_logits"),
               ("whole numbers that are drawn", "randint"), ("a list that is an operand", "full_int_array")],
    "Hlo": [("primitives of JAX: others write them out, or have no such numbers",
             "atan2 bitcast_convert cbrt erf_inv next_after popcnt reduce_precision round_nearest_afz shift_left "
             "shift_right_arithmetic shift_right_logical"),
            ("what regions and targets say", "custom_call select_and_scatter")],
}
