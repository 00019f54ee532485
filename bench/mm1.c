/* M/M/1 through the public interface, and the same with the oracle heap behind it, turn by turn. An
 * event is one arrival or one departure; draws are ziggurat exponentials. */
#include "mm1_model.h"
#include "mm1_oracle.h"
#include "timing.h"

enum { N_ROUNDS = 15, N_CUSTOMERS = 1000000 };

int main(void)
{
    static uint64_t (*const runs[2])(uint64_t) = {mm1_run_oracle, mm1_run_model};
    double times[2][N_ROUNDS], s[2];
    uint64_t checksums[2] = {0, 0};
    for (int round = 0; round < N_ROUNDS; round++)
        for (int c = 0; c < 2; c++) {
            double start = timing_cpu_s();
            checksums[c] = runs[c](N_CUSTOMERS);
            times[c][round] = timing_cpu_s() - start;
        }
    if (checksums[0] != checksums[1] || checksums[0] == 0) {
        fprintf(stderr, "mm1: the runs differ\n");
        return 1;
    }
    for (int c = 0; c < 2; c++)
        s[c] = timing_median(times[c], N_ROUNDS);
    timing_print("mm1_oracle_mev_per_cpu_s", 2e-6 * N_CUSTOMERS / s[0], "1e6/s");
    timing_print("mm1_mev_per_cpu_s", 2e-6 * N_CUSTOMERS / s[1], "1e6/s");
    timing_print("mm1_vs_oracle", s[0] / s[1], "1");
    return 0;
}
