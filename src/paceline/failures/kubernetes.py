"""Lines of Kubernetes: kubelet, scheduler, kubectl, container runtimes."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE, _AFTER = Kind.CAUSE, Kind.CONSEQUENCE
_DEBUG = "https://kubernetes.io/docs/tasks/debug/debug-application/debug-pods/"

ROWS = (
    Row(
        "k8s-oom-killed",
        _CAUSE,
        r"\bOOMKilled\b",
        "The container used more memory than its limit, and the kernel killed it.",
        "raise resources.limits.memory of the container, or read less data into memory",
        "https://github.com/NVIDIA/gpu-operator/issues/331",
    ),
    Row(
        "k8s-evicted-disk",
        _CAUSE,
        r"(?:node was low on resource: ephemeral-storage|ephemeral local storage usage exceeds)",
        "The pod was evicted: it filled the node's own disk.",
        "write to a volume, or set resources.requests.ephemeral-storage",
        "https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/",
    ),
    Row(
        "k8s-evicted",
        _CAUSE,
        r"(?:node was low on resource: (?P<what>\w+)|Reason:\s+Evicted|\bEvicted\b.*\bpod\b)",
        "The node ran out of memory or disk, and Kubernetes evicted the pod.",
        "set resources.requests as high as what the pod uses, so that it is placed where there is room",
        "https://github.com/derailed/k9s/issues/174",
    ),
    Row(
        "k8s-preempted",
        _CAUSE,
        r"Preempted (?:in order to admit|by (?:pod )?\S+ on node)",
        "Kubernetes took the pod's place away for a pod of higher priority.",
        "give the job a PriorityClass, and write checkpoints",
        "https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/",
    ),
    Row(
        "k8s-no-gpu",
        _CAUSE,
        r"Insufficient (?P<what>nvidia\.com/gpu|amd\.com/gpu|google\.com/tpu)",
        "No node has as many free {what} as the pod asks for: it cannot start.",
        "kubectl describe nodes | grep -A8 'Allocated resources', then ask for less or wait",
        _DEBUG,
    ),
    Row(
        "k8s-no-room",
        _CAUSE,
        r"0/\d+ nodes are available: .*",
        "No node fits the pod: the line says what is missing where.",
        "kubectl describe pod POD, then ask for less, or add the toleration or label that it names",
        _DEBUG,
    ),
    Row(
        "k8s-image",
        _CAUSE,
        r"(?:ImagePullBackOff|ErrImagePull|Failed to pull image \"(?P<what>[^\"]+)\")",
        "The node cannot get the container's image: a wrong name, or no credentials for the registry.",
        "check the name and tag; for private registries: kubectl create secret docker-registry ... and "
        "imagePullSecrets",
        "https://kubernetes.io/docs/concepts/containers/images/#imagepullbackoff",
    ),
    Row(
        "k8s-crash-loop",
        _AFTER,
        r"(?:CrashLoopBackOff|Back-off restarting failed container)",
        "The container ends again and again; its own output says why.",
        "kubectl logs POD --previous",
        "https://github.com/NVIDIA/gpu-operator/issues/331",
    ),
    Row(
        "k8s-unreachable-api",
        _CAUSE,
        r"The connection to the server (?P<host>\S+) was refused - did you specify the right host or port",
        "kubectl knows no cluster, or the cluster's API at {host} does not answer.",
        "kubectl config get-contexts, then kubectl config use-context NAME",
        "https://kubernetes.io/docs/tasks/access-application-cluster/configure-access-multiple-clusters/",
    ),
    Row(
        "k8s-forbidden",
        _CAUSE,
        r"User \"(?P<user>[^\"]+)\" cannot (?P<verb>\w+) resource \"(?P<what>[^\"]+)\"",
        "{user} may not {verb} {what} in this cluster.",
        "create a Role that allows {verb} on {what} and bind it to the service account",
        "https://kubernetes.io/docs/reference/access-authn-authz/rbac/",
    ),
    Row(
        "k8s-config",
        _CAUSE,
        r"Invalid kube-config file|Service host/port is not set",
        "The program looks for the cluster's API in the wrong way: outside of a pod, or without a kube-config.",
        "inside a pod: KubernetesClusterResolver(executable_location=ExecutableLocation.WITHIN_CLUSTER)",
        "https://github.com/tensorflow/tensorflow/issues/70581",
    ),
    Row(
        "k8s-pod-not-running",
        _CAUSE,
        r"Pod \"(?P<pod>[^\"]+)\" is not running; phase: \"(?P<phase>\w+)\"",
        "A worker asked for its peers before pod {pod} ran ({phase}).",
        "start all pods as one gang (Volcano, Kueue, JobSet), or wait for them in an init container",
        "https://github.com/kubeflow/trainer/issues/1458",
    ),
    Row(
        "k8s-mount",
        _CAUSE,
        r"(?:MountVolume\.\w+ failed for volume|Unable to attach or mount volumes)",
        "A volume of the pod cannot be mounted, so the container does not start.",
        "kubectl describe pod POD and kubectl get pvc: the claim has to be Bound, and free for this node",
        "https://kubernetes.io/docs/concepts/storage/persistent-volumes/",
    ),
    Row(
        "docker-daemon",
        _CAUSE,
        r"Cannot connect to the Docker daemon at (?P<where>\S+?)\.? ",
        "The Docker daemon does not run, or this user may not reach it.",
        "sudo systemctl start docker, or add the user to the group: sudo usermod -aG docker $USER",
        "https://docs.docker.com/engine/daemon/troubleshoot/",
    ),
    Row(
        "docker-no-gpu",
        _CAUSE,
        r"could not select device driver .*capabilities: \[\[gpu\]\]",
        "Docker cannot hand out GPUs: the NVIDIA container toolkit is missing.",
        "sudo apt-get install nvidia-container-toolkit && sudo nvidia-ctk runtime configure && sudo systemctl "
        "restart docker",
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html",
    ),
)
