/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "topo/machine.h"

#include <dlfcn.h>
#include <errno.h>
#include <hwloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "util/log.h"

#define LIBRARY "libhwloc.so.15"

#define MAJOR(version) ((unsigned)(version) >> 16)

/* The hwloc functions that are used: types from its header, addresses from dlsym. Of its inline
 * functions only those that call no others may be used. */
#define HWLOC_FUNCTIONS(X)          \
    X(get_api_version)              \
    X(topology_init)                \
    X(topology_set_components)      \
    X(topology_set_io_types_filter) \
    X(topology_load)                \
    X(topology_destroy)             \
    X(get_type_depth)               \
    X(get_nbobjs_by_depth)          \
    X(get_obj_by_depth)             \
    X(set_area_membind)             \
    X(bitmap_intersects)            \
    X(bitmap_isincluded)            \
    X(bitmap_weight)

static struct {
#define MEMBER(function) __typeof__(hwloc_##function) *function;
    HWLOC_FUNCTIONS(MEMBER)
#undef MEMBER
} table;
static bool opened;
static pthread_once_t open_once = PTHREAD_ONCE_INIT;

/* ---- loading ---- */

static void open_hwloc(void)
{
    void *library;

    /* In a set-uid program hwloc would still read its environment variables and load plugins from
     * where they point. */
    if (getauxval(AT_SECURE) != 0) {
        cgx_log(CGX_LOG_DEBUG, "the topology is unknown: hwloc is not loaded in set-uid programs");
        return;
    }
    library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        cgx_log(CGX_LOG_DEBUG, "the topology is unknown: %s", dlerror());
        return;
    }
    opened = true;
#define RESOLVE(function)                                                            \
    table.function = (__typeof__(table.function))dlsym(library, "hwloc_" #function); \
    opened = opened && table.function;
    HWLOC_FUNCTIONS(RESOLVE)
#undef RESOLVE
    opened = opened && MAJOR(table.get_api_version()) == MAJOR(HWLOC_API_VERSION);
    if (!opened) {
        cgx_log(CGX_LOG_DEBUG, "the topology is unknown: " LIBRARY " is not hwloc %u",
                MAJOR(HWLOC_API_VERSION));
        dlclose(library);
    }
}

/* These components would start drivers in the program or connect it to X servers. Names that this
 * hwloc does not know do no harm. */
static void exclude_drivers(hwloc_topology_t topo)
{
    static const char *const harmful[] = {"cuda", "nvml", "opencl", "levelzero", "rsmi", "gl"};

    for (size_t i = 0; i < sizeof harmful / sizeof harmful[0]; i++)
        table.topology_set_components(topo, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, harmful[i]);
}

struct hwloc_topology *cgx_topo_load(enum cgx_topo_detail detail)
{
    hwloc_topology_t topo;

    pthread_once(&open_once, open_hwloc);
    if (!opened)
        return NULL;
    if (table.topology_init(&topo) != 0) {
        cgx_log(CGX_LOG_DEBUG, "the topology is unknown: no memory");
        return NULL;
    }
    exclude_drivers(topo);
    if ((detail == CGX_TOPO_PROCESSORS ||
         table.topology_set_io_types_filter(topo, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0) &&
        table.topology_load(topo) == 0)
        return topo;
    cgx_log(CGX_LOG_DEBUG, "the topology is unknown: %s",
            errno == ENOMEM ? "no memory" : "hwloc failed");
    table.topology_destroy(topo);
    return NULL;
}

void cgx_topo_free(struct hwloc_topology *topo)
{
    if (topo)
        table.topology_destroy(topo);
}

struct hwloc_topology *cgx_topo_here(enum cgx_topo_detail detail)
{
    /* A cache for each level of detail, so that devices are searched only if they are needed. */
    static struct {
        bool queried;
        struct hwloc_topology *topo;
    } here[2];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    if (!here[detail].queried)
        here[detail].topo = cgx_topo_load(detail);
    here[detail].queried = true;
    pthread_mutex_unlock(&lock);
    return here[detail].topo;
}

const char *cgx_topo_build(void)
{
    static char version[16];

    snprintf(version, sizeof version, "%u.%u", MAJOR(HWLOC_API_VERSION),
             (unsigned)HWLOC_API_VERSION >> 8 & 0xFFu);
    return version;
}

/* ---- packages, NUMA nodes and cores ---- */

/* Objects that an irregular machine has at several depths are not counted. */
static unsigned count_objects(hwloc_topology_t topo, hwloc_obj_type_t type)
{
    int depth = table.get_type_depth(topo, type);

    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE)
        return 0;
    return table.get_nbobjs_by_depth(topo, depth);
}

/* Object number PLACE of a type, in hwloc's order; NULL behind the last. */
static hwloc_obj_t find_object(hwloc_topology_t topo, hwloc_obj_type_t type, unsigned place)
{
    return table.get_obj_by_depth(topo, table.get_type_depth(topo, type), place);
}

/* The number of the NUMA node near all of SET, or CGX_TOPO_UNKNOWN.
 *
 * Memory that all processors share (behind CXL) is near none of them, so this takes the smallest
 * NUMA node that intersects the set, if that node contains the set. hwloc sorts nodes at the same
 * place by number. */
static int node_of(hwloc_topology_t topo, hwloc_const_cpuset_t set)
{
    hwloc_obj_t node, nearest = NULL;
    int weight, least = 0;

    for (unsigned i = 0; (node = find_object(topo, HWLOC_OBJ_NUMANODE, i)) != NULL; i++) {
        if (!table.bitmap_intersects(node->cpuset, set))
            continue;
        weight = table.bitmap_weight(node->cpuset);
        if (!nearest || weight < least) {
            nearest = node;
            least = weight;
        }
    }
    if (!nearest || !table.bitmap_isincluded(set, nearest->cpuset))
        return CGX_TOPO_UNKNOWN;
    return (int)nearest->os_index;
}

struct cgx_topo_machine cgx_topo_machine(struct hwloc_topology *topo)
{
    struct cgx_topo_machine machine = {0};

    if (topo) {
        machine.packages = count_objects(topo, HWLOC_OBJ_PACKAGE);
        machine.numa_nodes = count_objects(topo, HWLOC_OBJ_NUMANODE);
        machine.cores = count_objects(topo, HWLOC_OBJ_CORE);
        machine.processing_units = count_objects(topo, HWLOC_OBJ_PU);
    }
    return machine;
}

/* Without HWLOC_MEMBIND_STRICT binding is a preference, so a full node does not kill the program.
 */
enum cgx_status cgx_topo_bind(void *memory, size_t bytes, unsigned numa_node)
{
    struct hwloc_topology *topo = cgx_topo_here(CGX_TOPO_PROCESSORS);
    hwloc_obj_t node;

    if (!topo)
        return CGX_ERR_INVALID;
    for (unsigned i = 0; (node = find_object(topo, HWLOC_OBJ_NUMANODE, i)) != NULL; i++)
        if (node->os_index == numa_node)
            break;
    if (!node) {
        cgx_log(CGX_LOG_DEBUG, "memory is not bound: there is no NUMA node %u", numa_node);
        return CGX_ERR_INVALID;
    }
    if (table.set_area_membind(topo, memory, bytes, node->nodeset, HWLOC_MEMBIND_BIND,
                               HWLOC_MEMBIND_BYNODESET) != 0) {
        cgx_log(CGX_LOG_DEBUG, "memory is not bound to NUMA node %u: %s", numa_node,
                strerror(errno));
        return CGX_ERR_INVALID;
    }
    return CGX_OK;
}

/* ---- devices ---- */

static bool has_bus_id(const struct hwloc_pcidev_attr_s *device, const unsigned wanted[4])
{
    return device->domain == wanted[0] && device->bus == wanted[1] && device->dev == wanted[2] &&
           device->func == wanted[3];
}

int cgx_topo_node_near(struct hwloc_topology *topo, const char *bus_id)
{
    unsigned wanted[4]; /* the domain, bus, device and function that are looked for */
    hwloc_obj_t device;
    int end = 0;

    if (!topo ||
        sscanf(bus_id, "%8x:%2x:%2x.%1x%n", &wanted[0], &wanted[1], &wanted[2], &wanted[3], &end) !=
            4 ||
        bus_id[end] != '\0')
        return CGX_TOPO_UNKNOWN;
    for (unsigned i = 0; (device = find_object(topo, HWLOC_OBJ_PCI_DEVICE, i)) != NULL; i++)
        if (has_bus_id(&device->attr->pcidev, wanted))
            return node_of(topo, hwloc_get_non_io_ancestor_obj(topo, device)->cpuset);
    return CGX_TOPO_UNKNOWN;
}
