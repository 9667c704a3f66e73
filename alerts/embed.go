// Package alerts holds the alert rules: one file for a Prometheus server and
// for the exporter's own alerting alike, and one for what else a Prometheus
// server may scrape.
//
// Each file has its tests in a _test.yml, for promtool test rules, and
// docs/runbooks has a page for each alert.
package alerts

import _ "embed"

//go:generate go test -run TestChartHasTheRulesOfEachProfile . -update

// Rules is rules.yml, in the format of Prometheus' rule files from 2.42 on.
// Thresholds are recording rules at its top.
//
//go:embed rules.yml
var Rules []byte

// Companion is companion.yml, in the same format: rules over the node's own
// /ext/metrics, node_exporter and the ICM relayer.
//
//go:embed companion.yml
var Companion []byte

// Digest is digest.yml, in the same format: alerts that always fire and make up a weekly digest.
//
//go:embed digest.yml
var Digest []byte
