/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "mpi/config.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "mpi/world.h"
#include "util/log.h"
#include "util/parse.h"

extern char **environ;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cgx_settings settings;
static struct cgx_rules *rules;

/* Only rank 0 reports, since mistakes in settings are the same on all ranks or found by the
 * agreement. If a mistake ends the job, every rank reports it and ends; the others first leave rank
 * 0 time to do both. */
static bool reports_here(int level)
{
    static bool has_waited;

    if (cgx_world_rank() <= 0)
        return true;
    if (level != CGX_LOG_ERROR || settings.enable != CGX_ENABLE_STRICT)
        return false;
    if (!has_waited)
        sleep(3);
    has_waited = true;
    return true;
}

static void report_setting(void *context, int level, const char *message)
{
    (void)context;
    cgx_log_set_level((enum cgx_log_level)settings.log_level);
    if (reports_here(level))
        cgx_log((enum cgx_log_level)level, "%s", message);
}

void cgx_config_end_strict(void)
{
    if (settings.enable != CGX_ENABLE_STRICT || !cgx_world_exists())
        return;
    /* Launchers may drop lines that a rank writes just before it ends the job. */
    sleep(1);
    cgx_mpi()->raw.Abort((uintptr_t)cgx_mpi()->COMM_WORLD, 1);
}

static void warn_rule(unsigned line, const char *message)
{
    if (cgx_world_rank() <= 0)
        cgx_log(CGX_LOG_WARN, "CGX_RULES, line %u: %s", line, message);
}

/* Warns if a launcher has started several ranks, each of which is a job of its own, since the
 * launcher is that of another MPI. */
static void warn_of_one_rank(void)
{
    static const char *const names[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};

    if (cgx_world_size() != 1 || !settings.enable)
        return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        uint64_t size;

        if (!text || !cgx_parse_unsigned(text, &size) || size < 2)
            continue;
        cgx_log(CGX_LOG_WARN,
                "MPI_COMM_WORLD has one rank, but the launcher started %llu (%s): each rank sums "
                "alone; if they are to sum together, start the program by the launcher of its MPI "
                "(%s)",
                (unsigned long long)size, names[i], cgx_mpi()->name);
        return;
    }
}

static void read_settings(void)
{
    static const char *const buffers[] = {"device", "host", "all"};
    /* Whether the program is set-uid or has other extra rights. Its environment is then another
     * user's, and must not name files to read or write. */
    const bool is_secure = getauxval(AT_SECURE) != 0;

    cgx_world_exists();
    cgx_settings_parse(is_secure ? NULL : environ, report_setting, NULL, &settings);
    cgx_log_set_level((enum cgx_log_level)settings.log_level);
    if (is_secure && cgx_world_rank() <= 0)
        cgx_log(CGX_LOG_INFO,
                "the program is set-uid or has other extra rights: settings in the environment "
                "are ignored");
    if (cgx_world_rank() <= 0) {
        cgx_log(CGX_LOG_INFO, "libcgxpmpi %s, %s, %d rank%s, %s buffers, %u bits%s",
                PACKAGE_VERSION, cgx_mpi()->name, cgx_world_size(),
                cgx_world_size() == 1 ? "" : "s", buffers[settings.buffers], settings.bits,
                settings.enable == CGX_ENABLE_OBSERVE ? ", observing: nothing is compressed" : "");
        cgx_log(CGX_LOG_DEBUG, "the program's MPI is %s, its ABI that of %s", cgx_mpi()->name,
                cgx_mpi()->abi_name);
        warn_of_one_rank();
    }
    if (settings.valid)
        rules = cgx_rules_read(&settings, warn_rule, report_setting, NULL);
    if (!settings.valid)
        cgx_config_end_strict();
}

const struct cgx_rules *cgx_config_rules(void)
{
    return rules;
}

void cgx_config_log_unused_rules(void)
{
    cgx_rules_unused(rules, warn_rule);
}

const struct cgx_settings *cgx_config(void)
{
    pthread_once(&once, read_settings);
    return &settings;
}

bool cgx_config_name_file(const char *from, int rank, char path[CGX_CONFIG_PATH_BYTES])
{
    bool all = strstr(from, "%r") != NULL;
    size_t used = 0, size = CGX_CONFIG_PATH_BYTES;

    path[0] = '\0';
    while (*from != '\0' && used < size - 1) {
        bool is_rank = from[0] == '%' && from[1] == 'r';

        used += (size_t)(is_rank ? snprintf(path + used, size - used, "%d", rank)
                                 : snprintf(path + used, size - used, "%c", *from));
        from += is_rank ? 2 : 1;
    }
    return all || rank == 0;
}
