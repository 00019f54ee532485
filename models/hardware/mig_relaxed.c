/* The relaxed packing problem: fractions of GPUs for each pattern.
 *
 *     min sum x_j  with  sum_j n_jp x_j >= demand_p,  x >= 0
 *
 * is solved through its dual, max sum demand_p u_p with sum_p n_jp u_p <= 1 for each pattern j, by
 * the simplex method on a condensed tableau, a row a pattern and a column a profile. u = 0 is
 * feasible to begin with, the right sides are 1, and Bland's rule ends it. The prices of the rows
 * at the end are the x. */
#include "models/hardware/mig_pack.h"

#include <math.h>
#include <string.h>

enum { ROWS = 512, COLUMNS = MIG_PROFILES + 1, OBJECTIVE = ROWS };

#define ZERO 1e-9

struct tableau {
    double cell[ROWS + 1]
               [COLUMNS];  /* the last column: right sides; row OBJECTIVE: what is gained */
    uint16_t row_is[ROWS]; /* variable of a row: profile p, or MIG_PROFILES + pattern j */
    uint16_t column_is[MIG_PROFILES];
    size_t n_rows;
    uint8_t n_columns;
};

static void load(struct tableau *t, const struct mig_packer *packer,
                 const uint32_t demand[MIG_PROFILES])
{
    t->n_rows = packer->n_patterns;
    t->n_columns = packer->t->gpu.n_profiles;
    for (size_t j = 0; j < t->n_rows; j++) {
        for (uint8_t p = 0; p < t->n_columns; p++)
            t->cell[j][p] = packer->patterns[j].n[p];
        t->cell[j][MIG_PROFILES] = 1;
        t->row_is[j] = (uint16_t)(MIG_PROFILES + j);
    }
    for (uint8_t p = 0; p < t->n_columns; p++) {
        t->cell[OBJECTIVE][p] = -(double)demand[p];
        t->column_is[p] = p;
    }
    t->cell[OBJECTIVE][MIG_PROFILES] = 0;
}

/* Bland: of the columns that gain, the lowest variable; of the tightest rows likewise. */
static bool choose(const struct tableau *t, uint8_t *column, size_t *row)
{
    *column = MIG_PROFILES;
    for (uint8_t p = 0; p < t->n_columns; p++)
        if (t->cell[OBJECTIVE][p] < -ZERO &&
            (*column == MIG_PROFILES || t->column_is[p] < t->column_is[*column]))
            *column = p;
    if (*column == MIG_PROFILES)
        return false;
    double best = INFINITY;
    for (size_t j = 0; j < t->n_rows; j++) {
        if (t->cell[j][*column] <= ZERO)
            continue;
        const double ratio = t->cell[j][MIG_PROFILES] / t->cell[j][*column];
        if (ratio < best - ZERO || (ratio < best + ZERO && t->row_is[j] < t->row_is[*row])) {
            best = ratio;
            *row = j;
        }
    }
    return best < INFINITY;
}

static void pivot(struct tableau *t, uint8_t column, size_t row)
{
    const double by = 1 / t->cell[row][column];
    const uint16_t entering = t->column_is[column];
    for (size_t j = 0; j <= t->n_rows; j++) {
        const size_t i = j == t->n_rows ? OBJECTIVE : j;
        const double factor = t->cell[i][column] * by;
        if (i == row || factor == 0)
            continue;
        for (int p = 0; p < COLUMNS; p++)
            t->cell[i][p] -= factor * t->cell[row][p];
        t->cell[i][column] = -factor;
    }
    for (int p = 0; p < COLUMNS; p++)
        t->cell[row][p] *= by;
    t->cell[row][column] = by;
    t->column_is[column] = t->row_is[row];
    t->row_is[row] = entering;
}

double mig_pack_relaxed(const struct mig_packer *packer, const uint32_t demand[MIG_PROFILES],
                        double *x)
{
    struct tableau t;
    uint8_t column;
    size_t row = 0;
    memset(&t, 0, sizeof t);
    load(&t, packer, demand);
    while (choose(&t, &column, &row))
        pivot(&t, column, row);
    if (x) {
        memset(x, 0, packer->n_patterns * sizeof *x);
        for (uint8_t p = 0; p < t.n_columns; p++)
            if (t.column_is[p] >= MIG_PROFILES)
                x[t.column_is[p] - MIG_PROFILES] = fmax(0, t.cell[OBJECTIVE][p]);
    }
    return t.cell[OBJECTIVE][MIG_PROFILES];
}
