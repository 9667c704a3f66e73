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

// newLogger logs text on a terminal, and JSON otherwise, unless the configuration
// chooses one.
func newLogger(cfg *config.Config, w io.Writer) *slog.Logger {
	f, isFile := w.(*os.File)
	terminal := isFile && isTerminal(f)
	if cfg.LogFormat == "json" || cfg.LogFormat == "auto" && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: cfg.LogLevel, ReplaceAttr: cutLong}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: cfg.LogLevel, TimeFormat: time.TimeOnly, NoColor: !terminal, ReplaceAttr: cutLong}))
}

// longestText is how many bytes of a message or an attribute are logged: what others answer may be in it.
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

// isTerminal tells a terminal from a file and a pipe.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
