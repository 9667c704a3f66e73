package alerting

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

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
