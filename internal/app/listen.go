package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/avax-exporter/avax-exporter/internal/config"
)

// listen returns the listener: the socket that systemd passed, or a new one.
func listen(ctx context.Context, cfg *config.Config) (net.Listener, error) {
	passed, err := activation.Listeners()
	switch {
	case err == nil && len(passed) == 0:
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", string(cfg.Listen))
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return nil, fmt.Errorf("AVAX_LISTEN: %w: another process uses the port: stop it, or set AVAX_LISTEN to another port, such as AVAX_LISTEN=:9866", err)
		case err != nil:
			return nil, fmt.Errorf("AVAX_LISTEN: %w", err)
		}
		return listener, nil
	case err == nil && (len(passed) > 1 || passed[0] == nil):
		err = fmt.Errorf("systemd passed %d sockets, want 1: write one ListenStream in avax-exporter.socket", len(passed))
	}
	if err != nil {
		return nil, fmt.Errorf("socket of systemd: %w", err)
	}
	return passed[0], nil
}

// newServer returns a server with timeouts and size limits for requests.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 16},
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// serveProfiles serves Go's profiles on a separate listener until ctx ends, if enabled.
func serveProfiles(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	if cfg.PprofListen == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", string(cfg.PprofListen))
	if err != nil {
		return fmt.Errorf("AVAX_PPROF_LISTEN: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := newServer(mux, log)
	server.WriteTimeout = 10 * time.Minute // longer than any profile
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("profile listener failed", "err", err)
		}
	}()
	log.Info("serving profiles", "url", OwnURL(listener.Addr().String(), false)+"/debug/pprof/")
	return nil
}

// OwnURL returns the URL of an exporter on this machine that listens at an address, such as http://localhost:9865.
func OwnURL(listen string, tls bool) string {
	scheme := "http://"
	if tls {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return scheme + listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + net.JoinHostPort(host, port)
}
