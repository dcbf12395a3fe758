#!/bin/bash
# A Ray cluster inside one Slurm allocation, and an evenhand command on it.
#
#   sbatch deploy/slurm.sh evaluate ijb/test4 embeddings --data IJB-B --engine ray
#
# Everything after the script's name is the command. Environment and data must lie on a disk that every node sees.
# When the time limit ends the job, submit it again: finished parts are kept, and `predict` takes --resume.
#SBATCH --job-name=evenhand
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --mem=0
#SBATCH --time=04:00:00
#SBATCH --exclusive
set -euo pipefail

if [ $# -eq 0 ]; then
    echo "usage: sbatch $0 evaluate|predict …   (with --engine ray)" >&2
    exit 2
fi

RAY_AUTH_TOKEN=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n') # one for this job, kept nowhere
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN RAY_USAGE_STATS_ENABLED=0

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
address=$(srun --nodes=1 --ntasks=1 --overlap -w "$head" hostname --ip-address | awk '{print $1}')
port=$((20000 + SLURM_JOB_ID % 20000)) # outside of 10002–19999, where Ray's workers listen
scratch=${SLURM_TMPDIR:-/tmp}
# A third of a node's memory for arrays that its workers share.
store=$(awk '/MemTotal/ {printf "%d", $2 * 1024 / 3}' /proc/meminfo)

# The head keeps the books and runs the driver; its cores work too, all but two.
srun --nodes=1 --ntasks=1 --overlap -w "$head" \
    ray start --head --block --node-ip-address "$address" --port "$port" --include-dashboard=false \
    --num-cpus $((SLURM_CPUS_PER_TASK - 2)) --object-store-memory "$store" --temp-dir "$scratch/ray-$SLURM_JOB_ID" &
for _ in $(seq 60); do
    if (exec 3<>"/dev/tcp/$address/$port") 2>/dev/null; then break; fi
    sleep 1
done
if [ ${#nodes[@]} -gt 1 ]; then
    srun --nodes=$((${#nodes[@]} - 1)) --ntasks=$((${#nodes[@]} - 1)) --exclude="$head" \
        ray start --block --address "$address:$port" --num-cpus "$SLURM_CPUS_PER_TASK" --object-store-memory "$store" &
    sleep 10
fi

# The driver runs on the head's node. A node that is lost does not end the job: its parts are done elsewhere.
export RAY_ADDRESS=$address:$port
srun --nodes=1 --ntasks=1 --overlap -w "$head" evenhand "$@"
