"""Options of compile() and Session(), with the words of the C API.

Written by bindings.py from the headers: change those, and run it again.
"""
from __future__ import annotations

from typing import Sequence, TypedDict, Union


class CompileOptions(TypedDict, total=False):
    """Keyword arguments that are the fields of the same name in C (zb/compiler.h)."""

    weights: str
    """Initial values of parameters instead of the model's own (those of an .mlir model are drawn, from their names
    alone): a safetensors file, an index of several, or a folder with either, such as a checkpoint of Hugging Face's.
    As zb_session_params.weights (zb/runtime.h); None: the model's."""

    weights_partial: bool
    """Parameters that `weights` lacks keep the values that they would have without it; USAGE without weights"""

    ranks: int
    """P; 0: 1, or those of the schedule's file"""

    chunks: int
    """v; 0: as many as the schedule is made for"""

    micro_batches: int
    """M; 0: 1, or those of the schedule's file"""

    schedule: str
    """"zb-h1", "NAME:option=number,...", or an order from a file: "F.csv" (PyTorch's pipelining; ranks, chunks,
    placement and micro_batches come from it, those given must agree); None: zb-h1"""

    placement: str
    """"plain", "looped", "v", "wave", "0,1,1,0"; None: what the schedule is made for, looped for other chunks"""

    metric: str
    """Of zb/metrics.def: what schedules that search make short; None: "barrier"."""

    split: str
    """Which gradients of parameters wait in W: "all", "products" (of matrices alone), "none", "auto" (as many as
    memory allows), or "GLOB,..." of parameters; None: auto with a memory limit or with recompute, else all"""

    recompute: str
    """What the backward pass computes again, in place of keeping it: "none", "all" (but inputs of layers), "auto" (as
    much as the memory limit asks for), or "GLOB,..." of modules, nodes or kinds of ops; None: none. No bit depends on
    it"""

    optimizer: str
    """"adamw:lr=1e-3,...", "sgd:lr=...", a line of zb_optimizer_name; what is left out is as zb_optimizer_complete
    says; None: adamw"""

    groups: Sequence[str]
    """Rates and weight decays of their own: "GLOB:lr=1e-4,weight_decay=0"; of several that a parameter is in the last
    counts. A run can change them (zb_session_params.groups)."""

    clip_norm: Union[str, float]
    """"1.0": gradients are scaled down where the norm of all of them is greater (torch.nn.utils.clip_grad_norm_);
    "inf": the norm is computed, and no more; None: neither. zb_session_params.clip_norm changes it. clip_norm_type:
    "2" (None), the root of the sum of squares, or "inf", the greatest absolute value."""

    clip_norm_type: Union[str, float]
    """"1.0": gradients are scaled down where the norm of all of them is greater (torch.nn.utils.clip_grad_norm_);
    "inf": the norm is computed, and no more; None: neither. zb_session_params.clip_norm changes it. clip_norm_type:
    "2" (None), the root of the sum of squares, or "inf", the greatest absolute value."""

    post_validation: bool
    """With clip_norm: a step is followed by the next one before its norm is known, and taken back where it was
    clipped; costs a copy of parameters and optimizer state. No bit depends on it"""

    data_parallel: int
    """Replicas of all ranks, each with `micro_batches` of its own; 0 or 1: none beside it"""

    sum_groups: int
    """As many groups of micro-batches are summed apart, then in their order: the bits of as many replicas with a part
    of the micro-batches each; 0 or 1: one"""

    sum_inner: bool
    """With sum_groups: first the micro-batches that are the same one of each group are summed, in the order of
    groups, then their sums; instead of each group, then their totals"""

    bucket_bytes: Union[int, str]
    """Of replicas: sums of a stage travel together once they have so many bytes; 0: 25 MiB."""

    sharding: str
    """A name of zb/shardings.def; None: "none". Bits are those of "none", but of the levels ":micro-batch", which are
    those of sum_inner"""

    gather: str
    """With a sharding of parameters: a name of zb/gathers.def; None: "job"."""

    sequence_parallel: bool
    """With tensor_parallel: between products activations are cut by tokens"""

    tensor_parallel: int
    """Shards that compute each micro-batch together, for each rank; 0 or 1: one"""

    shard_pins: Sequence[str]
    """Where parameters are cut over shards: "GLOB=DIM", "GLOB=whole"; of several that fit the last counts. Others are
    where the ops that read them are best computed. USAGE for what no op can keep."""

    train: Sequence[str]
    """Globs"""

    freeze: Sequence[str]

    roles: str
    """Of StableHLO: a JSON file that says which arguments are parameters, optimizer state and inputs, and which
    results are the loss and new values; None: as the file says"""

    startup: str
    """Of Paddle: the startup program, which says learning rates; None: the file beside the program with startup for
    main in its name, if there is one"""

    loss: str
    """Name of the output to minimize; None: the only scalar one, of several the one named "loss"."""

    loss_mean: str
    """"micro-batches" (None): the loss of a step is the mean of those of its micro-batches, as with gradient
    accumulation in PyTorch; "targets": where the loss is a mean over targets that are not ignored, it is that over
    those of the whole step, of all micro-batches and replicas."""

    dims: int
    """Of ONNX: sizes of dynamic dimensions, "batch=4"; and a source of arrays, "npz:FILE" or "safetensors:FILE": an
    input of which it has an array of that name is no input of the plan, but always has that value. None: none."""

    dim_count: int

    constants: str

    inference: bool
    """Without a loss: the plan has an evaluation alone, which hands out these outputs, or all"""

    outputs: Sequence[str]
    """Names of other outputs that an evaluation can hand out; none is computed in a step"""

    memory_limit: Union[int, str]
    """Bytes per rank; 0: none"""

    costs: str
    """File of zb-run --profile or --calibrate; None: the built-in model, the same on every machine"""

    cuts: str
    """Names of nodes after which a stage ends, or "#ID" (zb.id in the dumped IR), comma separated; None: chosen by
    cost, and by trying others where the schedule searches"""

    layout: str
    """Which layers each stage has, as zb/layers.h says: "even:first=5", "Et*3|(tt|)*4L". A layer is a module of the
    list that most ops are in ("transformer.h.0", "transformer.h.1"); what stands before the first is the embedding,
    what stands behind the last the loss. Ranks and chunks that are 0 are those of a string. Not with cuts; None: as
    cuts says"""

    cut_trials: int
    """How many cuts such a schedule tries at most, those by cost included; 0: by the size of the program, at most 33,
    without a memory limit 13"""

    fold_limit: Union[int, str]
    """Bytes that folded constants of an ONNX graph may take; 0: 256 MiB and four times the model's files"""

    csv: str
    """File to write the order to that the plan has, or None"""

    timeline: str
    """File to draw the simulated step to, SVG or Chrome trace by its ending .svg or .json, or None"""

    precision: str
    """A name of zb/precisions.def: "f32", "bf16"; None: f32"""

    no_raise: bool

    dump_directory: str
    """IR after each pass, or None"""

    pipeline: str
    """None: the default one"""


class SessionOptions(TypedDict, total=False):
    """Keyword arguments that are the fields of the same name in C (zb/runtime.h)."""

    data: str
    """"text:FILE", "tokens:FILE[:u16|u32]"; "npz:FILE", "npy:FILE", "safetensors:FILE": an array for each input, by
    its name (of .npy the only one), with N rows in the place of those of a micro-batch; or None: `input` below is
    asked. Rows of arrays come in their order, as many whole steps as they are enough for, then again from the first
    one"""

    shuffle: int
    """Above 0: of data that is arrays, each such epoch has its rows in an order drawn by this number and the number
    of the epoch. Not saved in checkpoints: a run that is resumed goes on in it if it is given it again, with as many
    rows in a step. USAGE for other data."""

    evaluation: str
    """What zb_session_evaluate computes the loss of, spelled as `data`; None: nothing. With this or evaluation_input,
    and neither `data` nor `input`, the session makes no steps. INVALID where the data has not one whole batch (M
    micro-batches of rows)."""

    outputs: Sequence[str]
    """"NAME:FILE.npy": what an evaluation writes of the outputs that the plan keeps (zbc --keep-output), rows of all
    batches in their order; replaced by each evaluation as a whole. The process that has the rank which makes an
    output writes it. Without `evaluation` "NAME": zb_session_output gives it"""

    evaluation_batches: int
    """How many batches, from the first row on; 0: all whole ones, once. INVALID for more"""

    device: str
    """"cpu" (None), "sim"."""

    launch: str
    """How the ranks of a real device run: "threads", "mpi", "tcp"; None: by bootstrap, else "threads"."""

    resume: str
    """Folder of a checkpoint, or None"""

    weights: str
    """None, or where parameters begin instead of the values beside the plan, with a fresh optimizer and at step 0: a
    safetensors file, an index of several (model.safetensors.index.json), or a folder with either, such as a
    checkpoint of Hugging Face's or one of ours. Names may differ from the model's by one prefix; f32 parameters take
    f32, bf16 and f16. What is missing is an error; what is surplus is said (`say`). USAGE together with resume."""

    weights_partial: bool
    """Parameters that `weights` lacks keep the values beside the plan (PyTorch: strict=False); USAGE without
    weights"""

    lr: Union[str, float]
    """Learning rate and weight decay of all parameters but those that have their own (by zbc --group; vectors have no
    weight decay), as numbers; groups "GLOB:lr=1e-4,weight_decay=0", of which the last that a parameter is in counts;
    and a schedule of zb_rate_schedule_at, "cosine:warmup=100,steps=1000", that gives the factor of all rates of a
    step. None and 0: those of the run that is resumed, else those of the plan, and no schedule. A checkpoint keeps
    them. USAGE for what cannot be read, and for a group that no trained parameter is in. Lent for the call."""

    weight_decay: Union[str, float]
    """Learning rate and weight decay of all parameters but those that have their own (by zbc --group; vectors have no
    weight decay), as numbers; groups "GLOB:lr=1e-4,weight_decay=0", of which the last that a parameter is in counts;
    and a schedule of zb_rate_schedule_at, "cosine:warmup=100,steps=1000", that gives the factor of all rates of a
    step. None and 0: those of the run that is resumed, else those of the plan, and no schedule. A checkpoint keeps
    them. USAGE for what cannot be read, and for a group that no trained parameter is in. Lent for the call."""

    lr_schedule: str
    """Learning rate and weight decay of all parameters but those that have their own (by zbc --group; vectors have no
    weight decay), as numbers; groups "GLOB:lr=1e-4,weight_decay=0", of which the last that a parameter is in counts;
    and a schedule of zb_rate_schedule_at, "cosine:warmup=100,steps=1000", that gives the factor of all rates of a
    step. None and 0: those of the run that is resumed, else those of the plan, and no schedule. A checkpoint keeps
    them. USAGE for what cannot be read, and for a group that no trained parameter is in. Lent for the call."""

    groups: Sequence[str]

    clip_norm: float
    """Instead of the greatest norm that the plan was compiled with: a number above 0, or infinity, which clips
    nothing; 0: that of the plan. USAGE for another number, and for a plan without clipping (zbc --clip-norm)."""

    non_finite: str
    """"stop" (None): a step whose loss or gradients are not finite fails. "skip": a step whose gradients are not
    finite changes no parameter, no optimizer state and not the optimizer's count of steps, as with PyTorch's
    GradScaler, and the run goes on; USAGE for a plan without clipping, which knows no norm."""

    steps: int
    """How many steps will be made, if that is known: what is too few for `costs` is then said at once; 0: not
    known"""

    random_seed: int
    """What random ops (dropout) draw by, from 1 to INT64_MAX; 0: as the checkpoint that is resumed says, else
    ZB_RANDOM_SEED. Saved in checkpoints. USAGE where the plan has no random op."""

    save: str
    """None, or where zb_session_save will save: all processes try it before anything is loaded"""

    threads: int
    """Per rank; 0: 1"""

    seed: int
    """sim: delays of messages; 0: none"""

    delays: int
    """sim: every job of every rank takes up to delay_spread of its time more, by this seed; 0: none"""

    delay_spread: float

    barrier: bool
    """Every step ends on all ranks before the next one begins, whatever zb_session_announce says"""

    no_kernels: bool
    """sim: run the plan alone. Of replicas and shards one replica is run then, or with delays the clocks of all, with
    the same times to the picosecond, unless what is set below (or seed) looks at all ranks."""

    reference: bool
    """cpu: reference kernels only"""

    tf32: bool
    """cuda: f32 products in TF32 (10 bits of fraction); USAGE on devices that have none"""

    trace: bool
    """Record job times"""

    explain: bool
    """Keep what zb_session_explain needs: job times, and in process 0 the plan of all ranks"""

    profile: bool
    """Count the time of kernels by category: zb_session_profile"""

    memory: bool
    """zb_session_memory will be asked"""

    costs: bool
    """Measure subprograms, ops and messages: zb_session_write_costs"""

    timeout_ms: int
    """0: 60,000"""


# Lists, and the fields of C that count them.
LISTS = {'groups': 'group_count',
         'train': 'train_count',
         'freeze': 'freeze_count',
         'outputs': 'output_count',
         'shard_pins': 'shard_pin_count'}
# Bytes: a number, or a text like "2G".
SIZES = ['bucket_bytes', 'fold_limit', 'memory_limit']
# What the package gives by itself.
GIVEN = {'zb_compile_params': ['diagnostic', 'diagnostic_context', 'model', 'output'],
 'zb_session_params': ['bootstrap', 'check', 'check_context', 'directory', 'evaluation_input', 'give_up',
                       'input', 'input_context', 'opened', 'progress_context', 'say', 'setting_count',
                       'settings']}
