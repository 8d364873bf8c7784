#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What kinds of keys do to InnoDB: the same rows are inserted with keys of each kind, one kind after
# the other, on a MariaDB server of its own with its data in DIR (a disk). Writes one JSON document, of
# which bench/keys/innodb_picture makes the picture of docs/start/choosing.md:
#
#   bench/keys/innodb_keys.sh [BIN_DIR [ROWS [DIR [POOL]]]] > docs/innodb_keys.json
#
# Default: build/release/bin 10000000 /var/tmp 512M. POOL is the server's buffer pool: what keys cost
# shows where it is smaller than the table.
set -euo pipefail
bin=${1:-build/release/bin}
rows=${2:-10000000}
pool=${4:-512M}
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=bench/engine/servers.sh
. "$here/../engine/servers.sh" "${3:-/var/tmp}"
settings=("innodb-buffer-pool-size=$pool" innodb-log-file-size=512M innodb-io-capacity=2000)
start_mariadb "${settings[@]}"

printf '{"server": "%s",\n "settings": "innodb_flush_log_at_trx_commit=1 %s",\n "date": "%s",\n "kinds": [\n' \
  "$(mariadb "${mariadb_client[@]}" -sNe 'SELECT VERSION()')" "${settings[*]//-/_}" "$(date -u +%F)"
comma=
for keys in auto_increment snowflake uuid_v7 order_id_16_shards order_id uuid_v4; do
  echo "$(date -u +%T) $keys" >&2
  printf '%s' "$comma"
  "$bin/key_inserts" "$port" $keys "$rows"
  comma=,
done
echo ']}'
