/* Terminal, progress bar and interrupts. */
#include "cli/terminal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The one writable global of the program: a signal handler has nothing else to write to. */
static atomic_bool asked;

bool terminal_colour(FILE *stream)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(stream)) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_start(struct progress_bar *p, const char *label)
{
    const char *term = getenv("TERM");
    *p = (struct progress_bar){
        .on = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0),
        .label = label,
        .start_s = wall_s(),
    };
}

void progress_show(struct progress_bar *p, double done_frac)
{
    enum { WIDTH = 30 };
    double now = wall_s();
    if (!p->on || now - p->shown_s < 0.1)
        return;
    p->shown_s = now;
    char bar[WIDTH + 1];
    int full = (int)(done_frac * WIDTH);
    memset(bar, '.', WIDTH);
    memset(bar, '#', full < WIDTH ? (size_t)full : WIDTH);
    bar[WIDTH] = 0;
    double left = done_frac > 0.02 ? (now - p->start_s) * (1 - done_frac) / done_frac : 0;
    fprintf(stderr, "\r%s [%s] %3.0f %%  %.0f s left  ", p->label, bar, done_frac * 100, left);
    fflush(stderr);
}

void progress_end(struct progress_bar *p)
{
    if (p->on)
        fputs("\r\033[K", stderr);
}

void progress_experiment(void *self, double done_frac, uint32_t runs_done)
{
    (void)runs_done;
    progress_show(self, done_frac);
}

uint32_t threads_or_cores(uint32_t threads)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return threads ? threads : cores > 0 ? (uint32_t)cores : 1;
}

static void on_signal(int number)
{
    atomic_store(&asked, true);
    signal(number, SIG_DFL);
}

const atomic_bool *interrupt_watch(void)
{
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    return &asked;
}
