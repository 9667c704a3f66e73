package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/internal/secret"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// heartbeatInterval is the time between heartbeats. Heartbeat services usually count in minutes.
const heartbeatInterval = time.Minute

// startTime is how long a start may take until the first heartbeat. Until then, a missing heartbeat is no error.
const startTime = 2 * time.Minute

// Heartbeat requests a URL every minute while the exporter is healthy. When the requests stop, the service behind the URL alerts.
// The URL is a secret.
type Heartbeat struct {
	URL string
	// Healthy returns an error if no heartbeat may be sent.
	Healthy func() error
	Client  *http.Client
	Log     *slog.Logger
}

// CheckHeartbeat returns an error for an invalid URL. The error does not contain the URL.
func CheckHeartbeat(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("not a URL: write one like https://hc-ping.example/your-uuid")
	}
	if unfilled.MatchString(text) || unfilled.MatchString(path.Base(u.Path)) {
		return errors.New("the value is a placeholder such as ${NAME}, and nothing replaces it: write the URL that the service shows")
	}
	return nil
}

// Run sends heartbeats until ctx ends. It logs when they stop and when they resume.
func (h *Heartbeat) Run(ctx context.Context, r prometheus.Registerer) {
	sent := newHeartbeatCounter(r)
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	logged := ""
	for began := time.Now(); errors.Is(h.Healthy(), ErrStarting) && time.Since(began) < startTime; {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
	}
	for {
		outcome, why := delivered, ""
		if err := h.Healthy(); err != nil {
			outcome, why = omitted, err.Error()
		} else if err := h.Send(ctx); err != nil {
			outcome, why = failed, err.Error()
		}
		if ctx.Err() != nil {
			return
		}
		sent.WithLabelValues(outcome).Inc()
		switch {
		case why != "" && why != logged:
			h.Log.Error("no heartbeat", "outcome", outcome, "err", why)
		case why == "" && logged != "":
			h.Log.Info("heartbeats resumed")
		}
		logged = why
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

const omitted = "omitted"

// ErrStarting is why an exporter that has just started is not healthy yet. The first heartbeat waits for its end.
var ErrStarting = errors.New("starting")

func newHeartbeatCounter(r prometheus.Registerer) *prometheus.CounterVec {
	sent := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "avax_exporter_heartbeats_total",
		Help: "Heartbeats by outcome: delivered, failed (the URL did not accept the heartbeat), or omitted (collectors, rules or notifications do not work).",
	}, []string{"outcome"})
	for _, o := range []string{delivered, failed, omitted} {
		sent.WithLabelValues(o)
	}
	r.MustRegister(sent)
	return sent
}

// Send requests the URL once. An answer that means no success is an error, also with status 200. No error contains the URL.
func (h *Heartbeat) Send(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatInterval/2)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, nil)
	if err != nil {
		return errors.New("invalid URL")
	}
	direct := *h.Client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // its target would learn the URL
	resp, err := direct.Do(req)
	if err != nil {
		return h.viaProxy(req.URL, secret.Values{h.URL}.Wrap(err))
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRead))
	var hidden secret.Values
	hidden.Add(h.URL, req.URL.EscapedPath(), req.URL.RawQuery)
	refused := hidden.Wrap(remedy.Refusal(req.URL.Hostname(), body))
	switch {
	case resp.StatusCode/100 == 3:
		return fmt.Errorf("the heartbeat service answers %s: redirects are not followed: configure the final address", resp.Status)
	case scrape.SpeaksTLS(resp.StatusCode, body):
		return errors.New("the heartbeat service speaks TLS: write https:// in AVAX_HEARTBEAT_URL")
	case resp.StatusCode/100 != 2:
		return h.viaProxy(req.URL, fmt.Errorf("the heartbeat service answers %s: correct the URL", resp.Status))
	case refused != nil:
		return fmt.Errorf("the heartbeat service answers %w: it does not accept the heartbeat: correct AVAX_HEARTBEAT_URL", refused)
	}
	return nil
}

// viaProxy adds to an error that the environment sends the request through a proxy.
func (h *Heartbeat) viaProxy(to *url.URL, err error) error {
	if variable := scrape.ProxyVariable(to); h.Client.Transport == nil && variable != "" {
		return fmt.Errorf("%w (through the proxy of %s: if the service is in your own network, add %s to NO_PROXY)", err, variable, to.Hostname())
	}
	return err
}
