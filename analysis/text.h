/* Text for people and machines: a growing string, wrapped paragraphs, numbers. */
#ifndef HEADROOM_ANALYSIS_TEXT_H
#define HEADROOM_ANALYSIS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A growing string; zero is the empty one. Out of memory sticks: the text is then cut short. */
struct text {
    char *items; /* owned; ends in a NUL when n > 0 */
    size_t n, capacity;
    bool failed;
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *text_get(const struct text *t); /* "" when empty */
void text_free(struct text *t);

/* Characters on the screen: code points. */
size_t text_width(const char *text);

/* Prints words with line breaks so that no line is longer than width (a longer word stands alone):
 * the first line indented by first, the others by rest. */
void text_wrap(FILE *out, const char *text, size_t first, size_t rest, size_t width);

/* The shortest decimal that reads back as the same double: 0.1, 1e+21. NaN: "". */
enum { NUMBER_SIZE = 32 };
void number_print(char out[NUMBER_SIZE], double value);

/* For people: so many digits after the point (NUMBER_FITTING: one below 100, else none;
 * NUMBER_FINE: two, below 0.1 as many as two figures take, at most six), thousands with commas;
 * NaN: "-". */
enum { NUMBER_FITTING = -1, NUMBER_FINE = -2 };
void number_show(char out[NUMBER_SIZE], double value, int digits);

#endif
