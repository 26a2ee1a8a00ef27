/* What is asked of MLIR text around MLIR's parser: how deep it may nest before, and a word where the parser ended
 * without one. */
#pragma once

#include "zb/op.h"

#include <mlir-c/Diagnostics.h>

/* MLIR's parser, verifier, printer and destructors recurse with the text. A level takes at most 2.4 KiB of stack there
 * (modules), so that this many fit into a stack of 1 MiB; programs of exporters nest some 20 deep. */
enum { ZB_NESTING_MAX = 256 };
/* An alias is written once and means its whole value wherever it is used: most bytes of the aliases that one alias
 * names, written out. */
#define ZB_ALIAS_BYTES_MAX (UINT64_C(64) << 20)

/* Whether MLIR text may be parsed: brackets of all kinds, operators of affine expressions in a row, and aliases of
 * aliases, nested at most ZB_NESTING_MAX deep. INVALID after a diagnostic at line and column of `name`. O(bytes). Text
 * need not end in NUL. */
zb_status zb_check_nesting(MlirContext context, const char *name, const char *text, size_t bytes) ZB_MUST_USE;

/* Counts diagnostics from now on, on their way to the handlers before; end with mlirContextDetachDiagnosticHandler. */
MlirDiagnosticHandlerID zb_count_diagnostics(MlirContext context, int *count);
/* INVALID, reported: the text did not parse. Without diagnostics (MLIR says nothing of an op of an IRDL dialect in a
 * syntax of its own) one says so. */
zb_status zb_parse_refused(MlirContext context, const char *name, const char *text, size_t bytes,
                           int diagnostics) ZB_MUST_USE;
