#!/usr/bin/env bash
# A sweep as an array of Slurm jobs, one for each shard, and a last one that joins them:
#   GRID=grid.json OUT=/shared/sweep.db SHARDS=32 examples/sweep_slurm.sh
# Submitted again after a failure, shards go on where they were.
set -euo pipefail
GRID=${GRID:?the grid file, on a file system that all nodes share}
OUT=${OUT:?the database, on the same file system}
SHARDS=${SHARDS:-16}
packsim=${PACKSIM:-packsim}

mkdir -p "$OUT.shards"
array=$(sbatch --parsable --job-name packsim-sweep --array "1-$SHARDS" --cpus-per-task 1 --wrap \
  "$packsim sweep '$GRID' --shard \$SLURM_ARRAY_TASK_ID/$SHARDS --threads 1 --quiet --out '$OUT.shards'/\$SLURM_ARRAY_TASK_ID.db")
merges=""
for shard in $(seq "$SHARDS"); do merges+=" --merge '$OUT.shards/$shard.db'"; done
sbatch --job-name packsim-merge --dependency "afterok:$array" --wrap "$packsim sweep '$GRID' --out '$OUT'$merges"
