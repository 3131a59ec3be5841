#if defined(__x86_64__)
#define LEVEL_NAME "v3"
#define LEVEL_TABLE kernels_v3
#include "kernels.inc"
#endif
