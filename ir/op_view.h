/* Reading an op into a zb_op_view with the reason why it cannot be read. For ir/ only; passes use zb_op_view_get
 * (ir/op.h). */
#pragma once

#include "ir/op.h"

typedef enum zb_view_state {
  ZB_VIEW_READ,    /* the view is whole */
  ZB_VIEW_OPAQUE,  /* an operand is no tensor that zb knows (a frame, a foreign type); text says which */
  ZB_VIEW_INVALID, /* operand count or attributes do not fit the row; text says why */
} zb_view_state;

/* Reads op, whose row is def. Thread-safe for different storage. */
zb_view_state zb_op_view_read(MlirOperation op, const zb_op_def *def, zb_op_view *view, zb_op_view_storage *storage,
                              zb_op_error *error);

/* Shapes of operands at their named places, for a view whose row is known; `hint` is that of a type that zb does not
 * know. */
zb_view_state zb_op_place_operands(zb_op_view *view, const MlirValue *operands, intptr_t count, zb_shape *shapes,
                                   const char *hint, zb_op_error *error);

/* An integer of any width that fits into 64 bits. */
bool zb_attr_read_integer(MlirAttribute attribute, int64_t *out);
/* Whether an absent attribute of this row gets a value from the row; writes it. */
bool zb_attr_default(const zb_attr_def *def, zb_attr *out);
/* "a bool", "an integer", ...: for messages. */
const char *zb_attr_kind_text(zb_attr_kind kind);

/* What to say of a name that is none of the candidates: the nearest of them, else `otherwise`. */
typedef struct zb_name_hint {
  char name[64], hint[256];
} zb_name_hint;
zb_name_hint zb_name_hint_of(MlirStringRef name, const char *const *candidates, int count, const char *otherwise);
