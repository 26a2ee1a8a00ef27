/* What nodes.c (nodes and functions) and control.c (If, Loop, Scan) share: scopes of names. */
#pragma once

#include "ir/import/onnx/onnx.h"

/* Nodes whose names are their own: the model, or one instance of a body or a function. Its values are those of the
 * import with its prefix before their names. */
typedef struct zb_onnx_scope {
  const struct zb_onnx_scope *parent; /* whose names can be read, too; NULL: the model, a function */
  const char *prefix;
  const Onnx__FunctionProto *function; /* or NULL */
  Onnx__NodeProto *const *nodes;
  size_t node_count;
  int depth;
  unsigned number; /* of the node of the model that is being written out */
} zb_onnx_scope;

/* ---- nodes.c ---- */
zb_import_value *zb_onnx_scope_find(zb_import *im, const zb_onnx_scope *scope, const char *name); /* NULL: none */
/* The name is another one of the value. */
zb_result zb_onnx_scope_bind(zb_import *im, const zb_onnx_scope *scope, const char *name, zb_import_value *value);
/* A new scope within that of node n, without nodes. */
zb_result zb_onnx_scope_open(zb_import_node *n, const zb_onnx_scope *parent, bool sees_parent, zb_onnx_scope *out);
zb_result zb_onnx_add_scope(zb_onnx *onnx, zb_onnx_scope *scope);
/* A node in place of `of`, with outputs without names; NULL after reporting. */
zb_import_node *zb_onnx_node_made(zb_import_node *of, const zb_onnx_scope *scope, const Onnx__NodeProto *proto,
                                  zb_import_value *const *inputs);
/* What was written out for n gives this as its output. */
zb_result zb_onnx_give_output(zb_import_node *n, const zb_onnx_scope *scope, size_t output, zb_import_value *value);
/* Whether it is computed of constants alone, which it then is; what is trained is none. */
bool zb_onnx_folds(zb_import_value *value);
/* The one number that a value is, folded before all others; false after reporting that it is not known. */
bool zb_onnx_know(zb_import_node *n, zb_import_value *value, const char *what, int64_t *out);

/* ---- control.c ---- */
bool zb_onnx_is_control(const Onnx__NodeProto *proto); /* If, Loop, Scan */
zb_result zb_onnx_add_control(zb_import_node *n, const zb_onnx_scope *scope);
