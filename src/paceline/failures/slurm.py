"""Lines of Slurm: srun, slurmstepd, sbatch."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE, _AFTER, _NOISE = Kind.CAUSE, Kind.CONSEQUENCE, Kind.NOISE
_SRUN = "https://slurm.schedmd.com/srun.html"
_SBATCH = "https://slurm.schedmd.com/sbatch.html"

ROWS = (
    Row(
        "slurm-time-limit",
        _CAUSE,
        r"(?:JOB|STEP) (?P<job>\S+)(?: ON (?P<host>\S+))? CANCELLED AT (?P<at>\S+) DUE TO TIME LIMIT",
        "Slurm ended job {job} on {host}: its time was over.",
        "ask for more time (sbatch --time=2-00:00:00), or write checkpoints and submit the job again",
        "https://github.com/facebookincubator/submitit/issues/1776",
    ),
    Row(
        "slurm-preempted",
        _CAUSE,
        r"(?:JOB|STEP) (?P<job>\S+)(?: ON (?P<host>\S+))? CANCELLED AT (?P<at>\S+) DUE TO PREEMPTION",
        "Slurm took the nodes of job {job} away for a job of higher priority.",
        "submit it with sbatch --requeue and write checkpoints, or use a partition that is not preempted",
        "https://slurm.schedmd.com/preempt.html",
    ),
    Row(
        "slurm-node-failure",
        _CAUSE,
        r"(?:JOB|STEP) (?P<job>\S+)(?: ON (?P<host>\S+))? CANCELLED AT (?P<at>\S+) DUE TO NODE FAILURE",
        "A node of job {job} stopped answering Slurm (the line names {host}).",
        "submit it again without that node: sbatch --exclude={host} ...",
        _SBATCH,
    ),
    Row(
        "slurm-oom",
        _CAUSE,
        r"[Dd]etected \d+ oom[-_]kill events?(?:\(s\))? in (?:StepId=|step )(?P<job>\S+?)[. ]",
        "A process used more memory than Slurm gave step {job}, and the kernel killed it.",
        "ask for more memory (sbatch --mem=64G, or --mem-per-gpu), or read less data into memory",
        "https://github.com/nextflow-io/nextflow/issues/5932",
    ),
    Row(
        "slurm-task-oom",
        _CAUSE,
        r"srun: error: (?P<host>\S+): tasks? (?P<rank>\d+)[\d,-]*: Out Of Memory",
        "Task {rank} on {host} used more memory than Slurm gave it, and was killed.",
        "ask for more memory (sbatch --mem=64G), or read less data into memory",
        "https://github.com/chrisknewman/tusas/issues/149",
    ),
    Row(
        "slurm-memory-limit",
        _CAUSE,
        r"slurmstepd: error: (?:Job|Step) \S+ exceeded memory limit",
        "The job used more memory than Slurm gave it.",
        "ask for more memory: sbatch --mem=64G",
        _SBATCH,
    ),
    Row(
        "slurm-task-crashed",
        _AFTER,
        r"srun: error: (?P<host>\S+): tasks? (?P<rank>\d+)[\d,-]*: (?P<how>Segmentation fault|Bus error|Aborted"
        r"|Illegal instruction|Floating point exception)",
        "Task {rank} on {host} crashed in C code: {how}.",
        "look for the stacks that task {rank} printed before it; python -X faulthandler prints them",
        "https://github.com/hafs-community/HAFS/issues/101",
    ),
    Row(
        "slurm-task-exited",
        _AFTER,
        r"srun: error: (?P<host>\S+): tasks? (?P<rank>\d+)[\d,-]*: Exited with exit code (?P<code>\d+)",
        "Task {rank} on {host} ended with exit code {code}; what it printed before says why.",
        "look at the output of task {rank}: srun --label --output=slurm-%j-%t.log ...",
        _SRUN,
    ),
    Row(
        "slurm-task-killed",
        _AFTER,
        r"srun: error: (?P<host>\S+): tasks? (?P<rank>\d+)[\d,-]*: (?:Killed|Terminated)",
        "Task {rank} on {host} was ended from outside.",
        "look for what was printed before: out of memory, time limit, another task's failure",
        _SRUN,
    ),
    Row(
        "slurm-account",
        _CAUSE,
        r"Invalid account or account/partition combination",
        "Slurm does not let this account use that partition.",
        "sacctmgr show associations user=$USER format=account,partition,qos",
        "https://github.com/ComputationalRadiationPhysics/picongpu/issues/2954",
    ),
    Row(
        "slurm-qos-limit",
        _CAUSE,
        r"(?:Job violates accounting/QOS policy|error: QOSMax\w+)",
        "The job asks for more than the account's limits allow (jobs, GPUs, size or time).",
        "sacctmgr show qos format=name,MaxJobsPU,MaxSubmitPU,MaxTRESPU, then ask for less",
        "https://github.com/szcf-weiya/techNotes/issues/7",
    ),
    Row(
        "slurm-time-refused",
        _CAUSE,
        r"Requested time limit is invalid",
        "The partition does not allow jobs of that length, or --time is missing.",
        "sinfo -o '%P %l' shows the limits; then sbatch --time=... below them",
        "https://github.com/ComparativeGenomicsToolkit/cactus/issues/124",
    ),
    Row(
        "slurm-no-such-node",
        _CAUSE,
        r"Requested node configuration is not available",
        "No node of the partition has what the job asks for (GPUs, memory, cores).",
        "sinfo -o '%P %G %m %c' shows what nodes have; ask for no more than that",
        _SBATCH,
    ),
    Row(
        "slurm-no-step",
        _CAUSE,
        r"SLURM_PROCID not found in environment",
        "The script asks Slurm for its place, but was not started by srun.",
        "start it inside the batch script with: srun python train.py",
        "https://www.tensorflow.org/api_docs/python/tf/distribute/cluster_resolver/SlurmClusterResolver",
    ),
    Row(
        "slurm-hostlist",
        _CAUSE,
        r"Invalid hostlist format",
        "TensorFlow's SlurmClusterResolver cannot read this cluster's names of nodes.",
        'give the cluster in TF_CONFIG: paceline cluster check "$TF_CONFIG" checks it',
        "https://www.tensorflow.org/api_docs/python/tf/distribute/cluster_resolver/SlurmClusterResolver",
    ),
    Row(
        "slurm-no-gpu-resolver",
        _CAUSE,
        r"range\(\) arg 3 must not be zero",
        "TensorFlow's SlurmClusterResolver divides by a number of GPUs that is zero on nodes without GPUs.",
        "give the cluster in TF_CONFIG instead of SlurmClusterResolver",
        "https://github.com/tensorflow/tensorflow/issues/56894",
    ),
    Row(
        "slurm-step-cancelled",
        _AFTER,
        r"\*\*\* (?:JOB|STEP) (?P<job>\S+) ON (?P<host>\S+) CANCELLED AT (?P<at>\S+) \*\*\*",
        "Slurm ended what was left of {job}: somebody cancelled it, or another of its tasks had failed.",
        "look for the first task that failed, above",
        _SRUN,
    ),
    Row(
        "slurm-step-ends",
        _NOISE,
        r"srun: (?:Job step aborted: Waiting up to|Terminating (?:job step|StepId=)|Force Terminated [Jj]ob"
        r"|launch/slurm: _step_signal)",
        "srun ends the tasks that are left.",
        "",
        _SRUN,
    ),
)
