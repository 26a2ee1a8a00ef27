/* See memory.h. MLIR's C API has no way to be told of a failed allocation: LLVMInstallFatalErrorHandler is not called
 * for it, and Operation::create writes to what malloc returned. The handlers of operator new and of LLVM's own tables
 * are C++ functions, declared here under the names that the linker has for them. What is left is a crash: when malloc
 * was the last to set errno of this thread, or the system refuses a moderate piece of memory in that moment, memory is
 * what was missing. Only calls that a signal handler may make. Tests: test/e2e/bad_input.py (out_of_memory),
 * test/e2e/failing.py. */
#include "tools/memory.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "zb/status.h"

enum { PROBE_BYTES = 256 << 20 }; /* a table that doubles asks for as much at once */

static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS};
enum { CRASH_COUNT = sizeof crashes / sizeof crashes[0] };

/* Signal handlers get no argument of ours. */
static struct sigaction before[CRASH_COUNT];
static const char *program;

typedef void (*new_handler)(void);
/* std::set_new_handler and llvm::install_bad_alloc_error_handler. */
new_handler set_new_handler(new_handler handler) __asm__("_ZSt15set_new_handlerPFvvE");
void install_bad_alloc_error_handler(void (*handler)(void *, const char *, bool),
                                     void *context) __asm__("_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");

static void say(const char *text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return; /* there is nobody else to tell */
}

static void end(void) {
  say(program);
  say(": error: out of memory\n  hint: raise the limit of the process (ulimit -v), or give the machine or its "
      "container more\n");
  _exit(4);
}

static void on_bad_alloc(void *context ZB_UNUSED, const char *reason ZB_UNUSED,
                         bool whether_a_crash_is_reported ZB_UNUSED) {
  end();
}

static void on_crash(int number) {
  int last_error = errno; /* of this thread, as it crashed */
  void *probe = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED || last_error == ENOMEM) end();
  munmap(probe, PROBE_BYTES);
  for (int i = 0; i < CRASH_COUNT; ++i) /* it happens again when this returns, and is whoever's it was */
    if (crashes[i] == number) sigaction(number, &before[i], NULL);
}

void zb_end_without_memory(const char *name) {
  struct sigaction action = {.sa_handler = on_crash};
  sigemptyset(&action.sa_mask);
  program = name;
  set_new_handler(end);
  install_bad_alloc_error_handler(on_bad_alloc, NULL);
  for (int i = 0; i < CRASH_COUNT; ++i)
    sigaction(crashes[i], &action, &before[i]);
}
