package alerting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/avax-exporter/avax-exporter/internal/secret"
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

func configOf(ctx context.Context, client *http.Client, base string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/api/v2/status", nil)
	if err != nil {
		return "", err
	}
	var status struct{ Config struct{ Original string } }
	resp, err := client.Do(r)
	if err == nil {
		defer resp.Body.Close()
		if err = json.NewDecoder(resp.Body).Decode(&status); resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("answers %s", resp.Status)
		}
	}
	err = secret.Values{}.Wrap(err)
	if err == nil && status.Config.Original == "" {
		err = errors.New("the answer has no configuration")
	}
	if err != nil {
		return "", fmt.Errorf("status of Alertmanager %s: %w", r.URL.Host, err)
	}
	return status.Config.Original, nil
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
