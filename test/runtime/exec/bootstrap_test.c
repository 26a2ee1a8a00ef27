/* The variables of launchers: first complete set wins, incomplete ones are named. */
#include "test/runtime/exec/tiny.h"

/* An environment: "NAME=value NAME=value". */
static const char *variable(void *context, const char *name) {
  static char values[16][640]; /* the last answers stay */
  static int turn;
  char *value = values[turn++ % 16];
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
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_LOCALID=0", "srun", 1, 4, 0},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2", "srun", 1, 2,
       -1}, /* a step smaller than its job */
      {"RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 MASTER_ADDR=a MASTER_PORT=29500", "torchrun or by hand", 1, 2, 1},
      {"RANK=0 WORLD_SIZE=1", "torchrun or by hand", 0, 1, -1},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=3 OMPI_COMM_WORLD_RANK=4 "
       "OMPI_COMM_WORLD_SIZE=8",
       "mpirun", 4, 8, -1},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 SLURM_PROCID=2 SLURM_NTASKS=3 SLURM_STEP_ID=0 "
       "OMPI_COMM_WORLD_RANK=4",
       "srun", 2, 3, -1},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 SLURM_PROCID=2", "torchrun or by hand", 1, 2, -1},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_ID=0 PMIX_RANK=1", "srun", 1, 4, -1},
      /* torchrun in a job of Slurm, once a node, and under mpirun */
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 TORCHELASTIC_RUN_ID=none SLURM_PROCID=0 SLURM_NTASKS=1 "
       "SLURM_STEP_ID=0",
       "torchrun", 1, 2, -1},
      {"RANK=3 WORLD_SIZE=4 MASTER_ADDR=a MASTER_PORT=1 TORCHELASTIC_RUN_ID=none SLURM_PROCID=1 SLURM_NTASKS=2 "
       "PMIX_RANK=1",
       "torchrun", 3, 4, -1},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 TORCHELASTIC_RUN_ID=none OMPI_COMM_WORLD_RANK=0 "
       "OMPI_COMM_WORLD_SIZE=1",
       "torchrun", 1, 2, -1},
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
      {"RANK=1",
       "a start by torchrun or by hand are not complete: found RANK=1, but not WORLD_SIZE, MASTER_ADDR, MASTER_PORT"},
      {"WORLD_SIZE=2", "found WORLD_SIZE=2, but not RANK"},
      {"RANK=1 WORLD_SIZE=2", "but not MASTER_ADDR, MASTER_PORT"},
      {"OMPI_COMM_WORLD_SIZE=2", "mpirun are not complete: found OMPI_COMM_WORLD_SIZE=2, but not OMPI_COMM_WORLD_RANK"},
      {"SLURM_PROCID=2 SLURM_STEP_ID=1", "srun are not complete: found SLURM_PROCID=2, but not SLURM_NTASKS"},
      {"RANK=2 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1", "RANK is '2': expected a number of 0 to 1"},
      {"RANK=x WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1", "RANK is 'x'"},
      {"RANK=0 WORLD_SIZE=0 MASTER_ADDR=a MASTER_PORT=1", "WORLD_SIZE is '0'"},
      {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=99999", "MASTER_PORT is '99999'"},
      {"SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_NODELIST=n[1-",
       "SLURM_NODELIST is 'n[1-': expected a list of hosts"},
      {"SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_NODELIST=n[]", "expected a list of hosts"},
      {"SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_NODELIST=n]1", "expected a list of hosts"},
      {"SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_NODELIST=n[a]", "expected a list of hosts"},
      {"SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_NODELIST=n[1[2]]", "expected a list of hosts"},
      {"SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_NODELIST=,b", "expected a list of hosts"},
      {"OMPI_COMM_WORLD_RANK=-1 OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK is '-1'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    zb_bootstrap out;
    tiny_expect(find(cases[i].environment, &out), ZB_INVALID, cases[i].text);
  }
}

/* What a wrong value may come from is no guess at one launcher. */
static void test_hints(void) {
  static const struct {
    const char *environment, *text;
  } cases[] = {
      {"RANK=x WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1",
       "it may come from torchrun, another launcher, or your shell or script (export)"},
      {"RANK=1", "what was found may come from torchrun, another launcher, or your shell or script (export)"},
      {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=99999",
       "it may come from torchrun, or your shell or script (export)"},
      {"OMPI_COMM_WORLD_RANK=x OMPI_COMM_WORLD_SIZE=2", "it may come from mpirun, or a shell that mpirun started"},
      {"SLURM_PROCID=x SLURM_STEP_NUM_TASKS=2", "it may come from srun, or a shell in a job of Slurm"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    zb_bootstrap out;
    zb_status status = find(cases[i].environment, &out);
    CU_ASSERT_PTR_NOT_NULL_FATAL(status);
    CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_hint_text(status), cases[i].text));
    zb_status_free(status);
  }
}

/* The shell of a job of Slurm (sbatch sets SLURM_PROCID=0 in it) is one process, and is told of srun where the job has
 * several tasks. */
static void test_shell_of_a_job(void) {
  static const struct {
    const char *environment;
    bool warns;
  } cases[] = {
      {"SLURM_NTASKS=2", true},
      {"SLURM_JOB_ID=5 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=2 SLURM_NODELIST=n1", true},
      {"SLURM_JOB_ID=5 SLURM_PROCID=0 SLURM_LOCALID=0", false},
      {"SLURM_NTASKS=1", false},
      {"SLURM_NTASKS=2 RANK=0 WORLD_SIZE=1", false}, /* somebody else starts processes in it */
      {"SLURM_NTASKS=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", false},
      {"SLURM_NTASKS=2 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_ID=0", false}, /* srun -n 1 */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    zb_bootstrap out;
    TINY_OK(find(cases[i].environment, &out));
    CU_ASSERT(out.launcher || out.processes == 1);
    CU_ASSERT_EQUAL(strstr(out.warning, "SLURM_NTASKS=2, but srun did not start this process: it trains alone") != NULL,
                    cases[i].warns);
    CU_ASSERT_EQUAL(out.warning[0] != '\0', cases[i].warns);
  }
}

/* How processes meet: over what, where, at which ports. port 0: one of those that are derived from the run. */
static void test_places(void) {
  static const struct {
    const char *environment, *launch, *address;
    int port, ports;
  } cases[] = {
      {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4", "mpi", "", 0, 16},
      {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 MASTER_ADDR=a MASTER_PORT=29500", "mpi", "a", 29500,
       1},                                                                               /* for --launch tcp */
      {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 MASTER_ADDR=a", "mpi", "", 0, 16}, /* other runs could be there */
      {"SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4 SLURM_NODELIST=a,b", "tcp", "", 0, 16},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_ID=0 PMIX_RANK=1 SLURM_JOB_NODELIST=n[1-4]", "mpi", "", 0, 16},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=n[1-4]", "tcp", "n1", 0, 16},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_JOB_ID=5 SLURM_STEP_NODELIST=node[01-03,7],x "
       "SLURM_JOB_NODELIST=other",
       "tcp", "node01", 0, 16},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_JOB_ID=5 SLURM_JOB_NODELIST=rack[2-3]n[12,1]-ib", "tcp",
       "rack2n12-ib", 0, 16},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_JOB_ID=5 SLURM_NODELIST=a,b", "tcp", "a", 0, 16},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_JOB_ID=5 SLURM_LAUNCH_NODE_IPADDR=10.0.0.1", "tcp",
       "10.0.0.1", 0, 16},
      {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_JOB_ID=5 SLURM_NODELIST=a,b MASTER_ADDR=b MASTER_PORT=9",
       "tcp", "b", 9, 1},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a.b MASTER_PORT=29500", "tcp", "a.b", 29500, 1},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=::1 MASTER_PORT=29500 TORCHELASTIC_USE_AGENT_STORE=False", "tcp", "::1", 29500,
       1},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=29500 TORCHELASTIC_USE_AGENT_STORE=True", "tcp", "a", 29501, 16},
      {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=65530 TORCHELASTIC_USE_AGENT_STORE=True", "tcp", "a", 65514, 16},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    zb_bootstrap out;
    TINY_OK(find(cases[i].environment, &out));
    CU_ASSERT_STRING_EQUAL(out.launch, cases[i].launch);
    CU_ASSERT_STRING_EQUAL(out.address, cases[i].address);
    CU_ASSERT_EQUAL(out.ports, cases[i].ports);
    CU_ASSERT(cases[i].port == 0 ? out.port >= 12000 && out.port < 28000 : out.port == cases[i].port);
  }
}

/* Processes of one run get one digest and one port, whatever their numbers; steps and restarts get others. */
static void test_runs(void) {
  zb_bootstrap a, b;
  TINY_OK(find("SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_NODELIST=n1", &a));
  TINY_OK(find("SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_NODELIST=n1", &b));
  CU_ASSERT(a.run == b.run && a.port == b.port);
  TINY_OK(find("SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_JOB_ID=5 SLURM_STEP_ID=1 SLURM_NODELIST=n1", &b));
  CU_ASSERT(a.run != b.run && a.port != b.port);
  TINY_OK(find("SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_JOB_ID=50 SLURM_NODELIST=n1", &b));
  CU_ASSERT(a.run != b.run);
  TINY_OK(find("RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 TORCHELASTIC_RESTART_COUNT=0", &a));
  TINY_OK(find("RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 TORCHELASTIC_RESTART_COUNT=1", &b));
  CU_ASSERT(a.run != b.run && a.port == b.port);
}

static void test_long_host(void) {
  zb_bootstrap out;
  char environment[600];
  memset(environment, 'h', sizeof environment);
  memcpy(environment, "RANK=1 WORLD_SIZE=2 MASTER_PORT=1 MASTER_ADDR=", 46);
  environment[599] = '\0';
  tiny_expect(find(environment, &out), ZB_INVALID, "expected a host of at most 255 characters");
  memcpy(environment, "SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_NODELIST=h", 54);
  tiny_expect(find(environment, &out), ZB_INVALID, "expected a list of hosts");
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"complete sets", test_complete},
      {"incomplete sets and wrong values", test_wrong},
      {"where wrong values may come from", test_hints},
      {"the shell of a job", test_shell_of_a_job},
      {"where processes meet", test_places},
      {"what tells runs apart", test_runs},
      {"hosts that are too long", test_long_host},
      CU_TEST_INFO_NULL,
  };
  return tiny_run("bootstrap", tests);
}
