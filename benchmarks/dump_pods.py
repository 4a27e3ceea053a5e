"""A running pod of a Deployment as the API server returns it."""

from dump_shapes import DIGEST, HOST_IP, IP, NAME, NODE, START, TOKEN, UID, VERSION, App, Manifest


def pod_shape(app: App, managed_fields: bool) -> Manifest:
    """Any pod of a Deployment; kubectl leaves managedFields out unless it is asked for them."""
    metadata: Manifest = {
        "annotations": {"prometheus.io/port": "8080", "prometheus.io/scrape": "true"},
        "creationTimestamp": START,
        "generateName": f"{app.name}-{app.template_hash}-",
        "labels": app.labels,
        "name": NAME,
        "namespace": app.namespace,
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "blockOwnerDeletion": True,
                "controller": True,
                "kind": "ReplicaSet",
                "name": f"{app.name}-{app.template_hash}",
                "uid": f"9b2f6c1e-0000-4000-8000-00{app.template_hash}",
            }
        ],
        "resourceVersion": VERSION,
        "uid": UID,
    }
    if managed_fields:
        metadata["managedFields"] = _managed_fields()
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": _spec(app),
        "status": _status(app),
    }


def _spec(app: App) -> Manifest:
    spec: Manifest = {
        "containers": [_container(app)],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "nodeName": NODE,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccount": app.name,
        "serviceAccountName": app.name,
        "terminationGracePeriodSeconds": 30,
        "tolerations": _tolerations(app),
        "volumes": [_token_volume()],
    }
    if app.pool.taint:
        spec["nodeSelector"] = {"pool": app.pool.name}
    if app.spread:
        spec["topologySpreadConstraints"] = list(app.spread)
    return spec


def _container(app: App) -> Manifest:
    probe = {
        "failureThreshold": 3,
        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 10,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }
    memory = f"{app.memory_mib}Mi"
    pod_name = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    return {
        "env": [
            {"name": "POD_NAME", "valueFrom": pod_name},
            {"name": "LOG_LEVEL", "value": "info"},
            {"name": "OTEL_SERVICE_NAME", "value": app.name},
        ],
        "image": _image(app),
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": probe,
        "name": app.name,
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "readinessProbe": probe,
        "resources": {
            "limits": {"memory": memory},
            "requests": {"cpu": f"{app.cpu_milli}m", "memory": memory},
        },
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                "name": TOKEN,
                "readOnly": True,
            }
        ],
    }


def _tolerations(app: App) -> list[Manifest]:
    own = [{"effect": "NoSchedule", "key": app.pool.taint, "operator": "Exists"}]
    added_at_admission = [
        {
            "effect": "NoExecute",
            "key": f"node.kubernetes.io/{trouble}",
            "operator": "Exists",
            "tolerationSeconds": 300,
        }
        for trouble in ("not-ready", "unreachable")
    ]
    return [*(own if app.pool.taint else []), *added_at_admission]


def _token_volume() -> Manifest:
    """Every pod's own name for the same volume: no part of what makes pods alike."""
    root_certificate = {
        "items": [{"key": "ca.crt", "path": "ca.crt"}],
        "name": "kube-root-ca.crt",
    }
    namespace = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": root_certificate},
        {"downwardAPI": {"items": [namespace | {"path": "namespace"}]}},
    ]
    return {"name": TOKEN, "projected": {"defaultMode": 420, "sources": sources}}


def _status(app: App) -> Manifest:
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    container = {
        "containerID": f"containerd://{DIGEST}",
        "image": _image(app),
        "imageID": f"registry.example.com/{app.namespace}/{app.name}@sha256:{DIGEST}",
        "lastState": {},
        "name": app.name,
        "ready": True,
        "restartCount": 0,
        "started": True,
        "state": {"running": {"startedAt": START}},
    }
    return {
        "conditions": [
            {"lastProbeTime": None, "lastTransitionTime": START, "status": "True", "type": kind}
            for kind in kinds
        ],
        "containerStatuses": [container],
        "hostIP": HOST_IP,
        "hostIPs": [{"ip": HOST_IP}],
        "phase": "Running",
        "podIP": IP,
        "podIPs": [{"ip": IP}],
        "qosClass": "Burstable",
        "startTime": START,
    }


def _image(app: App) -> str:
    return f"registry.example.com/{app.namespace}/{app.name}:1.4.2"


def _managed_fields() -> list[Manifest]:
    """Shortened to what two managers set; the real ones name every field."""
    container: Manifest = {
        "f:image": {},
        "f:name": {},
        "f:resources": {"f:requests": {".": {}, "f:cpu": {}}},
    }
    created = {
        "f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:pod-template-hash": {}}},
        "f:spec": {"f:containers": {'k:{"name":"main"}': container}, "f:restartPolicy": {}},
    }
    running: Manifest = {"f:status": {"f:conditions": {}, "f:phase": {}, "f:podIP": {}, "f:startTime": {}}}
    entry = {"apiVersion": "v1", "fieldsType": "FieldsV1", "operation": "Update", "time": START}
    return [
        entry | {"fieldsV1": created, "manager": "kube-controller-manager"},
        entry | {"fieldsV1": running, "manager": "kubelet", "subresource": "status"},
    ]
