"""Training with a plan."""
from __future__ import annotations

import atexit
import ctypes
import math
import os
import threading
import time
import warnings
import weakref
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional,
                    Tuple, Union)

from . import _c, _modules, _options, arrays, batches
from ._calls import Caller
from ._library import Error, error_of, library, spoken, usage
from .options import SessionOptions
from .plan import Plan

if TYPE_CHECKING:
    try:
        from typing import Unpack
    except ImportError:
        from typing_extensions import Unpack

Path = Union[str, "os.PathLike[str]"]


class StepResult(NamedTuple):
    """What a step was. Times are of the clock of the device."""
    step: int  # from 0, as in logs and --json; texts and errors count from 1, as session.steps does behind it
    loss: float  # mean over micro-batches, or, with loss_mean="targets", over all targets
    seconds: float
    idle: float  # share of ranks x time in which nothing is computed
    norm: Optional[float]  # of all gradients before clipping; None for a plan without clip_norm
    tokens: float  # elements of the first input
    lr: float  # of parameters without one of their own; NaN: the plan does not say
    skipped: bool  # nothing changed: gradients were not finite (non_finite="skip"), or the batch was bad (bad_batch)
    stopping: bool  # a process of the run asked to end: this was the last step
    micro_losses: Tuple[float, ...]
    idle_ranks: Tuple[float, ...]
    refused: Optional[str] = None  # why the batch was (bad_batch="skip")


class Evaluation(NamedTuple):
    """What an evaluation found."""
    loss: float  # mean over batches, or, with loss_mean="targets", over all targets; NaN for an inference plan
    batches: int
    seconds: float
    tokens: float


_open: "weakref.WeakSet[Session]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for session in list(_open):
        session._end("the interpreter ended")  # pylint: disable=protected-access


def _bootstrap() -> _c.zb_bootstrap:
    """How this process was started: mpirun's, srun's or torchrun's variables."""
    kept: List[Any] = []
    found = _c.zb_bootstrap()
    kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)

    def variable(_, name):
        value = os.environb.get(name)
        if value is None:
            return None
        kept.append(ctypes.create_string_buffer(value))
        return ctypes.addressof(kept[-1])

    library().zb_bootstrap_find(ctypes.cast(kind(variable), type_of_variable()), None, ctypes.byref(found))
    return found


def _give_up(status: int) -> None:
    """The time-out is over in a wait that nothing else ends (MPI_Init): there is no way back into the program."""
    error = error_of(status)
    os.write(2, ("zb: %s\n" % error).encode())
    os._exit(error.exit_status)  # pylint: disable=protected-access


def type_of_variable() -> Any:
    return _c.FUNCTIONS["zb_bootstrap_find"][1][0]


class Session:
    """A plan at work; to be used in a `with` statement.

    plan: a Plan, or its folder. The options are those of the runtime by their names in zb_session_params
    (zb.SessionOptions): device="cpu", threads=2, resume="out/checkpoint", weights="model.safetensors" (or a module, or
    tensors by names: what parameters begin with),
    lr="3e-4", lr_schedule="cosine:warmup=100,steps=1000", clip_norm=1.0, random_seed=7, save="out/checkpoint",
    data="text:corpus.txt" (then step() takes no batch). outputs: names of the plan's outputs that predict() gives; all,
    if nothing is said.

    Under mpirun, srun or torchrun the processes meet, and each has some of the ranks. All of them make the same calls
    in the same order, with the same batches: a process reads the rows that its own ranks need.

    process, processes: which one this is, of how many; notes: what was said while the session was made, such as names
    of weights that the plan has no use for.
    """

    @_options.takes(SessionOptions)
    def __init__(self, plan: Union[Plan, Path], **options: "Unpack[SessionOptions]"):
        """plan: a Plan, or its folder."""
        self._handle: Optional[int] = None
        self._caller = None  # type: Optional[Caller]
        self.plan = plan if isinstance(plan, Plan) else Plan(plan)
        self._lib = library()
        self._batches = _c.zb_batches()
        self._kept: Dict[int, Any] = {}  # what these point to, by the number of the step; -1: of an evaluation
        self._ahead = False
        self._failure: Optional[BaseException] = None
        self._ended = ""
        self._pid = os.getpid()
        self.process, self.processes = 0, 1
        self.notes: List[str] = []
        with _modules.weights_file(options.get("weights")) as path:
            self._open({**options, "weights": path})

    def _open(self, options: Dict[str, Any]) -> None:
        self._params = self._fill(options)
        self._has_data = bool(options.get("data"))
        self._bootstrap = _bootstrap()
        self._params.bootstrap = ctypes.pointer(self._bootstrap)
        self._caller = Caller() if threading.current_thread() is threading.main_thread() else None
        self._created = handle = ctypes.c_void_p()
        status = self._call("zb_session_create", ctypes.addressof(self._params), ctypes.addressof(handle), create=True)
        if status:
            self._close_caller()
            raise error_of(status)
        self._handle = handle.value
        info = self.info
        self.process, self.processes = info["process"], info["processes"]
        _open.add(self)
        if info["warning"]:
            warnings.warn(info["warning"], stacklevel=2)

    def _fill(self, options: Any) -> _c.zb_session_params:
        params = _c.zb_session_params()
        given = dict(options)
        if "outputs" not in given and not given.get("evaluation") and self.plan.evaluates:
            given["outputs"] = [value.name for value in self.plan.outputs]
        _options.fill(params, given, "zb.Session")
        params.directory = os.fsencode(self.plan.directory)
        params.share_values = self.plan._module is not None  # what it began with may be another in each process
        self._outputs = [] if given.get("evaluation") else list(given.get("outputs") or [])
        kinds = _options.kinds_of(_c.zb_session_params)
        self._names = (ctypes.c_char_p * len(self.plan.inputs))(*[v.name.encode() for v in self.plan.inputs])
        self._batches.names = ctypes.cast(self._names, ctypes.POINTER(ctypes.c_char_p))
        self._batches.count = len(self.plan.inputs)
        self._batches.rows = batches.rows_of(self.plan.inputs)
        params.input_context = ctypes.addressof(self._batches)
        if not params.data and not self.plan.inference and not params.no_kernels:
            params.input = ctypes.cast(self._lib.zb_batches_input, kinds["input"])
        if not params.evaluation and self.plan.evaluates and not params.no_kernels:
            params.evaluation_input = ctypes.cast(self._lib.zb_batches_evaluation, kinds["evaluation_input"])
        self._said = kinds["say"](self._say)
        params.say = self._said
        self._gives_up = kinds["give_up"](_give_up)
        params.give_up = self._gives_up
        return params

    def _say(self, _, line):
        """What is found and done while the session is made."""
        text = spoken(line)
        self.notes.append(text)
        if text.startswith("warning: "):
            warnings.warn(text[len("warning: "):], stacklevel=2)

    # ---- Calls ----

    def _keep(self, batch: Any, number: int, slot: _c.zb_batch, key: int) -> int:
        """Checks a batch and puts it where the session looks for it; how many rows it has, 0: all."""
        views, rows = batches.arranged(batch, self.plan.inputs, self.plan.micro_batches, self.plan.arguments, key < 0,
                                       self.plan._call)  # pylint: disable=protected-access
        places = (ctypes.c_void_p * len(views))(*[view.address for view in views])
        self._kept[key] = (views, places)
        slot.data = ctypes.cast(places, ctypes.POINTER(ctypes.c_void_p))
        slot.number, slot.rows = number, rows
        return rows

    def _drop(self, slot: _c.zb_batch, key: int) -> None:
        slot.number = -1
        self._kept.pop(key, None)

    def _call(self, name: str, *arguments: Any, create: bool = False, result: Any = ctypes.c_void_p) -> Any:
        """A function of C that takes long; addresses only, so that any thread can make the call."""
        kinds = [ctypes.c_void_p] * len(arguments)
        function = ctypes.CFUNCTYPE(result, *kinds)((name, self._lib))
        if self._caller is None or threading.current_thread() is not threading.main_thread():
            return function(*arguments)
        if create:  # Ctrl-C leaves it behind: what it uses is of this session, which lives until it has ended
            return self._caller.call(lambda *given: (function(*given), self)[0], *arguments)
        end = (lambda: self._lib.zb_session_stop(self._handle)) if self.processes > 1 else None
        return self._caller.call(function, *arguments, end=end,
                                 give_up=lambda: self._lib.zb_session_interrupt(self._handle))

    def _try(self, name: str, *arguments: Any) -> None:
        if self._handle is None:
            raise usage("the session is closed" + (": " + self._ended if self._ended else ""))
        status = self._call(name, self._handle, *arguments)
        if status:
            raise error_of(status)

    def _close_caller(self) -> None:
        if self._caller is not None:
            self._caller.close()
        self._caller = None

    def _end(self, reason: str) -> None:
        """reason: for the other processes, where this one gives up; "": all have come to the end."""
        if self._handle is None:
            return
        handle, self._handle, self._ended = self._handle, None, reason
        _open.discard(self)
        if os.getpid() != self._pid:
            return  # a fork of the program, such as a worker of a DataLoader: it has none of the threads
        if reason:
            self._lib.zb_session_abort(handle, reason.encode(errors="replace"))
        self._call("zb_session_destroy", handle, create=True, result=None)
        self._close_caller()

    def close(self) -> None:
        """Ends the session. Called by every process, when all have made the same steps; leaving the `with` statement
        does it, and by an exception tells the other processes to end."""
        self._end("")

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        together = error is None or (self._stopped and isinstance(error, (KeyboardInterrupt, Error)))
        self._end("" if together else "%s: %s" % (kind.__name__, error))
        if getattr(error, "told", False):
            time.sleep(0.5)  # a launcher ends all processes when one has failed: the one that tells why goes first

    def __del__(self) -> None:
        try:
            self._end("the session was not closed")
        except BaseException:  # pylint: disable=broad-except
            pass

    _stopped = False

    # ---- Steps and evaluations ----

    def step(self, batch: Any = None, **named: Any) -> StepResult:
        """One step on one whole batch: all micro-batches, of all replicas.

        batch, named: a dictionary of the inputs by name (or step(**dictionary)), a tuple of them in the plan's order,
        or one array; or, of a module that was compiled here, the structure that the example had. An input of shape (B,
        ...) in a micro-batch comes as (M * B, ...) or (M, B, ...) for M micro-batches; one without dimensions as (M,).
        Rows go to micro-batches in their order. Arrays of any library that has the buffer protocol or DLPack are read
        where they are; they must not change until step() returns. Lists of numbers are taken, too.

        A batch that is refused is a zb.Error and leaves the session as it was (one process, device cpu), so that the
        next one can follow; Session(bad_batch="skip") goes on by itself.

        In several processes each gives the whole batch, the same one.
        """
        if batch is not None and named:
            name = next(iter(named))
            raise usage("step() takes no '%s' beside a batch" % name, "it is an option of zb.Session"
                        if name in _options.names_of(_c.zb_session_params) else "all inputs are in the batch")
        batch = named if batch is None and named else batch
        self._check_step(batch is None)
        if not self._has_data:
            number = self.steps
            self._keep(batch, number, self._batches.steps[number % _c.ZB_BATCHES], number)
        return self._make_step()

    def _check_step(self, empty: bool) -> None:
        if self._stopped:
            raise Error("INTERRUPTED", "a process of the run asked to end after step %d" % self.steps, exit_status=130)
        if self._handle is None:
            raise usage("the session is closed" + (": " + self._ended if self._ended else ""))
        if self._has_data != empty:
            raise usage("the session reads its data itself: step() takes no batch" if self._has_data else
                        "step() needs a batch", None if self._has_data else
                        "or give the session a file: data='text:FILE'")
        if self.plan.inference:
            raise usage("the plan is for inference: it has no steps", "predict() evaluates a batch")
        if self._ahead:
            raise usage("ranks have begun the next step of train()", "end its loop first")

    def _make_step(self) -> StepResult:
        found, number = _c.zb_step_result(), self.steps
        try:
            self._try("zb_session_step", ctypes.addressof(found))
            if found.refused:
                warnings.warn("step %d is left out: %s" % (number + 1, found.refused.decode(errors="replace")),
                              stacklevel=2)
        finally:  # of a step that ended well although a signal came meanwhile, too
            self._drop(self._batches.steps[number % _c.ZB_BATCHES], number)
            self._stopped = found.stopping
        return StepResult(found.step, found.loss, found.seconds, found.idle_share,
                          found.norm if found.has_norm else None, found.tokens, found.lr, found.skipped,
                          found.stopping, tuple(found.micro_losses[:found.micro_batches]),
                          tuple(found.idle_shares[:found.ranks]), spoken(found.refused) if found.refused else None)

    def _batches_of(self, loader: Iterable[Any]) -> Iterator[Any]:
        found = [one for one in loader if hasattr(one, "shape")] if isinstance(loader, (tuple, list)) else ()
        if isinstance(loader, Mapping) or len(found) > 1 and len(self.plan.inputs) > 1:
            raise usage("expected batches, as a loader gives them, got one batch", "a list of one: [(x, y)]")
        return iter(loader)

    def train(self, loader: Iterable[Any]) -> Iterator[StepResult]:
        """Steps on all batches of the loader, which follow each other without a barrier: a rank that has ended its part
        of a step begins the next one, and the next batch is fetched meanwhile. The losses are those of step().

            for result in run.train(loader): ...

        Until the loop has ended ranks are ahead of the results, so nothing else can be asked of the session (save,
        evaluate); a loop that is left early has trained on one more batch, the one that was fetched.
        """
        self._check_step(False)
        coming, fetched = self._batches_of(loader), self.steps

        def fetch() -> None:
            nonlocal fetched
            for batch in coming:
                self._keep(batch, fetched, self._batches.steps[fetched % _c.ZB_BATCHES], fetched)
                fetched += 1
                self._lib.zb_session_announce(self._handle, fetched)
                return

        fetch()
        if not self._kept:
            return
        self._ahead = True
        try:
            while self._kept and not self._stopped:
                fetch()
                yield self._make_step()
        finally:  # what ranks have begun is ended, so that the session is of one step
            try:
                while self._handle is not None and self._kept and not self._stopped:
                    self._make_step()
            except Error:
                pass  # the session is over, and says so when it is asked
            self._ahead, self._kept = False, {}

    def _evaluate_batch(self, batch: Any, found: _c.zb_evaluation_result) -> int:
        if self._ahead:
            raise usage("ranks have begun the next step of train()", "end its loop first")
        rows = self._keep(batch, found.batches, self._batches.evaluation, -1)
        try:
            self._try("zb_session_evaluate_rows", rows or self._batches.rows * self.plan.micro_batches,
                      ctypes.addressof(found))
        finally:
            self._drop(self._batches.evaluation, -1)
            self._stopped = found.stopping
        return rows

    def evaluate(self, loader: Optional[Iterable[Any]] = None) -> Evaluation:
        """The mean loss of all batches of the loader, as model.eval() computes it; training does not notice it. Without
        a loader: of the data of Session(evaluation=...). Batches are as those of step(), but may have fewer rows, as
        the last one of a DataLoader: the mean is that over all rows."""
        found = _c.zb_evaluation_result()
        if loader is None:
            if not self._params.evaluation:
                raise usage("evaluate() needs batches", "or give the session a file: evaluation='text:FILE'")
            self._try("zb_session_evaluate", ctypes.addressof(found))
            self._stopped = found.stopping
        else:
            for batch in self._batches_of(loader):
                was_finite = found.batches == 0 or math.isfinite(found.loss)
                self._evaluate_batch(batch, found)
                if found.has_loss and was_finite and not math.isfinite(found.loss):
                    warnings.warn(f"the loss of batch {found.batches} of the evaluation is {found.loss}: where all "
                                  "targets of a micro-batch are ignored it has no mean, which zb.compile(loss_mean="
                                  "'targets') leaves out; else weights or data are not finite", stacklevel=2)
                if found.stopping:
                    break
        if not found.batches and not found.stopping:
            raise usage("evaluate() got no batches", "has the loader ended already, or fewer rows than one?")
        loss = found.loss if found.batches else math.nan
        return Evaluation(loss, found.batches, found.seconds, found.tokens)

    def predict(self, batch: Any, like: Optional[str] = None) -> Dict[str, Any]:
        """The outputs of the plan for a batch, by their names: rows in the order of the batch's. In several processes
        an output is where the rank that makes it is. A batch may have fewer rows; outputs without rows are then left
        out. like: "torch", "numpy" or "buffer"."""
        if not self._outputs:
            raise usage("there are no outputs for predict(): the plan keeps none, or this session asks for none",
                        "zb.compile(outputs=[NAME]) keeps outputs of the model")
        rows = self._evaluate_batch(batch, _c.zb_evaluation_result())
        each, count = self._batches.rows, self.plan.micro_batches
        kind, made = arrays.framework(like), {}
        for name in self._outputs:
            shape, data = _c.zb_shape(), ctypes.c_void_p()
            self._lib.zb_session_output(self._handle, name.encode(), ctypes.byref(shape), ctypes.byref(data))
            if not data.value:
                continue
            dtype, sizes = arrays.dtype_and_shape(shape)
            bytes_ = count * self._lib.zb_shape_bytes(ctypes.byref(shape))
            sizes = (count * sizes[0],) + sizes[1:] if sizes else (count,)
            if rows:
                if len(sizes) < 1 or sizes[0] % (count * each):
                    continue  # of no rows
                sizes = (sizes[0] // (count * each) * rows,) + sizes[1:]
                bytes_ = bytes_ // (count * each) * rows
            array, address = arrays.empty(sizes, dtype, kind)
            ctypes.memmove(address, data.value, bytes_)
            made[name] = array
        return made

    # ---- Weights ----

    def _values(self, place: Callable[[str, Tuple[int, ...], str], int]) -> None:
        places = arrays.Places(place)
        self._try("zb_session_values", ctypes.cast(places.function, ctypes.c_void_p).value, None)
        if places.failure:
            raise places.failure

    def state_dict(self, like: Optional[str] = None) -> Dict[str, Any]:
        """Parameters and buffers by the names that PyTorch has them under, whole, as they are now; of a module that was
        compiled here all that its own state_dict() has, each name of a tied parameter included: tensors if the
        program has imported PyTorch, else NumPy's arrays, else memoryviews (like: "torch", "numpy", "buffer"). Every
        process calls it; process 0 gets all of them, the others an empty dictionary."""
        kind, made = arrays.framework(like), {}

        def place(name: str, shape: Tuple[int, ...], dtype: str) -> int:
            made[name], address = arrays.empty(shape, dtype, kind)
            return address

        self._values(place)
        for name, first in self.plan.aliases.items():
            if first in made:
                made[name] = made[first]
        for name, tensor in self.plan.constants.items() if made else ():
            copy = arrays.of_tensor(tensor, kind)
            if copy is not None:
                made[name] = copy
        return made

    def load_into(self, model: Any) -> None:
        """Writes parameters and buffers into a torch.nn.Module, in place. Names may differ by one prefix. Every process
        calls it; only in process 0 the module changes. INVALID where the module has no place for one."""
        _modules.load(self._values, model, self.plan.aliases)

    def save(self, folder: Path) -> None:
        """A checkpoint: weights, optimizer state, step, and what random numbers are drawn by. The folder is replaced as
        a whole; Session(plan, resume=folder) goes on from it, and so does zb-run --resume."""
        self._try("zb_session_save", os.fsencode(folder))

    # ---- What it knows ----

    @property
    def info(self) -> Dict[str, Any]:
        """What is being run: fields of zb_session_info (zb/runtime.h)."""
        if self._handle is None:
            raise usage("the session is closed")
        return _options.record(self._lib.zb_session_describe(self._handle))

    @property
    def steps(self) -> int:
        """Steps that are done, those before a resume included."""
        return self._lib.zb_session_steps(self._handle) if self._handle is not None else 0

    @property
    def epoch_steps(self) -> int:
        """How many whole steps the rows of Session(data=...) are enough for."""
        return self._lib.zb_session_epoch_steps(self._handle) if self._handle is not None else 0

    def gradient_norms(self) -> Dict[str, float]:
        """L2 norm of the gradient of each trained parameter in the last step. Every process calls it; process 0 gets
        them."""
        found: Dict[str, float] = {}
        kind = _c.FUNCTIONS["zb_session_gradient_norms"][1][1]
        visit = kind(lambda _, name, norm: found.__setitem__(name.decode(), norm))
        self._try("zb_session_gradient_norms", ctypes.cast(visit, ctypes.c_void_p).value, None)
        return found

    def timeline(self, path: Path) -> None:
        """Draws the last step as SVG; of a session with trace=True."""
        self._try("zb_session_timeline", os.fsencode(path))

    def trace(self, path: Path) -> None:
        """Writes the last step as a Chrome trace (.json); of a session with trace=True."""
        self._try("zb_session_trace", os.fsencode(path))

    def write_costs(self, path: Path) -> None:
        """What the steps of this session cost, for zb.compile(costs=path); of a session with costs=True."""
        self._try("zb_session_write_costs", os.fsencode(path))


def devices() -> List[Dict[str, Any]]:
    """The devices and the ways to launch ranks, as this machine has them: kind ("device", "launch"), name, summary,
    found, and, where one cannot be used, missing and hint."""
    found: List[Dict[str, Any]] = []
    kind = _c.FUNCTIONS["zb_runtime_parts"][1][0]
    visit = kind(lambda _, part: found.append(_options.record(part[0])))
    library().zb_runtime_parts(visit, None)
    return found
