"""The start-up script of the bastion's VM: it runs the bastion's container, and again whenever that ends. Pure.

The text is the same for all bastions. What differs is in the metadata, and is read as data. Container-Optimized OS has
docker, curl, and a helper that logs docker in to Google's registries.
"""

SCRIPT = r"""#!/bin/sh
set -u
base=http://metadata.google.internal/computeMetadata/v1/instance/attributes
value() {
    curl -fsS --retry 20 --retry-delay 3 --retry-all-errors -H 'Metadata-Flavor: Google' "$base/$1"
}
image=$(value bastion-image) && name=$(value bastion-name) && bucket=$(value bastion-bucket) || {
    echo "bastion: the metadata of this VM cannot be read"
    exit 1
}
export HOME=/var/lib/bastion
mkdir -p "$HOME"
registry=${image%%/*}
case $registry in
    *.pkg.dev | *gcr.io) docker-credential-gcr configure-docker --registries="$registry" ;;
esac
pulled=
for pause in 1 2 4 8 16 32 60 60 60; do
    docker pull --quiet "$image" && pulled=yes && break
    echo "bastion: cannot have the image $image yet"
    sleep "$pause"
done
# Without the registry the image that is here goes on.
[ -n "$pulled" ] || docker image inspect "$image" >/dev/null || {
    echo "bastion: there is no image $image; see that it exists, and that the account of this VM may read it"
    exit 1
}
docker stop --time=60 bastion >/dev/null 2>&1
docker rm --force bastion >/dev/null 2>&1
set --
for passed in STORAGE_EMULATOR_HOST GCE_METADATA_HOST TPU COMPUTE CLOUDBUILD IAM CLOUDRESOURCEMANAGER SERVICEUSAGE STORAGE; do
    case $passed in
        *_*) ;;
        *) passed=CLOUDSDK_API_ENDPOINT_OVERRIDES_$passed ;;
    esac
    eval "[ -z \"\${$passed-}\" ]" || set -- "$@" --env "$passed"
done
docker run --detach --name=bastion --restart=always --network=host --stop-timeout=60 --read-only --tmpfs=/tmp \
    --tmpfs=/home/bastion:uid=10001,gid=10001 --cap-drop=ALL --security-opt=no-new-privileges "$@" \
    "$image" start --here "--bastion=$name" "--bucket=$bucket" && echo "bastion: the container runs"
"""
