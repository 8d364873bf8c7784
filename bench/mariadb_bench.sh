#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the engine MariaDB, durable, on a server of its own whose data lies in DIR (a disk, not
# memory, or the figures mean nothing), beside mariadb-slap that raises one row by one statement.
#
#   bench/mariadb_bench.sh [BIN_DIR [SECONDS [DIR]]]      default: build/release/bin 3 /var/tmp
set -euo pipefail
bin=${1:-build/release/bin}
seconds=${2:-3}
work=$(mktemp -d "${3:-/var/tmp}/locus-bench-XXXXXX")
port=$((20000 + RANDOM % 10000))
cat > "$work/my.cnf" << END
[mariadbd]
datadir=$work/data
socket=$work/sock
pid-file=$work/pid
port=$port
bind-address=127.0.0.1
skip-name-resolve
innodb-flush-log-at-trx-commit=1
END
[ "$(id -u)" -ne 0 ] || echo user=root >> "$work/my.cnf"
mariadb-install-db --defaults-file="$work/my.cnf" --auth-root-authentication-method=normal \
  --skip-test-db > "$work/log"
PATH=$PATH:/usr/sbin mariadbd --defaults-file="$work/my.cnf" >> "$work/log" 2>&1 &
server=$!
trap 'kill "$server" 2> /dev/null; wait "$server" 2> /dev/null; rm -rf "$work"' EXIT INT TERM
client=(--no-defaults -h127.0.0.1 "-P$port" -uroot)
for _ in $(seq 200); do
  mariadb "${client[@]}" -e 'CREATE DATABASE IF NOT EXISTS locus_bench' 2> /dev/null && break
  kill -0 "$server" 2> /dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 0.05
done
"$bin/mariadb_bench" "$port" "$seconds"
mariadb "${client[@]}" locus_bench -e 'CREATE TABLE peer (k INT PRIMARY KEY, n BIGINT) ENGINE=InnoDB'
mariadb-slap "${client[@]}" --create-schema=locus_bench --no-drop --number-of-queries=5000 \
  --query='INSERT INTO peer VALUES (1, 1) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(n + 1)' |
  awk '/Average number of seconds/ { printf "mariadb-slap, one row, one client %19.0f /s\n", 5000 / $(NF - 1) }'
