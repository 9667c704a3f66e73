package main

import (
	"context"
	"io"
	"net"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/demo"
)

const demoHelp = `
The log says which incident happens and what to look for. The status page is at
http://localhost:9865, or at AVAX_LISTEN. Each start begins with a new network,
so the demo keeps no state. It ignores AVAX_STATE_DIR and variables about nodes.

Examples:
  avax-exporter demo
  AVAX_LISTEN=127.0.0.1:8080 avax-exporter demo
`

// runDemo runs the exporter over a simulated network in the same process.
func runDemo(ctx context.Context, _ []string, _, stderr io.Writer) error {
	cfg, err := configured(config.LoadServing())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log := newLogger(cfg, stderr)
	network := demo.NewNetwork()
	urls, err := network.Serve(ctx)
	if err != nil {
		return err
	}
	if err := demo.Configure(cfg, network, urls); err != nil {
		return err
	}
	inbox, err := demo.Notify(ctx, cfg, log)
	if err != nil {
		return err
	}
	if len(cfg.Ignored) > 0 {
		log.Warn("variables ignored", "variables", strings.Join(cfg.Ignored, ","), "reason", "each start of the demo has a new network")
	}
	log.Info("simulated network", "nodes", len(cfg.Nodes), "observers", len(cfg.Observers), "l1", "examplel1", "permissioned", "examplepoa")
	return serve(ctx, app.Options{Config: cfg, Log: log, Inbox: inbox, Started: func(address net.Addr) {
		log.Info("open the status page", "url", app.OwnURL(address.String(), cfg.TLS))
		if inbox != nil {
			log.Info("open the inbox of notifications", "url", app.OwnURL(address.String(), cfg.TLS)+"/demo/inbox", "note", "all is sooner")
		}
		go demo.Run(ctx, network, log)
	}})
}
