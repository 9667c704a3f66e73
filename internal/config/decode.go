package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
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

func parseDuration(s string) (time.Duration, error) {
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

func parseWhole(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q: write a whole number of at least 0", s)
	}
	return n, nil
}

func parseBool(s string) (bool, error) {
	switch s {
	case "true", "on":
		return true, nil
	case "false", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q: write on or off", s)
}

func parseLevel(s string) (level slog.Level, err error) {
	if level.UnmarshalText([]byte(s)) != nil {
		err = fmt.Errorf("%q: write DEBUG, INFO, WARN or ERROR", s)
	}
	return level, err
}

// oneOf returns a parser of a fixed set of values.
func oneOf(values ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if !slices.Contains(values, s) {
			return "", fmt.Errorf("%q: write one of %s", s, strings.Join(values, ", "))
		}
		return s, nil
	}
}

var (
	parseLogFormat = oneOf("auto", "text", "json")
	parseCurrency  = oneOf(data.Currencies()...)
)

func parseNames(s string) ([]string, error) { return slices.Collect(fields(s, ",")), nil }

func parseServiceURL(s string) (string, error) { return s, scrape.CheckURL(s) }

func parseHeartbeat(s string) (string, error) { return s, notify.CheckHeartbeat(s) }

func parseExternalURL(s string) (string, error) {
	if u, err := url.Parse(s); err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return "", errors.New("URL missing: write one like https://exporter.example:9865, without user and password")
	}
	return strings.TrimSuffix(s, "/"), nil
}

func parsePrometheusURL(s string) (string, error) {
	switch u, err := url.Parse(s); {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("invalid URL: write one like http://127.0.0.1:9090, without /api/v1")
	case u.User != nil:
		return "", errors.New("the URL contains a user or password: use basic_auth in AVAX_HTTP_CONFIG_FILE instead")
	}
	return s, nil
}

// parseDir returns an error if no file can be written to a directory. It does not create the directory, because the check may run
// as another user than the exporter.
func parseDir(path string) (string, error) {
	f, err := os.CreateTemp(path, "check-*.tmp")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	for _, fault := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		if errors.Is(err, fault) {
			return path, nil // with a full or broken disk, the exporter must start and alert
		}
	}
	var e *fs.PathError
	if errors.As(err, &e) {
		err = fmt.Errorf("%s: %w: create a directory that this user may write to", path, e.Err)
	}
	return path, err
}

func (c *Config) decodeNetwork(s string) error {
	id, known := map[string]uint64{"": 0, "mainnet": 1, "fuji": 5, "testnet": 5}[s]
	if !known {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil || n == 0 {
			return fmt.Errorf("%q: write mainnet, fuji or the network's number", s)
		}
		id = n
	}
	c.NetworkID, c.Network = id, map[uint64]string{1: data.Mainnet, 5: data.Fuji}[id]
	return nil
}

// decodeBudget parses compute units per minute and per day; 0 means no limit.
func (c *Config) decodeBudget(s string) error {
	c.DataPerMinute, c.DataPerDay = 0, 0
	wrong := fmt.Errorf("%q: write compute units per minute, per day or both, such as 6000/m,1200000/d", s)
	for item := range fields(s, ",") {
		digits, window, _ := strings.Cut(item, "/")
		n, err := strconv.Atoi(digits)
		limit, known := map[string]*int{"m": &c.DataPerMinute, "d": &c.DataPerDay}[window]
		if err != nil || n < 1 || !known || *limit != 0 {
			return wrong
		}
		*limit = n
	}
	if c.DataPerMinute == 0 && c.DataPerDay == 0 {
		return wrong
	}
	return nil
}

var labelForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func parseLabels(s string) (map[string]string, error) {
	labels := map[string]string{}
	return labels, each(s, ",", func(item string) error {
		name, value, ok := strings.Cut(item, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		_, twice := labels[name]
		labels[name] = value
		switch {
		case !ok || !labelForm.MatchString(name) || value == "":
			return fmt.Errorf("%q: write name=value, such as cluster=fuji; the name consists of letters, digits and underscores", item)
		case strings.HasPrefix(name, "__") || name == "alertname":
			return fmt.Errorf("%q: Prometheus uses this label itself: choose another name", name)
		case twice:
			return fmt.Errorf("duplicate %q: remove one", name)
		}
		return nil
	})
}

// each calls parse for each item of a list and joins the errors.
func each(list, sep string, parse func(item string) error) error {
	var errs []error
	for item := range fields(list, sep) {
		errs = append(errs, parse(item))
	}
	return errors.Join(errs...)
}

func (c *Config) decodeChains(s string) error {
	err := each(s, ",", func(item string) error {
		if item == "auto" {
			c.AutoChains = true
			return nil
		}
		name, ref, ok := strings.Cut(item, "=")
		if !ok {
			ref = name
		}
		switch {
		case !ValidName(name) || !ValidName(ref):
			return fmt.Errorf("%q: write an alias such as C, or name=blockchainID", item)
		case ref == "P" || ref == "X" || name == "P" || name == "X":
			return fmt.Errorf("%q: P and X are always monitored: remove this entry, or rename the chain if it is another one", item)
		case name == "network":
			return fmt.Errorf("%q: network is a reserved name: give the chain another name", item)
		case slices.ContainsFunc(c.Chains, func(o nodes.Chain) bool { return o.Ref == ref }):
			return fmt.Errorf("duplicate %q: remove one", ref)
		case slices.ContainsFunc(c.Chains, func(o nodes.Chain) bool { return o.Name == name }):
			return fmt.Errorf("duplicate chain name %q: rename one of them", name)
		}
		c.Chains = append(c.Chains, nodes.Chain{Name: name, Ref: ref})
		return nil
	})
	if s != "" && !c.AutoChains && len(c.Chains) == 0 && err == nil {
		err = errors.New("the list has no chain: write an alias such as C, or leave the variable empty to monitor only P and X")
	}
	if c.AutoChains && !slices.ContainsFunc(c.Chains, func(o nodes.Chain) bool { return o.Ref == "C" || o.Name == "C" }) {
		c.Chains = append(c.Chains, nodes.Chain{Name: "C", Ref: "C"}) // every node of the primary network runs the C-Chain
	}
	return err
}

var nodeIDForm = regexp.MustCompile(`^NodeID-[1-9A-HJ-NP-Za-km-z]{20,40}$`)

func parseValidators(s string) (v collectors.Validators, err error) {
	switch s {
	case "own":
		return v, nil
	case "all":
		v.All = true
		return v, nil
	}
	if v.IDs, err = parseList(s, nodeIDForm, "write own, all, or node IDs: NodeID- and about 33 letters and digits"); len(v.IDs) == 0 && err == nil {
		err = errors.New("empty: write own, all, or node IDs")
	}
	return v, err
}

func parseCollectors(s string) ([]*collectors.Spec, error) {
	all := collectors.All()
	var names []string
	for _, spec := range all {
		names = append(names, spec.Name)
	}
	chosen := map[string]bool{}
	changes, list := false, false
	err := each(s, ",", func(item string) error {
		name := strings.TrimLeft(item, "+-")
		changes, list = changes || name != item, list || name == item
		chosen[name] = item[0] != '-'
		if slices.Contains(names, name) {
			return nil
		}
		if near := spelling.Near(name, names); len(near) > 0 {
			return fmt.Errorf("unknown collector %q; did you mean %s? docs/metrics.md lists them", name, near[0])
		}
		return fmt.Errorf("unknown collector %q: docs/metrics.md lists them", name)
	})
	if list && changes {
		err = errors.Join(err, errors.New("write either a full list, or changes to the defaults with + and -"))
	}
	return slices.DeleteFunc(all, func(spec *collectors.Spec) bool {
		on, named := chosen[spec.Name]
		return !on && (named || list || spec.Off)
	}), err
}

func parseSchedules(s string) (map[string]schedule.Timetable, error) {
	schedules := map[string]schedule.Timetable{}
	return schedules, each(s, ";", func(item string) error {
		collector, expression, ok := strings.Cut(item, "=")
		collector = strings.TrimSpace(collector)
		_, twice := schedules[collector]
		switch {
		case !ok:
			return fmt.Errorf("%q: write collector=expression, such as peers=@every 1m", item)
		case !slices.ContainsFunc(collectors.All(), func(s *collectors.Spec) bool { return s.Name == collector }):
			return fmt.Errorf("unknown collector %q", collector)
		case twice:
			return fmt.Errorf("%s has two schedules", collector)
		}
		when, err := schedule.Parse(strings.TrimSpace(expression))
		if err != nil {
			return fmt.Errorf("%s: %w", collector, err)
		}
		schedules[collector] = when
		return nil
	})
}

var (
	evmForm     = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	primaryForm = regexp.MustCompile(`^[PX]-[a-z]+1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{38}$`) // bech32 of 20 bytes
	addressForm = regexp.MustCompile(primaryForm.String() + `|` + evmForm.String())
	idForm      = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{36,50}$`) // cb58 of 32 bytes
	tokenForm   = regexp.MustCompile(`^([^/]+)/(0x[0-9a-fA-F]{40})/([0-9]{1,78})(:reindex)?$`)
)

// parseList parses a comma-separated list of items of one form. Hexadecimal digits are compared case-insensitively.
func parseList(s string, form *regexp.Regexp, remedy string) (items []string, err error) {
	err = each(s, ",", func(item string) error {
		same := func(other string) bool {
			return other == item || evmForm.MatchString(item) && strings.EqualFold(other, item)
		}
		twice := slices.ContainsFunc(items, same)
		items = append(items, item)
		switch {
		case !form.MatchString(item):
			return fmt.Errorf("%q: %s", item, remedy)
		case twice:
			return fmt.Errorf("duplicate %s: remove one", item)
		}
		return data.CheckEVMAddress(item)
	})
	return items, err
}

func (c *Config) decodeAddresses(s string) error {
	monitored, err := parseList(s, addressForm, "write addresses with their chain, such as P-avax1… or X-fuji1…, or 0x1f… with 40 hex digits after 0x")
	for _, address := range monitored {
		if strings.HasPrefix(address, "0x") {
			c.Watch.EVM = append(c.Watch.EVM, address)
		} else {
			c.Watch.Addresses = append(c.Watch.Addresses, address)
		}
	}
	return err
}

func parseDelegators(s string) (delegators []collectors.Delegator, err error) {
	err = each(s, ",", func(item string) error {
		name, address, named := strings.Cut(item, "=")
		if !named {
			address = name
		}
		switch {
		case named && !ValidName(name) || !strings.HasPrefix(address, "P-") || !addressForm.MatchString(address):
			return fmt.Errorf("%q: write P-Chain addresses, each with an optional name, such as treasury=P-avax1…", item)
		case slices.ContainsFunc(delegators, func(d collectors.Delegator) bool { return d.Name == name || d.Address == address }):
			return fmt.Errorf("duplicate %s: remove one", item)
		}
		delegators = append(delegators, collectors.Delegator{Name: name, Address: address})
		return nil
	})
	return delegators, err
}

func parseAssets(s string) ([]string, error) {
	return parseList(s, idForm, "write asset IDs, of about fifty letters and digits")
}

func parseContracts(s string) ([]string, error) {
	return parseList(s, evmForm, "write addresses that deploy contracts, such as 0x1f… with 40 hex digits after 0x")
}

func parseTokens(s string) (tokens []collectors.Token, err error) {
	err = each(s, ",", func(item string) error {
		parts := tokenForm.FindStringSubmatch(item)
		if parts == nil {
			return fmt.Errorf("%q: write chain/contract/id, such as C/0x1f…/7; a contract is 0x and 40 hex digits, an ID is a whole number, and the suffix :reindex is optional", item)
		}
		t := collectors.Token{Chain: parts[1], Contract: parts[2], ID: parts[3], Reindex: parts[4] != ""}
		if slices.ContainsFunc(tokens, func(o collectors.Token) bool {
			return o.Chain == t.Chain && strings.EqualFold(o.Contract, t.Contract) && o.ID == t.ID
		}) {
			return fmt.Errorf("duplicate %s: remove one", item)
		}
		tokens = append(tokens, t)
		return data.CheckEVMAddress(t.Contract)
	})
	return tokens, err
}

func parseProbes(s string) (probes []collectors.Probe, err error) {
	err = each(s, ",", func(item string) error {
		name, hash, ok := strings.Cut(item, "=")
		switch {
		case !ok || !ValidName(name) || !idForm.MatchString(hash):
			return fmt.Errorf("%q: write name=txHash, such as conversion=2GAZ…: the hash of a transaction of the P- or X-Chain has about fifty letters and digits", item)
		case slices.ContainsFunc(probes, func(p collectors.Probe) bool { return p.Name == name }):
			return fmt.Errorf("duplicate probe name %q: rename one of them", name)
		}
		probes = append(probes, collectors.Probe{Name: name, TxHash: hash})
		return nil
	})
	return probes, err
}

// parseNodes parses a list of nodes or observers.
func parseNodes(s string) (nodes []Node, err error) {
	number := 0
	err = each(s, ",", func(item string) error {
		number++
		name, url, ok := strings.Cut(item, "=")
		name, url = strings.TrimSpace(name), strings.TrimSpace(url)
		switch {
		case !ok || !ValidName(name):
			// Do not print the item: it may be half of a password.
			return fmt.Errorf("entry %d of the list: write name=url, such as local=http://127.0.0.1:9650; the name consists of letters, digits, dots, dashes and underscores; "+
				"write a comma in a password as %%2C", number)
		case slices.ContainsFunc(nodes, func(n Node) bool { return n.Name == name }):
			return fmt.Errorf("duplicate node name %q: rename one of them", name)
		}
		nodes = append(nodes, Node{Name: name, URL: url})
		return nil
	})
	if len(nodes) == 0 && err == nil {
		err = errors.New("the list is empty: write name=url, such as local=http://127.0.0.1:9650")
	}
	return nodes, err
}
