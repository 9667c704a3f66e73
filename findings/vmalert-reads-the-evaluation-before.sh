#!/bin/sh
# A rule that reads what another rule of its group records gets the value of this evaluation in Prometheus. In vmalert it gets that of the evaluation
# before: each record between a sample and an alert makes the alert one interval later.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
go mod init finding >/dev/null 2>&1
export GOFLAGS=-mod=mod CGO_ENABLED=0
go get github.com/VictoriaMetrics/VictoriaMetrics/app/vmalert-tool@v1.151.0 >/dev/null 2>&1
go build -o vmalert-tool github.com/VictoriaMetrics/VictoriaMetrics/app/vmalert-tool
cat >rules.yml <<'YML'
groups:
- name: nodes
  interval: 1m
  rules:
  - {record: first, expr: up == 0}
  - {record: second, expr: first}
  - {record: third, expr: second}
YML
# Whether a record has a value, so many minutes after the node is down.
has() {
	cat >test.yml <<YML
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
- interval: 1m
  name: the node is down from 5m
  input_series: [{series: 'up{node="a"}', values: '1x4 0x20'}]
  metricsql_expr_test:
  - {expr: 'count($1)', eval_time: $((5 + $2))m, exp_samples: [{labels: '{}', value: 1}]}
YML
	if ./vmalert-tool unittest -disableAlertgroupLabel --files=test.yml >log 2>&1; then echo yes; else echo no; fi
}
{
	echo "vmalert v1.151.0"
	for record in first second third; do
		echo "$record has a value: at once $(has $record 0), a minute later $(has $record 1), two minutes later $(has $record 2)"
	done
} | tee got
cat >want <<'WANT'
vmalert v1.151.0
first has a value: at once yes, a minute later yes, two minutes later yes
second has a value: at once no, a minute later yes, two minutes later yes
third has a value: at once no, a minute later no, two minutes later yes
WANT
cmp want got || { cat log; exit 1; }
