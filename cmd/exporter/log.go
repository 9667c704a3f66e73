package main

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/lmittmann/tint"

	"github.com/avax-exporter/avax-exporter/internal/config"
)

// newLogger returns the logger. Its format is from the configuration. With the format auto, it logs text if the
// output is a terminal, else JSON.
func newLogger(cfg *config.Config, w io.Writer) *slog.Logger {
	f, isFile := w.(*os.File)
	terminal := isFile && isTerminal(f)
	if cfg.LogFormat == "json" || cfg.LogFormat == "auto" && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: cfg.LogLevel, ReplaceAttr: cutLong}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: cfg.LogLevel, TimeFormat: time.TimeOnly, NoColor: !terminal, ReplaceAttr: cutLong}))
}

// longestText is the maximum length in bytes of a logged message or attribute. There is a limit, because both may
// contain an upstream's answer.
const longestText = 8 << 10

func cutLong(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch v := a.Value.Any().(type) {
	case string:
		text = v
	case error:
		text = v.Error()
	}
	if len(text) > longestText {
		a.Value = slog.StringValue(strings.ToValidUTF8(text[:longestText], "") + "…")
	}
	return a
}

// isTerminal reports whether the file is a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
