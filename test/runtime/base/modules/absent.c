/* A library that one of the modules of module_test.c needs, and that no loader finds. */
int zb_absent(void);
int zb_absent(void) { return 1; }
