package config

import (
	"cmp"
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
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// Address is an address to listen at, as host:port.
type Address string

// Decode implements envconfig.Decoder, as in all types of this file.
func (a *Address) Decode(s string) error {
	s = strings.TrimSpace(s)
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q: write host:port, or :port for every address, such as :9865", s)
	}
	*a = Address(s)
	return nil
}

// Duration is a duration above zero.
type Duration time.Duration

// Decode parses a duration with its unit.
func (d *Duration) Decode(s string) error {
	parsed, err := time.ParseDuration(s)
	if err != nil || parsed <= 0 {
		return fmt.Errorf("%q: write a duration above zero with its unit, such as 10s or 1m30s", s)
	}
	*d = Duration(parsed)
	return nil
}

// Count is a number of at least 1.
type Count int

func (c *Count) Decode(s string) error { return whole(c, s, 1) }

// Index is a number of at least 0.
type Index int

func (i *Index) Decode(s string) error { return whole(i, s, 0) }

// whole parses a whole number.
func whole[T ~int](into *T, s string, least int) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < least {
		return fmt.Errorf("%q: write a whole number of at least %d", s, least)
	}
	*into = T(n)
	return nil
}

// Switch is true or false.
type Switch bool

// Decode parses what people write in files of Docker, Kubernetes and systemd.
func (b *Switch) Decode(s string) error {
	on, known := map[string]bool{
		"true": true, "on": true, "yes": true, "1": true, "false": false, "off": false, "no": false, "0": false,
	}[strings.ToLower(strings.TrimSpace(s))]
	if !known {
		return fmt.Errorf("%q: write true or false", s)
	}
	*b = Switch(on)
	return nil
}

// LogLevel is a level of log messages.
type LogLevel slog.Level

// Decode parses the name of a level.
func (l *LogLevel) Decode(s string) error {
	if (*slog.Level)(l).UnmarshalText([]byte(s)) != nil {
		return fmt.Errorf("%q: write DEBUG, INFO, WARN or ERROR", s)
	}
	return nil
}

// LogFormat is text, json or auto.
type LogFormat string

// Decode accepts a known format.
func (f *LogFormat) Decode(s string) error { return oneOf(f, s, "auto", "text", "json") }

// Currency is a currency of the Data service.
type Currency string

// Decode accepts a known currency, in upper or lower case.
func (c *Currency) Decode(s string) error { return oneOf(c, strings.ToLower(s), data.Currencies()...) }

// oneOf accepts a fixed set of values.
func oneOf[T ~string](into *T, s string, values ...string) error {
	if !slices.Contains(values, s) {
		return fmt.Errorf("%q: write one of %s", s, strings.Join(values, ", "))
	}
	*into = T(s)
	return nil
}

// DataURL is the address of the Data service.
type DataURL string

// Decode accepts a URL that can be called.
func (u *DataURL) Decode(s string) error {
	*u = DataURL(s)
	return address(s, "https://data-api.avax.network", serviceAPI)
}

// MetricsURL is the address of the Metrics service.
type MetricsURL string

// Decode accepts a URL that can be called.
func (u *MetricsURL) Decode(s string) error {
	*u = MetricsURL(s)
	return address(s, "https://metrics.avax.network", serviceAPI)
}

// What follows the address of a server: the paths of its API and its pages.
var (
	serviceAPI      = regexp.MustCompile(`/v[0-9]+(/.*)?$|/(api|docs)/?$`)
	prometheusAPI   = regexp.MustCompile(`/api/v1(/.*)?$|/(graph|query|alerts|rules|targets|metrics|classic(/.*)?|-/[a-z]+)/?$`)
	alertmanagerAPI = regexp.MustCompile(`/api/v[0-9]+(/.*)?$|/(alerts|silences|metrics|-/[a-z]+)/?$`)
	exporterAPI     = regexp.MustCompile(`/api/v[0-9]+(/.*)?$|/(alerts|metrics|check|explain|safe-to-stop|-/[a-z]+)/?$`)
)

// address accepts the URL of a server without the path of its API, which the exporter adds. Errors contain no user or password.
func address(s, example string, api *regexp.Regexp) error {
	if err := scrape.CheckURLLike(s, example); err != nil {
		return err
	}
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil {
		return nil //nolint:nilerr // impossible: it was parsed before
	}
	found := api.FindString(u.Path)
	if found == "" {
		return nil
	}
	segment := regexp.MustCompile(`^(/api)?/[^/]*`).FindString(found) // the rest may be secret
	remedy := fmt.Sprintf("write %s://%s", u.Scheme, u.Host)
	if found != u.Path {
		remedy = "remove " + segment + " and what follows"
	}
	return fmt.Errorf("the exporter adds the path %s itself: %s", segment, remedy)
}

// HeartbeatURL is the address of a dead man's switch. It is a secret.
type HeartbeatURL string

// Decode accepts a URL that can be called.
func (u *HeartbeatURL) Decode(s string) error {
	*u = HeartbeatURL(s)
	return notify.CheckHeartbeat(s)
}

// ExternalURL is the address of this exporter in links.
type ExternalURL string

// Decode accepts a URL without user and password.
func (u *ExternalURL) Decode(s string) error {
	*u = ExternalURL(strings.TrimRight(s, "/"))
	switch parsed, err := url.Parse(s); {
	case err == nil && parsed.User != nil:
		return errors.New("the URL contains a user or password, which every notification would show: remove them")
	case err == nil && (parsed.RawQuery != "" || parsed.Fragment != ""):
		return errors.New("the URL has a query or fragment: remove the part after ? or #")
	}
	return public(s, "https://exporter.example", exporterAPI)
}

// PrometheusURL is the address of a Prometheus, or of another server with its API.
type PrometheusURL string

// Decode accepts a URL that can be called, without user and password.
func (u *PrometheusURL) Decode(s string) error {
	*u = PrometheusURL(strings.TrimRight(s, "/"))
	return public(s, "http://prometheus:9090", prometheusAPI)
}

// public is address without user and password.
func public(s, example string, api *regexp.Regexp) error {
	if parsed, err := url.Parse(s); err == nil && parsed.User != nil {
		return errors.New("the URL contains a user or password: use basic_auth in AVAX_HTTP_CONFIG_FILE instead")
	}
	return address(s, example, api)
}

// AlertmanagerURLs are the addresses of Alertmanagers.
type AlertmanagerURLs []string

// Decode parses a list of URLs. Errors name an entry by its number, because it may contain a password.
func (all *AlertmanagerURLs) Decode(s string) error {
	return each(s, ",", func(item string) error {
		*all = append(*all, strings.TrimRight(item, "/"))
		if strings.Count(item, "://") > 1 {
			return severalURLs(len(*all))
		}
		if err := public(item, "http://alertmanager:9093", alertmanagerAPI); err != nil {
			return fmt.Errorf("entry %d of the list: %w", len(*all), err)
		}
		return nil
	})
}

// Directory is a directory in which files can be written.
type Directory string

// Decode returns an error if no file can be written to the directory. It does not create the directory, because the check may run
// as another user than the exporter.
func (d *Directory) Decode(path string) error {
	*d = Directory(path)
	f, err := os.CreateTemp(path, "check-*.tmp")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	for _, fault := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		if errors.Is(err, fault) {
			return nil // with a full or broken disk, the exporter must start and alert
		}
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w: create a directory that this user may write to", path, e.Err)
	}
	return err
}

// Network is a network of Avalanche. The zero value means the network of most nodes.
type Network struct {
	ID   uint64
	Name string // in the Data service; empty if the Data service does not know the network
}

// Decode parses a name or number.
func (n *Network) Decode(s string) error {
	id, known := map[string]uint64{"mainnet": 1, "fuji": 5, "testnet": 5}[s]
	if !known {
		number, err := strconv.ParseUint(s, 10, 32)
		if err != nil || number == 0 {
			return fmt.Errorf("%q: write mainnet, fuji or the network's number", s)
		}
		id = number
	}
	*n = Network{id, map[uint64]string{1: data.Mainnet, 5: data.Fuji}[id]}
	return nil
}

// DataBudget is a maximum number of compute units; 0 means no limit.
type DataBudget struct{ PerMinute, PerDay int }

// Decode parses limits per minute and per day.
func (b *DataBudget) Decode(s string) error {
	for item := range fields(s, ",") {
		digits, window, _ := strings.Cut(item, "/")
		n, err := strconv.Atoi(digits)
		limit, known := map[string]*int{"m": &b.PerMinute, "d": &b.PerDay}[window]
		if err != nil || n < 1 || !known || *limit != 0 {
			*b = DataBudget{}
			break
		}
		*limit = n
	}
	if *b == (DataBudget{}) {
		return fmt.Errorf("%q: write compute units per minute, per day or both, such as 6000/m,1200000/d", s)
	}
	return nil
}

var labelForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// ExternalLabels are labels of every alert.
type ExternalLabels map[string]string

// Decode parses a list of name=value.
func (l *ExternalLabels) Decode(s string) error {
	labels := ExternalLabels{}
	*l = labels
	return each(s, ",", func(item string) error {
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

// Chains are the chains to monitor in addition to P and X.
type Chains struct {
	List []nodes.Chain
	Auto bool // whether to also monitor the chains that the nodes track
}

// Decode parses a list of aliases and name=blockchainID.
func (c *Chains) Decode(s string) error {
	err := each(s, ",", func(item string) error {
		if item == "auto" {
			c.Auto = true
			return nil
		}
		name, ref, ok := strings.Cut(item, "=")
		if !ok {
			ref = name
		}
		switch {
		case !ValidName(name) || !ValidName(ref):
			return errors.New(spelling.Wrong(item, "write an alias such as C, or name=blockchainID"))
		case ref == "P" || ref == "X" || name == "P" || name == "X":
			return fmt.Errorf("%q: P and X are always monitored: remove this entry, or rename the chain if it is another one", item)
		case name == "network":
			return fmt.Errorf("%q: network is a reserved name: give the chain another name", item)
		case slices.ContainsFunc(c.List, func(o nodes.Chain) bool { return o.Ref == ref }):
			return fmt.Errorf("duplicate %q: remove one", ref)
		case slices.ContainsFunc(c.List, func(o nodes.Chain) bool { return o.Name == name }):
			return fmt.Errorf("duplicate chain name %q: rename one of them", name)
		}
		c.List = append(c.List, nodes.Chain{Name: name, Ref: ref})
		return data.CheckDigits(ref)
	})
	if !c.Auto && len(c.List) == 0 && err == nil {
		err = errors.New("the list has no chain: write an alias such as C, or leave the variable empty to monitor only P and X")
	}
	if c.Auto && !slices.ContainsFunc(c.List, func(o nodes.Chain) bool { return o.Ref == "C" || o.Name == "C" }) {
		c.List = append(c.List, nodes.Chain{Name: "C", Ref: "C"}) // every node of the primary network runs the C-Chain
	}
	return err
}

var nodeIDForm = regexp.MustCompile(`^NodeID-[1-9A-HJ-NP-Za-km-z]{20,40}$`)

// Validators are the validators to monitor.
type Validators struct{ collector.Validators }

// Decode parses own, all, or a list of node IDs.
func (v *Validators) Decode(s string) (err error) {
	switch s {
	case "own":
		return nil
	case "all":
		v.All = true
		return nil
	}
	const remedy = "write own, all, or node IDs: NodeID- and about 33 letters and digits"
	ids, err := itemForm{value: nodeIDForm, remedy: remedy}.parse(nil, s)
	if len(ids) == 0 && err == nil {
		err = errors.New("empty: write own, all, or node IDs")
	}
	for _, id := range ids {
		if id.Name != id.Value { // names of validators are labels in AVAX_VALIDATORS_FILE
			err = errors.Join(err, fmt.Errorf("%q: %s", id.Name+"="+id.Value, remedy))
		}
	}
	v.IDs = collector.Values(ids)
	return err
}

// Collectors are the collectors to run.
type Collectors []*collector.Spec

// defaultCollectors returns the collectors that run without a list.
func defaultCollectors() Collectors {
	return slices.DeleteFunc(collectors.All(), func(spec *collector.Spec) bool { return spec.Off })
}

// checkCollector returns an error if no collector has this name.
func checkCollector(name string) error {
	var names []string
	for _, spec := range collectors.All() {
		names = append(names, spec.Name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	if near := spelling.Near(name, names); len(near) > 0 {
		return fmt.Errorf("unknown collector %q; did you mean %s? docs/metrics.md lists them", name, near[0])
	}
	return fmt.Errorf("unknown collector %q: docs/metrics.md lists them", name)
}

// Decode parses a list, or changes to the default list.
func (c *Collectors) Decode(s string) error {
	all := collectors.All()
	chosen := map[string]bool{}
	changes, list := false, false
	err := each(s, ",", func(item string) error {
		name := strings.TrimLeft(item, "+-")
		changes, list = changes || name != item, list || name == item
		chosen[name] = item[0] != '-'
		return checkCollector(name)
	})
	if list && changes {
		err = errors.Join(err, errors.New("write either a full list, or changes to the defaults with + and -"))
	}
	*c = slices.DeleteFunc(all, func(spec *collector.Spec) bool {
		on, named := chosen[spec.Name]
		return !on && (named || list || spec.Off)
	})
	return err
}

// Schedules are the schedules of collectors, only of those with a configured schedule.
type Schedules map[string]schedule.Timetable

// Decode parses a list of collector=expression.
func (all *Schedules) Decode(s string) error {
	schedules := Schedules{}
	*all = schedules
	return each(s, ";", func(item string) error {
		name, expression, ok := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		_, twice := schedules[name]
		if !ok {
			return fmt.Errorf("%q: write collector=expression, such as peers=@every 1m", item)
		}
		if err := checkCollector(name); err != nil {
			return err
		}
		if twice {
			return fmt.Errorf("%s has two schedules", name)
		}
		when, err := schedule.Parse(strings.TrimSpace(expression))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		schedules[name] = when
		return nil
	})
}

var (
	hexForm       = regexp.MustCompile(`0x[0-9a-fA-F]{40}`)
	evmForm       = regexp.MustCompile(`^` + hexForm.String() + `$`)
	primaryForm   = regexp.MustCompile(`^[PX]-[a-z]+1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{38}$`) // bech32 of 20 bytes
	addressForm   = regexp.MustCompile(primaryForm.String() + `|` + evmForm.String())
	delegatorForm = regexp.MustCompile(`^P-[a-z]+1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{38}$`)
	idForm        = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{36,50}$`) // cb58 of 32 bytes
	tokenForm     = regexp.MustCompile(`^([^/]+)/(0x[0-9a-fA-F]{40})/([0-9]{1,78})(:reindex)?$`)
)

// itemForm is the form of the entries of a list: values, each with an optional name (name=value).
type itemForm struct {
	value  *regexp.Regexp
	remedy string
	named  bool // each entry needs a name
}

// parse parses a comma-separated list and adds its items to those of before, also the invalid ones.
func (f itemForm) parse(before []collector.Item, list string) (items []collector.Item, err error) {
	items = before
	err = each(list, ",", func(text string) error {
		name, value, named := strings.Cut(text, "=")
		if !named {
			name, value = text, text
		}
		if capitals := strings.ToUpper(value); value == capitals && len(value) > 2 && primaryForm.MatchString(value[:2]+strings.ToLower(value[2:])) {
			value = value[:2] + strings.ToLower(value[2:]) // bech32 may be in capitals, and AvalancheGo accepts it: the series have the usual form
		}
		item := collector.Item{Name: name, Value: value}
		if !named {
			item.Name = value
		}
		twice := slices.ContainsFunc(items, func(other collector.Item) bool { return same(other.Value, item.Value) })
		renamed := named && slices.ContainsFunc(items, func(other collector.Item) bool { return other.Name == name })
		items = append(items, item)
		switch {
		case !f.value.MatchString(item.Value) || f.named && !named:
			return errors.New(spelling.Wrong(item.Value, f.remedy))
		case named && !ValidName(name):
			return fmt.Errorf("%q: %s", name, nameRule)
		case twice:
			return fmt.Errorf("duplicate %s: remove one", item.Value)
		case renamed:
			return fmt.Errorf("duplicate name %q: rename one of them", name)
		}
		return data.CheckDigits(cmp.Or(hexForm.FindString(item.Value), item.Value))
	})
	return items, err
}

// same reports whether two values are the same address, ID or NFT. Hexadecimal digits are compared case-insensitively.
func same(a, b string) bool {
	return a == b || strings.Contains(a, "0x") && strings.EqualFold(strings.TrimSuffix(a, ":reindex"), strings.TrimSuffix(b, ":reindex"))
}

// nameRule is what names consist of.
const nameRule = "a name consists of letters, digits, dots, dashes and underscores"

// severalURLs is the error for entries without commas between them.
func severalURLs(entry int) error {
	return fmt.Errorf("entry %d of the list has several URLs: write commas between the entries", entry)
}

// NodeList is a list of nodes or observers.
type NodeList []Node

// Decode parses a list of name=url.
func (all *NodeList) Decode(s string) error {
	number := 0
	err := each(s, ",", func(item string) error {
		number++
		name, url, ok := strings.Cut(item, "=")
		name, url = strings.TrimSpace(name), strings.TrimSpace(url)
		switch {
		case strings.Count(item, "://") > 1:
			return severalURLs(number)
		case !ok || !ValidName(name):
			// Do not print the item: it may be half of a password.
			return fmt.Errorf("entry %d of the list: write name=url, such as local=http://127.0.0.1:9650; the name consists of letters, digits, dots, dashes and "+
				"underscores; "+
				"write a comma in a password as %%2C", number)
		case slices.ContainsFunc(*all, func(n Node) bool { return n.Name == name }):
			return fmt.Errorf("duplicate node name %q: rename one of them", name)
		}
		*all = append(*all, Node{Name: name, URL: url})
		return nil
	})
	if len(*all) == 0 && err == nil {
		err = errors.New("the list is empty: write name=url, such as local=http://127.0.0.1:9650")
	}
	return err
}
