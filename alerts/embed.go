// Package alerts holds the alert rules: one file for a Prometheus server and
// for the exporter's own alerting alike.
//
// rules_test.yml beside it holds their tests, for promtool test rules, and
// docs/runbooks has a page for each alert.
package alerts

import _ "embed"

// Rules is rules.yml, in the format of Prometheus' rule files from 2.42 on.
// Thresholds are recording rules at its top.
//
//go:embed rules.yml
var Rules []byte
