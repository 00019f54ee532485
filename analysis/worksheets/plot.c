/* A curve in rows and columns of text: `*` a value, `.` between two, `o` the knee, `^` infinite. */
#include "analysis/worksheets/vary.h"
#include "analysis/worksheets/words.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 61, ROWS = 15, MARGIN = 14 };

struct frame {
    char cells[ROWS][COLUMNS + 1];
    double x_low, x_high, y_low, y_high;
};

static int column(const struct frame *f, double x)
{
    return (int)lround((x - f->x_low) / (f->x_high - f->x_low) * (COLUMNS - 1));
}

static int row(const struct frame *f, double y)
{
    return ROWS - 1 - (int)lround((y - f->y_low) / (f->y_high - f->y_low) * (ROWS - 1));
}

static bool finite(const struct vary_point *p)
{
    return p->y.kind == VALUE_NUMBER && isfinite(p->y.number);
}

/* False: nothing to draw. */
static bool set_frame(struct frame *f, const struct vary *v)
{
    memset(f->cells, ' ', sizeof f->cells);
    f->x_low = v->items[0].x;
    f->x_high = v->items[v->n - 1].x;
    f->y_low = INFINITY;
    f->y_high = -INFINITY;
    for (size_t i = 0; i < v->n; i++)
        if (finite(&v->items[i])) {
            f->y_low = fmin(f->y_low, v->items[i].y.number);
            f->y_high = fmax(f->y_high, v->items[i].y.number);
        }
    if (!(f->y_low <= f->y_high) || f->x_low == f->x_high)
        return false;
    if (f->y_low == f->y_high) { /* a level line in the middle */
        const double room = f->y_low != 0 ? fabs(f->y_low) : 1;
        f->y_low -= room;
        f->y_high += room;
    }
    return isfinite(f->y_high - f->y_low);
}

static void draw_between(struct frame *f, const struct vary_point *a, const struct vary_point *b)
{
    const int from = column(f, a->x), to = column(f, b->x);
    for (int k = from + 1; k < to; k++) {
        const double share = (double)(k - from) / (to - from);
        const double y = a->y.number + (b->y.number - a->y.number) * share;
        f->cells[row(f, y)][k] = '.';
    }
}

static void draw(struct frame *f, const struct vary *v)
{
    for (size_t i = 0; i + 1 < v->n; i++)
        if (finite(&v->items[i]) && finite(&v->items[i + 1]))
            draw_between(f, &v->items[i], &v->items[i + 1]);
    for (size_t i = 0; i < v->n; i++) {
        const struct vary_point *p = &v->items[i];
        if (finite(p))
            f->cells[row(f, p->y.number)][column(f, p->x)] = '*';
        else if (p->y.kind == VALUE_NUMBER)
            f->cells[p->y.number > 0 ? 0 : ROWS - 1][column(f, p->x)] = p->y.number > 0 ? '^' : 'v';
    }
    if (v->knee < v->n)
        f->cells[row(f, v->items[v->knee].y.number)][column(f, v->items[v->knee].x)] = 'o';
}

static void say(FILE *out, double x, int width)
{
    struct text t = {0};
    words_number(&t, x);
    fprintf(out, "%*s", width, text_get(&t));
    text_free(&t);
}

/* Three numbers below the axis: the ends and the middle. */
static void print_x(FILE *out, const struct frame *f)
{
    struct text low = {0}, mid = {0}, high = {0};
    words_number(&low, f->x_low);
    words_number(&mid, (f->x_low + f->x_high) / 2);
    words_number(&high, f->x_high);
    const int middle = COLUMNS / 2 - (int)mid.n / 2;
    fprintf(out, "%*s%-*s", MARGIN + 2, "", middle, text_get(&low));
    fprintf(out, "%-*s%s\n", COLUMNS - middle - (int)high.n, text_get(&mid), text_get(&high));
    text_free(&low);
    text_free(&mid);
    text_free(&high);
}

void vary_plot(FILE *out, const struct vary *v, const char *x_label, const char *y_label)
{
    struct frame f;
    if (!set_frame(&f, v)) {
        fputs("  Nothing to draw: no value is finite.\n", out);
        return;
    }
    draw(&f, v);
    fprintf(out, "  %s\n", y_label);
    for (int r = 0; r < ROWS; r++) {
        const bool named = r % (ROWS / 2) == 0;
        if (named)
            say(out, f.y_high - (f.y_high - f.y_low) * r / (ROWS - 1), MARGIN);
        else
            fprintf(out, "%*s", MARGIN, "");
        int last = COLUMNS;
        while (last > 0 && f.cells[r][last - 1] == ' ')
            last--;
        fprintf(out, " %c%.*s\n", named ? '+' : '|', last, f.cells[r]);
    }
    fprintf(out, "%*s +", MARGIN, "");
    for (int k = 0; k < COLUMNS; k++)
        fputc(k % ((COLUMNS - 1) / 2) == 0 ? '+' : '-', out);
    fputc('\n', out);
    print_x(out, &f);
    fprintf(out, "%*s%s\n", MARGIN + 2, "", x_label);
}
