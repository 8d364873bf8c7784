#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures ShardPools beside a counting semaphore around bare connections, on a MariaDB server of its
# own, with 64, 512 and 2,000 threads on 16 connections:
#
#   bench/pool/pool_bench.sh [BIN_DIR [SECONDS [ROUNDS [THREADS]]]]      default: build/release/bin 2 5
#
# Exit 1: with a statement of 2 ms, a rate of the pool is below 0.9 of the semaphore's.
set -euo pipefail
bin=${1:-build/release/bin}
# shellcheck source=bench/engine/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../engine/servers.sh" "${TMPDIR:-/tmp}"
start_mariadb
"$bin/pool_bench" "$port" "${2:-2}" "${3:-5}" "${@:4}"
