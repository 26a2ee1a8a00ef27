"""Options of compile() and Session(), with the words of the C API.

Written by bindings.py from the headers: change those, and run it again.
"""
from __future__ import annotations

from typing import Sequence, TypedDict, Union


class CompileOptions(TypedDict, total=False):
    """Options of zb.compile, as keyword arguments; those of zbc by their names in C (zb/compiler.h).

    weights: str, default the model's; of .mlir drawn at random
        start from these parameters: a safetensors file, or the folder of a checkpoint
    weights_partial: bool, default False
        parameters that weights lacks keep their default (PyTorch: strict=False)
    ranks: int, default 1
        executors, one device each
    chunks: int, default what the schedule is made for
        virtual stages a rank
    micro_batches: int, default 1
        micro-batches a step
    schedule: str, default "zb-h1"
        zb-h1 (default), 1f1b, zb-v, search, ...; zb.schedules() shows all, with their options; FILE.csv,
        FILE.txt: an order from outside (PyTorch's pipelining, zb-sched --text), whose ranks, chunks, placement,
        micro-batches come from it
    placement: str, default the schedule's own; search: the best
        plain, looped, v, wave, or the rank of every virtual stage like 0,1,1,0
    metric: str, default "barrier"
        what search makes short: barrier (default), the whole step; stage, the longest rank; period, a step of
        many that follow each other without a barrier
    split: str, default auto with memory_limit or recompute, else all
        which gradients of parameters wait in W, the others stay in B and keep no memory: all, products (of
        matrices), none, GLOB,...; auto: as many as fit the memory limit; without one the memory of 1F1B
    recompute: str, default "none"
        what the backward pass computes again, so that less is kept: none (default), all (but inputs of layers;
        without cuts stages then end where no more crosses than behind layers, if that can be), GLOB,...
        (lm.transformer.h.*, gelu: modules, nodes or kinds of ops), auto: as much as the memory limit asks for
    optimizer: str, default None
        "adamw:lr=1e-3,...", "sgd:lr=...", a line of zb_optimizer_name; what is left out is as
        zb_optimizer_complete says; None: adamw
    groups: Sequence[str], default ()
        lr and weight_decay of these parameters, which zb-run can change too: a list (the last that fits counts)
    clip_norm: Union[str, float], default None
        scale gradients down where the norm of all of them is above X (torch.nn.utils.clip_grad_norm_); inf: only
        print it; zb.Session(clip_norm=...) changes X
    clip_norm_type: Union[str, float], default "2"
        2 (default): the root of the sum of squares; inf: the greatest absolute value
    post_validation: bool, default False
        with clip_norm: begin the next step before it is known whether this one was clipped, and take it back
        where it was; for steps that are seldom clipped, with memory for a copy of parameters and optimizer state
    data_parallel: int, default 1
        replicas of all ranks, each with micro_batches of its own; their gradients are summed in the order of
        replicas. zb-run then trains with D times as many ranks
    sum_groups: int, default 1
        sum gradients as D replicas would, each with a part of micro_batches, which D divides: bit for bit what
        data_parallel D with that part gives, on one pipeline and with one more buffer of gradients; D:inner: as
        they would with sharding gradients:micro-batch, with a buffer a micro-batch of a replica
    sum_inner: bool, default False
        with sum_groups: first the micro-batches that are the same one of each group are summed, in the order of
        groups, then their sums; instead of each group, then their totals
    bucket_bytes: Union[int, str], default 25M, as bucket_cap_mb of PyTorch; no bit depends on it
        with data_parallel: gradients of a stage are summed together, in a bucket, once they have so many bytes,
        and travel while the rest of W computes
    sharding: str, default "none"
        with data_parallel: none (default); optimizer: each replica updates 1/D of every parameter, and has the
        optimizer state of that part alone (ZeRO-1); gradients:step: and has the sum of that part alone, each
        bucket added up before the next one comes; gradients:micro-batch: and has 1/D of the memory of gradients,
        as those of each micro-batch are summed (ZeRO-2); parameters:step, parameters:micro-batch: as these, and
        has 1/D of every parameter, gathered for F and B (ZeRO-3). No bit depends on it but of :micro-batch, see
        sum_groups; no checkpoint does
    gather: str, default every F and B gathers what it reads
        with sharding parameters:..: what is gathered is kept for a job, from F to B of a micro-batch
        (micro-batch), or for the step (step). No bit depends on it
    sequence_parallel: bool, default False
        with tensor_parallel: between products each shard has the activations of its part of the tokens alone:
        norms, dropouts, residuals and what ranks send are 1/T. Two gathers and two scatters a layer take the
        place of its sums
    tensor_parallel: int, default 1
        shards of every rank that compute each micro-batch together: attention by heads, products by columns and
        rows, embeddings by vocabulary; what T does not divide stays whole. zb-run then trains with T times as
        many ranks
    shard_pins: Sequence[str], default ()
        with tensor_parallel: cut these parameters along that dimension, counted from 0, or GLOB=whole: not at
        all: a list (the last that fits counts; default: as the ops that read them are best computed)
    train: Sequence[str], default ()
        train these parameters: a list
    freeze: Sequence[str], default ()
        leave these as they are: a list
    roles: str, default None
        of StableHLO: a JSON file that says what arguments and results are, as the README shows
    startup: str, default the file with startup for main in its name
        of Paddle: the startup program, which says learning rates
    loss: str, default the only scalar one, of several the one named loss
        output to minimize
    loss_mean: str, default "micro-batches"
        what the loss is the mean of where it ignores targets (padding): micro-batches (default), each of which
        counts alike, as with gradient accumulation in PyTorch; targets: those of the whole step, of all
        micro-batches and replicas, as PyTorch has it of the whole batch. The norm of gradients is then computed,
        too
    dims: Sequence[str], default ()
        of ONNX: the size of a dynamic dimension, as batch=4: a list
    constants: str, default None
        of ONNX: npz:FILE or safetensors:FILE; inputs of the model that it has an array for always have that
        value, as shapes, axes and lengths must
    inference: bool, default False
        compile a model without a loss, to be evaluated alone: its outputs (those of outputs, else all), with the
        memory of a forward pass; nothing is trained
    outputs: Sequence[str], default ()
        an output beside the loss that zb.Session(evaluation=...) can write, with outputs NAME:FILE.npy; no step
        computes it: a list
    memory_limit: Union[int, str], default None
        a rank's memory, with K, M or G (2G: 2 GiB, 2 x 2^30; 2GB: 2e9); schedule search looks for the fastest
        order within it
    costs: str, default a model that is the same on every machine
        times that zb.Session(costs=...) or --calibrate measured, for cuts and schedule
    cuts: str, default None
        names of nodes, module paths or #ID (zb.id in dump_directory) after which a stage ends
    layout: str, default None
        which layers each stage has: even, even:first=N,last=N, even:embedding=true,loss=true, balanced, or
        Megatron's string, 'Et*3|(tt|)*29,m|L'; zb-sched layout shows it without a model
    cut_trials: int, default at most 33, without memory_limit 13, fewer for large models; each takes as long as
        one compile with its search
        schedule search without cuts and layout: compile with up to N cuts and keep the best; 1: those by cost
        alone
    fold_limit: Union[int, str], default 256M and four times the model's size
        memory for constants that an ONNX graph computes, with K, M or G
    csv: str, default None
        write the order of the plan, as PyTorch's pipelining reads it
    timeline: str, default None
        picture of the simulated step
    precision: str, default None
        a name of zb/precisions.def: "f32", "bf16"; None: f32
    no_raise: bool, default False
        keep GELU, RMSNorm, attention and the like as the exporter took them apart
    dump_directory: str, default None
        the program after each pass
    pipeline: str, default None
        these passes instead of those of --help-passes
    """
    weights: str
    weights_partial: bool
    ranks: int
    chunks: int
    micro_batches: int
    schedule: str
    placement: str
    metric: str
    split: str
    recompute: str
    optimizer: str
    groups: Sequence[str]
    clip_norm: Union[str, float]
    clip_norm_type: Union[str, float]
    post_validation: bool
    data_parallel: int
    sum_groups: int
    sum_inner: bool
    bucket_bytes: Union[int, str]
    sharding: str
    gather: str
    sequence_parallel: bool
    tensor_parallel: int
    shard_pins: Sequence[str]
    train: Sequence[str]
    freeze: Sequence[str]
    roles: str
    startup: str
    loss: str
    loss_mean: str
    dims: Sequence[str]
    constants: str
    inference: bool
    outputs: Sequence[str]
    memory_limit: Union[int, str]
    costs: str
    cuts: str
    layout: str
    cut_trials: int
    fold_limit: Union[int, str]
    csv: str
    timeline: str
    precision: str
    no_raise: bool
    dump_directory: str
    pipeline: str


class SessionOptions(TypedDict, total=False):
    """Options of zb.Session, as keyword arguments; those of zb-run by their names in C (zb/runtime.h).

    data: str, default None
        text:FILE (bytes as tokens), tokens:FILE[:u16|:u32] (little-endian), or npz:FILE, npy:FILE,
        safetensors:FILE (an array for each input, whose rows are taken in turn)
    shuffle: int, default None
        rows of arrays in an order drawn anew for each time through them (after resume: give it again)
    evaluation: str, default None
        What zb_session_evaluate computes the loss of, spelled as `data`; None: nothing. With this or
        evaluation_input, and neither `data` nor `input`, the session makes no steps.
    outputs: Sequence[str], default ()
        "NAME:FILE.npy": what an evaluation writes of the outputs that the plan keeps (zb.compile(outputs=...)),
        rows of all batches in their order; replaced by each evaluation as a whole. The process that has the rank
        which makes an output writes it. Without `evaluation` "NAME": zb_session_output gives it
    evaluation_batches: int, default None
        How many batches, from the first row on; 0: all rows, once, of which the last batch may have fewer than
        others (zb_session_evaluate_rows). INVALID for more.
    device: str, default cpu
        what runs the ranks, see below
    launch: str, default as the launcher needs it, else threads
        how the ranks run, see below
    resume: str, default None
        go on from a saved FOLDER, bitwise as if never stopped
    weights: str, default None
        start from these parameters, at step 0: a safetensors file, or the folder of a checkpoint
    weights_partial: bool, default False
        with weights: parameters that it lacks keep the plan's values (PyTorch: strict=False)
    lr: Union[str, float], default the plan's, or that of the run that is resumed
        learning rate
    weight_decay: Union[str, float], default as of lr
        weight decay, of matrices
    lr_schedule: str, default None
        how it changes from step to step, see below
    groups: Sequence[str], default ()
        lr and weight_decay of these parameters: a list (the last that fits counts)
    clip_norm: float, default that of zb.compile(clip_norm=...), which the plan needs
        greatest norm of all gradients, or inf
    non_finite: str, default "stop"
        a step whose gradients are not finite: stop (default), or skip: it changes nothing (of a plan with
        clip_norm)
    bad_batch: str, default "stop"
        a batch that the model cannot take, or that has no finite loss: stop (default), or skip: its step changes
        nothing
    steps: int, default None
        how many steps will be made, if that is known: what is too few for `costs` is then said at once; 0: not
        known
    random_seed: int, default the resumed run's, else 1
        what dropout draws by
    save: str, default None
        save weights and optimizer at the end (safetensors, replaced atomically)
    threads: int, default 1
        threads per rank; the results do not depend on it
    seed: int, default None
        sim: delays of messages; 0: none
    delays: int, default None
        sim: every job of every rank takes up to delay_spread of its time more, by this seed; 0: none
    delay_spread: float, default None
    barrier: bool, default only where something needs it
        all ranks end a step before any begins the next one
    no_kernels: bool, default False
        sim: run the plan without computing
    reference: bool, default False
        cpu, sim: the slow scalar kernels that define every op
    tf32: bool, default full f32
        cuda: f32 products in TF32, faster, with 10 bits of fraction
    trace: bool, default False
        record job times
    explain: bool, default False
        keep what zb_session_explain needs: job times, and in process 0 the plan of all ranks
    profile: bool, default False
        count the time of kernels by category: zb_session_profile
    memory: bool, default False
        zb_session_memory will be asked
    costs: bool, default False
        measure subprograms, ops and messages: zb_session_write_costs
    timeout_ms: int, default None
        after which a wait for another rank or process fails; 0: 60,000
    """
    data: str
    shuffle: int
    evaluation: str
    outputs: Sequence[str]
    evaluation_batches: int
    device: str
    launch: str
    resume: str
    weights: str
    weights_partial: bool
    lr: Union[str, float]
    weight_decay: Union[str, float]
    lr_schedule: str
    groups: Sequence[str]
    clip_norm: float
    non_finite: str
    bad_batch: str
    steps: int
    random_seed: int
    save: str
    threads: int
    seed: int
    delays: int
    delay_spread: float
    barrier: bool
    no_kernels: bool
    reference: bool
    tf32: bool
    trace: bool
    explain: bool
    profile: bool
    memory: bool
    costs: bool
    timeout_ms: int


# Lists, and the fields of C that count them.
LISTS = {'groups': 'group_count',
         'train': 'train_count',
         'freeze': 'freeze_count',
         'outputs': 'output_count',
         'dims': 'dim_count',
         'shard_pins': 'shard_pin_count'}
# Bytes: a number, or a text like "2G".
SIZES = ['bucket_bytes', 'fold_limit', 'memory_limit']
# Options of zbc and zb-run, as messages of the library call them, and their names here.
PROGRAMS = {"--bad-batch": "bad_batch",
           "--barrier": "barrier",
           "--bucket-bytes": "bucket_bytes",
           "--chunks": "chunks",
           "--clip-norm": "clip_norm",
           "--clip-norm-type": "clip_norm_type",
           "--constants": "constants",
           "--costs": "costs",
           "--csv": "csv",
           "--cut-trials": "cut_trials",
           "--cuts": "cuts",
           "--data": "data",
           "--data-parallel": "data_parallel",
           "--delays": "delays",
           "--device": "device",
           "--dim": "dims",
           "--dump-ir": "dump_directory",
           "--eval": "evaluation",
           "--eval-steps": "evaluation_batches",
           "--explain": "explain",
           "--fold-limit": "fold_limit",
           "--freeze": "freeze",
           "--gather": "gather",
           "--group": "groups",
           "--import-only": "import_only",
           "--inference": "inference",
           "--keep-output": "outputs",
           "--launch": "launch",
           "--layout": "layout",
           "--loss": "loss",
           "--loss-mean": "loss_mean",
           "--lr": "lr",
           "--lr-schedule": "lr_schedule",
           "--memory": "memory",
           "--memory-limit": "memory_limit",
           "--metric": "metric",
           "--micro-batches": "micro_batches",
           "--no-kernels": "no_kernels",
           "--no-raise": "no_raise",
           "--non-finite": "non_finite",
           "--optimizer": "optimizer",
           "--output": "outputs",
           "--pass-pipeline": "pipeline",
           "--placement": "placement",
           "--post-validation": "post_validation",
           "--precision": "precision",
           "--profile": "costs",
           "--profile-ops": "profile",
           "--random-seed": "random_seed",
           "--ranks": "ranks",
           "--recompute": "recompute",
           "--reference": "reference",
           "--resume": "resume",
           "--roles": "roles",
           "--save": "save",
           "--schedule": "schedule",
           "--seed": "seed",
           "--sequence-parallel": "sequence_parallel",
           "--shard": "shard_pins",
           "--sharding": "sharding",
           "--shuffle": "shuffle",
           "--split": "split",
           "--startup": "startup",
           "--steps": "steps",
           "--sum-groups": "sum_groups",
           "--tensor-parallel": "tensor_parallel",
           "--tf32": "tf32",
           "--threads": "threads",
           "--timeline": "timeline",
           "--timeout": "timeout_ms",
           "--trace": "trace",
           "--train": "train",
           "--weight-decay": "weight_decay",
           "--weights": "weights",
           "--weights-partial": "weights_partial",
           "-o": "output"}
FLAGS = {"barrier", "costs", "explain", "import_only", "inference", "memory", "no_kernels", "no_raise",
         "post_validation", "profile", "reference", "sequence_parallel", "share_values", "sum_inner", "tf32", "trace",
         "weights_partial"}
# What the package gives by itself.
GIVEN = {'zb_compile_params': ['diagnostic', 'diagnostic_context', 'import_only', 'model', 'output', 'progress',
                       'progress_context'],
 'zb_session_params': ['bootstrap', 'check', 'check_context', 'directory', 'evaluation_input', 'give_up',
                       'input', 'input_context', 'opened', 'progress_context', 'say', 'setting_count',
                       'settings', 'share_values']}
