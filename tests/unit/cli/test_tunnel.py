"""The command line of gcloud that leads to a worker: quoted, through the tunnel, and to nothing but machines of ours."""

from __future__ import annotations

import shlex

import pytest

from bastion.cli.launch.parts.ssh_tunnel import GCE, TPU, PortForward, forwards, gcloud
from bastion.model.errors import BastionError, UsageError
from bastion.model.interfaces import AttemptKey
from bastion.runners.google.machines import names

NONCE = "0" * 32
MACHINE = f"us-east5-b/train-0123456789abcd/{NONCE}/3"


def test_a_host_of_a_slice() -> None:
    assert gcloud(TPU, MACHINE, "my-project", [], []) == [
        "gcloud", "compute", "tpus", "queued-resources", "ssh", "train-0123456789abcd", "--node=0", "--worker=3",
        "--zone=us-east5-b", "--project=my-project", "--tunnel-through-iap",
    ]  # fmt: skip


def test_a_host_of_the_third_of_several_slices() -> None:
    argv = gcloud(TPU, f"us-east5-b/train-0123456789abcd-2/{NONCE}/1", "p", [], [])
    assert argv[4:8] == ["ssh", "train-0123456789abcd", "--node=2", "--worker=1"]


def test_the_names_of_our_slices_are_understood() -> None:
    name = names.name("bastion-1", AttemptKey("a-1-2-12345678", 0, 0))
    for node, number in ((name, 0), (f"{name}-15", 15)):
        assert gcloud(TPU, f"us-east5-b/{node}/{NONCE}/0", "p", [], [])[5:7] == [name, f"--node={number}"]


def test_a_vm_with_a_command_and_ports() -> None:
    argv = gcloud(GCE, MACHINE, "p", ["nvidia-smi"], [PortForward(8080, 9090), PortForward(6006, 6006)])
    assert argv == [
        "gcloud", "compute", "ssh", "train-0123456789abcd", "--zone=us-east5-b", "--project=p", "--tunnel-through-iap",
        "--command=nvidia-smi", "--", "-L", "8080:localhost:9090", "-L", "6006:localhost:6006",
    ]  # fmt: skip


@pytest.mark.parametrize("words", [["echo", "a b"], ["sh", "-c", "echo $HOME; 'x'"], ["-x"], ["a\nb", '"', "--", ""]])
def test_a_command_arrives_in_the_words_that_were_said(words: list[str]) -> None:
    (told,) = [word for word in gcloud(TPU, MACHINE, "p", words, []) if word.startswith("--command=")]
    assert shlex.split(told.removeprefix("--command=")) == words


@pytest.mark.parametrize(
    "machine",
    [
        "",
        "m0",
        f"us-east5-b/--impersonate/{NONCE}/0",
        f"us-east5-b/-x/{NONCE}/0",
        f"--zone/train/{NONCE}/0",
        f"us-east5-b/root@evil/{NONCE}/0",
        f"us-east5-b/train;id/{NONCE}/0",
        f"us-east5-b/train/{NONCE}/0\n",
        f"us-east5-b/train/{NONCE}/--all",
        f"us-east5-b/train/{NONCE}/0",
    ],
)
def test_what_no_runner_of_ours_calls_a_machine_leads_nowhere(machine: str) -> None:
    with pytest.raises(BastionError, match="no machine of Bastion"):
        gcloud(TPU, machine, "p", [], [])


def test_ports() -> None:
    assert forwards(["8080", "1:65535"]) == [PortForward(8080, 8080), PortForward(1, 65535)]


@pytest.mark.parametrize(
    "text", ["", "0", "65536", "x", "8080:", ":80", "8080:0", "1:2:3", "-1", "80 ", "8080:evil:22", "٣"]
)
def test_no_ports(text: str) -> None:
    with pytest.raises(UsageError, match="--forward is"):
        forwards([text])


def test_a_port_of_this_computer_leads_to_one_place() -> None:
    with pytest.raises(UsageError, match="8080 of this computer twice"):
        forwards(["8080", "8080:9090"])


def test_so_many_ports_are_none() -> None:
    with pytest.raises(UsageError, match="use it at most 32 times"):
        forwards([str(port) for port in range(1, 34)])
