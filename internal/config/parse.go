package config

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/fleet"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

func parseListen(s string) (string, error) {
	s = strings.TrimSpace(s)
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", fmt.Errorf("%q: write host:port, or :port for every address, such as :9865", s)
	}
	return s, nil
}

func parseNodes(s string) ([]fleet.Node, []error) {
	var nodes []fleet.Node
	var errs []error
	seen := map[string]bool{}
	number := 0
	for item := range fields(s, ",") {
		number++
		n, u, ok := strings.Cut(item, "=")
		n, u = strings.TrimSpace(n), strings.TrimSpace(u)
		switch {
		case !ok || !fleet.ValidName(n):
			// Do not print the item: it may be half of a password.
			errs = append(errs, fmt.Errorf("entry %d of the list: write name=url, such as local=http://127.0.0.1:9650; the name consists of letters, digits, dots, dashes and underscores; "+
				"write a comma in a password as %%2C", number))
		case seen[n]:
			errs = append(errs, fmt.Errorf("duplicate node name %q: rename one of them", n))
		default:
			nodes = append(nodes, fleet.Node{Name: n, URL: u})
		}
		seen[n] = true
	}
	if len(nodes) == 0 && errs == nil {
		errs = append(errs, errors.New("the list is empty: write name=url, such as local=http://127.0.0.1:9650"))
	}
	return nodes, errs
}

// reservedNames returns the names that no node may have, and what each name stands for. The label target must identify a node for
// alert rules, and the label upstream has the names of nodes and of services.
func (c *Config) reservedNames(env Environment) map[string]string {
	reserved := map[string]string{"metrics": "the Metrics service", "data": "the Data service"}
	ups := &collectors.Upstreams{Pool: nodes.NewPool(nil, c.Chains), Watch: c.Watch}
	if env.DataURL != "" {
		ups.Data = &collectors.DataService{Network: env.Network}
	}
	for _, spec := range collectors.All() {
		for _, j := range spec.Bind(ups) {
			reserved[j.Target.Group().String()] = "a target of the collector " + spec.Name
		}
	}
	return reserved
}

func parseChains(s string) (chains []nodes.Chain, auto bool, errs []error) {
	seen := map[string]bool{}
	for item := range fields(s, ",") {
		if item == "auto" {
			auto = true
			continue
		}
		n, ref, ok := strings.Cut(item, "=")
		if !ok {
			ref = n
		}
		switch {
		case !fleet.ValidName(n) || !fleet.ValidName(ref):
			errs = append(errs, fmt.Errorf("%q: write an alias such as C, or name=blockchainID", item))
		case ref == "P" || ref == "X" || n == "P" || n == "X":
			errs = append(errs, fmt.Errorf("%q: P and X are always monitored: remove this entry, or rename the chain if it is another one", item))
		case n == "network":
			errs = append(errs, fmt.Errorf("%q: network is a reserved name: give the chain another name", item))
		case slices.ContainsFunc(chains, func(c nodes.Chain) bool { return c.Ref == ref }):
			errs = append(errs, fmt.Errorf("duplicate %q: remove one", ref))
		case seen[n]:
			errs = append(errs, fmt.Errorf("duplicate chain name %q: rename one of them", n))
		default:
			chains = append(chains, nodes.Chain{Name: n, Ref: ref})
		}
		seen[n] = true
	}
	if s != "" && !auto && len(chains) == 0 && errs == nil {
		errs = append(errs, errors.New("the list has no chain: write an alias such as C, or leave the variable empty to monitor only P and X"))
	}
	if auto && !slices.ContainsFunc(chains, func(c nodes.Chain) bool { return c.Ref == "C" || c.Name == "C" }) {
		chains = append(chains, nodes.Chain{Name: "C", Ref: "C"}) // every node of the primary network runs the C-Chain
	}
	return chains, auto, errs
}

var nodeIDForm = regexp.MustCompile(`^NodeID-[1-9A-HJ-NP-Za-km-z]{20,40}$`)

func parseWatch(s string) (collectors.Validators, []error) {
	switch s {
	case "own":
		return collectors.Validators{}, nil
	case "all":
		return collectors.Validators{All: true}, nil
	}
	var w collectors.Validators
	var errs []error
	for id := range fields(s, ",") {
		switch {
		case !nodeIDForm.MatchString(id):
			errs = append(errs, fmt.Errorf("%q: write own, all, or node IDs: NodeID- and about 33 letters and digits", id))
		case slices.Contains(w.IDs, id):
			errs = append(errs, fmt.Errorf("duplicate %s: remove one", id))
		}
		w.IDs = append(w.IDs, id)
	}
	if len(w.IDs) == 0 {
		errs = append(errs, errors.New("empty: write own, all, or node IDs"))
	}
	return w, errs
}

func selectCollectors(all []*collectors.Spec, s string) ([]*collectors.Spec, []error) {
	byName := map[string]*collectors.Spec{}
	var names []string
	for _, spec := range all {
		byName[spec.Name] = spec
		names = append(names, spec.Name)
	}
	chosen := map[string]bool{}
	changes, list := 0, 0
	var errs []error
	for item := range fields(s, ",") {
		n := strings.TrimLeft(item, "+-")
		if byName[n] == nil {
			meant := ":"
			if near := spelling.Near(n, names); len(near) > 0 {
				meant = "; did you mean " + near[0] + "?"
			}
			errs = append(errs, fmt.Errorf("unknown collector %q%s docs/metrics.md lists them", n, meant))
		}
		if n == item {
			list++
		} else {
			changes++
		}
		chosen[n] = item[0] != '-'
	}
	if list > 0 && changes > 0 {
		errs = append(errs, errors.New("write either a full list, or changes to the defaults with + and -"))
	}
	var specs []*collectors.Spec
	for _, spec := range all {
		on, named := chosen[spec.Name]
		if !named {
			on = list == 0 && !spec.Off
		}
		if on {
			specs = append(specs, spec)
		}
	}
	return specs, errs
}

func parseSchedules(s string) (map[string]schedule.Timetable, []error) {
	schedules := map[string]schedule.Timetable{}
	var errs []error
	for item := range fields(s, ";") {
		collector, expression, ok := strings.Cut(item, "=")
		collector = strings.TrimSpace(collector)
		if !ok {
			errs = append(errs, fmt.Errorf("%q: write collector=expression, such as peers=@every 1m", item))
			continue
		}
		if !slices.ContainsFunc(collectors.All(), func(s *collectors.Spec) bool { return s.Name == collector }) {
			errs = append(errs, fmt.Errorf("unknown collector %q", collector))
		}
		if _, twice := schedules[collector]; twice {
			errs = append(errs, fmt.Errorf("%s has two schedules", collector))
		}
		when, err := schedule.Parse(strings.TrimSpace(expression))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", collector, err))
		}
		schedules[collector] = when
	}
	return schedules, errs
}

func parsePositiveDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q: write a duration above zero with its unit, such as 10s or 1m30s", s)
	}
	return d, nil
}

func parseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q: write a whole number of at least 1", s)
	}
	return n, nil
}

func parseNetworkID(s string) (uint64, error) {
	switch s {
	case "":
		return 0, nil
	case "mainnet":
		return 1, nil
	case "fuji":
		return 5, nil
	}
	id, err := strconv.ParseUint(s, 10, 32)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("%q: write mainnet, fuji or the network's number", s)
	}
	return id, nil
}

func parseBool(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q: write true or false", s)
}

// fields yields the trimmed, non-empty items of a list.
func fields(s, sep string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for item := range strings.SplitSeq(s, sep) {
			if item = strings.TrimSpace(item); item != "" && !yield(item) {
				return
			}
		}
	}
}
