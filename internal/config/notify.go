package config

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

// parseNotify parses the settings of notifications.
func (env Environment) parseNotify(c *Config, note func(variable string, errs ...error)) {
	c.Notify = notify.Config{
		File: env.NotifyFile, InhibitRules: alertmanager.Config, URL: c.Alerting.URL,
		Listen: env.NotifyListen, Peers: slices.Collect(fields(env.NotifyPeers, ",")),
	}
	if c.StateDir != "" {
		c.Notify.StateDir = filepath.Join(c.StateDir, "notify")
	}
	if c.HeartbeatURL = env.HeartbeatURL; c.HeartbeatURL != "" {
		note("HEARTBEAT_URL", notify.CheckHeartbeat(c.HeartbeatURL))
	}
	switch {
	case env.NotifyFile == "" && env.NotifyPeers != "":
		note("NOTIFY_PEERS", errors.New("not used without AVAX_NOTIFY_FILE: set AVAX_NOTIFY_FILE, or remove AVAX_NOTIFY_PEERS"))
	case env.NotifyFile == "":
	case !c.Alerting.On:
		note("NOTIFY_FILE", errors.New("not used with AVAX_ALERTING=off: set AVAX_ALERTING=on, or remove AVAX_NOTIFY_FILE"))
	default:
		note("NOTIFY_FILE", notify.Check(c.Notify))
		if env.NotifyPeers != "" {
			note("NOTIFY_PEERS", notify.CheckPeers(c.Notify))
		}
	}
}
