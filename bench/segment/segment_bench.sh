#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures worker leases, allocations of segments, and numbers of counters on three nodes of locusd beside
# three of etcd, durable, their data in DIR (a disk, not memory, or the figures mean nothing), each
# pair under the same load in turns; then what 1,024 holders at ttl 10 s cost, and how long a renewal
# waits when the leader is killed.
#
#   bench/segment/segment_bench.sh [BIN_DIR [SECONDS [ROUNDS [DIR]]]]     default: build/release/bin 5 3 /var/tmp
set -euo pipefail
bin=${1:-build/release/bin}
seconds=${2:-5}
rounds=${3:-3}
# shellcheck source=bench/engine/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine/servers.sh" "${4:-/var/tmp}"

# Three members of etcd.
cluster=() etcd=()
for i in 1 2 3; do
  cluster+=("m$i=http://127.0.0.1:$((port + 2 * i + 1))")
  etcd+=("127.0.0.1:$((port + 2 * i))")
done
for i in 1 2 3; do
  client=http://127.0.0.1:$((port + 2 * i)) peer=http://127.0.0.1:$((port + 2 * i + 1))
  etcd "--name=m$i" "--data-dir=$work/m$i" "--listen-client-urls=$client" \
    "--advertise-client-urls=$client" "--listen-peer-urls=$peer" \
    "--initial-advertise-peer-urls=$peer" "--initial-cluster=$(IFS=, && echo "${cluster[*]}")" \
    --log-level=error --logger=zap > "$work/m$i.log" 2>&1 &
  servers+=($!)
done
started env ETCDCTL_API=3 etcdctl "--endpoints=$(IFS=, && echo "${etcd[*]}")" endpoint health
# The leader first: keepalive asks the first one only, and it is the leader that answers.
for i in 0 1 2; do
  if ETCDCTL_API=3 etcdctl "--endpoints=${etcd[$i]}" endpoint status -w fields |
    awk -F' : ' '/"MemberID"/ { m = $2 } /"Leader"/ { l = $2 } END { exit m != l }'; then
    etcd=("${etcd[$i]}" "${etcd[@]}")
    break
  fi
done

# Three nodes of locusd.
locusd=() locusd_pids=()
ask() { curl -sf -m 5 "$@"; }
add_node() { # I
  local raft=127.0.0.1:$((port + 20 + 2 * $1)) api=127.0.0.1:$((port + 21 + 2 * $1)) id
  printf 'cluster = "bench"\ndata = "%s"\n[raft]\nlisten = "%s"\n[api]\nlisten = "%s"\nstore = true\nrate = 0\n' \
    "$work/n$1" "$raft" "$api" > "$work/n$1.toml"
  "$bin/locusd" --config "$work/n$1.toml" ${2:+"$2"} 2> "$work/n$1.log" &
  servers+=($!)
  locusd_pids[$1]=$!
  started ask "http://$api/healthz"
  locusd+=("$api")
  [ -z "${2:-}" ] || return 0
  id=$(ask "http://$api/v1/status" | sed 's/^{"id":"\([0-9]*\)".*/\1/')
  started ask -X POST -d "{\"id\":\"$id\",\"address\":\"$raft $api\"}" "http://${locusd[0]}/v1/members"
  started ask -X POST "http://${locusd[0]}/v1/members/$id:promote"
}
add_node 1 --begin
started ask "http://${locusd[0]}/readyz"
add_node 2
add_node 3

for round in $(seq "$rounds"); do
  echo "== round $round"
  for load in "renew 1" "renew 16" "renew 64" "acquire 1" "acquire 16" \
    "segment 1" "segment 16" "number 1" "number 16"; do
    read -r mode threads <<< "$load"
    echo "$threads at once:"
    "$bin/allocation_load" locusd "$mode" "$threads" "$seconds" "${locusd[@]}" 2> /dev/null
    "$bin/allocation_load" etcd "$mode" "$threads" "$seconds" "${etcd[@]}" 2> /dev/null
    [ "$mode" != renew ] ||
      "$bin/allocation_load" keepalive "$mode" "$threads" "$seconds" "${etcd[@]}" 2> /dev/null
  done
done

# ticks PID...: the processor time that they have used, in 1/100 s.
ticks() {
  local sum=0 pid fields
  for pid in "$@"; do
    # Behind the command's name, which may hold blanks.
    read -r -a fields <<< "$(sed 's/^.*) //' "/proc/$pid/stat")"
    sum=$((sum + fields[11] + fields[12]))
  done
  echo "$sum"
}
echo "== 1,024 holders at ttl 10 s, for 10 s"
before=()
"$bin/allocation_load" locusd hold 1024 10 "${locusd[@]}" 2> "$work/hold" &
load=$!
until grep -q counting "$work/hold"; do sleep 0.01; done
for i in 1 2 3; do before[i]=$(ticks "${locusd_pids[i]}"); done
until grep -q counted "$work/hold"; do sleep 0.01; done
for i in 1 2 3; do
  awk -v i="$i" -v ticks=$(($(ticks "${locusd_pids[i]}") - before[i])) \
    'BEGIN { printf "node %d: %.1f %% of a core\n", i, ticks / 10 }'
done
wait "$load"

echo "== the leader killed, ten times"
for _ in $(seq 10); do
  "$bin/allocation_load" locusd gap 1 4 "${locusd[@]}" 2> "$work/gap" &
  load=$!
  until grep -q counting "$work/gap"; do sleep 0.01; done
  for i in 1 2 3; do
    if ask "http://${locusd[$((i - 1))]}/v1/status" | grep -q '"role":"leader"'; then break; fi
  done
  kill -9 "${locusd_pids[i]}"
  wait "$load"
  "$bin/locusd" --config "$work/n$i.toml" 2>> "$work/n$i.log" &
  servers+=($!)
  locusd_pids[i]=$!
  started ask "http://${locusd[$((i - 1))]}/readyz"
done
