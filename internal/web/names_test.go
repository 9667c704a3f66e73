package web

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// A person reads names: that of the validation, of the configured node, and of the node ID in AVAX_VALIDATORS_FILE.
func TestNamesOfValidatorsReplaceIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := removing(t)
		keepL1(s, "one", l1Told(floor, "b 40 50", "d 30 50"))
		s.Labels = func() map[string]map[string]string {
			return map[string]map[string]string{
				"b": {"name": "game-b", "owner": "acme"}, "NodeID-b": {"name": "machine-b"}, "NodeID-d": {"name": "machine-d", "owner": "beam"},
			}
		}
		_, page := get(t, s, "/l1/one")
		demand(t, page, "game-b", "machine-d", "NodeID-b", "!machine-b")
		_, plan := get(t, s, "/api/v1/l1/one/plan")
		demand(t, plan, `"name": "game-b"`, `"name": "machine-d"`, `"node_id": "NodeID-b"`)
		for path, want := range map[string]string{
			"/safe-to-remove?validation=b":      "yes: without game-b 81.25 % of the remaining weight",
			"/safe-to-remove?validation=game-b": "yes: without game-b 81.25 % of the remaining weight",
			"/safe-to-stop?node=machine-d":      "no: one: less than 80 % of weight would stay connected",
		} {
			if _, answer := get(t, s, path); !strings.HasPrefix(answer, want) {
				t.Errorf("%s: %s, want %s", path, answer, want)
			}
		}
		if _, answer := get(t, s, "/safe-to-stop?node=NodeID-d", "Accept", "application/json"); !strings.Contains(answer, `"node": "machine-d"`) {
			t.Errorf("no name: %s", answer)
		}
	})
}

// The page shows the nodes, validators and L1 validators with a label. The labels of a node are those of its validator, and the reverse.
func TestPageShowsWhatHasALabel(t *testing.T) {
	s := siteWith(t, `
		avax_node_up{node="alpha"} 1
		avax_node_up{node="bravo"} 1
		avax_node_info{node="alpha",node_id="NodeID-a",version="v"} 1
		avax_node_info{node="bravo",node_id="NodeID-b",version="v"} 1
		avax_validator_present{node_id="NodeID-a"} 1
		avax_validator_present{node_id="NodeID-b"} 1
		avax_validator_present{node_id="NodeID-c"} 1
		avax_l1_weight{chain="one"} 100
		avax_l1_weight{chain="two"} 100
		avax_l1_validator_weight{chain="one",node_id="NodeID-x",validation_id="x"} 50
		avax_l1_validator_weight{chain="one",node_id="NodeID-y",validation_id="y"} 50
		avax_l1_validator_weight{chain="two",node_id="NodeID-z",validation_id="z"} 100`)
	s.Labels = func() map[string]map[string]string {
		return map[string]map[string]string{
			"alpha": {"owner": "acme"}, "NodeID-b": {"owner": "beam"}, "NodeID-c": {"name": "charlie", "owner": "acme"}, "x": {"name": "game-x", "owner": "acme"},
		}
	}
	for path, words := range map[string][]string{
		"/?owner=acme": {`id="node-alpha"`, `!id="node-bravo"`, `id="validator-NodeID-a"`, `!id="validator-NodeID-b"`, "charlie", "NodeID-x", "!NodeID-y",
			"!NodeID-z", `href="?owner=acme"`},
		"/?owner=beam":     {`!id="node-alpha"`, `id="node-bravo"`, `id="validator-NodeID-b"`, `!id="l1-one"`},
		"/?filter=charlie": {`!id="node-alpha"`, `id="validator-NodeID-c"`},
		"/?filter=game-x":  {`!id="validator-NodeID-c"`, `id="l1-one"`, "NodeID-x", "!NodeID-y"},
		"/?filter=two":     {`!id="l1-one"`, `id="l1-two"`},
		"/":                {`id="node-bravo"`, "NodeID-y", "NodeID-z"},
	} {
		t.Run(path, func(t *testing.T) { demand(t, read(t, ask(t, s, http.MethodGet, path).Body), words...) })
	}
}

// A label with the name of a parameter of a page changes nothing of the page, and its link leads to what has the label.
func TestLabelMayBeNamedAsAParameter(t *testing.T) {
	for _, name := range pageParameters {
		s := siteWith(t, `
			avax_node_up{node="alpha"} 1
			avax_node_up{node="bravo"} 1
			avax_node_info{node="alpha",node_id="NodeID-a",version="v"} 1
			avax_l1_weight{chain="one"} 100
			avax_l1_validator_weight{chain="one",node_id="NodeID-a",validation_id="x"} 100`)
		s.Labels = func() map[string]map[string]string { return map[string]map[string]string{"alpha": {name: "20"}} }
		sourced(t, s, group(rule("Down", "page", alerting.Firing, map[string]string{"node": "bravo", "summary": "bravo: down"})))
		demand(t, read(t, ask(t, s, http.MethodGet, "/l1/one").Body), `<code>NodeID-a`)
		demand(t, read(t, ask(t, s, http.MethodGet, "/alerts?past=Down&page=1").Body), `id="Down"`)
		for _, query := range []string{"?nodes=all", "?sort=name", "?l1=one", "?refresh=30"} {
			demand(t, read(t, ask(t, s, http.MethodGet, "/"+query).Body), `id="node-alpha"`, `id="node-bravo"`)
		}
		link := "?filter=" + name + "%3D20"
		demand(t, read(t, ask(t, s, http.MethodGet, "/").Body), `href="`+link+`"`)
		demand(t, read(t, ask(t, s, http.MethodGet, "/"+link).Body), `id="node-alpha"`, `!id="node-bravo"`)
	}
}

// A filtered page lists the alerts about what it shows, and about no single node. It counts the others, and its headline is that of the
// whole fleet: it is not green while an alert that it does not list fires.
func TestFilteredPageCountsTheAlertsOfOthers(t *testing.T) {
	s := siteWith(t, `
		avax_node_up{node="alpha"} 1
		avax_node_up{node="bravo"} 1
		avax_node_info{node="alpha",node_id="NodeID-a",version="v"} 1
		avax_validator_present{node_id="NodeID-c"} 1`)
	s.Labels = func() map[string]map[string]string {
		return map[string]map[string]string{"alpha": {"owner": "acme"}, "bravo": {"owner": "beam"}, "NodeID-c": {"owner": "cobalt"}}
	}
	firing := func(name, label, value string) alerting.Rule {
		return rule(name, "page", alerting.Firing, map[string]string{label: value, "summary": name + " fires"})
	}
	sourced(t, s, group(firing("Beam", "node", "bravo"), firing("Acme", "node_id", "NodeID-a"), firing("Cobalt", "node_id", "NodeID-c"),
		firing("Fleet", "chain", "C")))
	const headline = `<h1 class="bad">`
	for path, words := range map[string][]string{
		"/":               {headline, `id="Beam"`, `id="Acme"`, `id="Cobalt"`, `id="Fleet"`, "!about other nodes", "!of the whole fleet"},
		"/?owner=acme":    {headline, `!id="Beam"`, `id="Acme"`, `!id="Cobalt"`, `id="Fleet"`, "and 2 about other nodes and validators", "of the whole fleet"},
		"/?owner=cobalt":  {headline, `!id="Beam"`, `!id="Acme"`, `id="Cobalt"`, `id="Fleet"`, "and 2 about other nodes and validators"},
		"/?filter=nobody": {headline, `!id="Beam"`, `!id="Acme"`, `!id="Cobalt"`, `id="Fleet"`, "and 3 about other nodes and validators"},
	} {
		t.Run(path, func(t *testing.T) { demand(t, read(t, ask(t, s, http.MethodGet, path).Body), words...) })
	}
}
