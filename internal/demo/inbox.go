package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/web"
)

// Shorter times, so that in the demo alerts fire and are sent before the incident ends.
const (
	interval = 5 * time.Second // evaluation interval of the rules
	shorter  = 30              // divisor for each `for`
)

// routing sends all alerts except the watchdog to the inbox. Groups are as in the examples, with short waits.
const routing = `
route:
  receiver: inbox
  group_by: [alertname, chain, node]
  group_wait: 2s
  group_interval: 5s
  repeat_interval: 12h
  routes:
    - matchers: [severity="none"]
      receiver: nobody
    - matchers: [severity="warn", alertname="AvaxNodeDown"]
      receiver: inbox
      group_wait: 10s
receivers:
  - name: nobody
  - name: inbox
    webhook_configs: [{url: "http://%s/", send_resolved: true}]
`

// Notify sends notifications to the inbox at /demo/inbox, unless the operator configured receivers or disabled rules. The
// inbox accepts notifications until ctx ends. It is nil if nothing is sent to it.
func Notify(ctx context.Context, c *config.Config, log *slog.Logger) (*web.Inbox, error) {
	if !c.Alerting.On || c.Notify.On() {
		return nil, nil
	}
	if c.Alerting.RulesFile == "" {
		rules, err := shorten(c.Alerting.Rules)
		if err != nil {
			return nil, err
		}
		c.Alerting.Rules, c.Alerting.Interval = rules, interval
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	inbox := &web.Inbox{}
	c.Notify.Text = fmt.Appendf(nil, routing, listener.Addr())
	server := &http.Server{Handler: web.Access{TrustLoopback: true}.Only(inbox), ReadTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("inbox closed", "err", err)
		}
	}()
	return inbox, nil
}

// shorten returns the rules with shorter durations.
func shorten(rules []byte) ([]byte, error) {
	var file struct {
		Groups []map[string]any `yaml:"groups"`
	}
	if err := yaml.Unmarshal(rules, &file); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	for _, group := range file.Groups {
		delete(group, "interval")
		all, _ := group["rules"].([]any)
		for _, r := range all {
			rule, _ := r.(map[string]any)
			for _, name := range []string{"for", "keep_firing_for"} {
				text, given := rule[name].(string)
				if !given {
					continue
				}
				d, err := model.ParseDuration(text)
				if err != nil {
					return nil, fmt.Errorf("rules: %s: %w", name, err)
				}
				rule[name] = model.Duration(time.Duration(d) / shorter).String()
			}
		}
	}
	return yaml.Marshal(file)
}
