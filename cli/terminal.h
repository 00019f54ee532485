/* What the program knows of its terminal: whether there is one, colour, a progress bar, Ctrl-C. */
#ifndef HEADROOM_CLI_TERMINAL_H
#define HEADROOM_CLI_TERMINAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Colour on this stream: a terminal, NO_COLOR unset or empty (no-color.org), TERM not "dumb". */
bool terminal_colour(FILE *stream);

/* A progress bar on stderr, drawn only on a terminal, at most ten times a second. */
struct progress_bar {
    bool on;
    const char *label;
    double shown_s; /* wall time of the last drawing and of the start, for the rest */
    double start_s;
};

void progress_start(struct progress_bar *p, const char *label);
void progress_show(struct progress_bar *p, double done_frac);
void progress_end(struct progress_bar *p); /* erases it */

/* The same as the callback of an experiment: self is the bar. */
void progress_experiment(void *self, double done_frac, uint32_t runs_done);

/* Threads to run on: those asked for, or one per core where 0 are. */
uint32_t threads_or_cores(uint32_t threads);

/* From then on Ctrl-C and SIGTERM set the flag handed out; the second one ends the program. */
const atomic_bool *interrupt_watch(void);

#endif
