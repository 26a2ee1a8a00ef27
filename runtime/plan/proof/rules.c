/* Names of rules. Tests: test/runtime/plan/proof/rules.py, which makes the list in README.md */
#include "runtime/plan/proof/rules.h"

const char *zb_rule_name(zb_plan_rule rule) {
  static const char *const NAMES[] = {
#define ZB_PLAN_RULE(name, holds) #name,
#include "runtime/plan/proof/rules.def"
#undef ZB_PLAN_RULE
  };
  return NAMES[rule];
}
