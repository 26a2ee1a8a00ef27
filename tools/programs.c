/* The options of all programs, from the rows that each of them reads its command line by. Tests: test/tools/words.test.
 */

#include "tools/programs.h"

#define ROW(option, ...) option " "
static const char zbc[] =
#include "tools/zbc.def"
    ;
#define ROW(option, ...) option " "
static const char zb_run[] =
#include "tools/zb-run.def"
    ;
#define ROW(option, ...) option " "
static const char zb_sched[] =
#include "tools/sched/zb-sched.def"
    ;
#define ROW(option, ...) option " "
static const char zb_opt[] =
#include "tools/zb-opt.def"
    ;

static const zb_program programs[TOOL_COUNT] = {
    [TOOL_ZBC] = {"zbc", "makes the plan", zbc},
    [TOOL_ZB_RUN] = {"zb-run", "trains with a plan", zb_run},
    [TOOL_ZB_SCHED] = {"zb-sched", "makes schedules without a model", zb_sched},
    [TOOL_ZB_OPT] = {"zb-opt", "runs passes on MLIR text", zb_opt},
};

zb_status tool_unknown_option(tool program, const char *argument) {
  return zb_unknown_option(programs, TOOL_COUNT, program, argument);
}
