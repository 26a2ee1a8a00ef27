/* How deep MLIR text may nest: each kind of nesting is taken at the limit and refused above it, at its line and column;
 * and what is taken goes through MLIR's parser, verifier, printer and destructors on a stack of 1 MiB. */
#include "ir/nesting.h"
#include "test/ir/test.h"

#include <pthread.h>

/* before, n times open, inside, n times close, after. levels: how deep one of them nests; base: what is open around
 * them. */
typedef struct kind {
  const char *name, *before, *open, *inside, *close, *after;
  int levels, base;
} kind;

static const kind kinds[] = {
    {"modules", "", "module {", "", "}", "\n", 1, 0},
    {"regions", "", "\"a.b\"()({", "", "}) : () -> ()", " : () -> ()\n", 2, 0},
    {"lists", "module attributes {zb.a=", "[", "", "]", "} {}", 1, 1},
    {"dictionaries", "module attributes {zb.a=", "{a=", "1", "}", "} {}", 1, 1},
    {"tuples", "module attributes {zb.a=", "tuple<", "i1", ">", "} {}", 1, 1},
    {"functions", "module attributes {zb.a=", "() -> (", "i1", ")", "} {}", 1, 1},
    {"frames", "module attributes {zb.a=", "!zb.frame<", "f32", ">", "} {}", 1, 1},
    {"dialect types", "module attributes {zb.a=!foo.bar", "<", "a", ">", "} {}", 1, 1},
    {"encodings", "module attributes {zb.a=", "tensor<1xi1,", "1", ">", "} {}", 1, 1},
    {"fused locations", "module {} loc(", "fused[", "\"a\"", "]", ")", 1, 1},
    {"callers", "module {} loc(", "callsite(", "\"a\"", " at \"b\")", ")", 1, 1},
    {"named locations", "module {} loc(", "\"a\"(", "\"a\"", ")", ")", 1, 1},
    {"affine parentheses", "module attributes {zb.a=affine_map<(d0)->(", "(", "d0", ")", ")>} {}", 1, 3},
    {"affine minus", "module attributes {zb.a=affine_map<(d0)->(", "- ", "d0", "", ")>} {}", 1, 3},
    {"affine remainders", "module attributes {zb.a=affine_map<(d0)->(d0", "\nmod 7 floordiv 2", "", "", ")>} {}", 2, 3},
    {"dense elements", "module attributes {zb.a=dense<", "[", "1", "]", "> : tensor<1xf32>} {}", 1, 2},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static void make(zb_text *text, const kind *k, int count) {
  zb_text_add(text, "%s", k->before);
  for (int i = 0; i < count; ++i)
    zb_text_add(text, "%s", k->open);
  zb_text_add(text, "%s", k->inside);
  for (int i = 0; i < count; ++i)
    zb_text_add(text, "%s", k->close);
  zb_text_add(text, "%s", k->after);
}

static bool is_taken(MlirContext context, const char *text) {
  zb_status status = zb_check_nesting(context, "t.mlir", text, strlen(text));
  bool taken = !status;
  CU_ASSERT(taken || (zb_status_code(status) == ZB_INVALID && zb_status_told(status)));
  zb_status_free(status);
  return taken;
}

static void ignore(MlirStringRef text, void *user) { *(size_t *)user += text.length; }

/* All of MLIR that recurses. What does not parse must at least end. */
static void *run_text(void *user) {
  const char *text = user;
  zb_text said = {0};
  zb_diagnostics diagnostics = {.write = keep_text, .context = &said};
  size_t printed = 0;
  MlirContext context = zb_context_create(true);
  zb_diagnostics_attach(context, &diagnostics);
  MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(text));
  if (!mlirModuleIsNull(module)) {
    (void)!zb_verify_module(mlirModuleGetOperation(module));
    mlirOperationPrint(mlirModuleGetOperation(module), ignore, &printed);
    mlirModuleDestroy(module);
  }
  mlirContextDestroy(context);
  zb_text_deinit(&said);
  return NULL;
}

static void run_on_small_stack(char *text) {
  pthread_attr_t attributes;
  pthread_t thread;
  CU_ASSERT_FATAL(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 1 << 20) == 0);
  CU_ASSERT_FATAL(pthread_create(&thread, &attributes, run_text, text) == 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

static void test_kinds(void) {
  fixture f;
  fixture_init(&f);
  for (int i = 0; i < KIND_COUNT; ++i) {
    const int most = (ZB_NESTING_MAX - kinds[i].base) / kinds[i].levels;
    static const int above[] = {0, 1, 100000};
    for (int k = 0; k < 3; ++k) {
      zb_text text = {0};
      make(&text, &kinds[i], most + above[k]);
      bool taken = is_taken(f.context, text.data), good = taken == (k == 0);
      if (!good) fprintf(stderr, "\n  %s, %d times: %s", kinds[i].name, most + above[k], taken ? "taken" : "refused");
      CU_ASSERT(good);
      if (taken) run_on_small_stack(text.data);
      zb_text_deinit(&text);
    }
  }
  fixture_deinit(&f);
}

static void test_aliases(void) {
  fixture f;
  fixture_init(&f);
  zb_text chain = {0}, wide = {0}, late = {0};
  zb_text_add(&chain, "#a0 = [1]\n");
  zb_text_add(&wide, "#a0 = \"0123456789\"\n");
  for (int i = 1; i < 250; ++i)
    zb_text_add(&chain, "#a%d = [#a%d] // a comment\n", i, i - 1);
  for (int i = 1; i < 18; ++i)
    zb_text_add(&wide, "#a%d = [#a%d, #a%d]\n", i, i - 1, i - 1);
  zb_text_add(&late, "%smodule attributes {zb.a = [[[[[[#a249]]]]]]} {}\n", chain.data);
  zb_text_add(&chain, "module attributes {zb.a = [[[[[#a249]]]]]} {}\n");
  CU_ASSERT(is_taken(f.context, chain.data));
  run_on_small_stack(chain.data);
  CU_ASSERT_FALSE(is_taken(f.context, late.data)); /* the alias and what is around it */
  CU_ASSERT(is_taken(f.context, wide.data));
  for (int i = 18; i < 30; ++i)
    zb_text_add(&wide, "#a%d = [#a%d, #a%d]\n", i, i - 1, i - 1);
  CU_ASSERT_FALSE(is_taken(f.context, wide.data)); /* 10 bytes, doubled 30 times */
  zb_text_deinit(&chain);
  zb_text_deinit(&wide);
  zb_text_deinit(&late);
  fixture_deinit(&f);
}

/* Brackets in strings and comments, arrows, comparisons, and many of them side by side are no nesting. */
static void test_flat(void) {
  static const char *const pieces[] = {
      "\"[[[((({{{<<<\\\"[\" ",
      "// [[[[[[[[ {{{{ (\n",
      "() -> () ",
      "d0 >= 0, d1 <= 1, ",
      "[1, -2, 3] ",
      "%a = \"b.c\"(%d) {e = -1.0, f = dense<[-1, -2]> : tensor<2xi64>} : (i1) -> i1\n",
      "arith.constant -1.0 : f32\n"};
  fixture f;
  fixture_init(&f);
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; ++i) {
    zb_text text = {0};
    zb_text_add(&text, "module {\n");
    for (int k = 0; k < 2000; ++k)
      zb_text_add(&text, "%s", pieces[i]);
    zb_text_add(&text, "\n}\n");
    if (!is_taken(f.context, text.data)) CU_FAIL(pieces[i]);
    zb_text_deinit(&text);
  }
  fixture_deinit(&f);
}

/* Brackets drawn at random: the depth by a count that knows nothing of tokens. */
static void test_random(void) {
  uint64_t state = 7;
  int refused = 0;
  fixture f;
  fixture_init(&f);
  for (int round = 0; round < 400; ++round) {
    char text[4001];
    int depth = 0, deepest = 0, bias = 50 + round % 8;
    for (int i = 0; i < 4000; ++i) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      bool opens = (int)(state >> 33) % 100 < bias || depth == 0;
      text[i] = opens ? "([{"[(state >> 20) % 3] : ")]}"[(state >> 20) % 3];
      depth += opens ? 1 : -1;
      if (depth > deepest) deepest = depth;
    }
    text[4000] = '\0';
    bool taken = is_taken(f.context, text);
    CU_ASSERT(taken == (deepest <= ZB_NESTING_MAX));
    refused += !taken;
  }
  CU_ASSERT(refused > 20 && refused < 380);
  fixture_deinit(&f);
}

static void test_message(void) {
  fixture f;
  zb_text text = {0};
  fixture_init(&f);
  zb_text_add(&text, "// first line\nmodule attributes {zb.a = ");
  for (int i = 0; i < 300; ++i)
    zb_text_add(&text, "[");
  CU_ASSERT_FALSE(is_taken(f.context, text.data));
  CU_ASSERT(says(&f, "t.mlir:2:282: error: this is nested 257 deep, and at most 256 levels are read"));
  CU_ASSERT(says(&f, "hint: "));
  zb_text_deinit(&text);
  fixture_deinit(&f);
}

int main(void) {
  static const test_row rows[] = {
      {"every kind at the limit and above", test_kinds},
      {"aliases", test_aliases},
      {"what does not nest", test_flat},
      {"random brackets", test_random},
      {"the message", test_message},
      {NULL, NULL},
  };
  return run_tests("nesting", rows);
}
