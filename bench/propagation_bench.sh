#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures how long a published table takes to all of 50 router processes, by each source, with
# servers of its own. The data lies in DIR (a disk, not memory).
#
#   bench/propagation_bench.sh [BIN_DIR [ROUTERS [TABLES [DIR]]]]
#                                                     default: build/release/bin 50 200 /var/tmp
set -euo pipefail
bin=${1:-build/release/bin}
routers=${2:-50}
tables=${3:-200}
work=$(mktemp -d "${4:-/var/tmp}/locus-bench-XXXXXX")
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

measure() { "$bin/propagation_bench" "$1" "$2" "$3" "$routers" "$tables"; }

mkdir "$work/file" "$work/http"
measure file "file:$work/file/table.json" "file:$work/file/table.json"

etcd --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$port" \
  --advertise-client-urls "http://127.0.0.1:$port" \
  --listen-peer-urls "http://127.0.0.1:$((port + 1))" --log-level error > "$work/etcd.log" 2>&1 &
servers+=($!)
started env ETCDCTL_API=3 etcdctl "--endpoints=127.0.0.1:$port" endpoint health
measure etcd "etcd://127.0.0.1:$port/bench" "etcd://127.0.0.1:$port/bench"

"$bin/locus" table new --shard first=mysql://127.0.0.1/orders > "$work/http/table.json"
"$bin/table_server" "$work/http/table.json" > "$work/url.log" 2>&1 &
servers+=($!)
started grep -q http "$work/url.log"
rm "$work/http/table.json"
measure http "$(cat "$work/url.log")" "file:$work/http/table.json"

cat > "$work/my.cnf" << END
[mariadbd]
datadir=$work/mariadb
socket=$work/sock
pid-file=$work/pid
port=$((port + 2))
bind-address=127.0.0.1
skip-name-resolve
innodb-flush-log-at-trx-commit=1
max-connections=500
END
[ "$(id -u)" -ne 0 ] || echo user=root >> "$work/my.cnf"
mariadb-install-db --defaults-file="$work/my.cnf" --auth-root-authentication-method=normal \
  --skip-test-db > "$work/install.log"
PATH=$PATH:/usr/sbin mariadbd --defaults-file="$work/my.cnf" > "$work/mariadb.log" 2>&1 &
servers+=($!)
started mariadb --no-defaults -h127.0.0.1 "-P$((port + 2))" -uroot \
  -e 'CREATE DATABASE IF NOT EXISTS locus_bench'
uri=mysql://root@127.0.0.1:$((port + 2))/locus_bench
"$bin/locus" table init "$uri"
# Each table takes a second or two to all: fewer of them.
tables=$(((tables + 4) / 5))
measure mariadb "$uri" "$uri"
