package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// Question is what the command check asks about a variable, or about a key of the file or the list that the variable names. Each variable has at
// least one: TestEveryVariableHasAQuestion.
type Question struct {
	Variable string                        // without the prefix
	Key      string                        // of its file; empty: the variable itself
	Asks     string                        // what check asks, for the documentation
	ask      func(*trial, context.Context) // nil: reading the configuration, or a collector, asks it
}

// What most variables are asked.
const (
	read    = "Is the value valid? Nothing is asked, because the value names no server, file or label."
	called  = "Every collector calls it once."
	answers = "Does its answer mean success? "
)

// Questions is the list of what check asks. The order is that of the output. A start asks the same and logs what it finds, except what collectors
// and heartbeats ask at once anyway.
var Questions = []Question{
	{"NODES", "", called + " Is it a node, whose, of which network, and does each chain answer?", nil},
	{"NODES_FILE", "", "As AVAX_NODES. A URL is requested: is the answer a list of nodes?", nil},
	{"NODES_FILE", "targets, __scheme__, __role__", "As AVAX_NODES and AVAX_OBSERVERS.", nil},
	{"NODES_FILE", "labels", "Are all values texts, and all names free?", nil},
	{"NETWORK", "", "Do the nodes report this network?", nil},
	{"OBSERVERS", "", called + " What of it is left for the budget?", nil},
	{"OBSERVER_BUDGET", "", "How many calls does each observer get?", nil},
	{"CHAINS", "", "Does the P-Chain know the blockchain? If it is the ID of a subnet or a VM, a name or an EVM chain ID: which blockchain is meant?", nil},
	{"VALIDATORS", "", "Is it a validator now?", nil},
	{"VALIDATORS_FILE", "", "Do the IDs have valid check digits, and are all names of labels free?", nil},
	{"HTTP_CONFIG_FILE", "upstreams", "Does each name or pattern match an upstream that no earlier entry matches?", (*trial).unusedCredentials},
	{"HTTP_CONFIG_FILE", "http_config, host, server_name, proxy_url, no_proxy, token_url", "Each upstream is called with them.", nil},
	{"HTTP_CONFIG_FILE", "username_file, password_file, credentials_file, bearer_token_file, client_secret_file, client_certificate_key_file, ca_file, " +
		"cert_file, key_file", "Is the file readable and valid? Each upstream is called with it.", nil},
	{"TIMEOUT", "", read, nil},
	{"CONCURRENCY", "", read, nil},
	{"COLLECTORS", "", "Each collector runs once.", nil},
	{"SCHEDULES", "", "Does the collector run?", (*trial).unusedSchedules},
	{"WATCH_FILE", "addresses, delegators, assets, contracts, tokens, signatures", "Is each entry valid? " + called, nil},
	{"WATCH_ADDRESSES", "", called, nil},
	{"WATCH_DELEGATORS", "", called, nil},
	{"WATCH_ASSETS", "", called, nil},
	{"WATCH_CONTRACTS", "", called, nil},
	{"WATCH_TOKENS", "", called, nil},
	{"WATCH_SIGNATURES", "", called, nil},
	{"ICM_MESSENGERS", "", "Is it an address? The collector icm_chains asks the nodes for its logs.", nil},
	{"DATA_URL", "", called + " Is the budget enough?", nil},
	{"DATA_API_KEY_FILE", "", "The file is read, and the service is called with the key.", nil},
	{"DATA_BUDGET", "", "Is it enough for the collectors?", nil},
	{"METRICS_URL", "", called, nil},
	{"CURRENCY", "", "The Data service is asked for prices in it.", nil},
	{"LISTEN", "", "Is it an address? It is not opened: an exporter may run there.", nil},
	{"WEB_CONFIG_FILE", "tls_server_config, cert_file, key_file, client_ca_file", "Are its certificates and keys readable and valid?", nil},
	{"WEB_CONFIG_FILE", "http_server_config, rate_limit, basic_auth_users", "Are its headers, limits and hashes of passwords valid?", nil},
	{"TRUST_LOOPBACK", "", read, nil},
	{"PPROF_LISTEN", "", "Is it an address? It is not opened: an exporter may run there.", nil},
	{"ALERTING", "", "Who is notified of each severity? See the questions about AVAX_NOTIFY_FILE, AVAX_ALERTMANAGERS and AVAX_PROMETHEUS_URL.", (*trial).nobody},
	{"RULES_FILE", "groups, rules, record, alert, labels, annotations", "Are the names valid and the templates correct?", nil},
	{"RULES_FILE", "expr", "Does the exporter have each family and each label that a rule selects, and does the collector of the family run?", (*trial).rules},
	{"ALERTING_INTERVAL", "", "What do the rules cost?", nil},
	{"ALERT_LABELS", "", "Does a node or a validator have the label?", (*trial).unusedLabels},
	{"EXTERNAL_LABELS", "", "Are the names valid? Routes are tried with them.", nil},
	{"EXTERNAL_URL", "", "Is it a URL? It is not requested: it may be reachable from elsewhere only.", nil},
	{"PROMETHEUS_URL", "", answers + "Does the server have the rules, can it evaluate them, does it have samples of an exporter, and an Alertmanager?",
		(*trial).prometheus},
	{"ALERTMANAGERS", "", answers + "Is its configuration readable, does it accept an empty list of alerts, and who gets each severity?", (*trial).alertmanagers},
	{"NOTIFY_FILE", "global", "As its receivers, which use it.", nil},
	{"NOTIFY_FILE", "route", "Who gets each alert of the rules? Does a page reach somebody?", (*trial).routes},
	{"NOTIFY_FILE", "receivers", "Do its files have what they should? Is a placeholder left? Each kind is asked what notifies nobody.", (*trial).receivers},
	{"NOTIFY_FILE", "templates", "Does each pattern match a file? Each text of each receiver is rendered: for a page, its end, several warnings, " +
		"and an alert without a node.", nil},
	{"NOTIFY_FILE", "inhibit_rules", "Does a rule match alerts of the rules, and does one suppress pages by what is no cause of them?", (*trial).inhibition},
	{"NOTIFY_FILE", "time_intervals, mute_time_intervals", "Does a page reach somebody at any time?", nil},
	{"NOTIFY_FILE", "tracing, event_recorder", read, nil},
	{"HEARTBEAT_URL", "", answers + "It is requested once, which counts as a heartbeat. Are alerts evaluated here?", (*trial).heartbeat},
	{"DIGEST", "", "Who gets the digest?", nil},
	{"SHARD", "", read, nil},
	{"TOTAL_SHARDS", "", read, nil},
	{"STATE_DIR", "", "Can this user write to the directory?", (*trial).stateDir},
	{"LOG_LEVEL", "", read, nil},
	{"LOG_FORMAT", "", read, nil},
}

func init() {
	at := 1 + slices.IndexFunc(Questions, func(q Question) bool { return q.Key == "receivers" })
	for i, kind := range notify.Asked {
		Questions = slices.Insert(Questions, at+i, Question{Variable: "NOTIFY_FILE", Key: kind.Kind + "_configs", Asks: kind.Asks})
	}
}

// trial is one pass over the list of questions.
type trial struct {
	cfg       *config.Config
	upstreams config.Upstreams // as they were last read
	targets   *targets
	starts    bool // whether the exporter starts, so that heartbeats follow

	mu       sync.Mutex
	failures []status.Finding
	warnings []status.Finding
	facts    []string
	passed   []*metric.Job
	invalid  error // an error of the configuration

	once      sync.Once // of alerts
	all       []map[string]string
	alertsErr error
}

// ask asks all questions at once.
func (t *trial) ask(ctx context.Context) {
	var asking sync.WaitGroup
	for _, q := range Questions {
		if q.ask != nil {
			asking.Go(func() { q.ask(t, ctx) })
		}
	}
	asking.Wait()
	byAbout := func(a, b status.Finding) int {
		return strings.Compare(a.About+a.Text, b.About+b.Text)
	}
	slices.SortFunc(t.failures, byAbout)
	slices.SortFunc(t.warnings, byAbout)
}

func (t *trial) fails(about, text, do string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, status.Finding{About: about, Text: text, Do: do})
}

func (t *trial) warns(about, text, do string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.warnings = append(t.warnings, status.Finding{About: about, Text: text, Do: do})
}

// says adds a line that is no finding.
func (t *trial) says(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.facts = append(t.facts, text)
}

// tried adds a check of a connection.
func (t *trial) tried(j *metric.Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passed = append(t.passed, j)
}

// NobodyNotified begins the line of check about a configuration without a receiver.
const NobodyNotified = "Nobody is notified"

// nobody asks whether anybody is notified at all.
func (t *trial) nobody(context.Context) {
	switch c := t.cfg; {
	case c.Alerting.On && !c.Notify.On() && !c.Alerting.Notifies():
		t.says(NobodyNotified + ": set AVAX_NOTIFY_FILE or AVAX_ALERTMANAGERS. The status page shows the alerts.")
	case !c.Alerting.On && c.Prometheus.URL == "":
		t.says("AVAX_ALERTING=off: a Prometheus must evaluate the rules. Set AVAX_PROMETHEUS_URL, so that check asks it and the status page shows its alerts.")
	}
}

// alerts returns the labels of the alerts of the rules, each with the labels of a node, and each severity for every node.
func (t *trial) alerts() ([]map[string]string, error) {
	t.once.Do(func() { t.all, t.alertsErr = t.readAlerts() })
	return t.all, t.alertsErr
}

func (t *trial) readAlerts() (all []map[string]string, err error) {
	rules, err := alerting.AlertLabels(t.cfg.Alerting)
	if err != nil {
		return nil, err
	}
	labels := t.upstreams.Labels()
	with := func(alert map[string]string, node string) map[string]string {
		one := maps.Clone(alert)
		one["node"] = node
		for _, name := range t.cfg.AlertLabels {
			if value := labels[node][name]; value != "" {
				one[name] = value
			}
		}
		return one
	}
	severities := map[string]bool{}
	names := nodes.Names(t.targets.ups.Nodes())
	for _, alert := range rules {
		if len(names) == 0 || alert["digest"] != "" || alert["severity"] == "none" {
			all = append(all, alert)
			continue
		}
		all = append(all, with(alert, names[0]))
		if !severities[alert["severity"]] {
			severities[alert["severity"]] = true
			for _, node := range names[1:] {
				all = append(all, with(alert, node))
			}
		}
	}
	return all, nil
}

// routed says who gets the alerts of each severity.
func (t *trial) routed(about string, routing notify.Routing) {
	alerts, err := t.alerts()
	if err != nil {
		return // reading the rules has failed already
	}
	reached := routing.Reached(alerts)
	var lines []string
	for _, r := range reached {
		lines = append(lines, r.String())
	}
	t.says(about + ": " + strings.Join(lines, "; "))
	do := "Correct the routes."
	if other := routing.Unmatched(alerts); len(other) > 0 {
		var have []string
		for _, r := range reached {
			have = append(have, r.Severity)
		}
		do = fmt.Sprintf("Routes match severity %s. The rules have %s.", strings.Join(other, ", "), strings.Join(have, ", "))
	}
	for i, r := range reached {
		if isPage(r.Severity) && len(r.Limited) > 0 {
			quiet := words.ClockTime(time.Now(), r.Quiet)
			t.warns(about, fmt.Sprintf("%s with severity=%q reach nobody outside a time interval, next %s", words.Brief(r.Limited), r.Severity, quiet),
				"Remove the time interval, or add a route without one.")
		}
		if len(r.Lost) == 0 {
			continue
		}
		text := fmt.Sprintf("alerts with severity=%q reach nobody", r.Severity)
		if len(r.Receivers) > 0 {
			text = fmt.Sprintf("%s with severity=%q reach nobody", strings.Join(r.Lost[:min(3, len(r.Lost))], ", "), r.Severity)
		}
		do := do
		if len(r.Never) > 0 {
			do = "The time intervals of their routes leave no time within a year. Correct time_intervals, or the names in the routes."
		}
		switch {
		case isPage(r.Severity) || i == 0:
			t.fails(about, text, do)
		case r.Severity != "none" && r.Severity != "info":
			t.warns(about, text, do)
		}
	}
}

// routes asks the notification file who gets which alert.
func (t *trial) routes(context.Context) {
	if !t.cfg.Notify.On() {
		return
	}
	if routing, err := notify.RoutingOf(t.cfg.Notify); err == nil { // Parse has reported the error
		t.routed("AVAX_NOTIFY_FILE", routing)
	}
	for _, pattern := range notify.UnmatchedTemplates(t.cfg.Notify) {
		t.warns("AVAX_NOTIFY_FILE", "no file matches "+pattern+" of templates", "Correct the path, or remove it.")
	}
	if err := notify.Exposed(t.cfg.Notify); err != nil {
		text, do, _ := strings.Cut(err.Error(), ": ")
		t.warns("AVAX_NOTIFY_FILE", text, do)
	}
}

// isPage reports whether alerts of a severity must reach somebody at any time.
func isPage(severity string) bool { return severity == "page" || severity == "critical" }

// suppressed says which pages inhibit rules suppress by what is no cause of them: by an alert that always fires, by one that pages nobody, or by one about
// another node. What the shipped rules suppress has its cause.
func (t *trial) suppressed(about string, rules notify.Inhibition) {
	alerts, err := t.alerts()
	shipped, shippedErr := notify.ParseInhibition(alertmanager.Config)
	if err != nil || shippedErr != nil {
		return
	}
	var pages []map[string]string
	for _, a := range alerts {
		if isPage(a["severity"]) {
			pages = append(pages, a)
		}
	}
	const always = "an alert that always fires"
	by := map[string]map[string][]string{} // the pages, by what suppresses them, by its name
	for _, source := range alerts {
		found := rules.Suppressed(source, pages)
		if len(found) == 0 {
			continue
		}
		caused := shipped.Suppressed(source, pages)
		for _, i := range found {
			var kind string
			switch other := pages[i]["node"] != source["node"]; {
			case slices.Contains(caused, i):
				continue
			case source["severity"] == "none":
				kind = always
			case other:
				kind = "an alert about another node"
			case !isPage(source["severity"]):
				kind = fmt.Sprintf("an alert with severity=%q", source["severity"])
			default:
				continue
			}
			if by[kind] == nil {
				by[kind] = map[string][]string{}
			}
			by[kind][source["alertname"]] = append(by[kind][source["alertname"]], pages[i]["alertname"])
		}
	}
	for kind, sources := range by {
		var suppressed []string
		for _, names := range sources {
			suppressed = append(suppressed, names...)
		}
		slices.Sort(suppressed)
		text := fmt.Sprintf("%s (%s) suppresses pages (%s)", kind, words.Brief(slices.Sorted(maps.Keys(sources))), words.Brief(slices.Compact(suppressed)))
		const do = "List in equal what both have, such as node: a label that both lack counts as equal. Or remove inhibit_rules: then the shipped ones apply."
		if kind == always {
			t.fails(about, text, do)
		} else {
			t.warns(about, text, do)
		}
	}
}

// inhibition asks whether a cause suppresses its effects.
func (t *trial) inhibition(context.Context) {
	if !t.cfg.Notify.On() {
		return
	}
	rules, err := notify.InhibitionFor(t.cfg.Notify)
	alerts, alertsErr := t.alerts()
	if err == nil {
		t.suppressed("AVAX_NOTIFY_FILE", rules)
	}
	if err == nil && alertsErr == nil && !rules.Applies(alerts) {
		t.warns("AVAX_NOTIFY_FILE", "no rule of inhibit_rules matches alerts of the rules: a cause does not suppress its effects",
			"Remove inhibit_rules: then the shipped ones apply. Or copy them from deploy/alertmanager/alertmanager.yml.")
	}
}

// receivers asks each integration of the notification file.
func (t *trial) receivers(ctx context.Context) {
	if !t.cfg.Notify.On() {
		return
	}
	results, err := notify.Try(ctx, t.cfg.Notify, false)
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.invalid = err
		return
	}
	for _, r := range results {
		t.tried(tried("notify", "receiver "+r.Receiver+", "+r.Integration, "reachable; avax-exporter notify test sends a test", r.Err))
	}
}

// alertmanagers asks each Alertmanager.
func (t *trial) alertmanagers(ctx context.Context) {
	if len(t.cfg.Alerting.Alertmanagers) == 0 {
		return
	}
	client, err := alerting.AlertmanagerClient(t.cfg.Alerting, t.cfg.Transport)
	if err != nil {
		t.fails("AVAX_ALERTMANAGERS", err.Error(), "Correct AVAX_HTTP_CONFIG_FILE.")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(t.cfg.Timeout))
	defer cancel()
	var asking sync.WaitGroup
	for i, address := range t.cfg.Alerting.Alertmanagers {
		asking.Go(func() { // named by its number, because the address may contain a password
			name := fmt.Sprintf("Alertmanager %d", i+1)
			text, err := alerting.AskAlertmanager(ctx, client, address)
			if err != nil {
				err = fmt.Errorf("%w: start it, or correct AVAX_ALERTMANAGERS", err)
			} else if routing, err := notify.ParseRouting([]byte(text)); err == nil { // else it is of another version
				t.routed(name, routing)
				if rules, err := notify.ParseInhibition([]byte(text)); err == nil {
					t.suppressed(name, rules)
				}
			}
			t.tried(tried("alerting", name, "answers", err))
		})
	}
	asking.Wait()
}

// prometheus asks the server that evaluates the rules.
func (t *trial) prometheus(ctx context.Context) {
	if t.cfg.Prometheus.URL == "" {
		return
	}
	const about = "AVAX_PROMETHEUS_URL"
	source, err := alerting.NewPrometheus(t.cfg.Prometheus, t.cfg.Transport)
	if err != nil {
		t.fails(about, err.Error(), "Correct AVAX_HTTP_CONFIG_FILE.")
		return
	}
	warnings, err := source.Ask(ctx, t.cfg.Alerting)
	switch {
	case errors.Is(err, alerting.ErrNoRules):
		t.fails(about, "the server answers, but "+err.Error(), alerting.NoRules)
	case err != nil:
		t.fails(about, err.Error(), "The status page cannot show alerts, and nobody knows whether they are evaluated. Correct the address or the server.")
	}
	for _, text := range warnings {
		text, do, _ := strings.Cut(text, ": ")
		t.warns(about, text, do)
	}
}

// heartbeat sends one heartbeat.
func (t *trial) heartbeat(ctx context.Context) {
	if t.cfg.HeartbeatURL == "" {
		return
	}
	if !t.cfg.Alerting.On {
		t.warns("AVAX_HEARTBEAT_URL", "AVAX_ALERTING=off: a heartbeat says that collectors run, not that alerts are evaluated and sent",
			"Let the Alertmanager of the Prometheus send AvaxWatchdog to a dead man's switch of its own.")
	}
	if t.starts {
		return
	}
	h := heartbeatOf(t.cfg, slog.New(slog.DiscardHandler))
	t.tried(tried("heartbeat", "AVAX_HEARTBEAT_URL", "accepted", h.Send(ctx)))
}

// rules asks whether the rules of a file can have a result.
func (t *trial) rules(context.Context) {
	if t.cfg.Alerting.RulesFile == "" || !t.cfg.Alerting.On {
		return
	}
	problems, err := alerting.UnknownNames(t.cfg.Alerting, known(t.cfg, t.upstreams))
	if err != nil {
		return // Parse has reported it
	}
	for _, p := range problems {
		about, text, _ := strings.Cut(p.Error(), ": ")
		t.fails("AVAX_RULES_FILE", about+": "+text, "The rule never has a result: correct it, or remove it. A file with alerts replaces the built-in rules.")
	}
}

// known returns the families of this process.
func known(cfg *config.Config, upstreams config.Upstreams) alerting.Known {
	k := alerting.Known{Labels: map[string][]string{}, Off: map[string]string{}}
	for _, spec := range collectors.All() {
		for _, f := range spec.Families {
			k.Labels[f.Name] = f.Labels
			if !slices.ContainsFunc(cfg.Collectors, func(on *collector.Spec) bool { return slices.Contains(on.Families, f) }) {
				k.Off[f.Name] = spec.Name
			}
		}
	}
	for _, f := range metric.AboutJobs {
		k.Labels[f.Name] = f.Labels
	}
	for _, f := range metric.Described(OwnFamilies()) {
		k.Labels[f.Name] = f.Labels
	}
	for _, labels := range upstreams.Labels() {
		k.Extra = append(k.Extra, slices.Collect(maps.Keys(labels))...)
	}
	return k
}

// OwnFamilies has every family of the exporter itself.
func OwnFamilies() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(metric.NewStore(), &data.Budget{})
	schedule.Declare(registry)
	scrape.NewMetrics(registry)
	CountTargets(registry, nil, nil, nil, monitored{})
	ExportDependants(registry)
	config.ExportLabels(registry, nil)
	(&state.Dir{}).Register(registry)
	alerting.NewMetrics(registry)
	notify.Declare(registry)
	config.NewWatch(&config.Config{}, nil, slog.New(slog.DiscardHandler), registry)
	return registry
}

// unusedCredentials asks whether each entry of the file of credentials is used.
func (t *trial) unusedCredentials(context.Context) {
	for _, name := range t.upstreams.Unused {
		text := fmt.Sprintf("no upstream is named %q, or an earlier entry has it: its credentials are not sent", name)
		do := "Write a name of AVAX_NODES, AVAX_NODES_FILE or AVAX_OBSERVERS, or " + strings.Join(config.ServiceNames(), ", ") + "."
		known := config.ServiceNames()
		for _, n := range t.upstreams.Nodes {
			known = append(known, n.Name)
		}
		if near := spelling.Near(name, known); len(near) > 0 {
			do = fmt.Sprintf("Did you mean %s?", near[0])
		}
		t.fails("AVAX_HTTP_CONFIG_FILE", text, do)
	}
	for _, of := range []struct {
		name, variable string
		set            bool
	}{
		{"alertmanager", "AVAX_ALERTMANAGERS", len(t.cfg.Alerting.Alertmanagers) > 0}, {"prometheus", "AVAX_PROMETHEUS_URL", t.cfg.Prometheus.URL != ""},
		{"discovery", "the URL of AVAX_NODES_FILE", strings.Contains(t.cfg.NodesFile, "://")},
	} {
		if t.upstreams.HTTP[of.name] != nil && !of.set {
			t.warns("AVAX_HTTP_CONFIG_FILE", "the credentials of "+of.name+" are not sent: nothing is configured for it", "Set "+of.variable+", or remove the entry.")
		}
	}
}

// unusedSchedules asks whether each collector with a schedule runs.
func (t *trial) unusedSchedules(context.Context) {
	for _, name := range slices.Sorted(maps.Keys(t.cfg.Schedules)) {
		if !slices.ContainsFunc(t.cfg.Collectors, func(on *collector.Spec) bool { return on.Name == name }) {
			t.fails("AVAX_SCHEDULES", "the collector "+name+" is off", "Add it to AVAX_COLLECTORS, or remove its schedule.")
		}
	}
}

// unusedLabels asks whether a node or validator has each label of alerts.
func (t *trial) unusedLabels(context.Context) {
	names := map[string]bool{}
	for _, labels := range t.upstreams.Labels() {
		for name := range labels {
			names[name] = true
		}
	}
	for _, name := range t.cfg.AlertLabels {
		if !names[name] {
			do := "Give it to nodes in AVAX_NODES_FILE, or to validators in AVAX_VALIDATORS_FILE."
			if near := spelling.Near(name, slices.Sorted(maps.Keys(names))); len(near) > 0 {
				do = fmt.Sprintf("Did you mean %s?", near[0])
			}
			t.fails("AVAX_ALERT_LABELS", fmt.Sprintf("no node and no validator has the label %q", name), do)
		}
	}
}

// stateDir asks whether the state can be written.
func (t *trial) stateDir(context.Context) {
	if t.cfg.StateDir == "" {
		return
	}
	file, err := os.CreateTemp(string(t.cfg.StateDir), ".check-*")
	if err != nil {
		t.fails("AVAX_STATE_DIR", err.Error(), "Let the user of the exporter write to the directory. A restart would lose the state of alerts.")
		return
	}
	_ = file.Close()
	_ = os.Remove(file.Name())
}

// warn logs what the questions find, when the exporter starts and after each reload. It delays neither. It logs a finding again only if the finding was
// gone in between.
func (a *App) warn(ctx context.Context) {
	var before []status.Finding
	for {
		a.mu.Lock()
		t := trial{cfg: a.cfg, upstreams: a.upstreams, targets: a.targets, starts: true}
		a.mu.Unlock()
		t.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		found := append(t.failures, t.warnings...)
		for _, j := range t.passed {
			if err := j.Last.Err; err != nil {
				found = append(found, status.Finding{About: j.Last.Collector + " of " + j.Last.Target.Node, Text: err.Error()})
			}
		}
		if t.invalid != nil {
			found = append(found, status.Finding{About: "AVAX_NOTIFY_FILE", Text: t.invalid.Error()})
		}
		for _, f := range found {
			if !slices.Contains(before, f) {
				a.log.Warn("configuration finding", "about", f.About, "finding", f.Text, "remedy", f.Do)
			}
		}
		before = found
		select {
		case <-a.watch.Reloads:
		case <-ctx.Done():
			return
		}
	}
}

// heartbeatOf returns the heartbeat of a configuration.
func heartbeatOf(cfg *config.Config, log *slog.Logger) *notify.Heartbeat {
	return &notify.Heartbeat{URL: string(cfg.HeartbeatURL), Log: log, Client: &http.Client{Transport: cfg.Transport}}
}
