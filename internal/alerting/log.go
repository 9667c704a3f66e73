//go:build !noalerting

package alerting

import (
	"context"
	"log/slog"
)

// quiet lets through what is at least as bad as its level; the rest is for those
// who log at DEBUG. What matters of it this package tells itself, once.
type quiet struct {
	slog.Handler
	from slog.Level
}

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	if l < q.from {
		l = slog.LevelDebug
	}
	return q.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attrs), q.from}
}

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name), q.from} }
