package dashboards

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// dashboard is what the tests read of Grafana's classic schema.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct {
			Name, Type string
			Datasource source
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               source
	FieldConfig              struct {
		Defaults struct {
			Unit       string
			Thresholds struct{ Steps []struct{ Color string } }
		}
	}
	Targets []struct {
		RefID, Expr string
		Datasource  source
	}
	Panels []panel // of a collapsed row
}

type source struct{ Type, UID string }

// eachDashboard runs the test once for every file that is built in.
func eachDashboard(t *testing.T, test func(t *testing.T, d dashboard)) {
	t.Helper()
	names, err := fs.Glob(Files, "*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("built in are %q: %v", names, err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(Files, name)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range d.Panels {
			d.Panels = append(d.Panels, p.Panels...)
		}
		t.Run(strings.TrimSuffix(name, ".json"), func(t *testing.T) { test(t, d) })
	}
}

func TestOverviewIsTheDashboardThatLinksNameAvaxOverview(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal(Overview, &d); err != nil {
		t.Fatal(err)
	}
	if d.UID != "avax-overview" || d.Title == "" {
		t.Errorf("uid %q, title %q", d.UID, d.Title)
	}
}

func TestPanelsHaveTheirOwnIDs(t *testing.T) {
	eachDashboard(t, func(t *testing.T, d dashboard) {
		title := map[int]string{}
		for _, p := range d.Panels {
			if other, taken := title[p.ID]; taken || p.ID == 0 {
				t.Errorf("%s: id %d is that of %q", p.Title, p.ID, other)
			}
			title[p.ID] = p.Title
		}
	})
}

func TestPanelsKeepToTheGridAndDoNotOverlap(t *testing.T) {
	eachDashboard(t, func(t *testing.T, d dashboard) {
		for i, p := range d.Panels {
			a := p.GridPos
			if a.X < 0 || a.W < 1 || a.X+a.W > 24 || a.Y < 0 || a.H < 1 {
				t.Errorf("%s: outside the 24 columns: %+v", p.Title, a)
			}
			for _, other := range d.Panels[:i] {
				b := other.GridPos
				if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
					t.Errorf("%s overlaps %s", p.Title, other.Title)
				}
			}
		}
	})
}

func TestEachPanelSaysWhatItShows(t *testing.T) {
	eachDashboard(t, func(t *testing.T, d dashboard) {
		for _, p := range d.Panels {
			if p.Type == "text" {
				continue // stands below its row's title
			}
			if p.Title == "" {
				t.Errorf("panel %d: no title", p.ID)
			}
			if p.Type == "row" {
				continue
			}
			if p.Description == "" || !strings.HasSuffix(p.Description, ".") {
				t.Errorf("%s: description %q is no sentence", p.Title, p.Description)
			}
			if p.FieldConfig.Defaults.Unit == "" {
				t.Errorf("%s: no unit", p.Title)
			}
			if len(p.FieldConfig.Defaults.Thresholds.Steps) == 0 {
				t.Errorf("%s: no thresholds: Grafana's own would paint every value from 80 on red", p.Title)
			}
			if len(p.Targets) == 0 {
				t.Errorf("%s: no query", p.Title)
			}
		}
	})
}

// A dashboard bound to one data source by its id shows nothing elsewhere, or
// worse, something else.
func TestEveryQueryGoesToTheChosenDataSource(t *testing.T) {
	const chosen = "${datasource}"
	eachDashboard(t, func(t *testing.T, d dashboard) {
		for _, v := range d.Templating.List {
			if v.Type == "query" && v.Datasource.UID != chosen {
				t.Errorf("variable %s: data source %q", v.Name, v.Datasource.UID)
			}
		}
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				if p.Datasource.UID != chosen || q.Datasource.UID != chosen {
					t.Errorf("%s, query %s: data sources %q and %q", p.Title, q.RefID, p.Datasource.UID, q.Datasource.UID)
				}
			}
		}
	})
}

var reference = regexp.MustCompile(`\$(\w+)|\$\{(\w+)[^}]*\}`)

func TestEveryQueryParsesAndItsVariablesExist(t *testing.T) {
	eachDashboard(t, func(t *testing.T, d dashboard) {
		// What stands for each variable: Grafana's own are durations.
		values := map[string]string{"__rate_interval": "1m", "__interval": "1m", "__range": "1h"}
		for _, v := range d.Templating.List {
			values[v.Name] = ".*"
		}
		promQL := parser.NewParser(parser.Options{})
		for _, p := range d.Panels {
			var refs []string
			for _, q := range p.Targets {
				if q.RefID == "" || slices.Contains(refs, q.RefID) {
					t.Errorf("%s: refId %q is missing or taken", p.Title, q.RefID)
				}
				refs = append(refs, q.RefID)
				expr := reference.ReplaceAllStringFunc(q.Expr, func(ref string) string {
					value, known := values[strings.Trim(ref, "${}")]
					if !known && !isGroup(ref) {
						t.Errorf("%s, query %s: no variable %s", p.Title, q.RefID, ref)
					}
					if !known {
						return ref
					}
					return value
				})
				if _, err := promQL.ParseExpr(expr); err != nil {
					t.Errorf("%s, query %s: %v", p.Title, q.RefID, err)
				}
			}
		}
	})
}

// isGroup tells whether the reference is $1, a group of label_replace.
func isGroup(ref string) bool { return strings.Trim(ref, "${}0123456789") == "" }
