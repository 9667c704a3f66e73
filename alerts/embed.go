// Package alerts holds the alert rules. rules.yml is for a Prometheus server and for alerting in the exporter. companion.yml is for
// metrics of other programs that a Prometheus server scrapes. Both are compiled from the files in source. digest.yml is for a weekly digest.
//
// Each file has its tests in files that end in _test.yml, for promtool test rules. docs/runbooks has a page for each alert.
package alerts

import "embed"

//go:generate go run ./generate

// Source are the files from which rules.yml and companion.yml are compiled: a directory for each.
//
//go:embed source
var Source embed.FS

// Rules is rules.yml, in the format of Prometheus 2.42 and later. The recording rules at the top are the thresholds.
//
//go:embed rules.yml
var Rules []byte

// Companion is companion.yml, in the same format: rules over the node's own
// /ext/metrics, node_exporter and the ICM relayer.
//
//go:embed companion.yml
var Companion []byte

// Digest is digest.yml, in the same format: alerts that always fire. Together they are the weekly digest.
//
//go:embed digest.yml
var Digest []byte
