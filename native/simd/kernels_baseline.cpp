#define LEVEL_NAME "baseline"
#define LEVEL_TABLE kernels_baseline
#include "kernels.inc"
