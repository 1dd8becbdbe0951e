#!/bin/sh
# A campaign on a Slurm cluster of one node, which this script starts and ends. One of its shards is killed while it runs:
# the campaign finds that it left no record and runs it again.
set -eu

work=$(mktemp -d /tmp/ashlar-slurm.XXXXXX)
name=$(uname -n)
user=$(id -un)
# Two ports that hardly anything else has.
port=$((20000 + $$ % 20000))
export SLURM_CONF="$work/slurm.conf"

finish() {
    status=$?
    [ -z "${controller:-}${daemon:-}${munge:-}" ] || kill -KILL ${campaign:-} ${controller:-} ${daemon:-} ${munge:-} 2>/dev/null || true
    wait
    if [ "$status" -ne 0 ]; then
        tail -n 15 "$work"/*.log "$work"/out/*.log 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

# Runs a command until it succeeds, for at most two minutes.
await() {
    end=$(($(date +%s) + 120))
    until timeout 10 "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$end" ] || { echo "in vain for two minutes: $*"; exit 1; }
        sleep 0.2
    done
}

mkdir "$work/state" "$work/spool" "$work/out"
dd if=/dev/urandom of="$work/munge.key" bs=128 count=1 2>/dev/null
chmod 600 "$work/munge.key"
chmod 755 "$work"
cat >"$SLURM_CONF" <<END
ClusterName=ashlar
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=$user
SlurmdUser=$user
AuthInfo=socket=$work/munge.socket
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=5
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
NodeName=$name NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END

munged --force --foreground --key-file="$work/munge.key" --socket="$work/munge.socket" --num-threads=2 \
    --pid-file="$work/munged.pid" --seed-file="$work/munge.seed" --log-file="$work/munged.log" 2>"$work/munged.err.log" &
munge=$!
await test -S "$work/munge.socket"
slurmctld -D -i >"$work/controller.log" 2>&1 &
controller=$!
slurmd -D -N "$name" >"$work/daemon.log" 2>&1 &
daemon=$!
await sh -c "sinfo -h -o %T | grep -q idle"

./ashlar campaign vcpu-fuzz --items 12 --shards 3 --engine slurm --out "$work/out" >"$work/campaign.log" 2>&1 &
campaign=$!
# Slurm calls a task running before its daemon has started it, and a task that is cancelled in between may never end.
await sh -c "ls '$work'/out/*-2of3.log"
scancel "$(squeue -h -t RUNNING -o %F_%K | grep '_2$')"
wait "$campaign"
cat "$work/campaign.log"
grep -q "lost, and run again: 2/3" "$work/campaign.log"
./ashlar report "$work"/out/*.json | grep "12 items in 3 of 3 shards"
