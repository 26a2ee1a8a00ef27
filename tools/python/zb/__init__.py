"""Zero-bubble pipeline-parallel training, compiled.

    import zb

    plan = zb.compile(model, (x, y), ranks=4, micro_batches=8, schedule="search", memory_limit="2G")
    with zb.Session(plan) as run:
        for batch in loader:
            print(run.step(batch).loss)
        run.load_into(model)

zb.compile takes a torch.nn.Module, or an .onnx or .mlir file; zb.Session trains with the plan; zb.schedule makes
schedules alone. All of it is the C API of libzb, which is looked for when it is first needed: see zb/README.md.
"""
try:
    from . import _c, options  # noqa: F401
except ImportError:
    raise ImportError("zb/_c.py and zb/options.py are not there: the build writes them "
                      "(cmake --preset release && ninja -C build, or tools/python/bindings.py alone)") from None
from ._library import Error, library
from .options import CompileOptions, SessionOptions
from .plan import Plan, Value, compile, optimizers, without_values
from .schedules import Bubble, Job, Schedule, schedule, schedules
from .session import Evaluation, Session, StepResult, devices

__all__ = ["Bubble", "CompileOptions", "Error", "Evaluation", "Job", "Plan", "Schedule", "Session", "SessionOptions",
           "StepResult", "Value", "compile", "devices", "library", "optimizers", "schedule", "schedules",
           "without_values"]
__version__ = "0.1.0"
