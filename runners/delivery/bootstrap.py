"""The metadata of a Google machine at its creation: the script that it runs at its start, and the script's data. Pure.

The script is the same for all machines. What differs is data beside it, in the metadata, which no shell reads as a
program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from bastion.model import layout
from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey

PYTHON = "bin/python3"
"""The program in the archive that starts the worker."""

ACCOUNT = "bastion-job"
"""The account of the jobs' processes, unless another one is set: root's processes are the worker's alone."""

ANY_NAME = "*"
"""A placeholder in `machine`, for several machines of one creation.

It stands for the name of each machine, which ends in `-` and its number.
"""

_SCRIPT, _ARCHIVE, _DIGEST = "startup-script", "bastion-archive", "bastion-build"
_MACHINE, _BASE, _FLAGS = "machine", "worker-base", "bastion-worker"
_HOST, _HOSTS, _INSTANCE = "agent-worker-number", "worker-network-endpoints", "instance-id"
_NUMBERED = re.compile(r".*-([0-9]{1,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineGroup:
    """The machines of one creation: one, those of a slice, or those of a bulk insertion.

    key: the attempt.
    machine: the id of each without its host: `<zone>/<name>/<nonce>`, maybe with `ANY_NAME`.
    base: the number of the first worker among them.
    bucket: the URL of the bastion's part, `gs://…/<bastion>`.
    build: the digest of the worker's archive in it.
    run_as: the account of the jobs' processes.
    flags: the flags of `bastion.runners.programs.worker` that are the same for all machines.
    """

    key: AttemptKey
    machine: str
    base: int
    bucket: str
    build: str
    run_as: str = ACCOUNT
    flags: Mapping[str, str] = field(default_factory=dict)


def metadata(boot: MachineGroup) -> dict[str, str]:
    """Return the machines' metadata."""
    bucket, _, prefix = boot.bucket.removeprefix("gs://").partition("/")
    name = quote(f"{prefix}/{layout.build(boot.build)}", safe="")
    flags = {
        "job": boot.key.job,
        "task": str(boot.key.task),
        "attempt": str(boot.key.attempt),
        "bucket": boot.bucket,
        "run_as": boot.run_as,
        **boot.flags,
    }
    return {
        _SCRIPT: SCRIPT,
        _ARCHIVE: f"storage/v1/b/{quote(bucket, safe='')}/o/{name}?alt=media",
        _DIGEST: boot.build,
        _MACHINE: boot.machine,
        _BASE: str(boot.base),
        _FLAGS: json.dumps(flags, sort_keys=True),
    }


def flags_of(instance: Mapping[str, Any]) -> dict[str, str]:
    """Return the flags of a worker on its machine, from the metadata found there. Raises `RunnerError`."""
    try:
        attributes, name = instance["attributes"], str(instance["name"])
        machine, base, host = attributes[_MACHINE], int(attributes[_BASE]), int(attributes.get(_HOST, 0))
        name = str(attributes.get(_INSTANCE, name))  # a TPU slice's; its hosts have names of their own
        hosts = len(str(attributes.get(_HOSTS, "")).split(","))
        number = int(_NUMBERED.fullmatch(name)[1]) * hosts + host if ANY_NAME in machine else host  # type: ignore[index]
        told = {
            **{str(key): str(value) for key, value in json.loads(attributes[_FLAGS]).items()},
            "machine": f"{machine.replace(ANY_NAME, name)}/{host}",
            "worker": str(base + number),
            "address": str(instance["networkInterfaces"][0]["ip"]),
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RunnerError(
            f"the metadata of this machine are not those of a worker: {error!r}; delete the machine"
        ) from error
    return told


SCRIPT = r"""#!/bin/sh
# Starts the worker of a Bastion. What it prints is on the serial console.
set -u
umask 022
metadata=http://${GCE_METADATA_HOST:-169.254.169.254}/computeMetadata/v1/instance
store=${STORAGE_EMULATOR_HOST:-https://storage.googleapis.com}

say() { echo "bastion: $*"; }

# Pauses of 1, 2, 4 ... 60 s between tries, for about five minutes.
patiently() {
    pause=1
    until "$@"; do
        [ "$pause" -le 512 ] || return 1
        if [ "$pause" -le 60 ]; then sleep "$pause"; else sleep 60; fi
        pause=$((pause * 2))
    done
}

attribute() {
    curl -sS -f --connect-timeout 5 --max-time 30 -H 'Metadata-Flavor: Google' -o "$scratch/value" \
        "$metadata/attributes/$1" 2>"$scratch/why"
}

authorize() {
    : >"$scratch/header"
    [ -z "${STORAGE_EMULATOR_HOST:-}" ] || return 0
    curl -sS -f --connect-timeout 5 --max-time 30 -H 'Metadata-Flavor: Google' -o "$scratch/token" \
        "$metadata/service-accounts/default/token" 2>"$scratch/why" || return 1
    sed -n 's/.*"access_token" *: *"\([^"]*\)".*/Authorization: Bearer \1/p' "$scratch/token" >"$scratch/header"
    rm -f "$scratch/token"
}

fetch() {
    if ! authorize || ! curl -sS -f -L --connect-timeout 10 --speed-limit 10000 --speed-time 30 -H "@$scratch/header" \
        -o "$scratch/archive" "$store/$archive" 2>"$scratch/why"; then
        say "the worker is not fetched yet: $(cat "$scratch/why")"
        return 1
    fi
    rm -f "$scratch/header"
    found=$(sha256sum <"$scratch/archive")
    if [ "${found%% *}" != "$digest" ]; then
        echo "its bytes are those of ${found%% *}" >"$scratch/why"
        say "the worker is not fetched yet: $(cat "$scratch/why")"
        return 1
    fi
}

# Unpacked under a name that nobody uses, and named when it is whole and on the disk.
unpack() {
    mkdir -p "$scratch/$digest" && tar -xzf "$scratch/archive" -C "$scratch/$digest" && rm -f "$scratch/archive" &&
        sync && mv "$scratch/$digest" "$home/builds/"
}

give_up() {
    say "$1; this machine is of no use, and waits for its bastion to delete it"
    rm -rf "$scratch"
    # Only a machine that is Google's own for sure; never one that pretends to be, with an emulator of the store.
    if [ -z "${STORAGE_EMULATOR_HOST:-}" ] && grep -qs '^Google' /sys/class/dmi/id/product_name; then poweroff; fi
    exit 1
}

# Where programs can be started: not all images let them in /var/lib.
home=
for folder in /var/lib/bastion /var/lib/google/bastion; do
    mkdir -p "$folder/builds" 2>/dev/null || continue
    printf '#!/bin/sh\n' >"$folder/.try" && chmod 755 "$folder/.try" && "$folder/.try" 2>/dev/null && home=$folder
    rm -f "$folder/.try"
    [ -z "$home" ] || break
done
scratch=$home/starting
[ -n "$home" ] || { scratch=/nowhere; give_up "no folder of this machine lets programs be started"; }
rm -rf "$scratch"
mkdir -m 700 "$scratch" || give_up "no folder can be made in $home"

patiently attribute bastion-build || give_up "the metadata server gives no bastion-build: $(cat "$scratch/why")"
digest=$(cat "$scratch/value")
patiently attribute bastion-archive || give_up "the metadata server gives no bastion-archive: $(cat "$scratch/why")"
archive=$(cat "$scratch/value")
case $digest in *[!0-9a-f]* | '') give_up "bastion-build is no digest" ;; esac

if [ ! -d "$home/builds/$digest" ]; then
    say "fetching worker $digest"
    patiently fetch || give_up "the worker cannot be had from $store/$archive: $(cat "$scratch/why")"
    unpack || give_up "the worker cannot be unpacked; is the disk full?"
fi
rm -rf "$scratch"

path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
set -- "PATH=$path" HOME=/root LANG=C.UTF-8
[ -z "${STORAGE_EMULATOR_HOST:-}" ] || set -- "$@" "STORAGE_EMULATOR_HOST=$STORAGE_EMULATOR_HOST"
[ -z "${GCE_METADATA_HOST:-}" ] || set -- "$@" "GCE_METADATA_HOST=$GCE_METADATA_HOST"
set -- env -i "$@" "$home/builds/$digest/PYTHON" -I -m bastion worker --on=google "--home=$home"
say "starting worker $digest"
if [ -d /run/systemd/system ]; then
    exec systemd-run --unit=bastion-worker --collect --property=KillMode=mixed --property=TimeoutStopSec=120 \
        --property=LimitMEMLOCK=infinity --property=LimitNOFILE=1048576 --property=TasksMax=infinity \
        --property='After=network-online.target docker.service' --property=StandardOutput=journal+console \
        --property=StandardError=journal+console -- "$@"
fi
exec setsid "$@" </dev/null >>"$home/worker.log" 2>&1 &
""".replace("PYTHON", PYTHON)
