#!/bin/sh
# Fetch go-ethereum from the Go module proxy and build geth, each version given,
# into examples/bin/geth-VERSION:
#
#   examples/build-geth.sh v1.13.15
#
# It needs Go, and a C compiler for versions before v1.10.9 or so, whose console was
# written in C. v1.13.15, v1.10.8 and v1.10.7 were tried with Go 1.26; the first build
# takes some minutes.
set -eu
[ $# -gt 0 ] || { echo "usage: $0 VERSION..." >&2; exit 254; }
out=$(cd "$(dirname "$0")" && mkdir -p bin && cd bin && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for version; do
	geth=$out/geth-$version
	if [ -x "$geth" ]; then
		echo "$geth is there"
		continue
	fi
	cd "$tmp"
	dir=$(go mod download -json "github.com/ethereum/go-ethereum@$version" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
	[ -n "$dir" ] || { echo "$0: version $version: go mod download gave no directory" >&2; exit 1; }
	# The module cache is not to be written to: sums that are missing in go.sum go
	# to copies. The old memory profiler links to the runtime by force.
	cp "$dir/go.mod" geth.mod
	cp "$dir/go.sum" geth.sum
	chmod u+w geth.mod geth.sum
	echo "building geth $version"
	case $version in v1.[0-9].* | v1.10.[0-8]) cgo=1 ;; *) cgo=0 ;; esac
	(cd "$dir" && CGO_ENABLED=$cgo GOFLAGS=-mod=mod GOWORK=off go build -modfile="$tmp/geth.mod" -ldflags=-checklinkname=0 -o "$geth.new" ./cmd/geth)
	mv "$geth.new" "$geth"
	"$geth" version | sed -n 's/^Version: /built /p'
done
