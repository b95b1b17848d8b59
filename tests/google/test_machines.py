"""The fake's machines run their start-up scripts, see what Google's see, reach each other, and end."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.google.fake import Fake
from tests.google.support.client import ask, client
from tests.google.support.machines import Machine, Room

ZONE = "projects/test-project/locations/us-central2-b"
AT = {"project": "test-project", "zone": "us-central1-a"}
STAYS = "(trap '' TERM; setsid busybox sleep 3600) &"
ASK = "curl -sS -f -H 'Metadata-Flavor: Google' http://metadata.google.internal/computeMetadata/v1/instance/"


@pytest.fixture
def cloud(tmp_path: Path, gcs_address: str) -> Iterator[Fake]:
    room = Room(tmp_path)
    with Fake(machines=room, machine_environ={"STORAGE_EMULATOR_HOST": gcs_address}) as fake:
        yield fake


def node(cloud: Fake, script: str, name: str = "n", kind: str = "v4-16") -> list[Machine]:
    """The machines of a TPU slice that has come up."""
    body = {
        "acceleratorType": kind,
        "runtimeVersion": "tpu-ubuntu2204-base",
        "metadata": {"startup-script": script, "colour": "blue"},
        "serviceAccount": {"email": "1-compute@developer.gserviceaccount.com"},
    }
    tpu = client(cloud, "tpu")
    ask(tpu.projects().locations().nodes().create(parent=ZONE, nodeId=name, body=body))
    tpu.close()
    cloud.clock.advance(100)
    cloud.machines.settle()
    return [machine for machine in cloud.machines.all() if machine.guest.resource.endswith(f"/nodes/{name}")]


def vm(cloud: Fake, script: str) -> Machine:
    """The machine of a VM that has come up."""
    image = "projects/debian-cloud/global/images/family/debian-12"
    body = {
        "name": "vm",
        "machineType": "zones/us-central1-a/machineTypes/e2-small",
        "disks": [{"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": image}}],
        "networkInterfaces": [{"network": "global/networks/default"}],
        "metadata": {"items": [{"key": "startup-script", "value": script}]},
    }
    call(cloud, lambda compute: compute.instances().insert(**AT, body=body))
    return cloud.machines.one("vm-0")


def call(cloud: Fake, what: Callable[[Any], Any]) -> dict[str, Any]:
    compute = client(cloud, "compute")
    answer = ask(what(compute))
    compute.close()
    cloud.clock.advance(100)
    cloud.machines.settle()
    return answer


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ended(machine: Machine) -> bool:
    return "startup-script exit status" in machine.said


def test_each_host_runs_the_script_and_knows_who_it_is(cloud: Fake) -> None:
    hosts = node(cloud, f"{ASK}attributes/agent-worker-number; echo; {ASK}attributes/colour; echo; hostname")
    until(lambda: all(map(ended, hosts)))
    for number, host in enumerate(hosts):
        assert host.said.split()[:3] == [str(number), "blue", host.guest.hostname]
    assert "startup-script exit status 0" in hosts[0].said
    row = cloud.rows("nodes")[f"{ZONE}/nodes/n"]
    assert [end["ipAddress"] for end in row["networkEndpoints"]] == [host.guest.address for host in hosts]


def test_hosts_reach_each_other_and_nobody_else_does(cloud: Fake) -> None:
    first, second = node(cloud, "")
    (first.root / "served").write_text("from the first")
    first.run("cd / && busybox httpd -p 8476")
    url = f"http://{first.guest.address}:8476/served"
    assert second.run(f"curl -sS {url}") == "from the first"
    assert "port" not in subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    with pytest.raises(subprocess.CalledProcessError):
        first.run("curl -sS --max-time 2 http://192.0.2.1/")


def test_the_metadata_server_is_googles(cloud: Fake) -> None:
    host = node(cloud, "", kind="v4-8")[0]
    assert host.run(f"{ASK}zone") == "projects/1/zones/us-central2-b"
    assert host.run(f"{ASK}id") == host.guest.id
    assert host.run(f"{ASK}attributes/").split() == sorted(host.guest.attributes)
    assert host.run(f"{ASK}network-interfaces/0/ip") == host.guest.address
    assert host.run(f"{ASK}service-accounts/default/email") == "1-compute@developer.gserviceaccount.com"
    assert "cloud-platform" in host.run(f"{ASK}service-accounts/default/scopes?recursive=true")
    assert "access_token" in host.run(f"{ASK}service-accounts/default/token")
    assert host.run(f"{ASK}service-accounts/default/identity?audience=me") == "identity.for.me"
    refused = host.run("curl -sS -o /dev/null -w '%{http_code}' http://169.254.169.254/computeMetadata/v1/instance/id")
    assert refused == "403"
    with pytest.raises(subprocess.CalledProcessError):
        host.run(f"{ASK}attributes/lost")


def test_a_token_of_the_metadata_server_is_known_to_the_apis(cloud: Fake) -> None:
    host = node(cloud, "", kind="v4-8")[0]
    words = host.run(f"{ASK}service-accounts/default/token").split('"')
    tpu = client(cloud, "tpu", token=words[3])
    cloud.put("projects/test-project/roles/lister", includedPermissions=["tpu.nodes.list"])
    member = "serviceAccount:1-compute@developer.gserviceaccount.com"
    binding = {"role": "projects/test-project/roles/lister", "members": [member]}
    cloud.cloud.policies["projects/test-project"] = {"bindings": [binding]}
    assert len(ask(tpu.projects().locations().nodes().list(parent=ZONE))["nodes"]) == 1
    tpu.close()


def test_a_change_is_told_to_who_waits_for_it(cloud: Fake) -> None:
    wait = f"{ASK}'preempted?wait_for_change=true&timeout_sec=1'"
    script = f'echo waits; until [ "$({wait})" = TRUE ]; do :; done; {ASK}maintenance-event; echo; {STAYS}'
    host = node(cloud, script, kind="v4-8")[0]
    until(lambda: "waits" in host.said)
    cloud.machines.notice(host.guest.resource, "maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE")
    cloud.preempt("n", notice_s=30)
    until(lambda: ended(host))
    assert host.said.split()[1] == "TERMINATE_ON_HOST_MAINTENANCE"
    assert host.runs
    cloud.clock.advance(31)
    assert not host.runs


def test_the_store_and_the_apis_are_reached(cloud: Fake) -> None:
    host = node(cloud, 'curl -sS -f "$STORAGE_EMULATOR_HOST/storage/v1/b?project=p"; echo done', kind="v4-8")[0]
    until(lambda: ended(host))
    assert '"kind":"storage#buckets"' in host.said
    url = cloud.endpoint("tpu")
    assert "v4-8" in host.run(f"curl -sS {url}v2/{ZONE}/acceleratorTypes")


def test_all_processes_end_with_their_machine(cloud: Fake) -> None:
    mark = f"3600.{os.getpid()}"
    host = node(cloud, f"setsid busybox sleep {mark} & echo begun", kind="v4-8")[0]
    until(lambda: ended(host))
    until(lambda: processes(mark) != [])
    cloud.vanish("n")
    assert processes(mark) == []
    assert cloud.machines.all() == []


def processes(mark: str) -> list[str]:
    done = subprocess.run(["pgrep", "-f", f"sleep {mark}"], capture_output=True, text=True)
    return done.stdout.split()


def test_a_vm_keeps_its_disk_while_it_is_stopped_and_says_all_on_its_serial_port(cloud: Fake) -> None:
    machine = vm(cloud, "echo boot >>/var/lib/boots; wc -l </var/lib/boots")
    until(lambda: machine.said.count("exit status") == 1)
    call(cloud, lambda compute: compute.instances().stop(**AT, instance="vm"))
    assert not machine.runs
    call(cloud, lambda compute: compute.instances().start(**AT, instance="vm"))
    until(lambda: machine.said.count("exit status") == 2)
    said = call(cloud, lambda compute: compute.instances().getSerialPortOutput(**AT, instance="vm"))["contents"]
    assert said.split("startup-script exit status 0\n")[:2] == ["1\n", "2\n"]
    call(cloud, lambda compute: compute.instances().delete(**AT, instance="vm"))
    assert cloud.machines.all() == []


def test_a_vm_that_is_stopped_is_told_and_waited_for_and_not_for_ever(cloud: Fake) -> None:
    ends = "trap 'echo told; until [ -f /go ]; do sleep 0.05; done; echo saved; exit' TERM"
    machine = vm(cloud, f'setsid sh -c "{ends}; echo ready; while :; do sleep 0.05; done" &')
    until(lambda: "ready" in machine.said)
    compute = client(cloud, "compute")
    ask(compute.instances().stop(**AT, instance="vm"))
    until(lambda: "told" in machine.said)
    cloud.clock.advance(89)
    assert machine.runs
    assert cloud.rows("instances")["projects/test-project/zones/us-central1-a/instances/vm"]["status"] == "STOPPING"
    (machine.root / "go").touch()
    until(lambda: not machine.runs)
    cloud.clock.advance(0.5)
    assert "saved" in machine.said
    assert cloud.rows("instances")["projects/test-project/zones/us-central1-a/instances/vm"]["status"] == "TERMINATED"
    (machine.root / "go").unlink()
    call(cloud, lambda compute: compute.instances().start(**AT, instance="vm"))
    until(lambda: machine.said.count("ready") == 2)
    call(cloud, lambda compute: compute.instances().stop(**AT, instance="vm"))
    assert not machine.runs
    assert machine.said.count("saved") == 1
    compute.close()


def test_orphans_are_buried(cloud: Fake) -> None:
    host = node(cloud, "(busybox sleep 0.01 &) ; echo gone", kind="v4-8")[0]
    until(lambda: ended(host))
    until(lambda: " Z " not in host.run("ps -o stat,args") and "[sleep]" not in host.run("ps"))


def test_what_a_machine_cannot_do_fails_the_test(tmp_path: Path) -> None:
    def broken(bare: Any, guest: Any) -> None:
        (bare.root / "etc/hosts").mkdir()

    with pytest.raises(IsADirectoryError), Fake(machines=Room(tmp_path, broken)) as fake:
        vm(fake, "")
