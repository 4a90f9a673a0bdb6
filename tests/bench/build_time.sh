#!/usr/bin/env bash
# Times a release build of the program without a compiler cache, in a folder that is thrown away: the seconds of all object steps
# together, the longest of them, and the seconds by the clock. Other work on the machine makes all of them longer, so the load is
# printed too.
set -euo pipefail
cd "$(dirname "$0")/../.."
jobs=${JOBS:-$(nproc)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "$(nproc) cores, $jobs jobs, load before: $(cut -d' ' -f1 /proc/loadavg)"
cmake --preset release -B "$folder" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log"; exit 1; }
begin=$(date +%s)
CCACHE_DISABLE=1 cmake --build "$folder" -j "$jobs" --target packsim >"$folder/build.log" || { cat "$folder/build.log"; exit 1; }
echo "$(($(date +%s) - begin)) s by the clock"
awk -F'\t' '$4 ~ /\.o$/ { s = ($2 - $1) / 1000; all += s; n += 1; if (s > most) { most = s; name = $4 } }
            END { printf "%.0f s in %d object steps; the longest: %.0f s for %s\n", all, n, most, name }' "$folder/.ninja_log"
