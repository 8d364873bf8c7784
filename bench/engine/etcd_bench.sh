#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the engine etcd, durable, on members of its own whose data lies in DIR (a disk, not memory,
# or the figures mean nothing), beside etcdctl, a process for each put.
#
#   bench/engine/etcd_bench.sh [MEMBERS [BIN_DIR [SECONDS [DIR]]]]   default: 1 build/release/bin 3 /var/tmp
set -euo pipefail
members=${1:-1}
bin=${2:-build/release/bin}
seconds=${3:-3}
work=$(mktemp -d "${4:-/var/tmp}/locus-bench-XXXXXX")
base=$((20000 + RANDOM % 10000))
servers=()
trap 'kill "${servers[@]}" 2> /dev/null; wait 2> /dev/null; rm -rf "$work"' EXIT INT TERM
cluster=() endpoints=()
for i in $(seq "$members"); do
  cluster+=("m$i=http://127.0.0.1:$((base + 2 * i + 1))")
  endpoints+=("127.0.0.1:$((base + 2 * i))")
done
for i in $(seq "$members"); do
  client=http://127.0.0.1:$((base + 2 * i)) peer=http://127.0.0.1:$((base + 2 * i + 1))
  etcd "--name=m$i" "--data-dir=$work/m$i" "--listen-client-urls=$client" \
    "--advertise-client-urls=$client" "--listen-peer-urls=$peer" \
    "--initial-advertise-peer-urls=$peer" "--initial-cluster=$(IFS=, && echo "${cluster[*]}")" \
    --log-level=warn --logger=zap > "$work/m$i.log" 2>&1 &
  servers+=($!)
done
list=$(IFS=, && echo "${endpoints[*]}")
for _ in $(seq 200); do
  ETCDCTL_API=3 etcdctl "--endpoints=$list" endpoint health > "$work/health" 2>&1 && break
  sleep 0.1
done
ETCDCTL_API=3 etcdctl "--endpoints=$list" endpoint health > "$work/health" 2>&1 ||
  { cat "$work"/*.log "$work/health" >&2; exit 1; }
"$bin/etcd_bench" "$seconds" "${endpoints[@]}"
# One gRPC put at a time, by the command that comes with etcd: a process for each.
start=$(date +%s%N)
for i in $(seq 50); do
  ETCDCTL_API=3 etcdctl "--endpoints=$list" put "peer/$i" "$i" > /dev/null
done
end=$(date +%s%N)
printf 'etcdctl put, a process each %26d us\n' $(((end - start) / 50000))
