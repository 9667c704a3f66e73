package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/alerts/compile"
)

// rules are those of both rules files.
var rules = func() (all []compile.Rule) {
	for _, name := range []string{alerts.RulesFile, alerts.CompanionFile} {
		compiled, err := alerts.Compiled(name, alerts.Options{})
		if err != nil {
			fatal("alerts: %v", err)
		}
		for _, g := range compiled.Groups {
			all = append(all, g.Rules...)
		}
	}
	return all
}()

// bar returns the threshold of an alert with this severity, and with this label within if there are several.
func bar(alert, severity string, within ...string) float64 {
	v, found := threshold(alert, severity, within...)
	if !found {
		fatal("the rules have no threshold for %s %s %s", alert, severity, within)
	}
	return v
}

func threshold(alert, severity string, within ...string) (v float64, found bool) {
	for _, r := range rules {
		if r.Record == "avax:threshold" && r.Labels["alert"] == alert && r.Labels["needs"] == "" &&
			(severity == "" || r.Labels["severity"] == severity) &&
			(len(within) == 0 || r.Labels["within"] == within[0]) {
			return product(r.Expr), true
		}
	}
	return math.NaN(), false
}

var vector = regexp.MustCompile(`^vector\((.*)\)$`)

// product computes vector(a * b * c), the form that thresholds have.
func product(expr string) float64 {
	m := vector.FindStringSubmatch(strings.TrimSpace(expr))
	if m == nil {
		fatal("the threshold %s is no vector(…)", expr)
	}
	v := 1.0
	for factor := range strings.SplitSeq(m[1], "*") {
		f, err := strconv.ParseFloat(strings.TrimSpace(factor), 64)
		if err != nil {
			fatal("the threshold %s: %v", expr, err)
		}
		v *= f
	}
	return v
}

// pageAndWarn returns the thresholds of an alert, NaN for one that it does not have.
func pageAndWarn(alert string) (page, warning float64) {
	page, hasPage := threshold(alert, "page")
	warning, hasWarning := threshold(alert, "warn")
	if !hasPage && !hasWarning {
		fatal("the rules have no threshold for %s", alert)
	}
	return page, warning
}

// lowBy and highBy return the grades of an alert by its thresholds. unit divides the thresholds.
func lowBy(alert string, show func(float64) string) []grade {
	page, warning := pageAndWarn(alert)
	return lowGrades(page, warning, show)
}

func highBy(alert string, show func(float64) string) []grade {
	page, warning := pageAndWarn(alert)
	return highGrades(warning, page, show)
}

// runway returns the grades of seconds until a balance runs out.
func runway() []grade {
	return lowGrades(bar("AvaxL1RunwayLow", "", "7d"), bar("AvaxL1RunwayLow", "", "30d"), days)
}

// quorumLoss returns the grades of seconds until a quorum is lost.
func quorumLoss() []grade {
	return lowGrades(bar("AvaxL1QuorumLossForecast", "page"), bar("AvaxL1QuorumLossForecast", "warn"), days)
}

// stakeEnds returns the grades of seconds until a stake ends.
func stakeEnds() []grade {
	return lowGrades(math.NaN(), bar("AvaxStakeEndsSoon", "", "7d"), days)
}

// budgetUsed returns the grades of a share of the downtime budget. From 1 on the reward is lost.
func budgetUsed() []grade {
	return highGrades(bar("AvaxDowntimeBudgetLow", "warn"), 1, percents)
}

// alert returns a matcher of these alerts' names, all of which must exist in the rules.
func alert(names ...string) string {
	for _, name := range names {
		if !slices.Contains(alertsOf(""), name) {
			fatal("the rules have no alert %s", name)
		}
	}
	return `alertname=~"` + strings.Join(names, "|") + `"`
}

// alertsOf returns the alerts of the subjects that have one of the prefixes, sorted.
func alertsOf(prefixes ...string) (found []string) {
	for _, r := range rules {
		if r.Alert != "" && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(r.Subject, p) }) {
			found = append(found, r.Alert)
		}
	}
	if len(found) == 0 {
		fatal("the rules have no alert about %s", prefixes)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// everyAlert matches the alert names of both rules files. Other rules may share the companion's prefixes, but not the
// exporter's.
var everyAlert = func() string {
	names := []string{"Avax.+"}
	for _, name := range alertsOf("") {
		if !strings.HasPrefix(name, "Avax") {
			names = append(names, name)
		}
	}
	return `alertname=~"` + strings.Join(names, "|") + `"`
}()

// watchdog always fires while the rules are evaluated.
const watchdog = `ALERTS{alertname="AvaxWatchdog", alertstate="firing"}`

// exporters has a series per scraped exporter.
const exporters = `avax_exporter_targets{job=~"$job"}`

// inJobs omits the alerts of exporters that are not selected. Alerts without a job, and of other jobs, may concern the same
// nodes, so they stay.
func inJobs(alerts string) string {
	return `(` + alerts + ` unless on (job) count by (job) (avax_exporter_targets{job!~"$job"}))`
}

// firing selects firing alerts.
func firing(matchers ...string) string {
	return inJobs(`ALERTS{` + strings.Join(append([]string{`alertstate="firing"`}, matchers...), ", ") + `}`)
}

// active selects firing and pending alerts: the condition of a pending alert is true already.
func active(matchers ...string) string {
	return inJobs(`ALERTS{` + strings.Join(matchers, ", ") + `}`)
}

// Texts of a tile instead of a number.
const (
	noRules    = "Rules not loaded"
	noExporter = "Exporter gone"
	noData     = "No data"
)

// alertsTile counts the firing alerts. It shows none only if the rules are evaluated and an exporter is scraped.
func alertsTile() *panel {
	count := func(severity, words string) string {
		return fmt.Sprintf(`label_replace(count(group without (within) (%s)), "state", "%s", "", "")`, firing(everyAlert, `severity="`+severity+`"`), words)
	}
	expr := count("page", "pages") + " or " + count("warn", "warnings") +
		` or on () label_replace(0 * group(` + watchdog + ` and on () ` + exporters + `), "state", "pages and warnings", "", "")` +
		` or on () label_replace(0 * group(` + watchdog + `) - 2, "state", "exporter", "", "")` +
		` or on () label_replace(vector(-1), "state", "rules", "", "")`
	return stat("Alerts firing", "Pages and warnings of the exporter's and the companion's rules that fire now. An alert with two deadlines counts once. The "+
		"rules must be loaded in this data source.", expr).
		legend("{{state}}").unit("none", 0).judged(steps(step{nil, warn}, step{0.0, good}, step{1.0, bad})).painted("warnings", steps(step{nil, warn})).
		reads("0", "None", good).reads("-1", "Not loaded", warn).reads("-2", "Gone", bad).leadsTo("avax-exporter")
}

// exporterTile shows whether the source of the data is up.
func exporterTile() *panel {
	const down = `up{job=~"$job"} == 0`
	expr := `label_replace(count(` + down + `) and on () ` + exporters + `, "state", "not scraped", "", "")` +
		` or label_replace(count(` + exporters + `) unless on () (` + down + `), "state", "up", "", "")` +
		` or on () label_replace(vector(-1), "state", "nothing here is known", "", "")`
	return stat("Exporter", "Exporters that Prometheus scrapes now, or the exporters that it cannot scrape. Without an exporter, this page has no data.", expr).
		legend("{{state}}").unit("none", 0).judged(steps(step{nil, bad}, step{0.0, good})).painted("not scraped", steps(step{nil, warn})).
		reads("-1", "Gone", bad).leadsTo("avax-exporter")
}

// present has a series per monitored validator, in the set or not.
var present = maxOf("avax_validator_present", onValidators)

// paid is, for each monitored validator, whether the alerts predict its reward: 0 yes, 1 at risk, 2 not as of today, 3 no, -1
// without rules. Pending alerts count too.
var paid = func() string {
	of := func(value int, alerts string) string {
		return fmt.Sprintf("%d * group by (node_id) (%s)", value, alerts)
	}
	risk := []string{"AvaxRewardStakeLow", "AvaxDowntimeBudgetBurn", "AvaxDowntimeBudgetLow", "AvaxValidatorDisconnected"}
	return strings.Join([]string{
		"(" + of(3, active(alert("AvaxRewardUnreachable", "AvaxValidatorMissing"), `scope!="l1"`)),
		of(2, ofNodes(active(alert("AvaxRewardStakeLow"), `severity="page"`))),
		of(1, active(alert(risk...), `severity=~"page|warn"`, `node_id!=""`)),
		of(1, ofNodes(active(alert("AvaxRewardStakeLow", "AvaxNodeDown", "AvaxConnectedStakeLow"), `severity=~"page|warn"`, `node!=""`))),
		"0 * group by (node_id) (" + present + " and on () " + watchdog + ")",
		"0 * group by (node_id) (" + present + ") - 1) and on (node_id) " + present,
	}, " or ")
}()

// paidStates are the texts of paid.
var paidStates = []object{
	mapping("0", "Yes", good), mapping("1", "At risk", warn), mapping("2", "Not as of today", bad), mapping("3", "No", bad), mapping("-1", noRules, warn),
}

func paidTile() *panel {
	return stat("Will I be paid?", "The worst state of a monitored validator, according to the alerts. At risk: downtime or missing votes. Not as of today: "+
		"too few votes. No: the requirement is out of reach, or the validator is not in the set.",
		"max("+paid+")").unit("none", 0).judged(steps(step{nil, warn}, step{0.0, good}, step{1.0, warn},
		step{2.0, bad})).mapped(paidStates).leadsTo("avax-validators")
}

// subjects are the labels that name the subject of an alert.
const subjects = `"upgrade", "node", "chain", "name", "collector", "upstream", "address"`

// subject sets the label subject to the subject of an alert. It is the exporter's instance only if there is nothing else, and a
// dash if that is missing.
func subject(expr string) string {
	expr = `label_join(` + namedL1(expr) + `, "subject", " ", ` + subjects + `)`
	expr = `label_replace(` + expr + `, "subject", "$1", "subject", " *(.*?) *")`
	expr = `label_replace(label_join(` + expr + `, "place", ";", "subject", "instance"), "subject", "$1", "place", ";(.+)")`
	return `label_replace(` + expr + `, "subject", "–", "subject", "")`
}

// severities converts severities to numbers, for sorting.
func severities(expr string) string {
	for order, severity := range []string{"page", "warn", "none"} {
		expr = fmt.Sprintf(`label_replace(%s, "severity", "%d", "severity", "%s")`, expr, order+1, severity)
	}
	return expr
}

// alertsTable lists the firing alerts of some groups, one row per name.
func alertsTable(names ...string) *panel {
	match := everyAlert
	if len(names) > 0 {
		match = alert(alertsOf(names...)...)
	}
	fire := firing(match, `severity=~"page|warn"`)
	since := `(time() - ALERTS_FOR_STATE{` + match + `, severity=~"page|warn"} and ignoring (alertstate) ` + fire + `)`
	// Without an exporter most alerts end, because there are no samples.
	oldest := orElse(`max by (severity, alertname, subject) (topk by (severity, alertname) (1, `+subject(since)+`))`, watchdog+" and on () "+exporters, "subject",
		"None")
	oldest = orElse(oldest, watchdog, "subject", noExporter)
	p := table("Alerts firing, by name", "Firing pages, then warnings. For each name, the subject of the oldest alert. Click the name to open the runbook.",
		column{title: "Severity", label: "severity", width: 80, props: []object{
			prop("mappings", []object{{"type": "value", "options": object{
				"1": object{"text": "page", "color": bad, "index": 0},
				"2": object{"text": "warning", "color": warn, "index": 1},
			}}}),
			prop("custom.cellOptions", filled),
		}},
		column{title: "Alert", label: "alertname", width: 210, props: []object{prop("links", []object{{
			"title": "Runbook", "url": "https://github.com/avax-exporter/avax-exporter/blob/main/docs/runbooks/${__value.raw}.md", "targetBlank": true,
		}})}},
		value("Count", severities(`count by (severity, alertname) (`+fire+`)`), "none", 0, 65, nil),
		text("Oldest: subject", "subject", 0),
		value("For", severities(oldest), "s", 0, 90, nil).orElse(),
	)
	return p.none(noRules).sortedDown("For").sorted("Severity")
}
