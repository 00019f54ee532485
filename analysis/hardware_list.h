/* The catalogue in print: types of GPUs and nodes, as tables or as JSON with every source. */
#ifndef HEADROOM_ANALYSIS_HARDWARE_LIST_H
#define HEADROOM_ANALYSIS_HARDWARE_LIST_H

#include "models/hardware/catalogue.h"

#include <stdio.h>

void hardware_list(FILE *out, const struct hardware *h, bool json);

#endif
