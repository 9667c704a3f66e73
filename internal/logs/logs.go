// Package logs adapts loggers for libraries.
package logs

import (
	"context"
	"log/slog"
)

// AtLeast returns a logger that drops records below a level, unless DEBUG is enabled. Libraries log much that operators need not know,
// or that this program logs itself.
func AtLeast(level slog.Level, log *slog.Logger) *slog.Logger {
	return slog.New(atLeast{log.Handler(), level})
}

type atLeast struct {
	slog.Handler
	level slog.Level
}

func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	if l < h.level {
		l = slog.LevelDebug
	}
	return h.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (h atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeast{h.Handler.WithAttrs(attrs), h.level}
}

// WithGroup implements slog.Handler.
func (h atLeast) WithGroup(name string) slog.Handler {
	return atLeast{h.Handler.WithGroup(name), h.level}
}
