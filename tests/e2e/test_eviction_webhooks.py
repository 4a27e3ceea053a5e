"""Webhooks that deny evictions: what says not now is asked again, what says no ends a script at once."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.e2e.control_plane import ControlPlane, wait_for
from tests.e2e.stories import carried_out, evictions, left_behind, lopsided, planned

_HOST = "127.0.0.1"


class Webhook(ThreadingHTTPServer):
    """Denies every request with this `status`."""

    status: dict[str, Any] | None = None

    def __init__(self, certificate: Path, key: Path) -> None:
        super().__init__((_HOST, 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(self.socket, server_side=True)


class _Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"uid": asked["request"]["uid"], "allowed": False}
        if self.server.status is not None:
            answer["status"] = self.server.status
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(review).encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def webhook(live: ControlPlane, tmp_path: Path) -> Iterator[Webhook]:
    """A cluster on which two moves are to be made, and a webhook that denies evictions there."""
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={_HOST}")
    files = ("-keyout", str(key), "-out", str(certificate), "-addext", f"subjectAltName=IP:{_HOST}")
    subprocess.run([*made, *files], check=True, capture_output=True)
    lopsided(live)
    server = Webhook(certificate, key)
    Thread(target=server.serve_forever, daemon=True).start()
    bundle = base64.b64encode(certificate.read_bytes()).decode()
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/eviction"],
    }
    hook = {
        "name": "deny.example.com",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": f"https://{_HOST}:{server.server_address[1]}/", "caBundle": bundle},
        "rules": [rule],
    }
    live.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "deny"},
            "webhooks": [hook],
        }
    )
    name = live.pods()[0]["metadata"]["name"]
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": "default"},
    }
    tried = {**eviction, "deleteOptions": {"dryRun": ["All"]}}
    where = ("create", "--raw", f"/api/v1/namespaces/default/pods/{name}/eviction", "-f", "-")
    wait_for(
        "the webhook",
        lambda: "denied" in live.run("kubectl", *where, given=json.dumps(tried)).stderr,
    )
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, " without explanation"),
        ({"message": "not on a Friday"}, ": not on a Friday"),
        ({"message": "not on a Friday", "code": 403}, ": not on a Friday"),
        ({"message": "not on a Friday", "reason": "Forbidden"}, ": not on a Friday"),
    ],
    ids=["nothing", "message", "code", "reason"],
)
def test_no_is_no(
    live: ControlPlane, tmp_path: Path, webhook: Webhook, status: dict[str, Any] | None, words: str
) -> None:
    """Without a reason it was asked again for ten minutes; the script ends, with the webhook's words."""
    webhook.status = status
    before = live.get("pods")
    ended = carried_out(live, planned(live, tmp_path, "rebalance"))
    assert (ended.returncode, evictions(live, before), left_behind(live)) == (1, 0, [])
    assert " was not evicted: Error from server" in ended.stderr
    assert f'admission webhook "deny.example.com" denied the request{words}; plan again' in ended.stderr


@pytest.mark.parametrize("reason", [{}, {"reason": "TooManyRequests"}], ids=["code", "reason"])
def test_not_now(live: ControlPlane, tmp_path: Path, webhook: Webhook, reason: dict[str, str]) -> None:
    """429 is asked again, also where a webhook gives the code alone."""
    webhook.status = {"message": "moving it first", "code": 429, **reason}
    ended = carried_out(live, planned(live, tmp_path, "rebalance"), TIMEOUT="4")
    assert ended.returncode == 1
    assert "denied the request: moving it first" in ended.stdout
    assert "stopped: nothing has happened for 4 seconds" in ended.stderr
