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
)

// CheckAlertmanagers returns the errors in c.Alertmanagers. It sends no request.
func CheckAlertmanagers(c Config) error {
	_, err := receivers(c)
	return err
}

func parseReceiver(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("invalid URL: write one like http://127.0.0.1:9093") // the URL may contain a password
	case u.User != nil:
		return nil, errors.New("the URL contains a user or password: use basic_auth in AVAX_HTTP_CONFIG_FILE instead")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the URL has a query or fragment: write it without ? and #, such as http://127.0.0.1:9093/prefix")
	}
	return u, nil
}

// receivers returns the alerting section of a Prometheus configuration for the URLs. The error joins all problems.
func receivers(c Config) (config.AlertingConfig, error) {
	var block config.AlertingConfig
	var errs []error
	for i, s := range c.Alertmanagers {
		u, err := parseReceiver(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("entry %d of the list: %w", i+1, err))
			continue
		}
		a := config.DefaultAlertmanagerConfig
		if c.HTTP != nil {
			a.HTTPClientConfig = *c.HTTP
		}
		a.Scheme = u.Scheme
		if prefix := strings.TrimSuffix(u.Path, "/"); prefix != "" {
			a.PathPrefix = prefix
		}
		target := model.LabelSet{model.AddressLabel: model.LabelValue(u.Host)}
		a.ServiceDiscoveryConfigs = discovery.Configs{discovery.StaticConfig{{Targets: []model.LabelSet{target}, Source: "list"}}}
		block.AlertmanagerConfigs = append(block.AlertmanagerConfigs, &a)
	}
	return block, errors.Join(errs...)
}

// AlertmanagerConfig returns a function that returns the configuration in force, in YAML, of the first Alertmanager in c that answers.
// Alertmanager leaves out secrets. The error joins those of all Alertmanagers. In tests, transport replaces the network. It may be nil.
func AlertmanagerConfig(c Config, transport http.RoundTripper) (func(context.Context) (string, error), error) {
	client, err := newClient("alertmanager", c.HTTP, 4<<20, transport)
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
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // the wrapper contains the URL
	}
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
