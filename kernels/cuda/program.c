/* The instructions of a subprogram as launches: see zb_cuda_program in launcher.h. */
#include "kernels/cuda/kernels.h"

enum { TABLE_ALIGNMENT = 256 };

typedef struct launch {
  int first, count;      /* of the items */
  uint64_t table, bytes; /* place of its table among all; 0 bytes: none */
} launch;

struct zb_cuda_program {
  const zb_cuda_api *api;
  const zb_cuda_item *items;
  CUdeviceptr tables; /* of all launches; 0: none needs one */
  uint64_t table_bytes;
  int launch_count;
  launch launches[];
};

/* Items from `first` on that run as one launch. */
static int group_size(const zb_cuda_item *items, int count, int first) {
  const zb_cuda_group *group = items[first].kernel->group;
  return group ? group->size(&items[first], count - first) : 1;
}

static void form_launches(zb_cuda_program *program, int count) {
  for (int i = 0; i < count;) {
    const zb_cuda_group *group = program->items[i].kernel->group;
    launch *it = &program->launches[program->launch_count++];
    *it = (launch){.first = i, .count = group_size(program->items, count, i), .table = program->table_bytes};
    if (group && it->count > 1) it->bytes = group->table_bytes(it->count);
    program->table_bytes += (it->bytes + TABLE_ALIGNMENT - 1) / TABLE_ALIGNMENT * TABLE_ALIGNMENT;
    i += it->count;
  }
}

/* Runs before any launch, while nothing is captured, so it may wait. */
static zb_status write_tables(zb_cuda_program *program, const zb_cuda_launcher *on) {
  if (program->table_bytes == 0) return NULL;
  zb_status status = NULL;
  unsigned char *host = zb_alloc(program->table_bytes);
  if (!host) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < program->launch_count; ++i) {
    const launch *it = &program->launches[i];
    const zb_cuda_item *items = &program->items[it->first];
    if (it->bytes > 0) items->kernel->group->fill(items, it->count, host + it->table);
  }
  ZB_TRY_GOTO(ZB_CU(on->api, cuMemAlloc, &program->tables, program->table_bytes));
  ZB_TRY_GOTO(ZB_CU(on->api, cuMemcpyHtoDAsync, program->tables, host, program->table_bytes, on->stream));
  status = ZB_CU(on->api, cuStreamSynchronize, on->stream);
cleanup:
  zb_free(host);
  return status ? zb_status_note(status, "tables of %llu bytes for the optimizer of a rank",
                                 (unsigned long long)program->table_bytes)
                : NULL;
}

zb_status zb_cuda_program_create(const zb_cuda_item *items, int count, zb_cuda_launcher *on, zb_cuda_program **out) {
  *out = NULL;
  zb_cuda_program *program = zb_alloc(sizeof *program + sizeof(launch) * ((size_t)count + 1));
  if (!program) return ZB_OUT_OF_MEMORY();
  program->api = on->api;
  program->items = items;
  form_launches(program, count);
  zb_status status = write_tables(program, on);
  if (status)
    zb_cuda_program_destroy(program);
  else
    *out = program;
  return status;
}

void zb_cuda_program_destroy(zb_cuda_program *program) {
  if (!program) return;
  if (program->tables) (void)program->api->cuMemFree(program->tables); /* at the end; there is nobody to tell */
  zb_free(program);
}

int zb_cuda_program_launches(const zb_cuda_program *program) { return program->launch_count; }

int zb_cuda_program_items(const zb_cuda_program *program, int number, int *out_first) {
  *out_first = program->launches[number].first;
  return program->launches[number].count;
}

uint64_t zb_cuda_program_table_bytes(const zb_cuda_program *program) { return program->table_bytes; }

zb_status zb_cuda_program_run(const zb_cuda_program *program, int number, zb_cuda_launcher *on, int first_instruction) {
  const launch *it = &program->launches[number];
  const zb_cuda_item *items = &program->items[it->first];
  on->instruction = first_instruction + it->first;
  if (it->count == 1) return items->kernel->run(items->call, on);
  return items->kernel->group->run(items, it->count, it->bytes > 0 ? program->tables + it->table : 0, on);
}
