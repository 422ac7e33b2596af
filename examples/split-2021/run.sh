#!/bin/sh
# Build go-ethereum v1.10.8 and v1.10.7, and let jepgo find what splits them. It exits
# with jepgo's status: 1, as the network is not one chain any more. Arguments go to
# jepgo test. JEPGO names the program, jepgo in PATH by default.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/../build-geth.sh" v1.10.8 v1.10.7
exec "${JEPGO:-jepgo}" test --devnet "$here/split.yaml" --workload precompile,head --nemesis none --time 20s --rate 5 "$@"
