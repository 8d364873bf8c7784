#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures how long a published table takes to all of 50 router processes, by each source, with
# servers of its own. The data lies in DIR (a disk, not memory).
#
#   bench/source/propagation_bench.sh [BIN_DIR [ROUTERS [TABLES [DIR]]]]
#                                                     default: build/release/bin 50 200 /var/tmp
set -euo pipefail
bin=${1:-build/release/bin}
routers=${2:-50}
tables=${3:-200}
# shellcheck source=bench/engine/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine/servers.sh" "${4:-/var/tmp}"

measure() { "$bin/propagation_bench" "$1" "$2" "$3" "$routers" "$tables"; }

mkdir "$work/file" "$work/http"
measure file "file:$work/file/table.json" "file:$work/file/table.json"

start_etcd
uri=etcd://127.0.0.1:$((port + 2))/bench
measure etcd "$uri" "$uri"

"$bin/locus" table new --shard first=mysql://127.0.0.1/orders > "$work/http/table.json"
"$bin/table_server" "$work/http/table.json" > "$work/url.log" 2>&1 &
servers+=($!)
started grep -q http "$work/url.log"
rm "$work/http/table.json"
measure http "$(cat "$work/url.log")" "file:$work/http/table.json"

start_mariadb
uri=mysql://root@127.0.0.1:$port/locus_bench
"$bin/locus" table init "$uri"
# Each table takes a second or two to all: fewer of them.
tables=$(((tables + 4) / 5))
measure mariadb "$uri" "$uri"
