package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"

	"github.com/avax-exporter/avax-exporter/internal/config"
)

// newLogger logs text on a terminal, and JSON otherwise, unless the configuration
// chooses one.
func newLogger(cfg *config.Config, w io.Writer) *slog.Logger {
	f, isFile := w.(*os.File)
	terminal := isFile && isTerminal(f)
	if cfg.LogFormat == "json" || cfg.LogFormat == "auto" && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: cfg.LogLevel}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: cfg.LogLevel, TimeFormat: time.TimeOnly, NoColor: !terminal}))
}

// isTerminal tells a terminal from a file and a pipe.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
