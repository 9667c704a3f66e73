package alerting

import (
	"context"
	"log/slog"
)

// leveled drops records below the level min, unless DEBUG is enabled. The loggers of Prometheus' packages use it, because this
// package logs the important events itself.
type leveled struct {
	slog.Handler
	min slog.Level
}

func (h leveled) Enabled(ctx context.Context, l slog.Level) bool {
	if l < h.min {
		l = slog.LevelDebug
	}
	return h.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (h leveled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return leveled{h.Handler.WithAttrs(attrs), h.min}
}

// WithGroup implements slog.Handler.
func (h leveled) WithGroup(name string) slog.Handler {
	return leveled{h.Handler.WithGroup(name), h.min}
}
