package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/scrape"
)

func TestLogLinesAreBounded(t *testing.T) {
	for _, format := range []config.LogFormat{"json", "text"} {
		var out bytes.Buffer
		log := newLogger(&config.Config{Values: config.Values{LogFormat: format, LogLevel: config.LogLevel(slog.LevelDebug)}}, &out)
		long := strings.Repeat("é", 1<<20)
		log.Info(long, "text", long, "err", errors.New(long), "n", 1)
		if size := out.Len(); size < 3*longestText || size > 4*longestText || !strings.Contains(out.String(), "…") {
			t.Errorf("%s: %d bytes", format, size)
		}
	}
}

// A person sees lines of at most 100 columns. With DEBUG, for errors of the exporter itself, and in JSON, the texts are whole.
func TestLogLinesOfAPersonAreNarrow(t *testing.T) {
	const long = "dial tcp 127.0.0.1:41323: connect: connection refused, and more"
	failed := &scrape.Error{Op: "eth_getChainConfig", Outcome: scrape.Unreachable, Err: errors.New(long)}
	for name, test := range map[string]struct {
		values config.Values
		level  slog.Level
		whole  bool
	}{
		"warning":            {config.Values{LogFormat: "text"}, slog.LevelWarn, false},
		"error":              {config.Values{LogFormat: "text"}, slog.LevelError, true},
		"warning with DEBUG": {config.Values{LogFormat: "text", LogLevel: config.LogLevel(slog.LevelDebug)}, slog.LevelWarn, true},
		"JSON":               {config.Values{LogFormat: "json"}, slog.LevelWarn, true},
	} {
		var out bytes.Buffer
		log := newLogger(&config.Config{Values: test.values}, &out)
		log.Log(t.Context(), test.level, "collector failed", "target", "bravo", "collector", "chain_config", "err", failed, "n", 12, "remedy", long)
		log.Log(t.Context(), test.level, "a message without attributes")
		whole := strings.Count(out.String(), long) == 2
		for line := range strings.Lines(out.String()) {
			if columns := utf8.RuneCountInString(line) - 1; whole != test.whole || !test.whole && columns > maxColumns {
				t.Errorf("%s: whole is %t, %d columns: %s", name, whole, columns, line)
			}
		}
		for _, part := range []string{"bravo", "chain_config", "unreachable: dial", "12"} {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s: no %q in %s", name, part, &out)
			}
		}
	}
}

// A node's version, network or error reaches the terminal without escape sequences.
func TestOutputHasNoControlCharacters(t *testing.T) {
	const hostile = "a\x1b[31mb\x1b]0;c\x07d\re\x00f\u009bg\u202eh\x9bi\u0085j"
	const want = "a?[31mb?]0;c?d?e?f?g?h?i?j"
	var out bytes.Buffer
	if n, err := fmt.Fprint(words.PrintableWriter{Writer: &out}, hostile+"\n\tend"); n != len(hostile)+5 || err != nil || out.String() != want+"\n\tend" {
		t.Errorf("%d, %v, %q", n, err, out.String())
	}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"ip":"a`+"\u009b\u202e"+`"}}`)
	}))
	t.Cleanup(node.Close)
	t.Setenv("AVAX_NODES", "alpha="+node.URL)
	var problems bytes.Buffer
	out.Reset()
	if code := execute(t.Context(), []string{"call", "info.getNodeIP"}, &out, &problems); code != 0 || !strings.Contains(out.String(), "a??") {
		t.Errorf("call: exit code %d: %q %q", code, &out, &problems)
	}
	t.Setenv("AVAX_NODES_FILE", "none\x1b\u202e")
	problems.Reset()
	if code := execute(t.Context(), []string{"check"}, &out, &problems); code != 2 || !strings.Contains(problems.String(), "none??") {
		t.Errorf("check: exit code %d: %q", code, &problems)
	}
	for _, format := range []config.LogFormat{"json", "text"} {
		out.Reset()
		log := newLogger(&config.Config{Values: config.Values{LogFormat: format}}, &out)
		log.Info("message "+hostile, "text", hostile, "err", errors.New(hostile))
		if strings.ContainsAny(out.String(), "\x1b\x07\r\x00\u009b\u202e\u0085") || strings.Count(out.String(), "]0;c") != 3 {
			t.Errorf("%s: %q", format, out.String())
		}
	}
}
