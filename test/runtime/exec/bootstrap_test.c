/* The variables of launchers: first complete set wins, incomplete ones are named. */
#include "test/runtime/exec/tiny.h"

/* An environment: "NAME=value NAME=value". */
static const char *variable(void *context, const char *name) {
  static char values[8][64]; /* the last answers stay */
  static int turn;
  char *value = values[turn++ % 8];
  size_t length = strlen(name);
  for (const char *at = context; *at; at += strcspn(at, " "), at += *at == ' ') {
    if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
    size_t count = strcspn(at + length + 1, " ");
    memcpy(value, at + length + 1, count);
    value[count] = '\0';
    return value;
  }
  return NULL;
}

static zb_status find(const char *environment, zb_bootstrap *out) {
  return zb_bootstrap_find(variable, (void *)(uintptr_t)environment, out);
}

static void test_complete(void) {
  static const struct {
    const char *environment, *launcher;
    int process, processes, local;
  } cases[] = {
      {"", NULL, 0, 1, -1},
      {"HOME=x SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=2", NULL, 0, 1, -1}, /* a shell in an allocation */
      {"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1", "mpirun", 3, 4, 1},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_LOCALID=0", "srun", 1, 4, 0},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=2", "srun", 1, 2, -1}, /* a step smaller than its job */
      {"RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 MASTER_ADDR=a MASTER_PORT=29500", "torchrun", 1, 2, 1},
      {"RANK=0 WORLD_SIZE=1", "torchrun", 0, 1, -1},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 SLURM_PROCID=2 SLURM_NTASKS=3 OMPI_COMM_WORLD_RANK=4 OMPI_COMM_WORLD_SIZE=8", "mpirun", 4, 8, -1},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 SLURM_PROCID=2 SLURM_NTASKS=3 OMPI_COMM_WORLD_RANK=4", "srun", 2, 3, -1},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 SLURM_PROCID=2", "torchrun", 1, 2, -1},
      {"RANK= WORLD_SIZE=", NULL, 0, 1, -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    zb_bootstrap out;
    TINY_OK(find(cases[i].environment, &out));
    CU_ASSERT_EQUAL(out.process, cases[i].process);
    CU_ASSERT_EQUAL(out.processes, cases[i].processes);
    CU_ASSERT_EQUAL(out.local_process, cases[i].local);
    CU_ASSERT_EQUAL(out.launcher == NULL, cases[i].launcher == NULL);
    if (out.launcher && cases[i].launcher) CU_ASSERT_STRING_EQUAL(out.launcher, cases[i].launcher);
  }
}

static void test_wrong(void) {
  static const struct {
    const char *environment, *text;
  } cases[] = {
      {"RANK=1", "torchrun are not complete: found RANK=1, but not WORLD_SIZE, MASTER_ADDR, MASTER_PORT"},
      {"WORLD_SIZE=2", "found WORLD_SIZE=2, but not RANK"},
      {"RANK=1 WORLD_SIZE=2", "but not MASTER_ADDR, MASTER_PORT"},
      {"OMPI_COMM_WORLD_SIZE=2", "mpirun are not complete: found OMPI_COMM_WORLD_SIZE=2, but not OMPI_COMM_WORLD_RANK"},
      {"SLURM_PROCID=2", "srun are not complete: found SLURM_PROCID=2, but not SLURM_NTASKS"},
      {"RANK=2 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1", "RANK is '2': expected a number of 0 to 1"},
      {"RANK=x WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1", "RANK is 'x'"},
      {"RANK=0 WORLD_SIZE=0 MASTER_ADDR=a MASTER_PORT=1", "WORLD_SIZE is '0'"},
      {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=99999", "MASTER_PORT is '99999'"},
      {"OMPI_COMM_WORLD_RANK=-1 OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK is '-1'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    zb_bootstrap out;
    tiny_expect(find(cases[i].environment, &out), ZB_INVALID, cases[i].text);
  }
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"complete sets", test_complete},
      {"incomplete sets and wrong values", test_wrong},
      CU_TEST_INFO_NULL,
  };
  return tiny_run("bootstrap", tests);
}
