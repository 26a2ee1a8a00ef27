"""Schedules alone: costs in; order, bubbles, bound, chart and picture out."""
from __future__ import annotations

import ctypes
import os
import tempfile
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _c, _options
from ._calls import call_once
from ._library import Error, error_of, library, take_text, text_of, usage

Path = Union[str, "os.PathLike[str]"]
Costs = Union[None, str, Path, Mapping[str, float]]
_PS = 1e-12


class Job(NamedTuple):
    """A job of a rank: kind "F", "B" or "W" of a virtual stage and micro-batch; start and end in seconds."""
    kind: str
    stage: int
    micro_batch: int
    start: float
    end: float


class Bubble(NamedTuple):
    """Idle shares: over the whole step; of the longest rank; of steps that follow each other without a barrier."""
    barrier: float
    stage: float
    period: float


class Schedule:
    """An order on its problem, timed to the picosecond.

    name, placement, ranks, stages, micro_batches; seconds (of a step), period (of steps without a barrier),
    bubble (barrier, stage, period), bound (no order of the problem takes less), peaks (bytes of each rank),
    jobs (a list a rank). str() is its chart; a notebook draws it.
    """

    def __init__(self, name: str, choice: Optional["_c.zb_schedule_choice"], data: "_c.zb_problem_data",
                 open_placement: bool, order: Optional["_c.zb_order"] = None):
        """choice: a schedule of the table, or None: `order`, of a file."""
        lib = library()
        self.name, self._lib, self._data = name, lib, data
        self._order, self._times, period = order or _c.zb_order(), _c.zb_simulation(), _c.zb_period()
        problem = ctypes.byref(data.problem)
        self.search: Optional[Dict[str, Any]] = None
        if choice is None:
            lib.zb_order_validate(problem, ctypes.byref(self._order))
        elif choice.schedule[0].searches:
            self._search(choice, open_placement)
        else:
            lib.zb_schedule_run_choice(ctypes.byref(choice), problem, ctypes.byref(self._order))
        lib.zb_simulate(problem, ctypes.byref(self._order), ctypes.byref(self._times))
        lib.zb_order_period(problem, ctypes.byref(self._order), ctypes.byref(period))
        both = 2 if choice and choice.schedule[0].two_pipelines else 1
        self.ranks, self.stages = data.problem.ranks, data.problem.stages
        self.micro_batches = data.problem.micro_batches * both
        self.placement = lib.zb_placement_name(problem).decode()
        self.seconds, self.period = self._times.step_ps * _PS, period.period_ps * _PS
        self.bubble = Bubble(self._times.bubble_barrier, self._times.bubble_stage, period.bubble)
        self.bound = lib.zb_lower_bound_ps(problem) * _PS
        self.peaks: Tuple[int, ...] = tuple(self._times.peak_bytes[:self.ranks])

    def _search(self, choice: "_c.zb_schedule_choice", open_placement: bool) -> None:
        """Of a schedule that searches, over placements too where none was given."""
        lib, data = self._lib, self._data
        values = {}
        for i in range(_c.ZB_SCHEDULE_OPTIONS_MAX):
            option = choice.schedule[0].options[i] if choice.schedule[0].options else None
            if option is None or not option.name:
                break
            values[option.name.decode()] = choice.options[i]
        params = _c.zb_search_params(values.get("budget", 0), values.get("seed", 0))
        report = _c.zb_search_report()
        placed = (ctypes.c_int * data.problem.stages)()
        addresses = [ctypes.addressof(data.problem), ctypes.addressof(params)]
        if open_placement:
            addresses.append(ctypes.addressof(placed))
        addresses += [ctypes.addressof(self._order), ctypes.addressof(report)]
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, *[ctypes.c_void_p] * len(addresses))(
            ("zb_search_placement" if open_placement else "zb_search", lib))
        status = call_once(function, *addresses)
        if status:
            raise error_of(status)
        if open_placement:
            for stage, rank in enumerate(placed):
                data.stage_rank[stage] = rank
        self.search = {"evaluations": report.evaluations, "start": report.start.decode(), "proven": report.proven,
                       "summary": report.summary.decode(), "placement": report.placement.decode()}

    def __del__(self) -> None:
        lib = self.__dict__.get("_lib")
        if lib is None:
            return
        if "_times" in self.__dict__:
            lib.zb_simulation_deinit(ctypes.byref(self._times))
            lib.zb_order_deinit(ctypes.byref(self._order))
        lib.zb_problem_data_deinit(ctypes.byref(self._data))

    @property
    def jobs(self) -> List[List[Job]]:
        """The jobs of each rank in their order, with their simulated times."""
        return [[Job("FBW"[job.kind], job.stage, job.micro_batch, times.start_ps * _PS, times.end_ps * _PS)
                 for job, times in zip(self._order.jobs[rank][:self._order.counts[rank]],
                                       self._times.jobs[rank][:self._order.counts[rank]])]
                for rank in range(self.ranks)]

    def chart(self, columns: int = 100) -> str:
        """A line a rank, times to scale."""
        return take_text(self._lib.zb_order_chart(ctypes.byref(self._data.problem), ctypes.byref(self._order),
                                                  ctypes.byref(self._times), columns))

    def explain(self) -> str:
        """Why each rank idles, as a table."""
        found = _c.zb_explanation()
        self._lib.zb_schedule_explain(ctypes.byref(self._data.problem), ctypes.byref(self._order), ctypes.byref(found))
        try:
            return take_text(self._lib.zb_explanation_text(ctypes.byref(found)))
        finally:
            self._lib.zb_explanation_deinit(ctypes.byref(found))

    def timeline(self, path: Path) -> None:
        """Draws it: an SVG, or a Chrome trace, by the ending .svg or .json."""
        title = "%s, %d ranks, %d micro-batches (simulated)" % (self.name, self.ranks, self.micro_batches)
        self._lib.zb_order_timeline(ctypes.byref(self._data.problem), ctypes.byref(self._order),
                                    ctypes.byref(self._times), title.encode(), os.fsencode(path))

    def text(self, form: str = "text") -> str:
        """The order in a file's form: "text" (zb.compile(schedule="F.txt") reads it), "csv" or "lowered" (PyTorch's
        pipelining, the latter with sends and receives; "lowered-old" is that for PyTorch before 2.15)."""
        forms = {"text": _c.ZB_FORM_TEXT, "csv": _c.ZB_FORM_COMPUTE_ONLY, "lowered": _c.ZB_FORM_COMPUTE_COMMS,
                 "lowered-old": _c.ZB_FORM_COMPUTE_COMMS}
        if form not in forms:
            raise usage("there is no form '%s'" % form, _options.nearest(form, forms))
        style = _c.zb_order_style(forms[form], False, form == "csv", form == "lowered-old")
        out = ctypes.c_void_p()
        self._lib.zb_order_write(ctypes.byref(self._data.problem), ctypes.byref(self._order), ctypes.byref(style),
                                 ctypes.cast(ctypes.byref(out), ctypes.POINTER(ctypes.c_char_p)))
        return take_text(out.value or 0)

    def save(self, path: Path) -> None:
        """Writes the order for zb.compile(schedule=path): PyTorch's CSV for the ending .csv, text for .txt; or what
        timeline() draws, for .svg and .json."""
        name, forms = os.fspath(path), {".csv": "csv", ".txt": "text"}
        ending = os.path.splitext(name)[1]
        if ending in (".svg", ".json"):
            return self.timeline(path)
        if ending not in forms:
            raise usage("the name '%s' does not say what to write" % name, "end it in one of .csv (PyTorch's "
                        "pipelining), .txt (jobs as text), .svg (a picture), .json (a Chrome trace)")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(self.text(forms[ending]))

    def __str__(self) -> str:
        return self.chart()

    def __repr__(self) -> str:
        return "<zb.Schedule %s: %d ranks, %d micro-batches, step %.6g ms, bubble %.2f%% (barrier)>" % (
            self.name, self.ranks, self.micro_batches, 1e3 * self.seconds, 100 * self.bubble.barrier)

    def _repr_svg_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "schedule.svg")
            self.timeline(path)
            with open(path, encoding="utf-8") as file:
                return file.read()


def _of_file(path: str, definition: Any, ranks: Optional[int], chunks: Optional[int], micro_batches: Optional[int],
             placement: Optional[str], data: "_c.zb_problem_data") -> None:
    """Measured costs or a problem of zb-sched, which say what ranks and stages there are."""
    lib, name = library(), os.fsencode(path)
    if lib.zb_costs_is(name):
        costs = ctypes.POINTER(_c.zb_costs)()
        lib.zb_costs_read(name, ctypes.byref(costs))
        try:
            lib.zb_costs_problem(costs, 0, ctypes.byref(data))
        finally:
            lib.zb_costs_destroy(costs)
    else:
        lib.zb_problem_read(name, ctypes.byref(data))
    found = data.problem.stages // data.problem.ranks
    for what, given, has in (("ranks", ranks, data.problem.ranks), ("chunks", chunks, found)):
        if given and given != has:
            raise usage("%s is %d, and '%s' has %d" % (what, given, path, has))
    if micro_batches:
        lib.zb_problem_set_micro_batches(ctypes.byref(data), definition, micro_batches)
    if placement:
        lib.zb_placement(placement.encode(), data.problem.ranks, found, data.stage_rank)


def _costs_text(costs: Costs) -> Optional[str]:
    if isinstance(costs, Mapping):
        return ",".join("%s=%r" % item for item in costs.items())
    return None if costs is None else os.fspath(costs)


def _costs_is_file(text: str) -> bool:
    return "=" not in text or text.endswith(".json")


def _uniform(costs: Optional[str], definition: Any, ranks: int, micro_batches: int, place: ctypes.c_char_p,
             chunks: ctypes.c_int, data: "_c.zb_problem_data") -> None:
    """The problem of costs that all stages share."""
    numbers = _c.zb_uniform_costs()
    library().zb_uniform_costs_parse(costs.encode() if costs else None, ctypes.byref(numbers))
    library().zb_problem_uniform(ctypes.byref(numbers), definition, ranks, micro_batches, ctypes.byref(place),
                                 ctypes.byref(chunks), ctypes.byref(data))


def _limits(data: "_c.zb_problem_data", metric: Optional[str], memory_limit: Union[None, int, str],
            two_pipelines: bool) -> None:
    if metric is not None:
        found = ctypes.c_int()
        library().zb_metric_parse(metric.encode(), ctypes.byref(found))
        data.problem.metric = found.value
    if memory_limit is not None:
        library().zb_problem_limit(ctypes.byref(data), str(memory_limit).encode(), two_pipelines)


def _problem(choice: "_c.zb_schedule_choice", costs: Costs, ranks: Optional[int], chunks: Optional[int],
             micro_batches: Optional[int], placement: Optional[str], data: "_c.zb_problem_data") -> bool:
    """Whether the placement is open to a search."""
    text = _costs_text(costs)
    if text and _costs_is_file(text):
        _of_file(text, choice.schedule, ranks, chunks, micro_batches, placement, data)
        return False
    if not ranks or not micro_batches:
        raise usage("%s is missing" % ("micro_batches" if ranks else "ranks"), "zb.schedule(ranks=8, micro_batches=24)")
    place = ctypes.c_char_p(placement.encode() if placement else None)
    _uniform(text, choice.schedule, ranks, micro_batches, place, ctypes.c_int(chunks or 0), data)
    return placement is None


def _of_order(path: str, costs: Costs, ranks: Optional[int], micro_batches: Optional[int], metric: Optional[str],
              memory_limit: Union[None, int, str]) -> Schedule:
    """An order in a file, on a problem with its ranks, stages, micro-batches and placement."""
    lib, file, data = library(), _c.zb_order_file(), _c.zb_problem_data()
    expected = _c.zb_order_expected(ranks or 0, 0, micro_batches or 0, None)
    text, has_problem = _costs_text(costs), False
    try:
        if text and _costs_is_file(text):
            _of_file(text, None, ranks, None, None, None, data)
            has_problem, expected.ranks, expected.stages = True, data.problem.ranks, data.problem.stages
            expected.stage_rank = ctypes.cast(data.stage_rank, ctypes.POINTER(ctypes.c_int))
        lib.zb_order_read_file(os.fsencode(path), ctypes.byref(expected), ctypes.byref(file))
        if has_problem:
            data.problem.micro_batches = file.micro_batches
        else:
            count = ctypes.c_int(file.stages // file.order.ranks)
            _uniform(text, None, file.order.ranks, file.micro_batches, ctypes.c_char_p(), count, data)
            ctypes.memmove(data.stage_rank, file.stage_rank, file.stages * ctypes.sizeof(ctypes.c_int))
        file.order.whole_backward |= data.problem.whole_backward
        _limits(data, metric, memory_limit, False)
        order = _c.zb_order.from_buffer_copy(file.order)
        file.order = _c.zb_order()
    except BaseException:
        lib.zb_problem_data_deinit(ctypes.byref(data))
        raise
    finally:
        lib.zb_order_file_deinit(ctypes.byref(file))
    made = Schedule(path, None, data, False, order)
    limits = data.problem.rank_limit_bytes or [data.problem.memory_limit_bytes] * made.ranks
    for rank, peak in enumerate(made.peaks):
        if limits[rank] and peak > limits[rank]:
            raise Error("INFEASIBLE", "'%s' needs %d bytes on rank %d, and the limit is %d"
                        % (path, peak, rank, limits[rank]))
    return made


def schedule(ranks: Optional[int] = None, micro_batches: Optional[int] = None, *, name: Path = "search",
             costs: Costs = None, chunks: Optional[int] = None, placement: Optional[str] = None,
             memory_limit: Union[None, int, str] = None, metric: Optional[str] = None) -> Schedule:
    """A schedule without a model.

    name: a schedule of zb.schedules(), "interleaved-1f1b:group=4" with options; "search" looks for the best order
    and, where none is given, placement; or a file of an order (.csv or .txt), which says how many ranks, chunks and
    micro-batches there are. costs: of a rank in ms and MiB, {"f": 2, "b": 2, "w": 1, "comm": 0.1, "mem": 1}
    or "f=2,b=2,w=1"; or a file: measured costs (Session.write_costs, zb-run --profile), which fix ranks and stages, or
    a problem of zb-sched. memory_limit: bytes of every rank, "64M", or "1.25p" (1.25 times what `ranks` micro-batches
    keep). metric: what a search makes short, "barrier" (the default), "stage" or "period".
    """
    lib, choice, data = library(), _c.zb_schedule_choice(), _c.zb_problem_data()
    name = os.fspath(name)
    if name.endswith((".csv", ".txt")):
        if chunks or placement:
            raise usage("%s: '%s' says where its stages stand" % ("chunks" if chunks else "placement", name))
        return _of_order(name, costs, ranks, micro_batches, metric, memory_limit)
    lib.zb_schedule_parse(name.encode(), ctypes.byref(choice))
    try:
        open_placement = _problem(choice, costs, ranks, chunks, micro_batches, placement, data)
        _limits(data, metric, memory_limit, choice.schedule[0].two_pipelines)
    except BaseException:
        lib.zb_problem_data_deinit(ctypes.byref(data))
        raise
    full = choice.schedule[0].name.decode() + (":" + name.split(":", 1)[1] if ":" in name else "")
    return Schedule(full, choice, data, open_placement)


def schedules() -> List[Dict[str, Any]]:
    """The schedules that there are: name, summary with its source, placement and chunks that it is made for, whether it
    splits_backward or searches, and its options with their defaults."""
    lib, found = library(), []
    for i in range(lib.zb_schedule_count()):
        definition = lib.zb_schedule_at(i)[0]
        row = {key: value for key, value in _options.record(definition).items()}
        row["aliases"] = (text_of(lib.zb_schedule_aliases(i)) or "").split()
        row["options"] = {}
        for k in range(_c.ZB_SCHEDULE_OPTIONS_MAX if definition.options else 0):
            if not definition.options[k].name:
                break
            row["options"][definition.options[k].name.decode()] = definition.options[k].value
        found.append(row)
    return found
