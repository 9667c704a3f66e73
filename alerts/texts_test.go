package alerts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// textsFile has the texts of every alert while it fires, and those that differ while it is pending, kept firing after its cause is gone, or in another case
// of texts_test.yml. A person reads it.
const textsFile = "testdata/texts.txt"

// texts are the annotations of an alert in one state.
type texts map[string]string

// except returns the texts that differ from others, one a line.
func (x texts) except(others texts) string {
	var b strings.Builder
	for _, name := range []string{"summary", "description", "impact", "action"} {
		if x[name] != "" && x[name] != others[name] {
			fmt.Fprintf(&b, "    %s\n", x[name])
		}
	}
	return b.String()
}

func TestTextsOfAlerts(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, file := range []string{"rules.yml", "companion.yml"} {
		suite := readSuite(t, file)
		shown := map[string][]map[string]texts{} // by name of the rule, and by state
		slices.SortStableFunc(suite.tests, func(a, b testFile) int { return strings.Compare(order(a.name), order(b.name)) })
		for _, tests := range suite.tests {
			for _, c := range tests.Tests {
				fires := order(tests.name) == "" || slices.ContainsFunc(c.Alerts, func(a alertCase) bool {
					return slices.ContainsFunc(a.ExpAlerts, func(e expAlert) bool { return shown[ruleName(a.Alertname, e.Labels, suite)] == nil })
				})
				if fires {
					suite.show(t, c, shown)
				}
			}
		}
		for _, r := range suite.rules {
			if r.Alert == "" {
				continue
			}
			if shown[r.name] == nil {
				t.Errorf("no case shows the texts of %s", r.name)
				continue
			}
			of := shown[r.name][0]
			firing := of["firing"]
			if words := shared(firing["summary"], firing["description"], 4); words != "" {
				t.Errorf("%s: the description repeats %q from the summary above it", r.name, words)
			}
			fmt.Fprintf(&out, "%s\n%s", r.name, firing.except(nil))
			for _, state := range []string{"pending", "kept"} {
				if differ := of[state].except(firing); differ != "" {
					fmt.Fprintf(&out, "  %s\n%s", state, differ)
				}
			}
			for _, other := range shown[r.name][1:] {
				if differ := other["firing"].except(firing); differ != "" {
					fmt.Fprintf(&out, "  or\n%s", differ)
				}
			}
			out.WriteString("\n")
		}
	}
	testworld.Golden(t, textsFile, out.String(), "go test ./alerts -run TestTextsOfAlerts -update")
}

// shared returns n words in a row of a that b has too.
func shared(a, b string, n int) string {
	words := strings.Fields(a)
	for i := range max(0, len(words)-n+1) {
		if row := strings.Join(words[i:i+n], " "); strings.Contains(b, row) {
			return row
		}
	}
	return ""
}

// order sorts the cases for texts first.
func order(file string) string {
	if file == "texts_test.yml" {
		return ""
	}
	return file
}

// ruleName returns the name of the rule of an alert with these labels.
func ruleName(alert string, with map[string]string, s *suite) string {
	for _, r := range s.rules {
		if r.Alert != alert {
			continue
		}
		same := true
		for name, value := range r.Labels {
			same = same && with[name] == value
		}
		if same && tierOf(alert, with) == tierOf(alert, r.Labels) {
			return r.name
		}
	}
	return ""
}

// show evaluates the case and adds the texts of the first alert of each rule to shown.
func (s *suite) show(t *testing.T, c testCase, shown map[string][]map[string]texts) {
	t.Helper()
	needed := s.needed(t, c, true)
	var given []rulefmt.Rule
	for _, r := range needed {
		given = append(given, r.Rule)
	}
	e := must.Get(c.engine(t, given))(t)
	found := map[string]map[string]map[string]texts{} // by name, labels and state
	if err := e.Run(0, c.last()); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	for i, r := range e.Rules {
		for _, moment := range r.History() {
			for _, a := range moment.Alerts {
				state := a.State.String()
				if !a.KeepFiringSince.IsZero() {
					state = "kept"
				}
				name, of := needed[i].name, a.Labels.String()
				if found[name] == nil {
					found[name] = map[string]map[string]texts{}
				}
				if found[name][of] == nil {
					found[name][of] = map[string]texts{}
				}
				if found[name][of][state] == nil {
					found[name][of][state] = e.Texts(t, r, a)
					for of, text := range found[name][of][state] {
						if strings.Contains(text, "no value") || strings.Contains(text, "no+value") {
							t.Errorf("%s: %s reads a label that the alert does not have: %s", name, of, text)
						}
					}
				}
			}
		}
	}
	for name, all := range found {
		for _, of := range slices.Sorted(maps.Keys(all)) {
			if all[of]["firing"] != nil {
				shown[name] = append(shown[name], all[of])
				break
			}
		}
	}
}
