# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Hosts for bench/lab: network namespaces, joined by a bridge. To be sourced by it, where $top is the
# source directory, $mpiexec the launcher, and options are variables of their names.

check_machine() {
    [ "$(id -u)" -eq 0 ] || fail "only root can make hosts (network namespaces)"
    missing=
    for tool in ip:iproute2 tc:iproute2 unshare:util-linux setpriv:util-linux awk:mawk; do
        command -v "${tool%:*}" >/dev/null || missing="$missing ${tool%:*} (package ${tool#*:})"
    done
    [ -z "$missing" ] || fail "not installed:$missing"
    [ -x "$mpiexec" ] || command -v "$mpiexec" >/dev/null || fail "there is no $mpiexec"
    "$mpiexec" --version 2>/dev/null | grep -q HYDRA ||
        fail "$mpiexec is not MPICH's: others start no ranks in namespaces"
    [ -z "$mpi" ] || [ -x "$mpi/bin/mpicc" ] || fail "there is no $mpi/bin/mpicc"
    reason=$(unshare --net --uts --ipc --mount --pid --fork --mount-proc true 2>&1) ||
        fail "this machine gives out no namespaces: $reason"
}

# link RATE DEVICE [tc ARGUMENTS]: what it sends, at most. Slower links have shorter bursts, of as
# much time, or of a few frames.
link() {
    link_rate=$1
    link_burst=$(awk -v slow="$(bits_per_second "$1")" -v rate="$(bits_per_second "$rate")" \
        -v burst="$burst" -v least=$((4 * mtu)) '
        BEGIN { burst *= slow / rate; printf "%d\n", (burst > least ? burst : least) }')
    link_device=$2
    shift 2
    tc "$@" qdisc add dev "$link_device" root tbf rate "$link_rate" burst "$link_burst" latency 20ms \
        >"$lab/error" 2>&1 || fail "tc cannot set a rate (tbf) here: $(cat "$lab/error")"
}

make_hosts() {
    mount -t tmpfs -o mode=755 lab /run
    lab=/run/lab
    mkdir "$lab" /run/netns
    ip link set lo up
    ip link add name switch type bridge || fail "this kernel has no bridges"
    ip addr add 10.0.0.254/24 dev switch
    ip link set dev switch mtu "$mtu" up
    host=0
    while [ "$host" -lt "$hosts" ]; do
        ip netns add "h$host"
        ip link add name "port$host" mtu "$mtu" type veth peer name eth0 mtu "$mtu" netns "h$host" ||
            fail "this kernel has no veth devices"
        ip link set dev "port$host" master switch up
        ip -n "h$host" addr add "10.0.0.$((host + 1))/24" dev eth0
        ip -n "h$host" link set dev lo up
        ip -n "h$host" link set dev eth0 up
        set_congestion "h$host"
        host_rate=$rate
        [ "${slow_host%%:*}" != "$host" ] || host_rate=${slow_host#*:}
        link "$host_rate" "port$host"
        link "$host_rate" eth0 -n "h$host"
        host=$((host + 1))
    done
}

# Not this machine's: what most hosts have, and if only the first namespace may have that, its like.
set_congestion() {
    for name in ${congestion:-cubic reno}; do
        if ip netns exec "$1" sysctl -qw "net.ipv4.tcp_congestion_control=$name" 2>/dev/null; then
            return 0
        fi
    done
    fail "TCP's congestion control cannot be ${congestion:-cubic or reno} here"
}

list_hosts() {
    awk -v n="$hosts" 'BEGIN { for (i = 0; i < n; i++) printf "%sh%d", i ? "," : "", i }'
}

# run_ranks COMMAND...: on all hosts.
run_ranks() {
    LAB_SHM=$shm LAB_PRIORITY=$priority "$mpiexec" -launcher ssh -launcher-exec "$top/bench/lab_host" \
        -localhost 10.0.0.254 -hosts "$(list_hosts)" -ppn "${at_once:-$ranks_per_host}" \
        -n $((hosts * ranks_per_host)) ${priority:+"$top/bench/lab_host" --first} "$@" </dev/null
}

# preloaded SETTINGS COMMAND...
preloaded() (
    # shellcheck disable=SC2086 # words
    [ -z "$1" ] || export ${1?}
    shift
    run_ranks "$top_builddir/tools/cgxrun" ${first:+--first "$first"} "$@"
)

# Bytes that each host has sent and received so far: the other way round at its port of the switch.
read_links() {
    sed -n 's/^ *port\([0-9]*\): */\1 /p' /proc/net/dev | sort -n |
        awk '{ print $1, $2, $10 }'
}

# Those since FILE was read, as lines of HOST SENT RECEIVED.
links_since() {
    read_links >"$lab/links"
    paste -d ' ' "$1" "$lab/links" | awk '{ printf "%d %.0f %.0f\n", $1, $5 - $2, $6 - $3 }'
}

# What went over all links since they were made; with headers, as tc counts them, of what was sent.
print_links() {
    echo
    echo "link    bytes sent      with headers    bytes received"
    read_links | while read -r host sent received; do
        framed=$(tc -n "h$host" -s qdisc show dev eth0 | sed -n 's/^ *Sent \([0-9]*\) .*/\1/p')
        printf 'h%-4d %13.0f %17.0f %17.0f\n' "$host" "$sent" "${framed:-0}" "$received"
    done
}
