package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/exporter-toolkit/web"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/logs"
	"github.com/avax-exporter/avax-exporter/internal/secret"
)

// serve serves requests until the server is shut down, with the TLS, passwords and rate limit of the web configuration.
// exporter-toolkit reads the web configuration file for every connection and request.
func serve(listener net.Listener, server *http.Server, cfg *config.Config, log *slog.Logger) error {
	log = logs.AtLeast(slog.LevelWarn, slog.New(valuesHidden{log.Handler()})) // Run logs the address
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	if cfg.WebConfigFile != "" {
		server.BaseContext = func(net.Listener) context.Context { // called when exporter-toolkit has set its handler, before any request
			server.Handler = limitPasswords(server.Handler)
			return context.Background()
		}
	}
	return web.Serve(listener, server, &web.FlagConfig{WebConfigFile: &cfg.WebConfigFile}, log)
}

// valuesHidden removes values from the log records of exporter-toolkit and net/http about an invalid web configuration.
type valuesHidden struct{ slog.Handler }

func (h valuesHidden) Handle(ctx context.Context, r slog.Record) error {
	hidden := slog.NewRecord(r.Time, r.Level, secret.HideQuoted(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if k := a.Value.Kind(); k == slog.KindString || k == slog.KindAny {
			a.Value = slog.StringValue(secret.HideQuoted(a.Value.String()))
		}
		hidden.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, hidden)
}
