// Latency of the caches and of the memory: chains of dependent loads through a ring of lines in random order.
#include "chase.h"

int main() { return steelyard::serve({steelyard::kernel<steelyard::PointerChase>("chase")}); }
