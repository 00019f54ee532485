/* Catalogue: node types. Numbers name their row of the fact sheet. */
#include "models/hardware/catalogue.h"

#include <math.h>

/* clang-format off */
#define HIGH(value, source)   {value, HW_HIGH, source}
#define MEDIUM(value, source) {value, HW_MEDIUM, source}
#define NONE                  {NAN, HW_UNKNOWN, ""}

#define EIGHT   HIGH(8, "gpus_per_node_count")
#define SOCKETS HIGH(2, "cpu_sockets_per_node_count")
#define CLASS   MEDIUM(1900, "host_memory_node_gb")

/* name, title, GPU, GPUs, sockets, compute NICs, vCPUs, network, memory, power, NVSwitch domain */
const struct node_type node_types[NODE_TYPES] = {
    {"dgx-h100", "DGX H100, and HGX H100 servers built like it", "h100-sxm",
     EIGHT, SOCKETS, HIGH(8, "compute_nic_per_node_count"), HIGH(224, "cpu_sockets_per_node_count"),
     HIGH(400, "node_network_gb_s"), HIGH(2048, "host_memory_node_gb"), HIGH(10.2, "node_power_max_kw"), EIGHT},
    {"p5", "AWS p5.48xlarge", "h100-sxm",
     EIGHT, SOCKETS, HIGH(32, "node_network_gb_s"), HIGH(192, "node_vcpu_cloud_count"),
     HIGH(400, "node_network_gb_s"), HIGH(2048, "host_memory_node_gb"), NONE, EIGHT},
    {"a3-high", "GCP a3-highgpu-8g", "h100-sxm",
     EIGHT, SOCKETS, HIGH(4, "node_network_gb_s"), HIGH(208, "node_vcpu_cloud_count"),
     HIGH(100, "node_network_gb_s"), CLASS, NONE, EIGHT},
    {"a3-mega", "GCP a3-megagpu-8g", "h100-sxm",
     EIGHT, SOCKETS, HIGH(8, "node_network_gb_s"), MEDIUM(208, "node_vcpu_cloud_count"),
     HIGH(200, "node_network_gb_s"), CLASS, NONE, EIGHT},
    {"nd-h100-v5", "Azure ND96isr H100 v5", "h100-sxm",
     EIGHT, SOCKETS, HIGH(8, "node_network_gb_s"), HIGH(96, "node_vcpu_cloud_count"),
     HIGH(400, "node_network_gb_s"), CLASS, NONE, EIGHT},
    {"dgx-b200", "DGX B200", "b200",
     EIGHT, SOCKETS, NONE, NONE,
     NONE, NONE, HIGH(14.3, "node_power_max_kw"), EIGHT},
    {"gb200-nvl72", "GB200 NVL72, one compute tray of a rack", "gb200",
     HIGH(4, "nvl72_gpus_per_rack_count"), NONE, NONE, NONE,
     NONE, NONE, MEDIUM(6.67, "nvl72_power_kw over 18 trays"), HIGH(72, "nvl72_gpus_per_rack_count")},
};
/* clang-format on */
