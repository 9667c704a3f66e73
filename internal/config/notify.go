package config

import (
	"errors"
	"path/filepath"

	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

// parseNotify parses the settings of notifications.
func (env Environment) parseNotify(c *Config, note func(variable string, errs ...error)) {
	c.Notify = notify.Config{
		File: env.NotifyFile, InhibitRules: alertmanager.Config, URL: c.Alerting.URL,
	}
	if c.StateDir != "" {
		c.Notify.StateDir = filepath.Join(c.StateDir, "notify")
	}
	if c.HeartbeatURL = env.HeartbeatURL; c.HeartbeatURL != "" {
		note("HEARTBEAT_URL", notify.CheckHeartbeat(c.HeartbeatURL))
	}
	switch {
	case env.NotifyFile == "":
	case !c.Alerting.On:
		note("NOTIFY_FILE", errors.New("not used with AVAX_ALERTING=off: set AVAX_ALERTING=on, or remove AVAX_NOTIFY_FILE"))
	default:
		note("NOTIFY_FILE", notify.Check(c.Notify))
	}
}
