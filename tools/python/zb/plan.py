"""From a model to a plan."""
from __future__ import annotations

import ctypes
import functools
import inspect
import json
import os
import pathlib
import re
import shutil
import tempfile
import types
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _c, _options, arrays
from ._calls import call_once
from ._library import Error, called, compiler, error_of, invalid, library, text_of, usage
from ._progress import Progress
from .options import CompileOptions

if TYPE_CHECKING:
    try:
        from typing import Unpack
    except ImportError:
        from typing_extensions import Unpack

_COUNTS = {"stage": "stages", "rank": "ranks", "layer": "layers", "trained": "trained_count",
           "frozen": "frozen_count", "buffers": "buffer_count", "whole": "whole_count",
           "untrained": "untrained_count", "unreached": "unreached_count"}


class Value(NamedTuple):
    """An input or an output of a plan: its name, type ("i64"), and shape in one micro-batch."""
    name: str
    dtype: str
    shape: Tuple[int, ...]

    def __str__(self) -> str:
        return "%s: %s" % (self.name, arrays.shape_text(self.shape, self.dtype))


class PlanJob(NamedTuple):
    """A job of a rank. kind: "F", "B", "W", "SEND", "RECV", ... (include/zb/jobs.def); peer: the rank at the other end
    of a message; carries: what a message has, "F" a value, "B" its gradient, ...; after: numbers of earlier jobs of the
    rank that must be complete; start, end: seconds from the start of the step, by the plan's costs."""
    kind: str
    subprogram: Optional[str] = None
    stage: Optional[int] = None
    micro_batch: Optional[int] = None
    message: Optional[int] = None
    peer: Optional[int] = None
    peer_stage: Optional[int] = None
    bytes: Optional[int] = None
    carries: Optional[str] = None
    input: Optional[str] = None
    after: Sequence[int] = ()
    start: Optional[float] = None
    end: Optional[float] = None


class Plan:
    """A plan in a folder, as zb.compile or zbc wrote it: zb.Plan("out/model").

    directory; ranks, stages, micro_batches (those of a step), replicas, shards, schedule, placement, optimizer,
    precision, model; inputs and outputs (tuples of Value); arguments (names of what the model takes, in its order,
    read or not: that of inputs, and of a batch that is a tuple); evaluates, inference, random. jobs: what each rank
    does, a list of PlanJob a rank. summary: what the compile found out (fields of zb_compile_summary, zb/compiler.h),
    None for a plan that was not compiled here.
    """

    def __init__(self, directory: Union[str, "os.PathLike[str]"]):
        self.directory = pathlib.Path(directory)
        self.summary: Optional[types.SimpleNamespace] = None
        self.diagnostics = ""
        self.aliases: Dict[str, str] = {}  # of a module: other names of a tied parameter, and the plan's
        self.constants: Dict[str, Any] = {}  # of a module: what its state_dict() has and no step reads or changes
        self._temporary: Any = None  # the folder that lives as long as this
        self._call: Any = None  # of a module: how the example was given to forward() (batches.Call)
        self._module: Optional[Tuple[Any, Any]] = None  # of a module: the example (zb.torch exports it again)
        self._loss: Optional[str] = None  # which output it is, where that was said
        about = ctypes.POINTER(_c.zb_plan_about)()
        library().zb_plan_about_read(os.fsencode(self.directory), ctypes.byref(about))
        try:
            self._about = _options.record(about[0])
            self.inputs = self._values(about[0].inputs, about[0].input_count)
            self.outputs = self._values(about[0].outputs, about[0].output_count)
            self.arguments = tuple(about[0].arguments[i].decode(errors="replace")
                                   for i in range(about[0].argument_count))
        finally:
            library().zb_plan_about_destroy(about)

    @staticmethod
    def _values(items: Any, count: int) -> Tuple[Value, ...]:
        return tuple(Value(items[i].name.decode(errors="replace"), *arrays.dtype_and_shape(items[i].shape))
                     for i in range(count))

    def __getattr__(self, name: str) -> Any:
        about = self.__dict__.get("_about", {})
        if name in about and not name.endswith("_count"):
            return about[name]
        raise AttributeError("a plan has no '%s'" % name)

    def __repr__(self) -> str:
        return "<zb.Plan %s: %s, %d ranks, %d micro-batches, inputs %s>" % (
            self.directory, self.schedule, self.ranks, self.micro_batches,
            ", ".join("%s" % (value,) for value in self.inputs))

    def __str__(self) -> str:
        """A table, as zbc prints it; of a plan that was not compiled here, of its ranks alone."""
        sizes = ["%d %s%s" % (count, what, "" if count == 1 else "s") for count, what in
                 ((self.ranks, "rank"), (self.stages, "stage"), (self.replicas, "replica"), (self.shards, "shard"))
                 if count > 1 or what in ("rank", "stage")]
        head = ["%s: %s, %s, %d micro-batches a step, %s" % (self.model, self.schedule, ", ".join(sizes),
                                                             self.micro_batches, self.precision),
                "inputs of a micro-batch: " + ", ".join(map(str, self.inputs))]
        return "\n".join(head + [""] + (_summary_lines(self.summary) if self.summary else _rank_lines(self.directory)))

    @functools.cached_property
    def jobs(self) -> List[List[PlanJob]]:
        """What each rank does in a step, in its order."""
        parts: List[bytes] = []
        write = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)(
            lambda _, text, size: parts.append(ctypes.string_at(text, size)))
        library().zb_plan_print_jobs_file(os.fsencode(self.directory), write, None)
        return [[PlanJob(**job) for job in rank] for rank in json.loads(b"".join(parts))["jobs"]]

    def timeline(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Draws the simulated step: an SVG, or a Chrome trace, by the ending .svg or .json."""
        compiler().zb_plan_timeline_file(os.fsencode(self.directory), os.fsencode(path))

    def _repr_svg_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.svg")
            self.timeline(path)
            with open(path, encoding="utf-8") as file:
                return file.read()


def _table(rows: Sequence[Sequence[str]]) -> List[str]:
    """Columns to the right, the last one to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join([cell.rjust(width) for cell, width in zip(row[:-1], widths)] + [row[-1]]) for row in rows]


def _text(function: str, value: Any) -> str:
    return getattr(library(), function)(value, ctypes.create_string_buffer(64)).decode()


def _summary_lines(found: types.SimpleNamespace) -> List[str]:
    kinds = [("E", "f_seconds")] if found.inference else [("F", "f_seconds"), ("B", "b_seconds"), ("W", "w_seconds")]
    stages = [["stage", "rank", "parameters", *[name for name, _ in kinds], "from .. to"]]
    for i, stage in enumerate(found.stage):
        times = [_text("zb_time_text", getattr(stage, field)) for _, field in kinds]
        stages.append([str(i), str(stage.rank), "{:,}".format(stage.parameters), *times,
                       "%s .. %s" % (stage.first, stage.last) if stage.ops else "no work"])
    ranks = [["rank", "+".join(name for name, _ in kinds), "memory", "idle"]]
    for i, rank in enumerate(found.rank):
        ranks.append([str(i), _text("zb_time_text", rank.seconds), _text("zb_bytes_text", rank.peak_bytes),
                      "%5.1f%%" % (100 * rank.idle_share)])
    last = "%s %s by its costs" % ("batch" if found.inference else "step", _text("zb_time_text", found.step_seconds))
    if not found.inference:
        last += ", bubble %.2f%%; %d parameters trained, %d frozen" % (
            100 * found.bubble_barrier, found.trained_count, found.frozen_count)
    return [*_table(stages), "", *_table(ranks), "", last]


def _rank_lines(directory: pathlib.Path) -> List[str]:
    said: List[bytes] = []
    write = _c.FUNCTIONS["zb_plan_print_file"][1][1](lambda _, text, count: said.append(text[:count]))
    library().zb_plan_print_file(os.fsencode(directory), write, None)
    ranks = re.findall(r"^rank (\d+): ([\d,]+) jobs, [\d,]+ messages?, arena ([\d,]+) bytes",
                       b"".join(said).decode(), re.M)
    return _table([["rank", "jobs", "memory", ""]] + [
        [rank, jobs, _text("zb_bytes_text", int(arena.replace(",", ""))), ""] for rank, jobs, arena in ranks])


def _record(struct: ctypes.Structure) -> types.SimpleNamespace:
    """A struct of a summary, with its lists."""
    found: Dict[str, Any] = _options.record(struct)
    for name, count in _COUNTS.items():
        items = getattr(struct, name, None)
        if items is None or isinstance(items, (int, bytes)):
            continue
        count = getattr(struct, count)
        of_texts = isinstance(struct, _c.zb_compile_summary) and items._type_ is ctypes.c_char_p
        found[name] = [text_of(items[i]) if of_texts else _record(items[i]) for i in range(count)]
    return types.SimpleNamespace(**found)


class _Temporary:
    """A folder that is gone when nobody holds this any more."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="zb-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def _is_path(model: Any) -> bool:
    return isinstance(model, (str, os.PathLike))


def _example(example: Any, kwargs: Optional[Mapping[str, Any]]) -> Tuple[Tuple[Any, ...], Optional[Mapping[str, Any]]]:
    """Positional and named arguments of forward()."""
    if isinstance(example, Mapping):
        return (), {**example, **(kwargs or {})}
    if example is None:
        return (), kwargs
    return (tuple(example) if isinstance(example, (tuple, list)) else (example,)), kwargs


def _export(model: Any, example: Any, kwargs: Optional[Mapping[str, Any]], folder: str) -> str:
    from . import aten  # imports torch
    args, kwargs = _example(example, kwargs)
    try:
        return os.fspath(aten.export(model, args, kwargs, path=os.path.join(folder, "model.mlir")))
    except aten.ExportError as error:
        raise invalid(str(error)) from error


def _call(example: Tuple[Any, Any], names: Sequence[str], forward: Any) -> Any:
    """Where inputs of these names, and constants, are in a call of forward(); None where a structure does not say."""
    from torch.utils import _pytree
    from .batches import Call

    def leaves(arguments: Any) -> List[Tuple[Any, Any]]:
        return [(tuple((isinstance(key, _pytree.GetAttrKey),
                        getattr(key, "name", getattr(key, "key", getattr(key, "idx", None)))) for key in path), leaf)
                for path, leaf in _pytree.tree_flatten_with_path(dict(arguments))[0]]

    try:
        signature = inspect.signature(forward)
        bound = signature.bind_partial(*example[0], **(example[1] or {}))
        for name in [one.name for one in signature.parameters.values() if one.kind is one.VAR_KEYWORD]:
            bound.arguments.update(bound.arguments.pop(name, {}))
        given = leaves(bound.arguments)
        bound.apply_defaults()
        defaults = [(path, leaf) for path, leaf in leaves(bound.arguments) if leaf is not None]
        fixed = {path: leaf for path, leaf in defaults + given if not hasattr(leaf, "shape")}
    except (TypeError, ValueError):  # of a class that gives its parts without names
        return None
    paths = [path for path, leaf in given if hasattr(leaf, "shape")]
    return Call(signature, dict(zip(names, paths)), fixed) if len(paths) == len(names) else None


def _aliases(model: Any, ours: Sequence[str]) -> Dict[str, str]:
    """Names of parameters that are others of the plan's: tied weights."""
    from .aten import storage_of
    named = list(model.named_parameters(remove_duplicate=False))
    first = {storage_of(parameter): name for name, parameter in named if name in ours}
    return {name: first[storage_of(parameter)] for name, parameter in named
            if name not in ours and storage_of(parameter) in first}


def _module_type() -> Any:
    import torch
    return torch.nn.Module


def _constants(model: Any, ours: Sequence[str]) -> Dict[str, Any]:
    """Tensors of state_dict() that the plan has under no name."""
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()
            if name not in ours and hasattr(tensor, "detach") and not getattr(tensor, "is_meta", False)}


def _params(output: str, options: Mapping[str, Any]) -> _c.zb_compile_params:
    """All that can be wrong with options is said here, before a module is exported."""
    lib, params = compiler(), _c.zb_compile_params()
    _options.fill(params, options, "zb.compile")
    params.output = os.fsencode(output)
    lib.zb_compile_check(ctypes.byref(params))
    return params


def _compile(path: str, params: _c.zb_compile_params, progress: Progress) -> Tuple[types.SimpleNamespace, str]:
    lib, said = compiler(), []  # type: Any, List[str]
    summary = ctypes.POINTER(_c.zb_compile_summary)()
    kinds = _options.kinds_of(_c.zb_compile_params)
    listen = kinds["diagnostic"](lambda _, text: said.append(text.decode(errors="replace")))
    tell = kinds["progress"](lambda _, part: progress(part.decode(errors="replace")))
    left_behind: List[bool] = []  # by Ctrl-C
    goes_on = kinds["searching"](lambda _, state: _c.ZB_SEARCH_GIVE_UP if left_behind else _c.ZB_SEARCH_GO_ON)
    params.model, params.diagnostic, params.progress = os.fsencode(path), listen, tell
    params.searching = goes_on
    bare = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(("zb_compile", lib))

    def make(at: int, into: int, _keeps: Any = (params, summary, listen, tell, goes_on)) -> Any:
        return bare(at, into)  # what Ctrl-C leaves behind goes on using them

    try:
        status = call_once(make, ctypes.addressof(params), ctypes.addressof(summary))
    except BaseException:
        left_behind.append(True)
        raise
    text = "".join(line if line.endswith("\n") else line + "\n" for line in said)
    if status:
        raise error_of(status, text)
    found = _record(summary[0])
    lib.zb_compile_summary_destroy(summary)
    return found, text


@_options.takes(CompileOptions)
def compile(model: Any, example: Any = None, *, kwargs: Optional[Mapping[str, Any]] = None,  # noqa: A001
            output: Union[None, str, "os.PathLike[str]"] = None, verbose: Optional[bool] = None,
            **options: "Unpack[CompileOptions]") -> Plan:
    """Compiles a model into a plan.

    model: a torch.nn.Module whose forward gives a scalar loss, or the path of an .onnx or .mlir file. example, kwargs:
    for a module, arguments of forward() as it is called for one micro-batch: (x, y), or a dictionary of names.
    output: the folder of the plan; without one it is a temporary one, which lives as long as the plan does. verbose:
    True says on standard error what is done, False nothing; None: what takes more than three seconds. Everything else
    is an option of the compiler, by its name in zb_compile_params (zb.CompileOptions): ranks=4, micro_batches=8,
    schedule="search", memory_limit="2G", optimizer="adamw:lr=3e-4", clip_norm=1.0, train=["*.lora.*"].

    A program that is wrong, or cannot be compiled, is a zb.Error whose text has the diagnostics.
    """
    if isinstance(model, type):
        raise usage("zb.compile takes a module, got the class " + model.__name__, "make one: %s()" % model.__name__)
    if not _is_path(model) and not hasattr(model, "named_parameters"):
        raise usage("zb.compile takes a torch.nn.Module or the path of a model, got a %s" % type(model).__name__)
    if _is_path(model) and (example is not None or kwargs is not None):
        raise usage("'%s' has its inputs in the file: an example is for modules" % os.fspath(model))
    temporary = _Temporary() if output is None else None
    folder = os.fspath(output) if temporary is None else os.path.join(temporary.name, "plan")
    with tempfile.TemporaryDirectory(prefix="zb-") as work, Progress("zb.compile", verbose) as progress:
        params = _params(folder, options)
        if not _is_path(model):
            progress("exporting the module")
        path = os.fspath(model) if _is_path(model) else _export(model, example, kwargs, work)
        name = path if _is_path(model) else type(model).__name__
        with called(path, name):
            summary, diagnostics = _compile(path, params, progress)
        diagnostics = diagnostics.replace(path, name)
    for line in diagnostics.splitlines():
        if "warning:" in line:
            warnings.warn(line, stacklevel=2)
    plan = Plan(folder)
    if not _is_path(model):
        known = summary.trained + summary.frozen + summary.buffers
        plan.aliases = _aliases(model, known)
        plan.constants = _constants(model, [*known, *plan.aliases]) if isinstance(model, _module_type()) else {}
        plan._module, plan._loss = _example(example, kwargs), options.get("loss")
        if isinstance(model, _module_type()):
            plan._call = _call(plan._module, plan.arguments, model.forward)
    plan.summary, plan.diagnostics, plan._temporary = summary, diagnostics, temporary
    return plan


def without_values() -> Any:
    """with zb.without_values(): model = Model(config)

    The parameters of the module have no values then, so that a model of any size can be compiled on one machine. What
    they begin with is given to a run: zb.Session(plan, weights="checkpoint"), zb-run --weights. Buffers, which a module
    computes, have their values (on torch.device("meta") they would have none)."""
    from . import _meta  # imports torch
    return _meta.without_values()


def optimizers() -> List[str]:
    """The optimizers, with the settings that they have where none are given."""
    lib, found = compiler(), []
    for i in range(1 << 16):
        name = lib.zb_optimizer_name(i)
        if name is None:
            break
        line = ctypes.c_char_p()
        lib.zb_optimizer_complete(name, ctypes.byref(line))
        found.append((line.value or b"").decode())
        lib.zb_free(line)
    return found


__all__: Sequence[str] = ("Plan", "Value", "compile", "optimizers", "without_values")
