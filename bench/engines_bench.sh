#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures every engine on a server of its own, each as durable as it is meant to be run, with its data
# in DIR (a disk, not memory, or the figures mean nothing); and beside MariaDB, mariadb-slap that raises
# one row by one statement.
#
#   bench/engines_bench.sh [BIN_DIR [SECONDS [DIR]]]      default: build/release/bin 3 /var/tmp
set -euo pipefail
bin=${1:-build/release/bin}
seconds=${2:-3}
work=$(mktemp -d "${3:-/var/tmp}/locus-bench-XXXXXX")
port=$((20000 + RANDOM % 10000))
servers=()
stop() {
  for server in "${servers[@]}"; do kill "$server" 2> /dev/null || true; done
  wait
  rm -rf "$work"
}
trap stop EXIT INT TERM

# started COMMAND...: the server just begun answers the command, within 20 s.
started() {
  for _ in $(seq 400); do
    "$@" > /dev/null 2>&1 && return
    kill -0 "${servers[-1]}" 2> /dev/null || break
    sleep 0.05
  done
  cat "$work"/*.log >&2
  exit 1
}

cat > "$work/my.cnf" << END
[mariadbd]
datadir=$work/mariadb
socket=$work/sock
pid-file=$work/pid
port=$port
bind-address=127.0.0.1
skip-name-resolve
innodb-flush-log-at-trx-commit=1
END
[ "$(id -u)" -ne 0 ] || echo user=root >> "$work/my.cnf"
mariadb-install-db --defaults-file="$work/my.cnf" --auth-root-authentication-method=normal \
  --skip-test-db > "$work/install.log"
PATH=$PATH:/usr/sbin mariadbd --defaults-file="$work/my.cnf" > "$work/mariadb.log" 2>&1 &
servers+=($!)
client=(--no-defaults -h127.0.0.1 "-P$port" -uroot)
started mariadb "${client[@]}" -e 'CREATE DATABASE IF NOT EXISTS locus_bench'

redis-server --port $((port + 1)) --bind 127.0.0.1 --dir "$work" --appendonly yes \
  > "$work/redis.log" 2>&1 &
servers+=($!)
started redis-cli -p $((port + 1)) ping

etcd --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$((port + 2))" \
  --advertise-client-urls "http://127.0.0.1:$((port + 2))" \
  --listen-peer-urls "http://127.0.0.1:$((port + 3))" --log-level error > "$work/etcd.log" 2>&1 &
servers+=($!)
started env ETCDCTL_API=3 etcdctl "--endpoints=127.0.0.1:$((port + 2))" endpoint health

"$bin/engines_bench" sqlite "sqlite:$work/store.db" "$seconds"
"$bin/engines_bench" mariadb "mysql://root@127.0.0.1:$port/locus_bench" "$seconds"
mariadb "${client[@]}" locus_bench -e 'CREATE TABLE peer (k INT PRIMARY KEY, n BIGINT) ENGINE=InnoDB'
mariadb-slap "${client[@]}" --create-schema=locus_bench --no-drop --number-of-queries=3000 \
  --query='INSERT INTO peer VALUES (1, 1) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(n + 1)' |
  awk '/Average number of seconds/ {
    printf "%-8s  %-28s  %8.0f /s\n", "(peer)", "mariadb-slap, one row", 3000 / $(NF - 1) }'
"$bin/engines_bench" redis "redis://127.0.0.1:$((port + 1))/0" "$seconds"
"$bin/engines_bench" etcd "etcd://127.0.0.1:$((port + 2))/bench" "$seconds"
