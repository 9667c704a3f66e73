package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/exporter-toolkit/web"

	"github.com/avax-exporter/avax-exporter/internal/config"
)

// serve answers until the server is shut down, with the TLS, passwords and rate limit of the web configuration. The file
// is read again for every connection and request.
func serve(listener net.Listener, server *http.Server, cfg *config.Config, log *slog.Logger) error {
	log = slog.New(valuesHidden{log.Handler()})
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	return web.Serve(listener, server, &web.FlagConfig{WebConfigFile: &cfg.WebConfigFile}, log)
}

// valuesHidden is a log of exporter-toolkit and net/http, which log the error of a web configuration that was changed.
type valuesHidden struct{ slog.Handler }

func (h valuesHidden) Handle(ctx context.Context, r slog.Record) error {
	hidden := slog.NewRecord(r.Time, r.Level, config.HideValues(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if k := a.Value.Kind(); k == slog.KindString || k == slog.KindAny {
			a.Value = slog.StringValue(config.HideValues(a.Value.String()))
		}
		hidden.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, hidden)
}
