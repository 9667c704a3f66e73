package compile

import (
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// An expression reads only what exists, and no join can find two series for one.
func TestUndeclaredNamesAndUnclearJoinsAreRefused(t *testing.T) {
	f := must.Get(compiled(t, `group: g
rules:
  - {record: 'avax:id', expr: max without (replica) (avax_node_info), determined: [node_id]}
  - {record: 'avax:all', expr: 'avax:all or max without (replica) (avax_node_info)'}
  - {record: 'avax:node_left', expr: max without (replica) (avax_node_up) == 0}
  - {record: 'avax:named', labels: {state: new}, expr: 'label_replace(avax:all, "name", "$1", "node", "(.+)")'}
  - {record: 'avax:states', expr: 'count_values by (job) ("version", avax_node_up)'}
`))(t)
	names := Declared(map[string][]string{"avax_node_up": {"node"}, "avax_node_info": {"node", "node_id"}, "avax_peers": {"node", "chain"}}, f)
	for expr, want := range map[string]string{
		`avax_node_up`:           "",
		`avax_node_upp`:          "avax_node_upp: neither a family of a collector nor a record",
		`avax:al`:                "avax:al: neither",
		`avax_node_up{name="a"}`: `has no label "name": it has node`,
		`avax_node_up{job="a", cluster="b", __type__="gauge"}`:                                               "",
		`go_goroutines / ignoring (instance) process_open_fds`:                                               "",
		`sum by (colour) (avax_node_up)`:                                                                     `label "colour"`,
		`avax_node_up and ignoring (colour) avax_node_up`:                                                    `label "colour"`,
		`sum by (version, state, name) (avax:named)`:                                                         "",
		`avax_node_up * avax_node_up`:                                                                        "",
		`avax_peers * ignoring (chain) group_left () avax_node_up`:                                           "",
		`avax_peers * ignoring (chain) avax_node_up`:                                                         "avax_peers: several may match one: aggregate chain",
		`avax_node_up * ignoring (chain) group_right () avax_peers`:                                          "",
		`avax_node_up * ignoring (chain) group_left () avax_peers`:                                           "several may match one: aggregate chain",
		`avax_node_up * on (node) group_left () max by (node) (avax_peers)`:                                  "",
		`avax_node_up * on (node) group_left () max by (job, node) (avax_peers)`:                             "aggregate job",
		`avax_peers * ignoring (chain, node_id) group_left (node_id) avax:id`:                                "",
		`max without (replica) (avax_peers) * ignoring (chain, node_id) group_left (node_id) avax:id`:        "label \"replica\"",
		`max without (instance, pod) (avax_peers) * ignoring (chain, node_id) group_left (node_id) avax:id`:  "",
		`max without (instance, pod) (avax_peers) * ignoring (chain, node_id) group_left (node_id) avax:all`: "avax:all: several may match one: aggregate node_id",
		`max without (instance, pod) (avax_node_up) * ignoring (node_id) group_left (node_id) (avax:all and ignoring (node_id) count without (node_id) (avax:all) == 1)`: "",
		`max without (instance, pod) (avax_node_up) * on (job, node) group_left (node_id) (avax:all and on (job, node) count by (job, node) (avax:all) == 1)`:            "",
		`max without (instance, pod) (avax_node_up) * on (job, node) group_left (node_id) (avax:all and on (job, node) count by (job, node) (avax:all) == 2)`:            "aggregate node_id",
		`avax_node_up * on (job, node, instance, pod) group_left () label_replace(avax_peers, "chain", "", "", "")`:                                                      "",
		`avax_node_up * on (job, node, instance, pod) group_left () label_replace(avax_peers, "chain", "C", "", "")`:                                                     "aggregate chain",
		`max without (instance, pod) (avax_peers) unless ignoring (chain) avax:node_left`:                                                                                "",
		`max without (instance, pod) (avax_peers) unless ignoring (node) avax:node_left`:                                                                                 "does not end with its subject: add chain",
		`avax_node_up * on (job, node, instance, pod) group_left () avax_peers{chain="C"}`:                                                                               "",
	} {
		err := names.Check(must.Get(promQL.ParseExpr(expr))(t))
		if got := errorText(err); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: error %q, want %q", expr, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
