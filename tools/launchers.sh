# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# What cgxrun, whose part this becomes, knows of launchers: where in their arguments the program is, and
# that torchrun is none.

# The family of the launcher $1: hydra (MPICH's and those of its ABI), openmpi or slurm; empty: it is
# none.
launcher_family() {
    case ${1##*/} in
    srun) echo slurm ;;
    mpiexec | mpiexec.* | mpirun | mpirun.* | orterun | prterun | prun)
        file=$(find_file "$1")
        case $("$file" --version 2>&1 </dev/null) in
        *"Open MPI"* | *OpenRTE* | *PRRTE* | *prte*) echo openmpi ;;
        *HYDRA* | *"Intel(R) MPI"*) echo hydra ;;
        *)
            fail "'$1' is a launcher that cgxrun does not know." \
                "Put cgxrun between it and the program: $1 ... cgxrun PROGRAM"
            ;;
        esac
        ;;
    esac
}

# The options of launchers of family $1 that $2 words follow.
options_of() {
    case $1:$2 in
    hydra:0)
        echo genvnone genvall envnone envall enable-x disable-x verbose v print-all-exitcodes \
            profile prepend-rank l disable-auto-cleanup pmi-port rr disable-hostname-propagation \
            skip-launch-node
        ;;
    hydra:1)
        echo n np genvlist envlist f hostfile machinefile hosts host wdir launcher launcher-exec \
            bootstrap bootstrap-exec rmk topolib bind-to map-by membind demux iface ppn perhost grr \
            prepend-pattern outfile-pattern errfile-pattern nameserver order-nodes localhost usize \
            gpus-per-proc s
        ;;
    hydra:2) echo genv env ;;
    openmpi:0)
        echo allow-run-as-root oversubscribe nooversubscribe q quiet v verbose report-bindings \
            display-map display-allocation tag-output timestamp-output bynode byslot bind-to-core \
            nolocal noprefix use-hwthread-cpus
        ;;
    openmpi:1)
        echo n np c N npernode npersocket host H hostfile machinefile x bind-to map-by rank-by \
            cpu-set cpu-list wdir wd path prefix output-filename output display stdin tune timeout \
            personality rankfile rf
        ;;
    openmpi:2) echo mca gmca omca prtemca pmixmca ;;
    slurm:0)
        echo exclusive overlap label l unbuffered u quiet Q verbose v overcommit O exact no-kill k
        ;;
    slurm:1)
        echo A c C d D e G i J m n N o p q r t T w x account chdir constraint cpu-bind cpus-per-task \
            distribution error exclude export gpus gpus-per-node gpus-per-task gres hint input \
            job-name mem mem-per-cpu mpi nodelist nodes ntasks ntasks-per-node output partition qos \
            reservation time
        ;;
    esac
}

# How many words follow the option $2 of a launcher of family $1, $3 being the next. Empty: unknown.
values_of() {
    option=${2#-}
    option=${option#-}
    case $1:$2 in
    *=*) echo 0 && return ;;
    slurm:-[AcCdDeGiJmnNopqrtTwx]?*) echo 0 && return ;; # -n4, but no long option
    hydra:*env)
        case $3 in
        *=?*) echo 1 && return ;; # -genv NAME=VALUE
        esac
        ;;
    esac
    for count in 0 1 2; do
        case " $(options_of "$1" $count) " in
        *" $option "*) echo $count ;;
        esac
    done
}

# Whether the option $1 of a launcher says where programs are looked for.
moves_program() {
    case $1 in
    -wdir* | --wdir* | -wd | --wd | -path | --path | -D* | --chdir*) return 0 ;;
    esac
    return 1
}

# check_torchrun COMMAND...: not one that starts processes which no MPI launcher knows of.
check_torchrun() {
    case ${1##*/} in
    torchrun) torchrun=torchrun ;;
    python*) torchrun=$(module_of "$@") ;;
    *) return 0 ;;
    esac
    case $torchrun in
    torchrun | torch.distributed.run | torch.distributed.launch)
        ! first_of_host || echo "cgxrun: under '$torchrun' each process would be an MPI job of one" \
            "rank: nothing is started. Type: mpiexec -n N cgxrun python train.py" >&2
        exit 1
        ;;
    esac
}

# module_of python ARGUMENT...: what -m names.
module_of() {
    shift
    while [ $# -gt 1 ]; do
        case $1 in
        -c | [!-]*) return ;;
        -W | -X) shift ;;
        -*m) echo "$2" && return ;;
        esac
        shift
    done
}

# A worker of torchrun that no MPI launcher has started, which may be on purpose.
suspect_torchrun() {
    [ -z "${TORCHELASTIC_RUN_ID:-}" ] || [ -n "$(launcher_of_rank)" ] || [ "${RANK:-0}" != 0 ] ||
        echo "cgxrun: torchrun seems to have started this process: if no MPI launcher did, it is an MPI" \
            "job of one rank. Type: mpiexec -n N cgxrun python train.py" >&2
}
