#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures every engine on a server of its own, each as durable as it is meant to be run, with its data
# in DIR (a disk, not memory, or the figures mean nothing); and beside MariaDB, mariadb-slap that raises
# one row by one statement.
#
#   bench/engine/engines_bench.sh [BIN_DIR [SECONDS [DIR]]]      default: build/release/bin 3 /var/tmp
set -euo pipefail
bin=${1:-build/release/bin}
seconds=${2:-3}
# shellcheck source=bench/engine/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/servers.sh" "${3:-/var/tmp}"
start_mariadb

redis-server --port $((port + 1)) --bind 127.0.0.1 --dir "$work" --appendonly yes \
  > "$work/redis.log" 2>&1 &
servers+=($!)
started redis-cli -p $((port + 1)) ping

start_etcd

"$bin/engines_bench" sqlite "sqlite:$work/store.db" "$seconds"
"$bin/engines_bench" mariadb "mysql://root@127.0.0.1:$port/locus_bench" "$seconds"
mariadb "${mariadb_client[@]}" locus_bench -e 'CREATE TABLE peer (k INT PRIMARY KEY, n BIGINT) ENGINE=InnoDB'
mariadb-slap "${mariadb_client[@]}" --create-schema=locus_bench --no-drop --number-of-queries=3000 \
  --query='INSERT INTO peer VALUES (1, 1) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(n + 1)' |
  awk '/Average number of seconds/ {
    printf "%-8s  %-28s  %8.0f /s\n", "(peer)", "mariadb-slap, one row", 3000 / $(NF - 1) }'
"$bin/engines_bench" redis "redis://127.0.0.1:$((port + 1))/0" "$seconds"
"$bin/engines_bench" etcd "etcd://127.0.0.1:$((port + 2))/bench" "$seconds"
