package dashboards

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// dashboard is the part of Grafana's classic schema that the tests read.
type dashboard struct {
	ID            any
	UID, Title    string
	SchemaVersion int
	Annotations   struct {
		List []struct {
			Name, Expr string
			Datasource source
		}
	}
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
	PluginVersion            string
	FieldConfig              struct {
		Defaults struct {
			Unit, NoValue string
			Thresholds    thresholds
			Mappings      []struct {
				Type    string
				Options map[string]struct{ Text, Color string }
			}
		}
		Overrides []struct {
			Matcher    struct{ ID, Options string }
			Properties []struct {
				ID    string
				Value json.RawMessage
			}
		}
	}
	Targets []struct {
		RefID, Expr, LegendFormat string
		Datasource                source
	}
	Transformations []struct {
		ID      string
		Options struct{ RenameByName map[string]string }
	}
	Panels []panel // panels of a collapsed row
}

type thresholds struct {
	Steps []struct {
		Value *float64
		Color string
	}
}

type source struct{ Type, UID string }

// eachBoard runs the test for every built-in file.
func eachBoard(t *testing.T, test func(t *testing.T, d dashboard)) {
	t.Helper()
	names, err := fs.Glob(Files, "*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("built in are %q: %v", names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(name, ".json"), func(t *testing.T) { test(t, boardOf(t, name)) })
	}
}

// read reads a dashboard, including the panels of collapsed rows.
func read(t *testing.T, text []byte) (d dashboard) {
	t.Helper()
	must.Do(t, json.Unmarshal(text, &d))
	for _, p := range d.Panels {
		d.Panels = append(d.Panels, p.Panels...)
	}
	return d
}

func TestOverviewHasUIDAvaxOverview(t *testing.T) {
	if d := boardOf(t, "grafana.json"); d.UID != "avax-overview" || d.Title != "Avalanche: overview" {
		t.Errorf("uid %q, title %q", d.UID, d.Title)
	}
}

// Rules that Grafana 10 to 12 accept without a warning.
func TestDashboardsFollowGrafanaConventions(t *testing.T) {
	// "graph", "singlestat", "table-old" and Angular plugins were removed from Grafana.
	kinds := []string{"row", "text", "stat", "timeseries", "table", "bargauge", "state-timeline", "logs"}
	uid := regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
	eachBoard(t, func(t *testing.T, d dashboard) {
		if d.SchemaVersion != 39 || !uid.MatchString(d.UID) || d.ID != nil {
			t.Errorf("schemaVersion %d, uid %q, id %v", d.SchemaVersion, d.UID, d.ID)
		}
		for _, p := range d.Panels {
			if !slices.Contains(kinds, p.Type) {
				t.Errorf("%s: panel type %q", p.Title, p.Type)
			}
			if p.Type != "row" && p.PluginVersion != "10.4.0" {
				t.Errorf("%s: pluginVersion %q", p.Title, p.PluginVersion)
			}
			if p.Type == "timeseries" && strings.HasPrefix(p.FieldConfig.Defaults.Unit, "percent") && p.FieldConfig.Defaults.Unit != "percentunit" {
				t.Errorf("%s: ratios are from 0 to 1: unit %q", p.Title, p.FieldConfig.Defaults.Unit)
			}
		}
		for _, a := range d.Annotations.List {
			if a.Datasource.UID != "${datasource}" {
				t.Errorf("annotation %s: data source %q", a.Name, a.Datasource.UID)
			}
		}
	})
}

func TestPanelIDsAreUnique(t *testing.T) {
	eachBoard(t, func(t *testing.T, d dashboard) {
		title := map[int]string{}
		for _, p := range d.Panels {
			if other, taken := title[p.ID]; taken || p.ID == 0 {
				t.Errorf("%s: id %d is that of %q", p.Title, p.ID, other)
			}
			title[p.ID] = p.Title
		}
	})
}

func TestPanelsFitTheGrid(t *testing.T) {
	eachBoard(t, func(t *testing.T, d dashboard) {
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

// Grafana gives a column without a width at least 150 pixels. What does not fit is cut.
func TestColumnsOfTablesFitTheirPanels(t *testing.T) {
	const screen, free = 1600, 150
	eachBoard(t, func(t *testing.T, d dashboard) {
		for _, p := range d.Panels {
			widths := map[string]int{}
			for _, tr := range p.Transformations {
				for _, title := range tr.Options.RenameByName {
					widths[title] = free
				}
			}
			for _, o := range p.FieldConfig.Overrides {
				for _, property := range o.Properties {
					switch property.ID {
					case "custom.width":
						widths[o.Matcher.Options] = must.Get(strconv.Atoi(string(property.Value)))(t)
					case "custom.hidden":
						widths[o.Matcher.Options] = 0
					}
				}
			}
			sum := 0
			for _, width := range widths {
				sum += width
			}
			if has := p.GridPos.W * screen / 24; p.Type == "table" && sum > has {
				t.Errorf("%s: columns of %d pixels in a panel of %d", p.Title, sum, has)
			}
		}
	})
}

func TestPanelsHaveTitleDescriptionAndUnit(t *testing.T) {
	eachBoard(t, func(t *testing.T, d dashboard) {
		for _, p := range d.Panels {
			if p.Type == "text" {
				continue // it is below its row's title
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
				t.Errorf("%s: no thresholds: Grafana's default colors every value from 80 red", p.Title)
			}
			if len(p.Targets) == 0 {
				t.Errorf("%s: no query", p.Title)
			}
		}
	})
}

// A dashboard with a fixed data source shows nothing in another Grafana, or something else.
func TestQueriesUseTheSelectedDataSource(t *testing.T) {
	eachBoard(t, func(t *testing.T, d dashboard) {
		for _, v := range d.Templating.List {
			if v.Type == "query" && v.Datasource.UID != "${datasource}" {
				t.Errorf("variable %s: data source %q", v.Name, v.Datasource.UID)
			}
		}
		for _, p := range d.Panels {
			chosen := "${datasource}"
			if p.Type == "logs" {
				chosen = "${loki}"
			}
			for _, q := range p.Targets {
				if p.Datasource.UID != chosen || q.Datasource.UID != chosen {
					t.Errorf("%s, query %s: data sources %q and %q", p.Title, q.RefID, p.Datasource.UID, q.Datasource.UID)
				}
			}
		}
	})
}

var reference = regexp.MustCompile(`\$(\w+)|\$\{(\w+)[^}]*\}`)

func TestQueriesUseExistingVariables(t *testing.T) {
	eachBoard(t, func(t *testing.T, d dashboard) {
		known := []string{"__rate_interval", "__interval", "__range"} // Grafana's own
		for _, v := range d.Templating.List {
			known = append(known, v.Name)
		}
		for _, p := range d.Panels {
			var refs []string
			for _, q := range p.Targets {
				if q.RefID == "" || slices.Contains(refs, q.RefID) {
					t.Errorf("%s: refId %q is missing or taken", p.Title, q.RefID)
				}
				refs = append(refs, q.RefID)
				for _, ref := range reference.FindAllStringSubmatch(q.Expr, -1) {
					if !slices.Contains(known, ref[1]+ref[2]) && !isGroup(ref[0]) {
						t.Errorf("%s, query %s: no variable %s", p.Title, q.RefID, ref[0])
					}
				}
			}
		}
	})
}

// isGroup reports whether the reference is $1, a group of label_replace.
func isGroup(ref string) bool { return strings.Trim(ref, "${}0123456789") == "" }
