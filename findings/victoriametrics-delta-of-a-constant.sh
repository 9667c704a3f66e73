#!/bin/sh
# VictoriaMetrics takes a series that begins within the range of delta() to begin at 0, if its first value is small: a gauge that is always 7 has risen by 7,
# and one that is always 70 by nothing. Prometheus says 0 of both.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
go mod init finding >/dev/null 2>&1
export GOFLAGS=-mod=mod CGO_ENABLED=0
go get github.com/VictoriaMetrics/VictoriaMetrics/app/vmalert-tool@v1.151.0 >/dev/null 2>&1
go build -o vmalert-tool github.com/VictoriaMetrics/VictoriaMetrics/app/vmalert-tool
echo 'groups: [{name: none, rules: [{record: none, expr: none}]}]' >rules.yml
# Whether an expression has this value an hour after the series began.
is() {
	cat >test.yml <<YML
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
- interval: 1m
  name: constant gauges
  input_series: [{series: seven, values: 7x200}, {series: seventy, values: 70x200}]
  metricsql_expr_test: [{expr: '$1', eval_time: 60m, exp_samples: [{labels: '{}', value: $2}]}]
YML
	if ./vmalert-tool unittest -disableAlertgroupLabel --files=test.yml >log 2>&1; then echo yes; else echo no; fi
}
{
	echo "vmalert v1.151.0"
	for series in 'seven 7' 'seventy 70'; do
		set -- $series
		echo "delta($1[110m]) is 0: $(is "delta($1[110m])" 0), is $2: $(is "delta($1[110m])" "$2")"
		echo "delta($1[30m]) is 0: $(is "delta($1[30m])" 0)"
	done
} | tee got
cat >want <<'WANT'
vmalert v1.151.0
delta(seven[110m]) is 0: no, is 7: yes
delta(seven[30m]) is 0: yes
delta(seventy[110m]) is 0: yes, is 70: no
delta(seventy[30m]) is 0: yes
WANT
cmp want got || { cat log; exit 1; }
