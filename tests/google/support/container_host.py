"""A VM whose system starts containers: its `docker` knows one image, this host's own file system, which cannot be written.

So what a VM starts in a container is the very code under test, in the VM's network. Each start of the VM is a boot of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote

from tests.google.support.bare import Bare

_ROOT = Path(__file__).resolve().parents[3]
_ENTRY = [sys.executable, "-I", "-m", "bastion", "bastion"]

_DOCKER = r"""#!/bin/sh
# Of docker, what a bastion's VM asks for. A container is a process group that is started again whenever it ends.
echo "docker $*" >>/var/log/docker
case $1 in
pull) echo "$3" ;;
stop | rm)
    [ -f /run/container ] || exit 1
    kill -TERM -"$(cat /run/container)" 2>/dev/null
    [ "$1" = stop ] || rm -f /run/container
    ;;
run)
    shift
    names=
    while [ "${1#--}" != "$1" ]; do
        [ "$1" != --env ] || { names="$names $2"; shift; }
        shift
    done
    shift
    set -- chroot /image ENTRY "$@"
    for name in $names; do
        eval "value=\$$name"
        set -- "$name=$value" "$@"
    done
    set -- env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp "$@"
    setsid sh -c 'while :; do "$@"; sleep 1; done' container "$@" </dev/null >>/var/log/container 2>&1 &
    echo $! >/run/container
    echo 0123456789abcdef
    ;;
esac
"""


def can_start_containers(bare: Bare) -> None:
    """Make it such a VM, before its first start."""
    for folder in ("image", "var/log"):
        (bare.root / folder).mkdir(parents=True, exist_ok=True)
    bare.program("docker", _DOCKER.replace("ENTRY", " ".join(map(quote, _ENTRY))))
    bare.program("docker-credential-gcr", "#!/bin/sh\n")
    own = [
        'mount --bind -o ro / "$0/image"',
        'mount -t proc proc "$0/image/proc"',
        'mount --bind /dev "$0/image/dev"',
        'mount -t tmpfs tmpfs "$0/image/tmp"',
    ]
    # After the tmpfs: this checkout may lie below /tmp.
    shown = dict.fromkeys(quote(str(path)) for path in (sys.base_prefix, sys.prefix, _ROOT))
    binds = [f'mkdir -p "$0/image"{path} && mount --bind -o ro {path} "$0/image"{path}' for path in shown]
    boot = 'cat /proc/sys/kernel/random/uuid >"$0/boot" && mount --bind "$0/boot" "$0/image/proc/sys/kernel/random/boot_id"'
    names = ['mount --bind "$0/etc/hosts" "$0/image/etc/hosts"']
    bare.before = " && ".join([*own, *binds, boot, *names])
