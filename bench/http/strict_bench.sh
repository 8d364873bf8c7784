#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures a sequence-node beside the server's own ceiling, /healthz, in one run on loopback: locusd on
# one core and on two, all 10 million keys its own, SQLite as the store. Needs wrk. SECONDS a figure.
#
#   bench/http/strict_bench.sh [BIN_DIR [SECONDS]]           default: build/release/bin 5
#   PRIORITY="chrt -f 1" bench/http/strict_bench.sh          as of http_bench.sh
#
# Exit 1: a single number has less than 0.8 of the ceiling's requests a second, or batches of 100 or of
# 1,000 make less than 2 million numbers a second.
set -euo pipefail
bin=${1:-build/release/bin}
seconds=${2:-5}
here=$(dirname "${BASH_SOURCE[0]}")
read -r -a priority <<< "${PRIORITY:-}"
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null; rm -rf "$work"' EXIT
cores=$(nproc)
bad=0
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
address=127.0.0.1:$port

# start THREADS CORES
start() {
  cat > "$work/node.toml" << FILE
roles = ["sequence-node"]
[api]
listen = "$address"
threads = $1
rate = 0
[strict]
name = "bench"
store = "sqlite:$work/strict.db"
create = true
uids = 10000000
FILE
  "${priority[@]}" taskset -c "$2" "$bin/locusd" --config "$work/node.toml" 2> "$work/log" &
  server=$!
  for _ in $(seq 600); do  # a set that is made rests for its ttl
    if curl -sf "http://$address/v1/strict/next" -d '{"uids":["0","9999999"]}' > /dev/null; then return; fi
    sleep 0.05
  done
  cat "$work/log" >&2
  return 1
}
# load CORES: requests a second of wrk with BATCH; an answer that is not 200 ends the run
load() {
  local text
  text=$("${priority[@]}" taskset -c "$1" wrk -t1 -c32 -d"$seconds" -s "$here/strict.lua" "http://$address")
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

for threads in 1 2; do
  if [ "$threads" = 1 ]; then of_server=0; else of_server=0-$((cores > 1 ? 1 : 0)); fi
  of_client=$((cores > 2 ? 2 : cores - 1))
  start "$threads" "$of_server"
  BATCH=0 load "$of_client" > /dev/null
  BATCH=100 load "$of_client" > /dev/null
  # As in http_bench.sh: pairs, of which the median counts.
  pairs=
  for _ in 1 2 3 4 5; do
    ceiling=$(BATCH=0 load "$of_client")
    single=$(BATCH=1 load "$of_client")
    pairs+=$(awk "BEGIN { printf \"%.2f\", $single / $ceiling }")" $ceiling $single"$'\n'
  done
  read -r ratio ceiling single <<< "$(sort -n <<< "${pairs%?}" | sed -n 3p)"
  least=$(sort -n <<< "${pairs%?}" | sed -n '1s/ .*//p')
  most=$(sort -n <<< "${pairs%?}" | sed -n '5s/ .*//p')
  hundred=$(BATCH=100 load "$of_client")
  thousand=$(BATCH=1000 load "$of_client")
  printf '%s thread(s): ceiling %s/s; one number %s/s (%s x, of five %s to %s); batches of 100 %s numbers/s, of 1,000 %s numbers/s\n' \
    "$threads" "$ceiling" "$single" "$ratio" "$least" "$most" "$((hundred * 100))" "$((thousand * 1000))"
  hold "one number / ceiling" "$ratio" '>=' 0.8
  hold "numbers a second in batches of 100" "$((hundred * 100))" '>=' 2000000
  hold "numbers a second in batches of 1,000" "$((thousand * 1000))" '>=' 2000000
  kill "$server"
  wait "$server" 2> /dev/null || true
  server=
done
exit $bad
