package alerting

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/internal/secret"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// receivers returns the alerting section of a Prometheus configuration for the URLs.
func receivers(c Config) (block config.AlertingConfig, err error) {
	for _, s := range c.Alertmanagers {
		u, err := url.Parse(s)
		if err != nil {
			return block, errors.New("invalid URL") // which may contain a password
		}
		a := config.DefaultAlertmanagerConfig
		if c.HTTP != nil {
			a.HTTPClientConfig = *c.HTTP
		}
		// A redirect can turn the POST into a GET. Any page answers a GET with 200, and the alerts would be lost.
		a.HTTPClientConfig.FollowRedirects = false
		a.Scheme = u.Scheme
		if prefix := strings.TrimSuffix(u.Path, "/"); prefix != "" {
			a.PathPrefix = prefix
		}
		target := model.LabelSet{model.AddressLabel: model.LabelValue(u.Host)}
		a.ServiceDiscoveryConfigs = discovery.Configs{discovery.StaticConfig{{Targets: []model.LabelSet{target}, Source: "list"}}}
		block.AlertmanagerConfigs = append(block.AlertmanagerConfigs, &a)
	}
	return block, nil
}

// AlertmanagerClient returns a client with the credentials of the Alertmanagers in c. In tests, transport replaces the network. It may be
// nil.
func AlertmanagerClient(c Config, transport http.RoundTripper) (*http.Client, error) {
	return newClient("alertmanager", c.HTTP, 4<<20, transport)
}

// AlertmanagerConfig returns a function that returns the configuration in force, in YAML, of the first Alertmanager in c that answers.
// Alertmanager leaves out secrets. The error joins those of all Alertmanagers. In tests, transport replaces the network. It may be nil.
func AlertmanagerConfig(c Config, transport http.RoundTripper) (func(context.Context) (string, error), error) {
	client, err := AlertmanagerClient(c, transport)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		var errs []error
		for _, base := range c.Alertmanagers {
			config, err := configOf(ctx, client, base)
			if err == nil {
				return config, nil
			}
			errs = append(errs, err)
		}
		return "", errors.Join(errs...)
	}, nil
}

// AskAlertmanager returns the configuration in force of the Alertmanager at an address, in YAML without secrets, and sends it an empty list of
// alerts as this process sends alerts. An error has a remedy, and no secret.
func AskAlertmanager(ctx context.Context, client *http.Client, base string) (config string, err error) {
	if config, err = configOf(ctx, client, base); err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(base, "/")+"/api/v2/alerts", strings.NewReader("[]"))
	if err != nil {
		return "", errors.New("invalid URL")
	}
	r.Header.Set("Content-Type", "application/json")
	if _, err := answer(client, r); err != nil {
		return "", fmt.Errorf("an empty list of alerts: %w", err)
	}
	return config, nil
}

func configOf(ctx context.Context, client *http.Client, base string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/api/v2/status", nil)
	if err != nil {
		return "", err
	}
	var status struct{ Config struct{ Original string } }
	body, err := answer(client, r)
	if err == nil && json.Unmarshal(body, &status) != nil {
		err = fmt.Errorf("answers %q, which is none of an Alertmanager: correct the address", remedy.Brief(body))
	}
	if err == nil && status.Config.Original == "" {
		err = errors.New("the answer has no configuration")
	}
	if err != nil {
		return "", fmt.Errorf("status of Alertmanager %s: %w", r.URL.Host, err)
	}
	return status.Config.Original, nil
}

// maxConfig is the maximum number of bytes that are read of an Alertmanager's configuration.
const maxConfig = 16 << 20

// answer returns the body of an answer that means success. Its error has a remedy, and no secret.
func answer(client *http.Client, r *http.Request) ([]byte, error) {
	resp, err := client.Do(r)
	if err != nil {
		return nil, secret.Values{}.Wrap(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxConfig))
	return body, cmp.Or(success(resp, body), err)
}

// success returns an error with a remedy if an answer means no success.
func success(resp *http.Response, body []byte) error {
	if resp.StatusCode/100 == 2 {
		if err := remedy.Refusal("", body); err != nil {
			return fmt.Errorf("answers %s with %w", resp.Status, err)
		}
		return nil
	}
	do := "correct the address, and read the log of the server"
	switch {
	case resp.StatusCode/100 == 3:
		do = "redirects are not followed: configure the final address"
	case bytes.Contains(body, []byte("no org id")): // Mimir, Loki and Cortex
		do = "the server has tenants: add http_headers: {X-Scope-OrgID: {values: [TENANT]}} to AVAX_HTTP_CONFIG_FILE"
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		do = "add credentials to AVAX_HTTP_CONFIG_FILE"
	case scrape.SpeaksTLS(resp.StatusCode, body):
		do = "the server speaks TLS: write https:// in its address"
	case resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusMethodNotAllowed:
		do = "no such API at this address: correct its port and path"
	}
	return fmt.Errorf("answers %s: %s", resp.Status, do)
}

// targets returns the addresses of each entry in the format of the notifier.
func targets(c config.AlertingConfig) map[string][]*targetgroup.Group {
	sets := map[string][]*targetgroup.Group{}
	for key, a := range c.AlertmanagerConfigs.ToMap() {
		sets[key] = groupsOf(a.ServiceDiscoveryConfigs)
	}
	return sets
}

// groupsOf returns the addresses in static_configs.
func groupsOf(configs discovery.Configs) (groups []*targetgroup.Group) {
	for _, c := range configs {
		if fixed, ok := c.(discovery.StaticConfig); ok {
			groups = append(groups, fixed...)
		}
	}
	return groups
}
