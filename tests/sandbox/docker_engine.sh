#!/bin/sh
# Starts and stops a Docker engine for the tests, by hand and out of the way of any other:
# own socket, own data, no bridge, no firewall rules. Needs root and the Debian package docker.io.
#
#   docker_engine.sh start DIR    prints the engine's address, unix://DIR/docker.sock
#   docker_engine.sh stop DIR     stops it by its pid and takes DIR's data away
set -eu

what=${1:?start or stop}
dir=${2:?a folder for the engine}

start() {
    mkdir -p "$dir"
    dockerd --host "unix://$dir/docker.sock" --data-root "$dir/data" --exec-root "$dir/exec" \
        --pidfile "$dir/docker.pid" --storage-driver overlay2 \
        --iptables=false --ip6tables=false --bridge=none --ip-forward=false --ip-masq=false \
        --exec-opt native.cgroupdriver=cgroupfs >"$dir/log" 2>&1 &
    for _ in $(seq 100); do
        if docker --host "unix://$dir/docker.sock" version >/dev/null 2>&1; then
            echo "unix://$dir/docker.sock"
            return
        fi
        sleep 0.2
    done
    echo "the engine did not answer in 20 s; its last words:" >&2
    tail -n 5 "$dir/log" >&2
    exit 1
}

stop() {
    if [ -f "$dir/docker.pid" ]; then
        pid=$(cat "$dir/docker.pid")
        kill "$pid" 2>/dev/null || true
        for _ in $(seq 100); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
    fi
    rm -rf "$dir"
}

"$what"
