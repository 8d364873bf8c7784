# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Servers of a benchmark, for the scripts beside this one: sourced after `set -euo pipefail`, with the
# directory for their data as its argument (a disk, not memory, or the figures mean nothing). They
# listen on 127.0.0.1 from $port on, and end with the script.
work=$(mktemp -d "$1/locus-bench-XXXXXX")
# Nobody listens on the ten ports from $port on.
ten_free() {
  local taken
  for taken in $(seq "$port" $((port + 9))); do
    if (exec 3<> "/dev/tcp/127.0.0.1/$taken") 2> /dev/null; then return 1; fi
  done
}
port=$((20000 + RANDOM % 10000))
until ten_free; do port=$((20000 + RANDOM % 10000)); done
servers=()
stop_servers() {
  for server in "${servers[@]}"; do kill "$server" 2> /dev/null || true; done
  wait
  rm -rf "$work"
}
trap stop_servers EXIT INT TERM

# started COMMAND...: the server just begun answers the command, within a minute.
started() {
  for _ in $(seq 1200); do
    "$@" > /dev/null 2>&1 && return
    kill -0 "${servers[-1]}" 2> /dev/null || break
    sleep 0.05
  done
  cat "$work"/*.log >&2
  exit 1
}

# start_mariadb [LINE...]: durable, with a database locus_bench and root without a password, on $port;
# more lines of my.cnf.
mariadb_client=(--no-defaults -h127.0.0.1 "-P$port" -uroot)
start_mariadb() {
  cat > "$work/my.cnf" << END
[mariadbd]
datadir=$work/mariadb
tmpdir=$work
socket=$work/sock
pid-file=$work/pid
port=$port
bind-address=127.0.0.1
skip-name-resolve
innodb-flush-log-at-trx-commit=1
max-connections=500
END
  [ "$(id -u)" -ne 0 ] || echo user=root >> "$work/my.cnf"
  [ $# -eq 0 ] || printf '%s\n' "$@" >> "$work/my.cnf"
  mariadb-install-db --defaults-file="$work/my.cnf" --auth-root-authentication-method=normal \
    --skip-test-db > "$work/install.log"
  PATH=$PATH:/usr/sbin mariadbd --defaults-file="$work/my.cnf" > "$work/mariadb.log" 2>&1 &
  servers+=($!)
  started mariadb "${mariadb_client[@]}" -e 'CREATE DATABASE IF NOT EXISTS locus_bench'
}

# One member, on $port + 2.
start_etcd() {
  local client=http://127.0.0.1:$((port + 2))
  etcd --data-dir "$work/etcd" --listen-client-urls "$client" --advertise-client-urls "$client" \
    --listen-peer-urls "http://127.0.0.1:$((port + 3))" --log-level error > "$work/etcd.log" 2>&1 &
  servers+=($!)
  started env ETCDCTL_API=3 etcdctl "--endpoints=127.0.0.1:$((port + 2))" endpoint health
}
