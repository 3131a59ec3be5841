#if defined(__x86_64__)
#define LEVEL_NAME "v4"
#define LEVEL_TABLE kernels_v4
#include "kernels.inc"
#endif
