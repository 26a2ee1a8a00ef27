/* Status records: include/zb/status.h.
 *
 * A record is one allocation for the struct and one for each text. When even that fails there is one static record, so
 * that making a status never fails; notes and hints on it are dropped, and freeing it does nothing.
 *
 * Tests: test/runtime/base/base_test.c
 */
#include "zb/status.h"

#include "runtime/base/memory.h"
#include "runtime/base/text.h"

struct zb_status_record {
  zb_code code;
  char *message;
  char *hint;
  bool told;     /* by another process */
  zb_text notes; /* "  note: ...\n" each */
  char *text;    /* made by zb_status_text */
};

static struct zb_status_record out_of_memory = {.code = ZB_MEMORY};
static const char out_of_memory_message[] = "out of memory";

static const struct code_row {
  const char *name;
  int exit_status;
} code_rows[] = {
#define ZB_CODE(ID, exit_code, help) {#ID, exit_code},
#include "zb/status.def"
#undef ZB_CODE
};

/* Formats into fresh memory; NULL when out of memory. */
static char *format_text(const char *format, va_list arguments) {
  zb_text text = {0};
  zb_text_add_arguments(&text, format, arguments);
  return zb_text_take(&text);
}

zb_status zb_status_make(zb_code code, const char *file, int line, const char *format, ...) {
  (void)file; /* for a debugger: the message is for users */
  (void)line;
  zb_status status = zb_alloc(sizeof *status);
  if (!status) return &out_of_memory;
  status->code = code;
  va_list arguments;
  va_start(arguments, format);
  status->message = format_text(format, arguments);
  va_end(arguments);
  if (status->message) return status;
  zb_free(status);
  return &out_of_memory;
}

/* The text that was made before does not hold what is added now. */
static void forget_text(zb_status status) {
  zb_free(status->text);
  status->text = NULL;
}

zb_status zb_status_note(zb_status status, const char *format, ...) {
  if (!status || status == &out_of_memory) return status;
  va_list arguments;
  zb_text_add(&status->notes, "  note: ");
  va_start(arguments, format);
  zb_text_add_arguments(&status->notes, format, arguments);
  va_end(arguments);
  zb_text_add(&status->notes, "\n");
  forget_text(status);
  return status;
}

zb_status zb_status_hint(zb_status status, const char *format, ...) {
  if (!status || status == &out_of_memory) return status;
  va_list arguments;
  va_start(arguments, format);
  char *hint = format_text(format, arguments);
  va_end(arguments);
  if (hint) {
    zb_free(status->hint);
    status->hint = hint;
  }
  forget_text(status);
  return status;
}

zb_code zb_status_code(zb_status status) { return status ? status->code : ZB_OK_CODE; }

const char *zb_status_message(zb_status status) {
  if (!status) return "";
  return status->message ? status->message : out_of_memory_message;
}

const char *zb_status_hint_text(zb_status status) { return status ? status->hint : NULL; }

const char *zb_status_text(zb_status status) {
  if (!status) return "";
  if (status == &out_of_memory) return "error: out of memory\n";
  if (status->text) return status->text;
  zb_text text = {0};
  zb_text_add(&text, "error: %s\n", status->message);
  zb_text_add_bytes(&text, status->notes.data ? status->notes.data : "", status->notes.length);
  if (status->hint) zb_text_add(&text, "  hint: %s\n", status->hint);
  char *all = zb_text_take(&text);
  status->text = all ? zb_shown(all) : NULL;
  zb_free(all);
  return status->text ? status->text : status->message;
}

int zb_status_exit(zb_status status) {
  zb_code code = zb_status_code(status);
  return (unsigned)code < ZB_CODE_COUNT ? code_rows[code].exit_status : 1;
}

const char *zb_code_name(zb_code code) {
  if (code == ZB_OK_CODE) return "OK";
  return (unsigned)code < ZB_CODE_COUNT ? code_rows[code].name : "invalid";
}

zb_status zb_status_set_told(zb_status status) {
  if (status && status != &out_of_memory) status->told = true;
  return status;
}

bool zb_status_told(zb_status status) { return status && status->told; }

void zb_status_free(zb_status status) {
  if (!status || status == &out_of_memory) return;
  zb_free(status->message);
  zb_free(status->hint);
  zb_text_deinit(&status->notes);
  zb_free(status->text);
  zb_free(status);
}

zb_status zb_status_first(zb_status *statuses, int count) {
  zb_status first = NULL;
  for (int i = 0; i < count; ++i) {
    if (!first)
      first = statuses[i];
    else
      zb_status_free(statuses[i]);
  }
  return first;
}

zb_status zb_memory_first(zb_status status, uint64_t before) {
  if (zb_status_code(status) != ZB_INVALID || zb_allocations_refused() == before) return status;
  zb_status_free(status);
  return ZB_OUT_OF_MEMORY();
}
