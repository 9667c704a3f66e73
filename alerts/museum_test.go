package alerts_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/section"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// The nodes are sampled as a Prometheus does by default, and the rules are evaluated once a minute.
const (
	scrapeEvery   = 15 * time.Second
	evaluatedOnce = time.Minute
)

// incident is a public incident as own nodes would report it, and the notification that it must cause: a file in museum.
type incident struct {
	Date   string
	Source string // such as ava-labs/avalanchego#717
	Saw    string // what the operator saw

	Nodes    int // own nodes, n01 and so on; each validates the primary network and the L1 "dex"
	Observer bool
	Story    []event
	Begins   time.Duration // after this time without a fault; half an hour if absent
	Length   time.Duration // of the story after its begin; an hour if absent

	Want    string        // severity, alert and scope
	Within  time.Duration // of the incident's begin
	Says    []string      // what the notification says
	Cause   string        // what a reader still has to find: empty if the notification names the cause
	Unseen  string        // what no node reports
	Because string        // why the notification wakes nobody
}

// event is a part of a story. Times count from the incident's begin.
type event struct {
	From, To time.Duration // To: the end, if absent
	On       []string      // nodes; all if absent

	Dead  bool          // the nodes do not answer
	Loop  time.Duration // the nodes end and start again at this interval,
	Fails string        // before this chain has bootstrapped
	Halts string        // a chain without new blocks

	Series string   // of these series, as a selector: a new one if there is none
	Value  *float64 // a value
	Rate   *float64 // a change per minute
	Absent bool
}

// signal is a value over time. The second result is false if there is none.
type signal func(at time.Duration) (float64, bool)

// museum returns the incidents by the names of their files, in the order of their dates.
func museum(t *testing.T) (files []string, all map[string]*incident) {
	t.Helper()
	files, err := filepath.Glob("museum/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	all = map[string]*incident{}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		in := &incident{Nodes: 1, Begins: 30 * time.Minute, Length: time.Hour}
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		decoder.KnownFields(true)
		if err := decoder.Decode(in); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[file] = in
	}
	return files, all
}

// reported returns the series of an incident.
func (in *incident) reported(t *testing.T, job string) (series []testworld.Series) {
	t.Helper()
	f := newFleet(job, in.Nodes)
	if in.Observer {
		f.observer()
	}
	signals := map[string]signal{}
	for name, values := range f.series {
		first, _, _ := strings.Cut(values, "x")
		start, rate, _ := strings.Cut(first, "+")
		from, err := strconv.ParseFloat(start, 64)
		if err != nil {
			t.Fatal(name, values, err)
		}
		perMinute, _ := strconv.ParseFloat(rate, 64)
		signals[name] = func(at time.Duration) (float64, bool) { return from + perMinute*at.Minutes(), true }
	}
	for _, h := range in.Story {
		h.change(t, f, in.Begins, signals)
	}
	for name, value := range signals {
		var values strings.Builder
		shown := false
		for at := time.Duration(0); at <= in.Begins+in.Length; at += scrapeEvery {
			v, there := value(at)
			switch {
			case there:
				fmt.Fprintf(&values, "%v ", v)
			case shown:
				values.WriteString("stale ")
			default:
				values.WriteString("_ ")
			}
			shown = there
		}
		series = append(series, testworld.Series{Series: withLabels(name, map[string]string{"job": job}), Values: values.String()})
	}
	return series
}

// change changes the signals of a fleet by what happens.
func (h event) change(t *testing.T, f *fleet, begin time.Duration, signals map[string]signal) {
	t.Helper()
	from, to := begin+h.From, begin+h.To
	if h.To == 0 {
		to = 1000 * time.Hour
	}
	during := func(name string, then signal) {
		before := signals[name]
		signals[name] = func(at time.Duration) (float64, bool) {
			if at >= from && at < to {
				return then(at)
			}
			if before == nil {
				return 0, false
			}
			return before(at)
		}
	}
	absent := func(time.Duration) (float64, bool) { return 0, false }
	of := func(node string) (names []string) {
		for name := range signals {
			if strings.Contains(name, fmt.Sprintf("node=%q", node)) && !strings.HasPrefix(name, "avax_node_labels") &&
				!strings.HasPrefix(name, "avax_validator_connected") {
				names = append(names, name)
			}
		}
		return names
	}
	nodes := h.On
	if nodes == nil {
		f.all(func(i int) { nodes = append(nodes, name(i)) })
	}
	for _, node := range nodes {
		up := fmt.Sprintf("avax_node_up{node=%q}", node)
		switch {
		case h.Dead:
			for _, name := range of(node) {
				during(name, absent)
			}
			during(up, func(time.Duration) (float64, bool) { return 0, true })
		case h.Loop != 0:
			for _, name := range of(node) {
				if !strings.HasPrefix(name, "avax_node_identity") && !strings.HasPrefix(name, "avax_node_info") {
					during(name, absent)
				}
			}
			since := func(at time.Duration) time.Duration { return (at-from)%h.Loop - 20*time.Second } // since the node answers
			during(up, func(at time.Duration) (float64, bool) { return truth(since(at) >= 0), true })
			for i, chain := range []string{"P", "X", "C", "dex"} {
				fails := slices.Index([]string{"P", "X", "C", "dex"}, h.Fails)
				during(fmt.Sprintf("avax_node_chain_bootstrapped{node=%q,chain=%q}", node, chain), func(at time.Duration) (float64, bool) {
					minute := at.Truncate(time.Minute) // the collector's last run
					done := since(minute) >= time.Duration(i+1)*20*time.Second
					return truth(done && i < fails), since(minute) >= 0 && (i == 0 || since(minute) >= 20*time.Second)
				})
			}
		case h.Halts != "":
			for _, family := range []string{"avax_chain_height", "avax_chain_head_timestamp_seconds"} {
				name := fmt.Sprintf("%s{node=%q,chain=%q}", family, node, h.Halts)
				last, _ := signals[name](from)
				during(name, func(time.Duration) (float64, bool) { return last, true })
			}
		}
	}
	if h.Series == "" {
		return
	}
	matchers, err := testworld.PromQL.ParseMetricSelector(h.Series)
	if err != nil {
		t.Fatal(h.Series, err)
	}
	found := slices.DeleteFunc(slices.Collect(maps.Keys(signals)), func(name string) bool {
		metric, err := testworld.PromQL.ParseMetric(name)
		return err != nil || slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(metric.Get(m.Name)) })
	})
	if len(found) == 0 {
		found = []string{h.Series}
	}
	for _, name := range found {
		start := 0.0
		if signals[name] != nil {
			start, _ = signals[name](from)
		}
		switch {
		case h.Absent:
			during(name, absent)
		case h.Rate != nil:
			if h.Value != nil {
				start = *h.Value
			}
			during(name, func(at time.Duration) (float64, bool) { return start + *h.Rate*(at-from).Minutes(), true })
		default:
			during(name, func(time.Duration) (float64, bool) { return *h.Value, true })
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// notification is what an incident sends.
type notification struct {
	key, texts, summary string
	after               time.Duration
}

// sentFor returns the notifications of incidents, in their order, without those for information.
func sentFor(t *testing.T, files []string, all map[string]*incident) map[string][]notification {
	t.Helper()
	type times struct{ begins, length time.Duration }
	together := map[times][]string{}
	for _, file := range files {
		of := times{all[file].Begins, all[file].Length}
		together[of] = append(together[of], file)
	}
	sent := map[string][]notification{}
	for of, files := range together {
		var input []testworld.Series
		jobs := map[string]string{}
		for _, file := range files {
			job := strings.TrimSuffix(filepath.Base(file), ".yml")
			jobs[job] = file
			input = append(input, all[file].reported(t, job)...)
		}
		steps := evaluated(t, engineWith(t, evaluatedOnce, scrapeEvery, alerts.Rules, input), evaluatedOnce, of.begins+of.length)
		number := -1
		for _, a := range notified(t, evaluatedOnce, steps) {
			if a.Status != "firing" || a.Labels["severity"] == "info" || a.Labels["severity"] == "none" {
				continue
			}
			file := jobs[a.Labels["job"]]
			if a.Notification != number {
				number = a.Notification
				sent[file] = append(sent[file], notification{key: key(a.Labels), summary: a.Annotations["summary"], after: a.At.Sub(evaluationsBegin.Add(of.begins))})
			}
			last := &sent[file][len(sent[file])-1]
			last.summary = min(last.summary, a.Annotations["summary"])
			for _, name := range slices.Sorted(maps.Keys(a.Annotations)) {
				last.texts += a.Annotations[name] + "\n"
			}
		}
	}
	return sent
}

// Each public incident causes its notification in time, which says what it must. The table in docs/rules.md is what was sent.
func TestPublicIncidentsNotify(t *testing.T) {
	t.Parallel()
	files, all := museum(t)
	if testing.Short() {
		for i := len(files) - 1; i >= 0; i-- {
			if i%8 != 0 {
				files = slices.Delete(files, i, i+1)
			}
		}
	}
	sent := sentFor(t, files, all)
	rows := map[string]string{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			in := all[file]
			i := slices.IndexFunc(sent[file], func(e notification) bool { return e.key == in.Want })
			if i < 0 {
				t.Fatalf("sends no %s, but %v", in.Want, sent[file])
			}
			first := sent[file][i]
			if first.after > in.Within || first.after < 0 {
				t.Errorf("%s after %v; want within %v", in.Want, first.after, in.Within)
			}
			for _, words := range in.Says {
				if !strings.Contains(first.texts, words) {
					t.Errorf("does not say %q:\n%s", words, first.texts)
				}
			}
			if severity, _, _ := strings.Cut(in.Want, " "); severity == "page" == (in.Because != "") {
				t.Error("what wakes nobody needs a reason, and only that")
			}
			for _, e := range sent[file] {
				if strings.HasPrefix(e.key, "page") && e.key != in.Want && e.after < first.after {
					t.Errorf("pages before: %s after %v: %s", e.key, e.after, e.texts)
				}
			}
			rows[file] = in.row(first)
		})
	}
	if named := slices.Collect(maps.Values(all)); len(slices.DeleteFunc(named, func(in *incident) bool { return in.Cause != "" })) < 30 {
		t.Error("the notifications of fewer than 30 incidents name the cause")
	}
	checkTable(t, files, rows)
}

var reference = regexp.MustCompile(`([a-z]+-labs|ava-labs)/([a-z-]+)#([0-9]+)`)

func (in *incident) row(e notification) string {
	source := reference.ReplaceAllString(in.Source, "[$2#$3](https://github.com/$1/$2/issues/$3)")
	left := in.Cause + in.Unseen + in.Because
	after := model.Duration(e.after.Truncate(time.Second))
	severity, about, _ := strings.Cut(in.Want, " ")
	if severity != "page" {
		about += " (" + severity + ")"
	}
	return fmt.Sprintf("| %s | %s | %s | %s, %v | %s | %s |", in.Date, source, in.Saw, about, after, strings.ReplaceAll(e.summary, "|", "\\|"), left)
}

// checkTable compares the rows of the incidents with the table in docs/rules.md, or writes them.
func checkTable(t *testing.T, files []string, rows map[string]string) {
	t.Helper()
	const page = "../docs/rules.md"
	if testworld.Update() && !testing.Short() {
		var b strings.Builder
		b.WriteString("\n| date | source | what was seen | notification, after | it says | left to find |\n|---|---|---|---|---|---|\n")
		for _, file := range files {
			b.WriteString(rows[file] + "\n")
		}
		must.Do(t, section.Write(page, "museum", b.String()+"\n"))
		return
	}
	table := must.Get(section.Read(page, "museum"))(t)
	for _, file := range files {
		if row := rows[file]; row != "" && !strings.Contains(table, row+"\n") {
			t.Errorf("%s does not have this row; run `make museum`:\n%s", page, row)
		}
	}
}
