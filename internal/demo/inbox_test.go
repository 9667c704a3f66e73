package demo

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestDemoAlertsFireDuringAnIncident(t *testing.T) {
	text := must.Get(shorten(alerts.Rules))(t)
	type rules struct {
		Groups []struct {
			Rules []struct{ Record, Alert, Expr, For string }
		}
	}
	var short, shipped rules
	must.Do(t, yaml.Unmarshal(text, &short))
	must.Do(t, yaml.Unmarshal(alerts.Rules, &shipped))
	pages := 0
	for i, group := range shipped.Groups {
		for k, r := range group.Rules {
			s := short.Groups[i].Rules[k]
			if s.Alert != r.Alert || s.Record != r.Record || s.Expr != r.Expr {
				t.Errorf("%s%s changed to %s%s", r.Record, r.Alert, s.Record, s.Alert)
			}
			if lasts, err := model.ParseDuration(s.For); err == nil && time.Duration(lasts) < usual {
				pages++
			}
		}
	}
	if pages < 50 {
		t.Errorf("%d alerts fire during an incident", pages)
	}
}

func TestDemoNotifiesItsInboxByDefault(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &config.Config{Alerting: alerting.Config{On: true, Rules: alerts.Rules}}
	inbox := must.Get(Notify(ctx, c, slog.New(slog.DiscardHandler)))(t)
	if inbox == nil || !strings.Contains(string(c.Notify.Text), "http://127.0.0.1:") {
		t.Errorf("no notifications to the inbox: %s", c.Notify.Text)
	}
	if err := notify.Check(c.Notify); err != nil {
		t.Error(err)
	}
	for _, c := range []*config.Config{
		{Alerting: alerting.Config{On: true, Rules: alerts.Rules}, Notify: notify.Config{File: "notify.yml"}},
		{},
	} {
		if inbox, err := Notify(ctx, c, slog.New(slog.DiscardHandler)); err != nil || inbox != nil {
			t.Errorf("inbox %v, %v", inbox, err)
		}
	}
}
