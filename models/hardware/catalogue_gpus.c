/* Catalogue: GPU types, and what MIG makes of them.
 *
 * MIG profiles are those of data/h100_mig.csv, whose SOURCE.md says where each stands; a test
 * compares the two row by row. Other numbers name their row of the fact sheet in brackets, or the
 * document; what was not read in a document is of low confidence. */
#include "models/hardware/catalogue.h"

#include <math.h>

#define HIGH(value, source)                                                                        \
    {                                                                                              \
        value, HW_HIGH, source                                                                     \
    }
#define MEDIUM(value, source)                                                                      \
    {                                                                                              \
        value, HW_MEDIUM, source                                                                   \
    }
#define LOW(value, source)                                                                         \
    {                                                                                              \
        value, HW_LOW, source                                                                      \
    }
#define NONE                                                                                       \
    {                                                                                              \
        NAN, HW_UNKNOWN, ""                                                                        \
    }
#define MIG(profiles)                                                                              \
    {                                                                                              \
        profiles, sizeof profiles / sizeof *profiles, 7, 8                                         \
    }

#define DATASHEET "vendor datasheet, not read again"
#define TABLES    "public comparison tables of 2025 and 2026"
#define CSV       "models/hardware/data/h100_mig.csv"

enum { U = MIG_UNKNOWN };

/* clang-format off */
/* name, id, compute, memory, max, starts, media, SMs, MiB, L2, copy engines, decoders, JPEG, OFA */
static const struct mig_profile h100_sxm[] = {
    {"1g.10gb", 19, 1, 1, 7, 0x7f, false, 16, 9984, 1, 1, 1, 1, 0},
    {"1g.10gb+me", 20, 1, 1, 1, 0x7f, true, 16, 9984, 1, 1, 1, 1, 1},
    {"1g.20gb", 15, 1, 2, 4, 0x55, false, 26, 20096, 1, 1, 1, 1, 0},
    {"2g.20gb", 14, 2, 2, 3, 0x15, false, 32, 20096, 2, 2, 2, 2, 0},
    {"3g.40gb", 9, 3, 4, 2, 0x11, false, 60, 40448, 4, 3, 3, 3, 0},
    {"4g.40gb", 5, 4, 4, 1, 0x01, false, 64, 40448, 4, 4, 4, 4, 0},
    {"7g.80gb", 0, 7, 8, 1, 0x01, false, 132, 81152, 8, 8, 7, 7, 1},
};
static const struct mig_profile h100_pcie[] = {
    {"1g.10gb", 19, 1, 1, 7, 0x7f, false, 14, 9856, 1, 1, 1, 1, 0},
    {"1g.10gb+me", 20, 1, 1, 1, 0x7f, true, 14, 9856, 1, 1, 1, 1, 1},
    {"1g.20gb", 15, 1, 2, 4, 0x55, false, 14, 19968, 1, 1, 1, 1, 0},
    {"2g.20gb", 14, 2, 2, 3, 0x15, false, 30, 19968, 2, 2, 2, 2, 0},
    {"3g.40gb", 9, 3, 4, 2, 0x11, false, 46, 40192, 4, 3, 3, 3, 0},
    {"4g.40gb", 5, 4, 4, 1, 0x01, false, 62, 40192, 4, 4, 4, 4, 0},
    {"7g.80gb", 0, 7, 8, 1, 0x01, false, 114, 80896, 8, 8, 7, 7, 1},
};
static const struct mig_profile h100_nvl[] = {
    {"1g.12gb", 19, 1, 1, 7, 0x7f, false, 16, 11008, 1, 1, 1, 1, 0},
    {"1g.12gb+me", 20, 1, 1, 1, 0x7f, true, 16, 11008, 1, 1, 1, 1, 1},
    {"1g.24gb", 15, 1, 2, 4, 0x55, false, 26, 22144, 1, 1, 1, 1, 0},
    {"2g.24gb", 14, 2, 2, 3, 0x15, false, 32, 22144, 2, 2, 2, 2, 0},
    {"3g.47gb", 9, 3, 4, 2, 0x11, false, 60, 47488, 4, 3, 3, 3, 0},
    {"4g.47gb", 5, 4, 4, 1, 0x01, false, 64, 47488, 4, 4, 4, 4, 0},
    {"7g.94gb", 0, 7, 8, 1, 0x01, false, 132, 95360, 8, 8, 7, 7, 1},
};
static const struct mig_profile gh200[] = {
    {"1g.12gb", 19, 1, 1, 7, 0x7f, false, 0, 0, 1, 1, 1, 1, 0},
    {"1g.12gb+me", 20, 1, 1, 1, 0x7f, true, 0, 0, 1, 1, 1, 1, 1},
    {"1g.24gb", 15, 1, 2, 4, 0x55, false, 0, 0, 1, 1, 1, 1, 0},
    {"2g.24gb", 14, 2, 2, 3, 0x15, false, 0, 0, 2, 2, 2, 2, 0},
    {"3g.48gb", 9, 3, 4, 2, 0x11, false, 0, 0, 4, 3, 3, 3, 0},
    {"4g.48gb", 5, 4, 4, 1, 0x01, false, 0, 0, 4, 4, 4, 4, 0},
    {"7g.96gb", 0, 7, 8, 1, 0x01, false, 0, 0, 8, 8, 7, 7, 1},
};
static const struct mig_profile h200[] = {
    {"1g.18gb", 19, 1, 1, 7, 0x7f, false, 16, 16384, 1, 1, 1, 1, 0},
    {"1g.18gb+me", 20, 1, 1, 1, 0x7f, true, 16, 16384, 1, 1, 1, 1, 1},
    {"1g.35gb", 15, 1, 2, 4, 0x55, false, 26, 33024, 1, 1, 1, 1, 0},
    {"2g.35gb", 14, 2, 2, 3, 0x15, false, 32, 33024, 2, 2, 2, 2, 0},
    {"3g.71gb", 9, 3, 4, 2, 0x11, false, 60, 71168, 4, 3, 3, 3, 0},
    {"4g.71gb", 5, 4, 4, 1, 0x01, false, 64, 71168, 4, 4, 4, 4, 0},
    {"7g.141gb", 0, 7, 8, 1, 0x01, false, 132, 0, 8, 8, 7, 7, 1},
};
static const struct mig_profile b200[] = {
    {"1g.23gb", 19, 1, 1, 7, 0x7f, false, 18, 20992, 1, 2, U, U, U},
    {"1g.23gb+me", 20, 1, 1, 1, 0x7f, true, 18, 20992, 1, 2, U, U, U},
    {"1g.45gb", 15, 1, 2, 4, 0x55, false, 30, 45312, 1, U, U, U, U},
    {"2g.45gb", 14, 2, 2, 3, 0x15, false, 36, 45312, 2, 4, 2, U, U},
    {"3g.90gb", 9, 3, 4, 2, 0x11, false, 0, 0, 4, U, U, U, U},
    {"4g.90gb", 5, 4, 4, 1, 0x01, false, 0, 0, 4, U, U, U, U},
    {"7g.180gb", 0, 7, 8, 1, 0x01, false, 0, 0, 8, U, U, U, U},
};
static const struct mig_profile gb200[] = {
    {"1g.23gb", 19, 1, 1, 7, 0x7f, false, 18, 20480, 1, U, U, U, U},
    {"1g.23gb+me", 20, 1, 1, 1, 0x7f, true, 18, 20480, 1, U, U, U, U},
    {"1g.47gb", 15, 1, 2, 4, 0x55, false, 32, 46592, 1, U, U, U, U},
    {"2g.47gb", 14, 2, 2, 3, 0x15, false, 38, 46592, 2, U, U, U, U},
    {"3g.93gb", 9, 3, 4, 2, 0x11, false, 0, 0, 4, U, U, U, U},
    {"4g.93gb", 5, 4, 4, 1, 0x01, false, 0, 0, 4, U, U, U, U},
    {"7g.186gb", 0, 7, 8, 1, 0x01, false, 0, 0, 8, U, U, U, U},
};
static const struct mig_profile a100_40gb[] = {
    {"1g.5gb", 19, 1, 1, 7, 0x7f, false, 14, 0, 1, 1, 0, 0, 0},
    {"1g.5gb+me", 20, 1, 1, 1, 0x7f, true, 14, 0, 1, 1, 1, 1, 1},
    {"1g.10gb", 15, 1, 2, 4, 0x55, false, 14, 0, 1, 1, 1, 0, 0},
    {"2g.10gb", 14, 2, 2, 3, 0x15, false, 28, 0, 2, 2, 1, 0, 0},
    {"3g.20gb", 9, 3, 4, 2, 0x11, false, 42, 0, 4, 3, 2, 0, 0},
    {"4g.20gb", 5, 4, 4, 1, 0x01, false, 56, 0, 4, 4, 2, 0, 0},
    {"7g.40gb", 0, 7, 8, 1, 0x01, false, 98, 0, 8, 7, 5, 1, 1},
};
static const struct mig_profile a100_80gb[] = {
    {"1g.10gb", 19, 1, 1, 7, 0x7f, false, 14, 0, 1, 1, 0, 0, 0},
    {"1g.10gb+me", 20, 1, 1, 1, 0x7f, true, 14, 0, 1, 1, 1, 1, 1},
    {"1g.20gb", 15, 1, 2, 4, 0x55, false, 14, 0, 1, 1, 1, 0, 0},
    {"2g.20gb", 14, 2, 2, 3, 0x15, false, 28, 0, 2, 2, 1, 0, 0},
    {"3g.40gb", 9, 3, 4, 2, 0x11, false, 42, 0, 4, 3, 2, 0, 0},
    {"4g.40gb", 5, 4, 4, 1, 0x01, false, 56, 0, 4, 4, 2, 0, 0},
    {"7g.80gb", 0, 7, 8, 1, 0x01, false, 98, 0, 8, 7, 5, 1, 1},
};
/* Engines: MIG user guide, A30 profiles; ids, SMs, memory and starts: public -lgip and -lgipp listings. */
static const struct mig_profile a30[] = {
    {"1g.6gb", 14, 1, 1, 4, 0x0f, false, 14, 5952, 2, 1, 0, 0, 0},
    {"1g.6gb+me", 21, 1, 1, 1, 0x0f, true, 14, 5952, 2, 1, 1, 1, 1},
    {"2g.12gb", 5, 2, 2, 2, 0x05, false, 28, 11968, 4, 2, 2, 0, 0},
    {"2g.12gb+me", 6, 2, 2, 1, 0x05, true, 28, 11968, 4, 2, 2, 1, 1},
    {"4g.24gb", 0, 4, 4, 1, 0x01, false, 56, 24000, 8, 4, 4, 1, 1},
};

const struct gpu_type gpu_types[GPU_TYPES] = {
    {"h100-sxm", "H100 SXM 80 GB",
     HIGH(80, "hbm_capacity_h100_gb"), HIGH(3350, "hbm_bandwidth_h100_tb_s"), HIGH(132, "sm_count_h100_sxm"),
     HIGH(700, "gpu_power_cap_w"), MEDIUM(70, "gpu_power_idle_w"), MEDIUM(2.95, "h100_on_demand_specialty_usd_gpu_h"),
     MIG(h100_sxm), HW_HIGH, CSV},
    {"h100-pcie", "H100 PCIe 80 GB",
     HIGH(80, "hbm_capacity_h100_gb"), HIGH(2000, "hbm_bandwidth_h100_tb_s"), HIGH(114, "sm_count_h100_sxm"),
     HIGH(350, "gpu_power_cap_w"), NONE, NONE,
     MIG(h100_pcie), HW_HIGH, CSV},
    {"h100-nvl", "H100 NVL 94 GB",
     HIGH(94, CSV), LOW(3900, DATASHEET), HIGH(132, CSV),
     LOW(400, DATASHEET), NONE, NONE,
     MIG(h100_nvl), HW_HIGH, CSV},
    {"gh200", "GH200, H100 96 GB",
     MEDIUM(96, CSV), LOW(4000, DATASHEET), NONE,
     NONE, NONE, NONE,
     MIG(gh200), HW_MEDIUM, CSV},
    {"h200", "H200 SXM 141 GB",
     HIGH(141, "hbm_capacity_h100_gb"), HIGH(4800, "hbm_bandwidth_h100_tb_s"), HIGH(132, CSV),
     MEDIUM(700, TABLES), NONE, HIGH(7.91, "h200_on_demand_usd_gpu_h"),
     MIG(h200), HW_HIGH, CSV},
    {"b200", "B200 SXM 180 GB",
     HIGH(180, "hbm_capacity_h100_gb"), MEDIUM(8000, TABLES), NONE,
     MEDIUM(1000, TABLES), NONE, LOW(7.25, "b200_on_demand_usd_gpu_h"),
     MIG(b200), HW_MEDIUM, CSV},
    {"gb200", "GB200, B200 186 GB",
     LOW(186, CSV), LOW(8000, DATASHEET), NONE,
     LOW(1200, DATASHEET), NONE, NONE,
     MIG(gb200), HW_LOW, CSV},
    {"a100-40gb", "A100 SXM 40 GB",
     MEDIUM(40, CSV), LOW(1555, DATASHEET), MEDIUM(108, TABLES),
     MEDIUM(400, TABLES), NONE, NONE,
     MIG(a100_40gb), HW_MEDIUM, CSV},
    {"a100-80gb", "A100 SXM 80 GB",
     MEDIUM(80, CSV), MEDIUM(2039, TABLES), MEDIUM(108, TABLES),
     MEDIUM(400, TABLES), NONE, NONE,
     MIG(a100_80gb), HW_MEDIUM, CSV},
    {"a30", "A30 PCIe 24 GB",
     MEDIUM(24, "MIG user guide, A30 profiles"), LOW(933, DATASHEET), MEDIUM(56, "public -lgip listings of an A30"),
     LOW(165, DATASHEET), NONE, NONE,
     {a30, sizeof a30 / sizeof *a30, 4, 4}, HW_MEDIUM, "MIG user guide, A30 profiles, and public -lgip and -lgipp listings"},
};
/* clang-format on */
