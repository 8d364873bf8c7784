#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures RedisSequencer beside redis-benchmark running the same script with the same arguments, in
# turns, on a redis-server of its own:
#
#   bench/engine/redis_bench.sh [BIN_DIR [SECONDS [ROUNDS]]]      default: build/release/bin 1 9
#
# Prints medians in calls a second and their ratio. Exit 1: a serial or pipelined ratio is below 0.7.
set -euo pipefail
bin=${1:-build/release/bin}
seconds=${2:-1}
rounds=${3:-9}
work=$(mktemp -d)
port=$((20000 + RANDOM % 10000))
redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$work" > "$work/log" &
server=$!
trap 'kill "$server" 2> /dev/null; wait "$server" 2> /dev/null; rm -rf "$work"' EXIT INT TERM
for _ in $(seq 100); do
  sha=$("$bin/redis_bench" "$port" sha 2> /dev/null) && break
  kill -0 "$server" 2> /dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 0.05
done

# Calls a second of redis-benchmark with $1 clients and $2 requests in flight each, $3 in all.
peer() {
  redis-benchmark -p "$port" -c "$1" -P "$2" -n "$3" --csv evalsha "$sha" 1 locus:sequence:k \
    1 9223372036854775806 0 1 0 0 | awk -F'"' 'END { printf "%.0f\n", $4 }'
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

calls=$(awk -v s="$seconds" 'BEGIN { printf "%d", s * 15000 }')
for _ in $(seq "$rounds"); do
  peer 1 1 "$calls" >> "$work/serial"
  "$bin/redis_bench" "$port" next "$seconds" >> "$work/next"
  "$bin/redis_bench" "$port" batch "$seconds" >> "$work/batch"
  peer 1 16 $((calls * 6)) >> "$work/p16"
  "$bin/redis_bench" "$port" each "$seconds" 16 >> "$work/each16"
  peer 1 64 $((calls * 6)) >> "$work/p64"
  "$bin/redis_bench" "$port" each "$seconds" 64 >> "$work/each64"
  peer 16 1 $((calls * 3)) >> "$work/c16"
  "$bin/redis_bench" "$port" threads "$seconds" 16 >> "$work/threads16"
done

failed=0
report() {  # name, file of ours, file of the peer, least ratio
  local ours theirs
  ours=$(median "$work/$2")
  theirs=$(median "$work/$3")
  awk -v name="$1" -v ours="$ours" -v theirs="$theirs" -v least="$4" 'BEGIN {
    printf "%-42s %8.0f /s   redis-benchmark %8.0f /s   ratio %.2f\n", name, ours, theirs,
      ours / theirs
    exit ours / theirs < least }' || failed=1
}
report "Next, one thread" next serial 0.7
report "NextBatch of 100, one thread" batch serial 0.7
report "NextEach of 16 keys" each16 p16 0.7
report "NextEach of 64 keys" each64 p64 0.7
report "Next, 16 threads on one connection (-c 16)" threads16 c16 0
exit "$failed"
