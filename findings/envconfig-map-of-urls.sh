#!/bin/sh
# envconfig parses a map[string]string by splitting each item at every colon: a URL with a port is "an invalid map item". The error has the whole value,
# with a password that is in it.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/kelseyhightower/envconfig"
)

func main() {
	var one struct{ Nodes map[string]string }
	fmt.Println("map:", envconfig.Process("f", &one))
	var two struct{ Wait int }
	fmt.Println("int:", envconfig.Process("g", &two))
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/kelseyhightower/envconfig@v1.4.0 >/dev/null 2>&1 && go mod tidy >/dev/null 2>&1
{ echo "envconfig v1.4.0"; F_NODES=a:http://node:9650 G_WAIT=secret-by-mistake GOFLAGS=-mod=mod CGO_ENABLED=0 go run .; } | tee got
cat >want <<'WANT'
envconfig v1.4.0
map: envconfig.Process: assigning F_NODES to Nodes: converting 'a:http://node:9650' to type map[string]string. details: invalid map item: "a:http://node:9650"
int: envconfig.Process: assigning G_WAIT to Wait: converting 'secret-by-mistake' to type int. details: strconv.ParseInt: parsing "secret-by-mistake": invalid syntax
WANT
cmp want got
