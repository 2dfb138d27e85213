# Scratch roots of Debian releases. Scripts source this file; it needs root, and a machine with a Debian archive.
# What runs in a root and what is mounted into it is gone when the script is, however the script ends.

# Makes the smallest Debian RELEASE in the folder ROOT. Downloaded packages are kept beside it, in `packages`.
make_root() {  # RELEASE ROOT
    local release=$1 root=$2 site keyring=/usr/share/keyrings/debian-archive-keyring.gpg packages
    [ "$(id -u)" = 0 ] || { echo "must be root to make a root of Debian $release" >&2; return 1; }
    # The archive that this machine uses, and how it is reached.
    site=$(apt-get indextargets --format '$(COMPONENT) $(LABEL) $(SITE)' 'Created-By: Packages' |
        awk '$1 == "main" && $2 == "Debian" { print $3; exit }')
    [ -n "$site" ] || { echo "this machine has no Debian archive to make a root from" >&2; return 1; }
    command -v debootstrap >/dev/null ||
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
    packages=$(dirname "$root")/packages
    rm -rf --one-file-system "$root"
    mkdir -p "$root" "$packages"
    [ -e "/usr/share/debootstrap/scripts/$release" ] || ln -s sid "/usr/share/debootstrap/scripts/$release"
    # What it mounts goes with it, however it ends.
    unshare --mount --propagation private debootstrap --variant=minbase --keyring="$keyring" --cache-dir="$packages" \
        "$release" "$root" "$site" >"$root.log" 2>&1 || { echo "debootstrap failed: $root.log" >&2; return 1; }
    apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries|ForceIPv)' >"$root/etc/apt/apt.conf.d/99-of-the-machine" || true
    cp -a /etc/apt/auth.conf.d/. "$root/etc/apt/auth.conf.d/" 2>/dev/null || true
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
}

# Copies a checkout, without what was built and without its history.
copy_source() {  # SOURCE FOLDER
    mkdir -p "$2"
    tar -C "$1" --exclude=./build --exclude=./.deps --exclude=./.git --exclude=./.cache -c . | tar -C "$2" -x --no-same-owner
}

# Runs a command in the root, in its folder /redlock. It replaces the shell: call it in a subshell or in the background.
enter_root() {  # ROOT COMMAND
    local environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}") name
    for name in http_proxy https_proxy no_proxy; do [ -z "${!name:-}" ] || environment+=("$name=${!name}"); done
    # Mounts and processes of its own: both are gone when the shell is.
    ROOT=$1 exec setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child bash -euc '
        mkdir -p "$ROOT/redlock"
        mount -t proc proc "$ROOT/proc"
        mount --rbind /dev "$ROOT/dev"
        mount -t sysfs sysfs "$ROOT/sys" 2>/dev/null || true
        mount -t tmpfs tmpfs "$ROOT/tmp"
        exec chroot "$ROOT" /usr/bin/env -i "${@:2}" sh -c "cd /redlock && exec $1"' inside "$2" "${environment[@]}"
}
