#!/bin/sh
# The fee of an L1 validator grows with its excess over a constant that differs per network: 10,000 validators above the target double it in a day on
# Mainnet, and in an hour on Fuji.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
go mod init finding >/dev/null 2>&1
source=$(GOFLAGS=-mod=mod go mod download -json github.com/ava-labs/avalanchego@v1.15.0 | sed -n 's/.*"Dir": "\(.*\)",*/\1/p')
{
	echo "avalanchego v1.15.0"
	for network in mainnet fuji; do
		sed -n "/ValidatorFeeConfig/,/}/s/^.*ExcessConversionConstant: *\([0-9_]*\).*/$network \1/p" "$source/genesis/genesis_$network.go" | tr -d _
	done
} | tee got
cat >want <<'WANT'
avalanchego v1.15.0
mainnet 1246488515
fuji 51937021
WANT
cmp want got
