#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures `locus assign` on a CSV file of three columns with uniform random buyers: a new store
# each run, file to file.
#
#   bench/assign/assign_bench.sh [BIN_DIR [ROWS [RUNS]]]      default: build/release/bin 5000000 5
#
# Prints a line a run, then the median rows/s and the highest peak memory. Exit 1: the median is
# below 1,000,000 rows/s, or the memory above 64 MiB.
set -eu
bin=${1:-build/release/bin}
rows=${2:-5000000}
runs=${3:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

"$bin/orders_csv" "$rows" >"$work/orders.csv"
"$bin/locus" keys new "$work/keys.ring"
"$bin/locus" table new --shard a=mysql://127.0.0.1/a --shard b=mysql://127.0.0.1/b \
  --shard c=mysql://127.0.0.1/c --shard d=mysql://127.0.0.1/d >"$work/table.json"

run=1
while [ "$run" -le "$runs" ]; do
  "$bin/run_measured" "$bin/locus" assign --buyer-column CustomerID \
    --store "sqlite:$work/store$run.db" --create-store --table "$work/table.json" \
    --keys "$work/keys.ring" --in "$work/orders.csv" --out "$work/assigned.csv" \
    2>"$work/stderr" >"$work/measured" || { cat "$work/stderr" >&2; exit 1; }
  awk -v rows="$rows" '{ printf "%.0f rows/s  %.2f s wall  %.2f s processor  %.1f MiB peak\n",
    rows / $1, $1, $2, $3 / 1024 }' "$work/measured" | tee -a "$work/runs"
  run=$((run + 1))
done

sort -n "$work/runs" | awk '
  { rate[NR] = $1; if ($9 > memory) memory = $9 }
  END {
    median = rate[int((NR + 1) / 2)]
    printf "median %.0f rows/s, peak %.1f MiB\n", median, memory
    exit !(median >= 1000000 && memory <= 64)
  }'
