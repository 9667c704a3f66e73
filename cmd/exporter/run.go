package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
)

const runHelpText = `
Serves /metrics and the status page at AVAX_LISTEN until SIGTERM. SIGHUP reloads
nodes, credentials, rules and notification files.

Examples:
  AVAX_NODES=mine=http://127.0.0.1:9650 avax-exporter
  AVAX_NODES=mine=http://127.0.0.1:9650 AVAX_CHAINS=C,auto avax-exporter run
`

// runExporter runs the exporter until ctx ends.
func runExporter(ctx context.Context, _ []string, _, stderr io.Writer) error {
	cfg, err := configured(config.Load())
	if err != nil {
		return err
	}
	return serve(ctx, app.Options{Config: cfg, Log: newLogger(cfg, stderr)})
}

// setGCPercent sets app.GCPercent. An exporter of a few nodes has a small heap, and makes much garbage while it starts: collections would be a third of the
// CPU from its start to the first whole page. The variable GOGC overrides it.
func setGCPercent(nodes int) {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(app.GCPercent)
	switch {
	case nodes > 500:
		debug.SetGCPercent(app.GCPercentOfManyNodes)
	case nodes <= 10:
		debug.SetGCPercent(400)
		time.AfterFunc(10*time.Second, func() { debug.SetGCPercent(app.GCPercent) })
	}
}

// setMemoryLimit lets the garbage collector keep the process below the memory limit of its control group, such as that of a container or a
// systemd unit. Without a limit it does nothing. The variable GOMEMLIMIT overrides it.
func setMemoryLimit() {
	_, _ = memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(0.9), memlimit.WithProvider(memlimit.FromCgroup))
}

// serve runs the exporter and reloads it on SIGHUP.
func serve(ctx context.Context, o app.Options) error {
	setGCPercent(len(o.Config.Upstreams.Nodes))
	setMemoryLimit()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	o.Reload = hup
	return app.Run(ctx, o)
}
