// Package alerts holds the alert rules. rules.yml is for a Prometheus server and for alerting in the exporter. companion.yml is for
// metrics of other programs that a Prometheus server scrapes. digest.yml is for a weekly digest.
//
// Each file has its tests in files that end in _test.yml, for promtool test rules. docs/runbooks has a page for each alert.
package alerts

import _ "embed"

// Rules is rules.yml, in the format of Prometheus 2.42 and later. The recording rules at the top are the thresholds.
//
//go:embed rules.yml
var Rules []byte

// Companion is companion.yml, in the same format: rules over the node's own
// /ext/metrics, node_exporter and the ICM relayer.
//
//go:embed companion.yml
var Companion []byte

// labelTemplate is the value of a label that WithLabels adds to alerts. LABEL stands for its name. The value is not empty, because the
// series ALERTS would then have the template as its value.
//
//go:embed label.tmpl
var labelTemplate string

// labelRules are the recording rules that WithLabels adds for a label. LABEL stands for its name.
//
//go:embed label.yml
var labelRules string

// labelChanges are the changes of the rules' text that WithLabels makes.
//
//go:embed label_changes.yml
var labelChanges []byte

// Digest is digest.yml, in the same format: alerts that always fire. Together they are the weekly digest.
//
//go:embed digest.yml
var Digest []byte
