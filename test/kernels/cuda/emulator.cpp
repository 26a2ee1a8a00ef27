/* The emulation of device code: fibers, barriers, shuffles. See emulator.h.
 *
 * A fiber has a stack of its own; switching is a few pushes on x86-64, swapcontext elsewhere. Under the address sanitizer every switch
 * is announced. One host thread runs everything. */
#include "test/kernels/cuda/emulator.h"

#include <map>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

zb_emulated_dim threadIdx, blockIdx, blockDim, gridDim;

struct zb_emulated_kernel {
  std::string name;
  void (*run)(const void *args);
  unsigned threads;
  size_t args_bytes;
};

namespace {

enum { THREADS_MAX = 1024, STACK_BYTES = 128 * 1024, GUARD_BYTES = 64, SHARED_BYTES_MAX = 227 * 1024, LANE_BYTES = 64 };
enum state { READY, AT_BARRIER, AT_WARP, DONE };

/* ---- Switching stacks ---- */

#if defined(__x86_64__)
typedef void *context;
extern "C" void zb_emulated_switch(void **from, void *to);
__asm__(".text\n.globl zb_emulated_switch\nzb_emulated_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
void switch_to(context *from, context *to) {
  zb_emulated_switch(from, *to);
}
void make_context(context *out, unsigned char *stack, void (*entry)()) {
  void **top = (void **)(stack + STACK_BYTES) - 1; /* the entry finds the stack as after a call: 8 below a multiple of 16 */
  *--top = (void *)entry;
  top -= 6;
  memset(top, 0, 6 * sizeof *top);
  *out = top;
}
#else
typedef ucontext_t context;
void switch_to(context *from, context *to) {
  swapcontext(from, to);
}
void make_context(context *out, unsigned char *stack, void (*entry)()) {
  getcontext(out);
  out->uc_stack.ss_sp = stack;
  out->uc_stack.ss_size = STACK_BYTES;
  out->uc_link = nullptr;
  makecontext(out, entry, 0);
}
#endif

struct copy {
  void *to;
  const void *from; /* NULL: zeros */
};

struct fiber {
  context place;
  enum state state;
  const char *waits_in; /* what it called, for messages */
  unsigned exchanges;   /* shuffles so far */
  size_t bytes;         /* of the last one */
  std::vector<copy> copies; /* that have not arrived */
  bool unpublished;         /* what arrived is not seen by products yet */
  bool begun;               /* products may be asked for */
  std::vector<std::vector<std::function<void()>>> commits; /* products that were not waited for */
  std::vector<std::function<void()>> products;             /* of the next commit */
  void *fake_stack;
};

struct machine {
  std::vector<zb_emulated_kernel> kernels;
  std::map<std::string, size_t> by_name;
  std::vector<fiber> fibers;
  unsigned char *stacks = nullptr, *shared = nullptr;
  unsigned char lanes[2][THREADS_MAX][LANE_BYTES]; /* what shuffles carry: two, as a lane may be one ahead of another */
  context scheduler;
  void *scheduler_fake_stack = nullptr;
  const void *scheduler_stack = nullptr;
  size_t scheduler_stack_bytes = 0;
  unsigned current = 0, threads = 0;
  const zb_emulated_kernel *kernel = nullptr;
  const void *args = nullptr;
  zb_emulated_order order = ZB_ORDER_FORWARD;
  long launches = 0;
  std::string error;
  const char *failure = nullptr; /* of the block that runs */
};

machine &the_machine() {
  static machine one;
  return one;
}

void enter_fiber(machine &m, fiber &f) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&m.scheduler_fake_stack, m.stacks + (size_t)m.current * STACK_BYTES, STACK_BYTES);
#endif
  switch_to(&m.scheduler, &f.place);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(m.scheduler_fake_stack, nullptr, nullptr);
#endif
}

void leave_fiber(machine &m, fiber &f) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(f.state == DONE ? nullptr : &f.fake_stack, m.scheduler_stack, m.scheduler_stack_bytes);
#endif
  switch_to(&f.place, &m.scheduler);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(f.fake_stack, &m.scheduler_stack, &m.scheduler_stack_bytes);
#endif
}

void fiber_main() {
  machine &m = the_machine();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &m.scheduler_stack, &m.scheduler_stack_bytes);
#endif
  m.kernel->run(m.args);
  fiber &f = m.fibers[m.current];
  f.state = DONE;
  if (!f.copies.empty()) zb_emulated_fail("a thread ended before its copies had arrived");
  if (!f.commits.empty() || !f.products.empty()) zb_emulated_fail("a thread ended before its products were waited for");
  leave_fiber(m, f);
  abort();
}

void wait_as(enum state state, const char *what) {
  machine &m = the_machine();
  fiber &f = m.fibers[m.current];
  f.state = state;
  f.waits_in = what;
  leave_fiber(m, f);
}

/* The k-th of n things to do. Scattered: a step that has no factor in common with n. */
unsigned in_order(zb_emulated_order order, unsigned k, unsigned n) {
  if (order == ZB_ORDER_FORWARD) return k;
  if (order == ZB_ORDER_BACKWARD) return n - 1 - k;
  return (unsigned)(((uint64_t)k * 1000003u + 17u) % n); /* a prime, and more than any block has threads */
}

/* ---- One block ---- */

bool release_warps(machine &m) {
  bool any = false;
  for (unsigned first = 0; first < m.threads; first += 32) {
    unsigned end = first + 32 < m.threads ? first + 32 : m.threads, waiting = 0, same = 0;
    for (unsigned i = first; i < end; i++) {
      waiting += m.fibers[i].state == AT_WARP;
      same += m.fibers[i].state == AT_WARP && m.fibers[i].exchanges == m.fibers[first].exchanges &&
              m.fibers[i].bytes == m.fibers[first].bytes;
    }
    if (waiting != end - first || same != waiting || waiting != 32) continue;
    for (unsigned i = first; i < end; i++)
      m.fibers[i].state = READY;
    any = true;
  }
  return any;
}

bool release_block(machine &m) {
  for (unsigned i = 0; i < m.threads; i++)
    if (m.fibers[i].state != AT_BARRIER) return false;
  for (unsigned i = 0; i < m.threads; i++)
    m.fibers[i].state = READY;
  return true;
}

void describe_deadlock(machine &m) {
  unsigned counts[4] = {0};
  for (unsigned i = 0; i < m.threads; i++)
    counts[m.fibers[i].state]++;
  char text[256];
  snprintf(text, sizeof text, "%s, block %u,%u: %u threads wait in __syncthreads, %u in a warp shuffle, %u have ended",
           m.kernel->name.c_str(), blockIdx.x, blockIdx.y, counts[AT_BARRIER], counts[AT_WARP], counts[DONE]);
  m.error = text;
}

bool run_block(machine &m, unsigned shared_bytes) {
  m.failure = nullptr;
  memset(m.shared, 0xff, shared_bytes);
  memset(m.shared + shared_bytes, 0x5a, GUARD_BYTES);
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(m.stacks, (size_t)m.threads * STACK_BYTES); /* what ended fibers left */
#endif
  for (unsigned i = 0; i < m.threads; i++) {
    m.fibers[i] = fiber();
    make_context(&m.fibers[i].place, m.stacks + (size_t)i * STACK_BYTES, fiber_main);
  }
  for (unsigned done = 0; done < m.threads;) {
    for (unsigned k = 0; k < m.threads; k++) {
      unsigned i = in_order(m.order, k, m.threads);
      if (m.fibers[i].state != READY) continue;
      m.current = i;
      threadIdx = {i, 0, 0};
      enter_fiber(m, m.fibers[i]);
      done += m.fibers[i].state == DONE;
    }
    if (done == m.threads) break;
    bool warps = release_warps(m), block = release_block(m);
    if (!warps && !block) return describe_deadlock(m), false;
  }
  if (m.failure) {
    m.error = m.kernel->name + ": " + m.failure;
    return false;
  }
  for (unsigned i = 0; i < GUARD_BYTES; i++)
    if (m.shared[shared_bytes + i] != 0x5a) {
      m.error = m.kernel->name + ": wrote beyond the shared memory of the launch";
      return false;
    }
  return true;
}

bool start(machine &m, unsigned threads) {
  if (!m.stacks) {
    void *stacks = mmap(nullptr, (size_t)THREADS_MAX * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *shared = aligned_alloc(128, SHARED_BYTES_MAX + 128);
    if (stacks == MAP_FAILED || !shared) return false;
    m.stacks = (unsigned char *)stacks;
    m.shared = (unsigned char *)shared;
    m.fibers.resize(THREADS_MAX);
  }
  m.threads = threads;
  return true;
}

} // namespace

void *zb_emulated_shared() {
  return the_machine().shared;
}

void zb_emulated_syncthreads() {
  wait_as(AT_BARRIER, "__syncthreads");
}

void zb_emulated_syncwarp() {
  char nothing = 0;
  (void)zb_emulated_exchange(&nothing, 1);
}

const unsigned char *zb_emulated_exchange(const void *mine, size_t bytes) {
  machine &m = the_machine();
  unsigned self = m.current;
  fiber &f = m.fibers[self];
  unsigned half = f.exchanges++ % 2;
  f.bytes = bytes;
  memcpy(m.lanes[half][self], mine, bytes);
  wait_as(AT_WARP, "a warp shuffle");
  return m.lanes[half][self / 32 * 32];
}

void zb_emulated_fail(const char *text) {
  the_machine().failure = text;
}

/* Nothing moves before the thread waits, so what is read too early is what was there before. */
void zb_emulated_copy_ahead(void *to, const void *from) {
  machine &m = the_machine();
  if (((uintptr_t)to | (uintptr_t)from) % 16) return zb_emulated_fail("a copy of 16 bytes that does not lie at a multiple of 16");
  m.fibers[m.current].copies.push_back({to, from});
}

void zb_emulated_copies_arrive() {
  machine &m = the_machine();
  for (const copy &c : m.fibers[m.current].copies)
    c.from ? memcpy(c.to, c.from, 16) : memset(c.to, 0, 16);
  m.fibers[m.current].unpublished |= !m.fibers[m.current].copies.empty();
  m.fibers[m.current].copies.clear();
}

void zb_emulated_publish() {
  machine &m = the_machine();
  m.fibers[m.current].unpublished = false;
}

void zb_emulated_products_begin() {
  machine &m = the_machine();
  m.fibers[m.current].begun = true;
  for (unsigned i = 0; i < m.threads; i++)
    if (m.fibers[i].unpublished) zb_emulated_fail("products begin before copies that arrived are published");
}

void zb_emulated_product(std::function<void()> product) {
  machine &m = the_machine();
  fiber &f = m.fibers[m.current];
  if (!f.begun) zb_emulated_fail("a product without warpgroup_begin");
  f.products.push_back(std::move(product));
}

void zb_emulated_products_commit() {
  machine &m = the_machine();
  fiber &f = m.fibers[m.current];
  f.commits.push_back(std::move(f.products));
  f.products.clear();
}

void zb_emulated_products_wait(unsigned left) {
  machine &m = the_machine();
  fiber &f = m.fibers[m.current];
  f.begun = false;
  while (f.commits.size() > left) {
    for (const std::function<void()> &product : f.commits.front())
      product();
    f.commits.erase(f.commits.begin());
  }
}

void zb_emulated_register(const char *name, void (*run)(const void *args), unsigned threads, size_t args_bytes) {
  machine &m = the_machine();
  m.by_name[name] = m.kernels.size();
  m.kernels.push_back({name, run, threads, args_bytes});
}

size_t zb_emulated_args_bytes(const zb_emulated_kernel *kernel) {
  return kernel->args_bytes;
}

const zb_emulated_kernel *zb_emulated_find(const char *name) {
  machine &m = the_machine();
  auto found = m.by_name.find(name);
  return found == m.by_name.end() ? nullptr : &m.kernels[found->second];
}

int zb_emulated_count(void) {
  return (int)the_machine().kernels.size();
}

const char *zb_emulated_name(int index) {
  return the_machine().kernels[(size_t)index].name.c_str();
}

void zb_emulated_set_order(zb_emulated_order order) {
  the_machine().order = order;
}

long zb_emulated_launches(void) {
  return the_machine().launches;
}

const char *zb_emulated_launch(const zb_emulated_kernel *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned threads, unsigned shared_bytes, const void *args) {
  machine &m = the_machine();
  m.launches++;
  m.kernel = kernel;
  m.args = args;
  if (threads < 1 || threads > THREADS_MAX || threads > kernel->threads || grid_x < 1 || grid_y < 1 || grid_z < 1 ||
      grid_x > 0x7fffffffu || grid_y > 65535 || grid_z > 65535 || shared_bytes > SHARED_BYTES_MAX) {
    char text[200];
    snprintf(text, sizeof text, "%s: a GPU refuses grid %u x %u x %u, %u threads (the kernel has %u), %u bytes shared",
             kernel->name.c_str(), grid_x, grid_y, grid_z, threads, kernel->threads, shared_bytes);
    m.error = text;
    return m.error.c_str();
  }
  if (!start(m, threads)) return "no memory for the emulation";
  gridDim = {grid_x, grid_y, grid_z};
  blockDim = {threads, 1, 1};
  unsigned blocks = grid_x * grid_y * grid_z;
  for (unsigned k = 0; k < blocks; k++) {
    unsigned block = in_order(m.order, k, blocks);
    blockIdx = {block % grid_x, block / grid_x % grid_y, block / grid_x / grid_y};
    if (!run_block(m, shared_bytes)) return m.error.c_str();
  }
  return nullptr;
}
