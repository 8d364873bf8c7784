#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures every way to a number that docs/start/choosing.md compares, in one run: MariaDB and etcd that
# flush each commit, and two Redis servers, of which one flushes each second and one each write. Their
# data is in DIR (a disk, not memory, or the figures mean nothing). Prints the table of that page.
#
#   bench/choosing/choosing_bench.sh [BIN_DIR [SECONDS [DIR]]]      default: build/release/bin 3 /var/tmp
set -euo pipefail
bin=${1:-build/release/bin}
seconds=${2:-3}
# shellcheck source=bench/engine/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine/servers.sh" "${3:-/var/tmp}"

# start_redis PORT WHEN: flushes its append-only file when told.
start_redis() {
  mkdir "$work/redis-$2"
  redis-server --port "$1" --bind 127.0.0.1 --dir "$work/redis-$2" --appendonly yes --appendfsync "$2" \
    --save '' > "$work/redis-$2.log" 2>&1 &
  servers+=($!)
  started redis-cli -p "$1" ping
}
start_mariadb
start_redis $((port + 1)) everysec
start_etcd
start_redis $((port + 4)) always

echo "| | a second, 1 client | p50 | p99 | a second, 16 clients | p50 | p99 |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
"$bin/choosing_bench" "$port" $((port + 1)) $((port + 4)) $((port + 2)) "$seconds"
