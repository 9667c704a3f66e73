package catalogue

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

const runbooks = "../../docs/runbooks/*.md"

// foreign returns families of other programs, by name, with their labels.
func foreign(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/foreign.txt")
	if err != nil {
		t.Fatal(err)
	}
	families := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		name, labels, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || name == "#" {
			continue
		}
		families[name] = []string{}
		if labels != "" {
			families[name] = strings.Split(labels, ",")
		}
	}
	return families
}

func TestCompanionRulesUseFamiliesOfOtherPrograms(t *testing.T) {
	n := spoken(t)
	for name, labels := range foreign(t) {
		n.labelsOf[name] = labels
		for _, l := range labels {
			n.labels[l] = true
		}
	}
	checked := 0
	for _, g := range rules(t, alerts.Companion) {
		for _, r := range g.Rules {
			n.check(t, g.Name+": "+r.Alert+r.Record, r.Expr)
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("%d rules found", checked)
	}
}

// command is one line of a runbook's code block, with its continuation lines.
type command struct{ page, line string }

func commands(t *testing.T) (all []command) {
	t.Helper()
	pages, err := filepath.Glob(runbooks)
	if err != nil || len(pages) == 0 {
		t.Fatalf("%q, %v", pages, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```") {
			if i%2 == 0 {
				continue
			}
			code, ok := strings.CutPrefix(block, "sh\n")
			if !ok {
				t.Errorf("%s: a block of code that is not marked as sh", page)
			}
			for line := range strings.Lines(strings.ReplaceAll(code, "\\\n", "")) {
				all = append(all, command{filepath.Base(page), strings.TrimSpace(line)})
			}
		}
	}
	return all
}

func TestRunbooksUseExistingCommands(t *testing.T) {
	text, err := os.ReadFile("../../cmd/exporter/main.go")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`\{name: "([a-z]+)"`).FindAllStringSubmatch(string(text), -1) {
		known[m[1]] = true
	}
	named := explainable(t)
	called := regexp.MustCompile(`avax-exporter(?: ([a-z]+)(?: ([^|;]*))?)?(?:$|[|;])`)
	checked := 0
	for _, c := range commands(t) {
		if !strings.HasPrefix(c.line, "avax-exporter") {
			continue
		}
		m := called.FindStringSubmatch(c.line)
		if m == nil || !known[m[1]] {
			t.Errorf("%s: there is no such command: %s", c.page, c.line)
			continue
		}
		checked++
		switch m[1] {
		case "call":
			method, params := callOf(m[2])
			if problem := callable(method, params); problem != "" {
				t.Errorf("%s: %s: %s", c.page, c.line, problem)
			}
		case "explain":
			if name := strings.Fields(m[2])[0]; !named[name] {
				t.Errorf("%s: there is nothing called %s", c.page, name)
			}
		}
	}
	if checked < 70 {
		t.Errorf("only %d commands found", checked)
	}
}

// explainable are the names that the command explain knows.
func explainable(t *testing.T) map[string]bool {
	t.Helper()
	named := map[string]bool{}
	for name := range declared(t) {
		named[name] = true
	}
	for _, g := range rules(t, alerts.Rules) {
		for _, r := range g.Rules {
			named[r.Alert] = true
		}
	}
	return named
}

// callOf splits the arguments of the command call.
func callOf(args string) (method, params string) {
	args = regexp.MustCompile(`--(node|chain) \S+ |--yes `).ReplaceAllString(args, "")
	method, params, _ = strings.Cut(strings.TrimSpace(args), " ")
	return method, strings.Trim(params, "'")
}

// callable says what is wrong with the call, if anything.
func callable(method, params string) string {
	if method == "avg_tps" {
		return ""
	}
	params = strings.ReplaceAll(params, "…", "1")
	if params != "" && !jsontext.Value(params).IsValid() {
		return "the parameters are no JSON"
	}
	if name, ok := strings.CutPrefix(method, "data."); ok {
		if !slices.ContainsFunc(data.Endpoints(), func(e data.Endpoint) bool { return strings.EqualFold(e.Name, name) }) {
			return "there is no such endpoint"
		}
		return ""
	}
	i := slices.IndexFunc(node.Methods(), func(m node.Method) bool { return m.Name == method })
	if i < 0 {
		return "there is no such method"
	}
	m := node.Methods()[i]
	if params == "" {
		if slices.ContainsFunc(m.Params, func(p string) bool { return !strings.HasSuffix(p, "?") }) {
			return "it wants parameters"
		}
		return ""
	}
	if err := m.Check(jsontext.Value(params)); err != nil {
		return err.Error()
	}
	return ""
}

func TestRunbookCallsAreAnsweredByNodes(t *testing.T) {
	posted := regexp.MustCompile(`^curl .*-d '(\{"jsonrpc".*?\})'\s+(\S+)`)
	checked := 0
	for _, c := range commands(t) {
		m := posted.FindStringSubmatch(c.line)
		if m == nil {
			if strings.Contains(c.line, "jsonrpc") {
				t.Errorf("%s: cannot read %s", c.page, c.line)
			}
			continue
		}
		checked++
		var body struct {
			Method string         `json:"method"`
			Params jsontext.Value `json:"params"`
		}
		if err := json.Unmarshal([]byte(m[1]), &body); err != nil {
			t.Errorf("%s: %v: %s", c.page, err, m[1])
			continue
		}
		if problem := callable(body.Method, string(body.Params)); problem != "" {
			t.Errorf("%s: %s: %s", c.page, m[1], problem)
			continue
		}
		i := slices.IndexFunc(node.Methods(), func(n node.Method) bool { return n.Name == body.Method })
		path := strings.ReplaceAll(regexp.QuoteMeta(node.Methods()[i].Path), `\{chain\}`, `[A-Za-z0-9_]+`)
		if !regexp.MustCompile(`^http://[^/]+` + path + `$`).MatchString(m[2]) {
			t.Errorf("%s: %s is asked at %s, not %s", c.page, body.Method, node.Methods()[i].Path, m[2])
		}
		if !strings.Contains(c.line, "content-type: application/json") {
			t.Errorf("%s: a node refuses a call without its content type: %s", c.page, c.line)
		}
	}
	if checked < 10 {
		t.Errorf("only %d calls found", checked)
	}
}

// family finds a name with the alternatives of a regular expression in it: avax_node_(up|peers)\{.
var family = regexp.MustCompile(`(\b|\^)(avax|avalanche|app|node_timex|node_memory)_[a-z0-9_A-Z]*(\([a-zA-Z0-9_|()]*\))?[a-zA-Z0-9_]*`)

func TestRunbooksUseExistingFamilies(t *testing.T) {
	known := foreign(t)
	for name, r := range declared(t) {
		known[name] = r.Labels
	}
	known["avax_exporter_build_info"] = nil
	names := slices.Sorted(maps.Keys(known))
	pages, err := filepath.Glob(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range family.FindAllStringIndex(string(text), -1) {
			after := string(text[at[1]:])
			for _, name := range expand(strings.TrimPrefix(string(text[at[0]:at[1]]), "^")) {
				checked++
				_, whole := known[name]
				begins := slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name) })
				// A pattern for grep may be the beginning of names, unless the labels follow.
				if !whole && (!begins || strings.HasPrefix(after, "{") || strings.HasPrefix(after, `\{`) || strings.HasPrefix(after, "`")) {
					t.Errorf("%s: undeclared family %s", filepath.Base(page), name)
				}
			}
		}
	}
	if checked < 70 {
		t.Errorf("%d names found", checked)
	}
}

// expand returns the alternatives: a(b|c(d|e)) is ab, acd, ace.
func expand(pattern string) []string {
	open := strings.LastIndex(pattern, "(")
	if open < 0 {
		return []string{pattern}
	}
	inner, after, _ := strings.Cut(pattern[open+1:], ")")
	var all []string
	for _, each := range strings.Split(inner, "|") {
		all = append(all, expand(pattern[:open]+each+after)...)
	}
	return all
}
