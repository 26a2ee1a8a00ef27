"""What the part `models` of run.py trains on the GPU and on the CPU: meshes, options of a step and architectures whose
ops the two graphs of the other parts do not have. A row each: the plan's name, its graph under test/data, options of
zbc; data are text but where `<graph>.data.safetensors` lies beside the graph."""
import json
import os
import shutil
import struct

STEPS, LIMITS = 4, {"f32": 1e-4, "bf16": 2e-3}
GPT, LLAMA = "gpt2-small.onnx", "llama-small.onnx"
MODELS = {
    # Meshes: all on one GPU.
    "replicas": (GPT, "--data-parallel", 2),
    "shards": (LLAMA, "--tensor-parallel", 2),
    "shards-sequence": (GPT, "--tensor-parallel", 2, "--sequence-parallel"),
    "shards-bf16": (GPT, "--tensor-parallel", 4, "--precision", "bf16"),
    "zero-1": (GPT, "--data-parallel", 2, "--sharding", "optimizer"),
    "zero-2-bf16": (LLAMA, "--data-parallel", 2, "--sharding", "gradients:micro-batch", "--precision", "bf16"),
    "zero-3": (GPT, "--data-parallel", 3, "--sharding", "parameters:step"),
    "mesh": (GPT, "--data-parallel", 2, "--tensor-parallel", 2, "--sharding", "optimizer", "--clip-norm", 0.1),
    # Options of a step.
    "clipping": (GPT, "--clip-norm", 0.1, "--post-validation"),
    "dropout": ("gpt2-dropout.onnx",),
    "recompute": (LLAMA, "--recompute", "all"),
    "search": (GPT, "--schedule", "search"),
    "sgd": (GPT, "--optimizer", "sgd:lr=0.01,momentum=0.9,nesterov=true"),
    "lion": (GPT, "--optimizer", "lion"),
    # Architectures.
    **{name: (f"families/{name}.mlir",)
       for name in ("albert", "bert", "bloom", "falcon", "gemma", "gptneo", "neox", "phi", "qwen3", "six")},
    **{name: (f"{name}.onnx",)
       for name in ("bart", "bce", "buffers", "depth", "huber", "l1", "llama-padded", "masked", "outputs", "roberta",
                    "triplet")},
    **{f"aten-{name}": (f"aten/{name}.mlir",)
       for name in ("batchnorm", "breadth", "dropout", "experts", "gpt2", "llama", "mamba-like", "nanogpt", "stopped",
                    "t5", "vision")},
    "audio": ("windows/audio.mlir",),
}
ARGUMENTS = ("--ranks", 2, "--micro-batches", 4)
DATA = "data.safetensors"


def precision(name):
    arguments = MODELS[name]
    return arguments[arguments.index("--precision") + 1] if "--precision" in arguments else "f32"


def copy_rows(source, target):
    """Data of test/data/aten hold [micro-batches, rows, ..]; zb-run takes rows: the same bytes under another shape."""
    with open(source, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header, body = json.loads(file.read(length)), file.read()
    for name, tensor in header.items():
        if name != "__metadata__" and len(tensor["shape"]) > 1:
            shape = tensor["shape"]
            tensor["shape"] = [shape[0] * shape[1], *shape[2:]]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def prepare(suite, data, folder):
    """Plans into FOLDER/NAME, with their data."""
    for name, (graph, *arguments) in MODELS.items():
        plan = os.path.join(folder, name)
        suite.compile(os.path.join(data, graph), plan, *ARGUMENTS, *arguments)
        source = os.path.join(data, graph.removesuffix(".mlir") + "." + DATA)
        if os.path.exists(source):
            (copy_rows if graph.startswith("aten/") else shutil.copyfile)(source, os.path.join(plan, DATA))


def source_of_data(plan, text):
    own = os.path.join(plan, DATA)
    return "safetensors:" + own if os.path.exists(own) else "text:" + text
