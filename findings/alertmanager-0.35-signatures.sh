#!/bin/sh
# Between the patch release 0.34.2 and 0.35.0, Alertmanager's library changed what an inhibitor and a receiver take and return, and lost a package.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
run() {
	rm -f go.mod go.sum
	go mod init finding >/dev/null 2>&1
	go get "github.com/prometheus/alertmanager@$1" >/dev/null 2>&1
	src=$(go list -m -f '{{.Dir}}' github.com/prometheus/alertmanager)
	echo "alertmanager $1"
	grep -rhoE '^func \(ih \*Inhibitor\) Mutes\(.*\{' "$src/inhibit"
	grep -hE '^	Notify\(' "$src/notify/notify.go"
	if [ -d "$src/types" ]; then echo "package types"; else echo "no package types"; fi
}
{ run v0.34.2; run v0.35.0; } | tee got
cat >want <<'WANT'
alertmanager v0.34.2
func (ih *Inhibitor) Mutes(ctx context.Context, lset model.LabelSet) bool {
	Notify(context.Context, ...*alert.Alert) (bool, error)
package types
alertmanager v0.35.0
func (ih *Inhibitor) Mutes(ctx context.Context, lset labelset.LabelSet) bool {
	Notify(context.Context, ...*alert.Alert) NotifyVerdict
no package types
WANT
cmp want got
