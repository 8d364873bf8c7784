#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the ID service beside the server's own ceiling, /healthz, in one run on loopback: locusd on
# one core and on two, with its own SQLite file. Needs wrk. SECONDS a figure; SOAK seconds of load at
# the end, with the process' memory.
#
#   bench/http/http_bench.sh [BIN_DIR [SECONDS [SOAK]]]      default: build/release/bin 5 60
#   PRIORITY="chrt -f 1" bench/http/http_bench.sh            on a machine that is busy otherwise; the
#                                                           kernel then stops it 50 ms of each second
#
# Exit 1: a single order has less than 0.8 of the ceiling's requests a second, a batch makes less
# than 3 million IDs a second, the p99 at 70 % of the load is above 5 ms, or memory grew by more than
# a tenth in the second half of the soak.
set -euo pipefail
bin=${1:-build/release/bin}
seconds=${2:-5}
soak=${3:-60}
here=$(dirname "${BASH_SOURCE[0]}")
read -r -a priority <<< "${PRIORITY:-}"
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null; rm -rf "$work"' EXIT
cores=$(nproc)
bad=0

# start CORES: of a server; its address in $address
start() {
  "${priority[@]}" taskset -c "$1" "$bin/locusd" --listen 127.0.0.1:0 --data "$work/ids" > "$work/out" 2>&1 &
  server=$!
  for _ in $(seq 200); do
    address=$(sed -n 's|^locusd .* serves IDs at http://\([0-9.:]*\) .*|\1|p' "$work/out")
    [ -n "$address" ] && return
    sleep 0.05
  done
  cat "$work/out" >&2
  return 1
}
# load CORES WRK_ARGUMENTS...: requests a second; an answer that is not 200 ends the run
load() {
  local on=$1 text
  shift
  text=$("${priority[@]}" taskset -c "$on" wrk -t1 -c32 -d"$seconds" "$@")
  if grep -q 'Non-2xx\|Socket errors' <<< "$text"; then
    echo "$text" >&2
    return 1
  fi
  sed -n 's/^Requests\/sec: *\([0-9]*\).*/\1/p' <<< "$text"
}
# hold WHAT FIGURE RELATION LIMIT
hold() {
  awk -v a="$2" -v b="$4" "BEGIN { exit !(a $3 b) }" && return
  echo "$1 is $2; asked for: $3 $4"
  bad=1
}
memory() { awk '/^VmRSS/ { print $2 }' "/proc/$server/status"; }

for threads in 1 2; do
  if [ "$threads" = 1 ]; then of_server=0; else of_server=0-$((cores > 1 ? 1 : 0)); fi
  of_client=$((cores > 2 ? 2 : cores - 1))
  start "$of_server"
  BATCH=0 load "$of_client" -s "$here/orders.lua" "http://$address" > /dev/null
  BATCH=100 load "$of_client" -s "$here/orders.lua" "http://$address" > /dev/null
  # One right behind the other, five times: the machine's speed changes from one minute to the next, and
  # the median of the ratios is of pairs that had the same speed.
  pairs=
  for _ in 1 2 3 4 5; do
    ceiling=$(BATCH=0 load "$of_client" -s "$here/orders.lua" "http://$address")
    single=$(BATCH=1 load "$of_client" -s "$here/orders.lua" "http://$address")
    pairs+=$(awk "BEGIN { printf \"%.2f\", $single / $ceiling }")" $ceiling $single"$'\n'
  done
  read -r ratio ceiling single <<< "$(sort -n <<< "${pairs%?}" | sed -n 3p)"
  least=$(sort -n <<< "${pairs%?}" | sed -n '1s/ .*//p')
  most=$(sort -n <<< "${pairs%?}" | sed -n '5s/ .*//p')
  snowflake=$(load "$of_client" "http://$address/v1/snowflake")
  batch=$(BATCH=100 load "$of_client" -s "$here/orders.lua" "http://$address")
  printf '%s thread(s): ceiling %s/s; single order %s/s (%s x, of five %s to %s); Snowflake %s/s (%s x); batch of 100 %s/s, %s IDs/s\n' \
    "$threads" "$ceiling" "$single" "$ratio" "$least" "$most" "$snowflake" \
    "$(awk "BEGIN { printf \"%.2f\", $snowflake / $ceiling }")" "$batch" "$((batch * 100))"
  hold "single order / ceiling" "$ratio" '>=' 0.8
  hold "IDs a second in batches" "$((batch * 100))" '>=' 3000000
  printf '%s thread(s) at 70 %% of it: ' "$threads"
  paced=$("${priority[@]}" taskset -c "$of_client" "$bin/paced_load" "$address" $((single * 7 / 10)) "$seconds" 32 \
    /v1/orders/ids '{"buyers":["%"]}')
  echo "$paced"
  p99=${paced#*p99 }
  hold "p99 in ms" "${p99%% *}" '<=' 5
  if [ "$threads" = 2 ]; then
    # Idempotency keys, which are kept, are not among the load.
    begin=$(memory)
    "${priority[@]}" taskset -c "$of_client" "$bin/paced_load" "$address" $((single / 2)) $((soak / 2)) 32 /v1/orders/ids \
      '{"buyers":["%","%","%"]}' > /dev/null
    half=$(memory)
    "${priority[@]}" taskset -c "$of_client" "$bin/paced_load" "$address" $((single / 2)) $((soak / 2)) 32 /v1/orders/ids \
      '{"buyers":["%","%","%"]}' > /dev/null
    end=$(memory)
    echo "memory over $soak s: $begin kB, $half kB, $end kB"
    hold "memory at the end, kB" "$end" '<=' $((half + half / 10))
  fi
  kill "$server"
  wait "$server" 2> /dev/null || true
  server=
done
exit $bad
