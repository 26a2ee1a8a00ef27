/* Which seed a search of orders has: each is tried with all rows below. Test: test/recipes/recipes.py. */

#include "passes/choose/search.h"

#include <string.h>

static const char *const seeds[] = {"search:budget=64", "search:budget=64,seed=1", "search:budget=64,seed=2"};

static zb_status decide(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, zb_found *out) {
  *out = (zb_found){0};
  for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; ++i) {
    zb_asked seeded;
    zb_found next;
    ZB_TRY(zb_asked_rule(asked, seeds[i], &seeded));
    seeded.limit = asked->limit;
    ZB_TRY(zb_search_below(search, &zb_move_seed, &seeded, above, &next));
    zb_found_keep(out, &next, asked->limit);
  }
  return NULL;
}

static bool is_open(const zb_asked *asked) { return strcmp(asked->schedule, seeds[0]) == 0; }

const zb_move zb_move_seed = {.is_open = is_open, .decide = decide};
