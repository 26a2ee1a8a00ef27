"""PyTorch's own runtime on a plan: torch.distributed.pipelining with our stages and our order.

    plan = zb.compile(model, (x, y), ranks=4, micro_batches=8, schedule="zb-h1")
    pipeline = zb.torch.pipeline(model, plan)            # in each of 4 processes of torchrun
    optimizer = torch.optim.AdamW(pipeline.parameters())
    for x, y in loader:                                  # the whole batch of a step, the same in every process
        loss = pipeline.step(x, y)
        optimizer.step()
        optimizer.zero_grad()

For programs that cannot leave PyTorch's stack (its optimizers, its process groups, its profilers): the stages are cut
where the plan cuts them, and the jobs run in the plan's order. Memory, messages and kernels are PyTorch's then.
"""
from __future__ import annotations

import hashlib
import operator
import os
import re
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import torch
import torch.distributed as dist
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

from . import _meta, _pipelining, aten
from ._library import invalid, usage
from .plan import Plan

__all__ = ["Pipeline", "pipeline"]


_UPDATE = torch.ops.aten.copy_.default  # of a buffer, the only op of an exported graph that changes something


def _node_name(shown: str) -> str:
    """The node of "transformer.h.0 (linear_3)", as names of ops are told."""
    inside = re.search(r"\(([^()]*)\)$", shown)
    return inside.group(1) if inside else shown


def _loss_of(given: Dict[str, Any], plan: Plan) -> torch.fx.Node:
    """Of what the module gives: the loss that the compiler takes (find_loss of ir/import/aten/aten.c)."""
    found = {name: node for name, node in given.items() if isinstance(node, torch.fx.Node) and
             node.meta["val"].dtype == torch.float32 and node.meta["val"].dim() == 0}
    name = plan._loss or ("loss" if "loss" in found else next(iter(found), None))
    if name not in found:
        raise invalid("PyTorch's runtime needs the loss among what the module gives: %s" % ", ".join(given))
    return found[name]


class _Cut:
    """The nodes of an exported graph by the stages of a plan."""

    def __init__(self, graph: torch.fx.Graph, results: Sequence[str], learned: Set[str], plan: Plan):
        self.learned = learned
        self.nodes = [node for node in graph.nodes if node.op == "call_function"]
        self.inputs = [node for node in graph.nodes if node.op == "placeholder"]
        given = torch.utils._pytree.tree_leaves(graph.find_nodes(op="output")[0].args)
        self.loss = _loss_of(dict(zip(results, given)), plan)
        self.stages = plan.stages
        self.stage = self._stages_of_nodes(plan)
        self._keep_lists_whole()
        self._move_to_readers()
        self._update_where_made()

    def _stages_of_nodes(self, plan: Plan) -> Dict[torch.fx.Node, int]:
        """Stages follow each other in the order of nodes: each begins at the first op that it alone has."""
        place = {node.name: i for i, node in enumerate(self.nodes)}
        ends = [place.get(_node_name(stage.last), -1) for stage in plan.summary.stage]
        begins = [place.get(_node_name(stage.first), -1) for stage in plan.summary.stage]
        stage_of, begin = {}, 0
        for stage in range(self.stages):
            last = stage + 1 == self.stages
            end = len(self.nodes) if last else max(ends[stage] + 1, begin)
            if not last and begins[stage + 1] > ends[stage]:
                end = begins[stage + 1]
            if ends[stage] < 0 or end < begin:
                raise invalid("stage %d ends at '%s', which is no op of the module: was the plan compiled from it?"
                              % (stage, plan.summary.stage[stage].last))
            stage_of.update((node, stage) for node in self.nodes[begin:end])
            begin = end
        return stage_of

    def _move_to_readers(self) -> None:
        """What is made of inputs and constants alone (masks, positions) has no gradient and is made again where it is
        read, for PyTorch's stages want a gradient for all that they send."""
        self.repeated: Set[torch.fx.Node] = set()
        for node in self.nodes:
            draws = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
            learns = any(source.op == "get_attr" and source.target in self.learned or
                         source in self.stage and source not in self.repeated for source in node.all_input_nodes)
            if not draws and not learns and node.target is not _UPDATE:
                self.repeated.add(node)

    def _keep_lists_whole(self) -> None:
        """Parts of a list (of split) are taken where it is made, for stages send tensors."""
        for node in self.nodes:
            if node.target is operator.getitem and node.args[0] in self.stage:
                self.stage[node] = self.stage[node.args[0]]

    def _update_where_made(self) -> None:
        """Buffers get their new values (running statistics) at the end of the graph, here on the stage that makes
        them; one that nothing but constants makes (a count of steps) on the first."""
        for node in self.nodes:
            if node.target is _UPDATE:
                value = node.args[1]
                self.stage[node] = self.stage[value] if value in self.stage and value not in self.repeated else 0
                readers = [self.stage[reader] for reader in node.args[0].users
                           if reader is not node and reader not in self.repeated]
                if any(reader != self.stage[node] for reader in readers):
                    raise invalid("the buffer '%s' is read on stage %d and updated on stage %d, and PyTorch's stages "
                                  "cannot share it: cut the model elsewhere (cuts=..., fewer ranks)"
                                  % (node.args[0].target, min(readers), self.stage[node]))

    def needed_by(self, stage: int) -> List[torch.fx.Node]:
        """The nodes of a stage in their order, with those that it makes again."""
        own = [node for node in self.nodes if self.stage[node] == stage and node not in self.repeated]
        if self.loss in self.repeated and stage + 1 == self.stages:
            own.append(self.loss)
        wanted, left = set(own), list(own)
        while left:
            for source in left.pop().all_input_nodes:
                if source in self.repeated and source not in wanted:
                    wanted.add(source)
                    left.append(source)
        return [node for node in self.nodes if node in wanted]

    def crossing(self) -> List[List[torch.fx.Node]]:
        """What the stages take from the ones before them: made earlier, read here or later."""
        last_reader: Dict[torch.fx.Node, int] = {}
        for stage in range(self.stages):
            for node in self.needed_by(stage):
                for source in node.all_input_nodes:
                    if source in self.stage and source not in self.repeated:
                        last_reader[source] = max(last_reader.get(source, 0), stage)
        return [[node for node in self.nodes
                 if node in last_reader and self.stage[node] < stage <= last_reader[node]]
                for stage in range(self.stages)]


class _ContiguousGradient(torch.autograd.Function):
    """Process groups send only tensors without gaps, which a gradient need not be; nor need it have one place for each
    element (that of a sum is a view of one number), as PyTorch's backward pass for weights wants, which adds to it."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.contiguous()


class _Joined(torch.autograd.Function):
    """PyTorch's backward passes for inputs and for weights meet where both pass. What a stage gives without having
    received anything with a gradient for it gets such a place here, or its weights would have no gradient."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, received: torch.Tensor) -> torch.Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Tuple[torch.Tensor, None]:
        return gradient, None


def _joined(value: torch.Tensor, received: torch.Tensor) -> torch.Tensor:
    return _Joined.apply(value, received)


def _contiguous_gradient(value: torch.Tensor) -> torch.Tensor:
    return _ContiguousGradient.apply(value)


class _Stage(torch.fx.GraphModule):
    """A part of a module; inputs of the module come by their names, activations in their order."""


def _without_strides(target: Any) -> Any:
    """Activations are contiguous in stages, unlike where the graph was traced."""
    return torch.ops.aten.reshape.default if target is torch.ops.aten.view.default else target


def _build_stage(cut: _Cut, stage: int, crossing: Sequence[Sequence[torch.fx.Node]], learn: Set[torch.fx.Node],
                 tensors: Dict[str, torch.Tensor]) -> torch.fx.GraphModule:
    graph, received, copies = torch.fx.Graph(), {}, {}  # type: torch.fx.Graph, Dict[Any, Any], Dict[Any, Any]
    for node in crossing[stage]:
        received[node] = graph.placeholder("activation_" + node.name)
    nodes = cut.needed_by(stage)
    for node in cut.inputs:  # all of them, so that a stage can be given the whole batch
        copies[node] = graph.placeholder(node.name, default_value=None)
    for node, value in received.items():
        copies[node] = graph.call_function(_contiguous_gradient, (value,))
    used, attributes = {}, {}  # type: Dict[str, torch.Tensor], Dict[Any, Any]
    updated = {node.args[0] for node in nodes if node.target is _UPDATE}
    for node in nodes:
        for source in node.all_input_nodes:
            if source.op == "get_attr" and source not in copies:
                copies[source] = attributes[source] = graph.get_attr(source.target)
                used[source.target] = tensors[source.target]
                if source.target in cut.learned and tensors[source.target].requires_grad:
                    copies[source] = graph.call_function(_contiguous_gradient, (attributes[source],))
                if source in updated:  # backward passes need the old value, and check that it is
                    copies[source] = graph.call_function(torch.ops.aten.clone.default, (attributes[source],))
        place = attributes if node.target is _UPDATE else copies
        copies[node] = graph.node_copy(node, lambda source: place.get(source, copies[source]))
        copies[node].target = _without_strides(node.target)
    if stage + 1 == cut.stages:
        graph.output(copies[cut.loss])
    else:
        learned = [node for node in crossing[stage] if node in learn]
        follows, given = set(learned), []  # what the stage makes of received values with gradients
        for node in nodes:
            if any(source in follows for source in node.all_input_nodes):
                follows.add(node)
        for node in crossing[stage + 1]:
            value = copies[node]
            if learned and node in learn and node not in follows:
                value = graph.call_function(_joined, (value, copies[learned[0]]))
            # A stage lets go of what it gives in place, which views and its own inputs do not allow.
            given.append(graph.call_function(torch.ops.aten.clone.default, (value,),
                                             {"memory_format": torch.contiguous_format}))
        graph.output(tuple(given))
    return _Stage(used, graph)


class Pipeline:
    """What one process runs: stages (torch.distributed.pipelining.PipelineStage), schedule, and the modules of the
    stages by their numbers. A parameter that stages of several processes share (tied weights) has the same gradient in
    all of them after a step."""

    def __init__(self, modules: Dict[int, torch.nn.Module], stages: List[PipelineStage], schedule: Any,
                 names: Sequence[str], last_rank: int, shared: List[Tuple[torch.nn.Parameter, Any]], group: Any):
        self.modules, self.stages, self.schedule = modules, stages, schedule
        self._names, self._last_rank, self._shared, self._group = names, last_rank, shared, group

    def named_parameters(self) -> Iterator[Tuple[str, torch.nn.Parameter]]:
        """Parameters of this process by their names in the module, each once."""
        known: Set[int] = set()
        for stage in sorted(self.modules):
            for name, parameter in self.modules[stage].named_parameters(remove_duplicate=False):
                if id(parameter) not in known:
                    known.add(id(parameter))
                    yield name, parameter

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        return (parameter for _, parameter in self.named_parameters())

    def step(self, *batch: Any, **named: Any) -> torch.Tensor:
        """Forward and backward passes of one whole batch: the arguments of the module's forward(), with the samples of
        all micro-batches. Gradients are added to .grad, as means over micro-batches. Returns the mean loss, in every
        process. Every process of the pipeline calls it with the same batch."""
        if len(batch) > len(self._names):
            raise usage("the module takes %d inputs (%s), got %d" %
                        (len(self._names), ", ".join(self._names), len(batch)))
        inputs = dict(zip(self._names, batch))
        for name, value in named.items():
            if name not in self._names:
                raise usage("'%s' is no input of the module: it has %s" % (name, ", ".join(self._names)))
            if name in inputs:
                raise usage("'%s' is given twice" % name)
            inputs[name] = value
        missing = [name for name in self._names if name not in inputs]
        if missing:
            raise usage("no value for input '%s'" % missing[0])
        losses: List[torch.Tensor] = []
        is_last = any(stage.is_last for stage in self.stages)
        target = {"target": next(iter(inputs.values()))} if is_last else {}
        before = [parameter.grad for parameter, _ in self._shared]
        for parameter, _ in self._shared:
            parameter.grad = None
        with _pipelining.split_backward():
            self.schedule.step(**inputs, **target, losses=losses, return_outputs=False)
        for (parameter, group), old in zip(self._shared, before):
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad, group=group)
            if old is not None:
                parameter.grad += old
        device = self.stages[0].device
        loss = torch.stack([one.detach() for one in losses]).sum() if is_last else torch.zeros((), device=device)
        dist.broadcast(loss, dist.get_global_rank(self._group, self._last_rank) if self._group else self._last_rank,
                       group=self._group)
        return loss


def _check(plan: Plan, group: Any) -> None:
    if plan.summary is None or plan._module is None:
        raise usage("zb.torch.pipeline needs a plan that zb.compile made of the module in this program")
    if plan.replicas > 1 or plan.shards > 1:
        raise usage("a pipeline of PyTorch has no replicas or shards: compile without data_parallel and "
                    "tensor_parallel, and wrap the modules of its stages")
    if plan.summary.order is None:
        raise invalid("PyTorch's runtime cannot run the order of this plan: %s" % plan.summary.order_refused
                      if not plan.inference else "a plan for inference has no steps",
                      "zb.Session(plan) runs it; or compile with another schedule, such as 1f1b or zb-h1")
    if not dist.is_initialized():
        raise usage("no process group: call torch.distributed.init_process_group first")
    size = dist.get_world_size(group)
    if size != plan.ranks:
        raise usage("the plan has %d ranks and the process group %d processes" % (plan.ranks, size))


def _share(cut: _Cut, attributes: Sequence[Set[str]], tensors: Dict[str, torch.Tensor], plan: Plan, rank: int,
           group: Any) -> List[Tuple[torch.nn.Parameter, Any]]:
    """Groups of the processes that have the same parameter, made in the same order by all."""
    owners: Dict[int, Set[int]] = {}
    first: Dict[int, str] = {}
    for stage, names in enumerate(attributes):
        for name in sorted(names):
            if isinstance(tensors[name], torch.nn.Parameter) and tensors[name].requires_grad:
                owners.setdefault(id(tensors[name]), set()).add(plan.summary.stage[stage].rank)
                first.setdefault(id(tensors[name]), name)
    shared, groups = [], {}  # type: List[Tuple[torch.nn.Parameter, Any]], Dict[Tuple[int, ...], Any]
    for key in sorted(owners, key=lambda key: first[key]):
        ranks = tuple(sorted(owners[key]))
        if len(ranks) == 1:
            continue
        if ranks not in groups:
            world = [dist.get_global_rank(group, one) for one in ranks] if group else list(ranks)
            groups[ranks] = dist.new_group(world)
        if rank in ranks:
            shared.append((tensors[first[key]], groups[ranks]))  # type: ignore
    return shared


def _agree(graph: torch.fx.Graph, plan: Plan, group: Any) -> None:
    """All processes run parts of one program, or what they send each other would not fit."""
    nodes = [(node.name, str(node.target), str(getattr(node.meta.get("val"), "shape", ""))) for node in graph.nodes]
    cuts = [(stage.rank, stage.first, stage.last) for stage in plan.summary.stage]
    mine = [hashlib.sha256(repr(part).encode()).hexdigest() for part in (nodes, cuts, plan.summary.order)]
    found: List[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(found, mine, group=group)
    for process, theirs in enumerate(found):
        for what, one, other in zip(("module", "cuts", "order of jobs"), found[0], theirs):
            if one != other:
                raise usage("process %d compiled another %s than process 0" % (process, what),
                            "compile the same module with the same options in every process of the pipeline")


def _share_values(tensors: Dict[str, torch.Tensor], device: Any, group: Any) -> None:
    """What the module begins with in process 0 goes to all, as with DistributedDataParallel."""
    first, known = dist.get_global_rank(group, 0) if group else 0, set()  # type: int, Set[int]
    for name in sorted(tensors):
        if id(tensors[name]) in known or tensors[name].numel() == 0:
            continue
        known.add(id(tensors[name]))
        value = tensors[name].detach()
        sent = value.to(device).contiguous()
        dist.broadcast(sent.view(-1).view(torch.uint8), first, group=group)  # bytes: a backend need not know the type
        value.copy_(sent)


class _Shapes(torch.fx.Interpreter):
    """Runs a graph on tensors without data, and remembers which values have gradients."""

    def __init__(self, module: torch.fx.GraphModule):
        super().__init__(module)
        self.have_gradients: Set[torch.fx.Node] = set()

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        return super().call_function(_without_strides(target), args, kwargs)

    def run_node(self, node: torch.fx.Node) -> Any:
        value = super().run_node(node)
        if isinstance(value, torch.Tensor) and value.requires_grad:
            self.have_gradients.add(node)
        return value


def _nodes_with_gradients(module: torch.fx.GraphModule) -> Set[torch.fx.Node]:
    shapes = _Shapes(module)
    with FakeTensorMode(allow_non_fake_inputs=True), torch.enable_grad():
        shapes.run(*[torch.empty_like(node.meta["val"]) for node in module.graph.nodes if node.op == "placeholder"])
    return shapes.have_gradients


def _examples(nodes: Sequence[torch.fx.Node], learn: Set[torch.fx.Node], device: Any) -> Tuple[torch.Tensor, ...]:
    """Tensors like those that stages send, known from the graph: else PyTorch would find them by running the stages
    once more, which updates buffers."""
    values = [(node.meta["val"], node in learn) for node in nodes]
    return tuple(torch.empty(value.shape, dtype=value.dtype, device=device, requires_grad=learns)
                 for value, learns in values)


def pipeline(model: torch.nn.Module, plan: Plan, *, device: Optional[torch.device] = None,
             group: Any = None) -> Pipeline:
    """Stages and order of a plan for PyTorch's runtime (torch.distributed.pipelining), in a process of its group.

    model: the module that zb.compile made the plan of; its parameters are those of the stages, on `device` (default:
    that of the parameters). group: the processes of the pipeline, rank by rank (default: all of them); what the
    module begins with in the first goes to all. Raises zb.Error for a plan that is not of this module, or has replicas
    or shards.
    """
    _check(plan, group)
    args, kwargs = plan._module
    try:
        program = aten.exported(model, args, kwargs)
    except aten.ExportError as error:
        raise invalid(str(error)) from error
    whole = program.module()
    parameters = dict(model.named_parameters(remove_duplicate=False))
    cut = _Cut(whole.graph, aten.output_names(program), set(parameters), plan)
    _agree(whole.graph, plan, group)
    tensors: Dict[str, Any] = {}
    for node in whole.graph.find_nodes(op="get_attr"):
        value = parameters.get(node.target)
        tensors[node.target] = operator.attrgetter(node.target)(whole) if value is None else value
    empty = [name for name, value in tensors.items() if _meta.has_no_value(value)]
    if empty:
        raise invalid("'%s' has no value: PyTorch's stages begin with those of the module" % empty[0])
    crossing = cut.crossing()
    learn = _nodes_with_gradients(whole)
    rank = dist.get_rank(group)
    own: Dict[int, torch.nn.Module] = {}
    attributes: List[Set[str]] = []
    for stage in range(plan.stages):
        nodes = cut.needed_by(stage)
        attributes.append({source.target for node in nodes for source in node.all_input_nodes
                           if source.op == "get_attr"})
        if plan.summary.stage[stage].rank == rank:
            own[stage] = _build_stage(cut, stage, crossing, learn, tensors)
    shared = _share(cut, attributes, tensors, plan, rank, group)
    if device is None:
        device = next((value.device for value in tensors.values()), torch.device("cpu"))
    _share_values(tensors, device, group)
    crossing.append([cut.loss])
    stages = [PipelineStage(module, stage, plan.stages, torch.device(device), group=group,
                            input_args=_examples(crossing[stage], learn, device),
                            output_args=_examples(crossing[stage + 1], learn, device))
              for stage, module in own.items()]
    # The loss is divided, not the gradients: the runtime would divide those that stages share once for each stage.
    schedule = _PipelineScheduleRuntime(stages, plan.micro_batches, scale_grads=False,
                                        loss_fn=lambda loss, target: loss / plan.micro_batches)
    with tempfile.TemporaryDirectory(prefix="zb-") as folder:
        path = os.path.join(folder, "order.csv")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(plan.summary.order)
        schedule._load_csv(path)
    names = [node.name for node in cut.inputs]
    return Pipeline(own, stages, schedule, names, plan.summary.stage[plan.stages - 1].rank, shared, group)
