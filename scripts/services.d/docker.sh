#!/usr/bin/env bash
# A Docker engine, Debian's, with separate containers, images and network: never the
# system's engine. It pulls nothing: it reaches only this machine.
#
# HOLDFAST_TEST_DOCKER is its address, a unix socket. HOLDFAST_TEST_DOCKER_HOST is this
# machine's address as containers of its bridge network see it.
#
# A test that kills an engine starts a separate one with HOLDFAST_TEST_DOCKER_ENGINE,
# which is the path of this file:
#
#   docker.sh FOLDER   runs an engine in FOLDER, prints "engine answers" and waits
#                      for SIGTERM; then it removes the containers and FOLDER
#
#   FOLDER/docker.sock   the engine's socket       FOLDER/docker.pid   dockerd's process
#   FOLDER/daemon.json   its settings; an existing FOLDER/run          starts dockerd again
#                        file is kept                                  and waits for it
#
# HOLDFAST_TEST_DEBIAN is the tar of a small Debian, for building images.

docker_env() {
  packages dockerd:docker.io containerd:containerd runc:runc iptables:iptables ip:iproute2 curl:curl || return 1
  give HOLDFAST_TEST_DOCKER_ENGINE "$(realpath "${BASH_SOURCE[0]}")"
}

docker_start() {
  local settings dir
  [ "$(id -u)" -eq 0 ] || fail "docker: an engine needs root; or set HOLDFAST_TEST_DOCKER to the socket of one" || return 1
  settings=$(docker_env) || return 1
  stop docker
  dir=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-docker.XXXXXX")
  background docker bash "${BASH_SOURCE[0]}" "$dir"
  wait_line docker '(engine answers)' >/dev/null 2>&1 || wait_line docker '(engine answers)' >/dev/null || return 1
  say "docker answers on $dir/docker.sock (process $(cat "$state/docker/pid"))"
  echo "$settings"
  give HOLDFAST_TEST_DOCKER "unix://$dir/docker.sock"
  give HOLDFAST_TEST_DOCKER_HOST "$(cat "$dir/host")"
}

debian_env() {
  local tar=$cache/debian-bookworm.tar dir
  if [ ! -f "$tar" ]; then
    [ "$(id -u)" -eq 0 ] || fail "debian: building it needs root" || return 1
    packages debootstrap:debootstrap || return 1
    say "building a Debian with debootstrap, which takes minutes"
    mkdir -p "$cache"
    dir=$(mktemp -d "$cache/debian.XXXXXX")
    debootstrap --variant=minbase bookworm "$dir" >&2 && rm -f "$dir"/var/cache/apt/archives/*.deb &&
      tar -C "$dir" -cf "$tar.part" . && mv "$tar.part" "$tar"
    rm -rf --one-file-system "$dir"
  fi
  [ -f "$tar" ] || fail "debian: not built" || return 1
  give HOLDFAST_TEST_DEBIAN "$tar"
}
debian_start() { debian_env; }

# engine_network creates a network that contains only this machine and the engine. It
# exists as long as one process, its holder.
engine_network() {
  local net
  setsid unshare --net sleep infinity &
  holder=$!
  until [ "$(readlink "/proc/$holder/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do
    kill -0 "$holder" || return 1
    sleep 0.01
  done
  net=198.18.$(((holder >> 6) & 255)).$(((holder & 63) << 2)) # for tests, see RFC 2544
  echo "${net%.*}.$((${net##*.} + 1))" >"$dir/host"
  ip link add "hf$holder" type veth peer name eth0 netns "$holder" || return 1
  ip addr add "$(cat "$dir/host")/30" dev "hf$holder"
  ip link set "hf$holder" up
  nsenter --target "$holder" --net sh -ec '
    ip link set lo up
    ip addr add "$1/30" dev eth0
    ip link set eth0 up
    ip route add default via "$2"' sh "${net%.*}.$((${net##*.} + 2))" "$(cat "$dir/host")"
}

# engine_files writes the configuration of containerd and dockerd.
engine_files() {
  cat >"$dir/containerd.toml" <<TOML
version = 2
root = "$dir/containerd"
state = "$dir/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "$dir/containerd.sock"
TOML
  [ -e "$dir/daemon.json" ] || echo '{}' >"$dir/daemon.json"
  cat >"$dir/run" <<RUN
#!/bin/sh
old=\$(cat '$dir/docker.pid' 2>/dev/null)
while [ -n "\$old" ] && kill -0 "\$old" 2>/dev/null; do sleep 0.05; done
setsid nsenter --target $holder --net dockerd --config-file '$dir/daemon.json' --host 'unix://$dir/docker.sock' \\
  --data-root '$dir/data' --exec-root '$dir/exec' --pidfile '$dir/docker.pid' --containerd '$dir/containerd.sock' \\
  --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent '/$group' >>'$dir/docker.log' 2>&1 </dev/null &
dockerd=\$!
until curl -sf -o /dev/null --unix-socket '$dir/docker.sock' http://docker/_ping; do
  kill -0 \$dockerd 2>/dev/null || { tail -n 3 '$dir/docker.log' >&2; exit 1; }
  sleep 0.05
done
RUN
  chmod 755 "$dir/run"
}

# engine_end ends process $1, which may take half a minute.
engine_end() {
  [ -n "$1" ] || return 0
  kill "$1" 2>/dev/null || return 0
  for _ in $(seq 600); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.05
  done
  kill -KILL "$1" 2>/dev/null
}

# engine_stop removes everything that the engine created, including what the engine
# itself could not remove because a test killed it.
engine_stop() {
  local id sockets
  trap '' TERM INT # a second signal does not interrupt the removal
  for id in $(curl -s --unix-socket "$dir/docker.sock" 'http://docker/containers/json?all=1' | grep -o '"Id":"[0-9a-f]*"' | cut -d '"' -f 4); do
    curl -s -o /dev/null -X DELETE --unix-socket "$dir/docker.sock" "http://docker/containers/$id?force=1&v=1"
  done
  engine_end "$(cat "$dir/docker.pid" 2>/dev/null)"
  sockets=$(find "$dir/state" -name address -exec sed 's#^unix://\(.*\)#\1\n#' {} + 2>/dev/null) # the shims', in /run
  find /sys/fs/cgroup -path "*/$group/*" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u | xargs -r kill -KILL 2>/dev/null
  grep -lzxF -- "$dir/containerd.sock" /proc/[0-9]*/cmdline 2>/dev/null | cut -d / -f 3 | xargs -r kill -KILL 2>/dev/null # the shims
  engine_end "$containerd"
  echo "$sockets" | xargs -r rm -f
  cut -d ' ' -f 5 /proc/self/mountinfo | grep -F "$dir/" | sort -r | xargs -r -n 1 umount --lazy
  find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} + 2>/dev/null
  kill "$holder" 2>/dev/null
  rm -rf --one-file-system "$dir"
}

# engine DIR runs an engine until SIGTERM, or until its containerd ends.
engine() {
  mkdir -p "$1" && dir=$(realpath "$1") || return 1 # these are not local: engine_stop, at the exit, needs them
  group=holdfast-docker.$$
  trap engine_stop EXIT
  trap exit TERM INT
  engine_network && engine_files || return 1
  setsid nsenter --target "$holder" --net containerd --config "$dir/containerd.toml" >"$dir/containerd.log" 2>&1 </dev/null &
  containerd=$!
  for _ in $(seq 200); do
    [ -S "$dir/containerd.sock" ] && break
    sleep 0.05
  done
  "$dir/run" && echo "engine answers on unix://$dir/docker.sock" || return 1
  wait "$containerd"
}

# Sourced by scripts/services, it defines functions; run by itself, it is an engine.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  [ $# -eq 1 ] || { sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
  PATH=$PATH:/usr/sbin:/sbin
  engine "$1"
fi
