package alerting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/words"
)

// NoRules is what to do if a server has none of the alert rules.
const NoRules = "Load them: avax-exporter rules writes them for Prometheus, the operator, Mimir and Grafana. With the operator, ruleSelector must match the " +
	"labels of the PrometheusRule. VictoriaMetrics needs vmalert, and -vmalert.proxyURL. Or set AVAX_ALERTING=on."

// ErrNoRules is the error of a server that has none of the alert rules.
var ErrNoRules = errors.New("it has none of the alert rules")

// Ask asks whether the server can page: whether it has the rules of c, evaluates them, has samples of an exporter, and notifies an Alertmanager.
// The error is why it cannot; a warning is what it may lack.
func (p *Prometheus) Ask(ctx context.Context, c Config) (warnings []string, err error) {
	groups, err := p.Groups(ctx)
	if err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		return nil, ErrNoRules
	}
	var names, broken []string
	for _, g := range groups {
		for _, r := range g.Rules {
			if names = append(names, r.Name); r.LastError != "" {
				broken = append(broken, r.Name)
			}
		}
	}
	if len(broken) > 0 {
		return nil, fmt.Errorf("it cannot evaluate %s: the page /rules of the server shows why", words.Brief(broken))
	}
	alerts, err := AlertLabels(c)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, a := range alerts {
		if a["severity"] == "page" && !slices.Contains(names, a["alertname"]) && !slices.Contains(missing, a["alertname"]) {
			missing = append(missing, a["alertname"])
		}
	}
	if len(missing) > 0 {
		warnings = append(warnings, "it lacks alerts that page: "+words.Brief(missing)+". Load the rules of this version.")
	}
	if value, err := p.Query(ctx, "count(avax_exporter_build_info)", time.Now()); err == nil && isEmpty(value) {
		warnings = append(warnings, "it has no samples of an exporter: add a scrape job, or wait for the first scrape.")
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if to, err := p.api.AlertManagers(ctx); err == nil && len(to.Active) == 0 {
		warnings = append(warnings, "it notifies no Alertmanager: add its section alerting.")
	}
	return warnings, nil
}

func isEmpty(v model.Value) bool {
	vector, ok := v.(model.Vector)
	return ok && len(vector) == 0
}
