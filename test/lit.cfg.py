# How lit runs test/**/*.mlir and *.test: their RUN lines, with the programs of a build and LLVM's test tools on PATH.
#
# Alone: lit-22 test/passes (uses build/; another build folder by ZB_BUILD=build-asan lit-22 test/passes).
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lit_shell import Shell, quoted

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.join(root, os.environ.get("ZB_BUILD", "build"))
llvm = os.environ.get("ZB_LLVM", "/usr/lib/llvm-22")

config.name = "zb"
config.test_format = Shell()
config.suffixes = [".mlir", ".test"]
config.excludes = ["data", "bench", "Inputs"]
config.test_source_root = os.path.join(root, "test")
config.test_exec_root = os.path.join(build, "lit")
config.environment["PATH"] = os.pathsep.join([os.path.join(build, "bin"),
                                              os.path.join(llvm, "bin"), os.environ["PATH"]])
for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# For inputs and outputs: RUN: zbc %data/gpt2-small.onnx -o %t
config.substitutions.append(("%data", quoted(os.path.join(root, "test", "data"))))
config.substitutions.append(("%root", quoted(root)))
if not os.path.exists(os.path.join(build, "bin", "zb-opt")):
    lit_config.fatal("no programs in %s/bin; hint: cmake --preset release && ninja -C build" % build)
