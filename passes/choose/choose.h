/* zb-choose: what of a compile is left open is decided here, and obeyed behind it. */
#pragma once

/* What is wrong with --recompute auto where there is no limit, and what to do. */
#define ZB_RECOMPUTE_AUTO_ALONE "auto computes again what a memory limit asks for, and there is none"
#define ZB_RECOMPUTE_AUTO_HINT "give a memory limit too, for example 2G, or choose all"
