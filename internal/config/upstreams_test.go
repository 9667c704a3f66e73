package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// write writes files into a temporary directory of the test and changes to it.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		put(t, name, text)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
	must.Do(t, os.WriteFile(name, []byte(text), 0o600))
}

// byToken is a file of credentials: a token for all nodes.
const byToken = `[{upstreams: ["*"], http_config: {authorization: {credentials_file: token}}}]`

// sent is what the client of an upstream gets, as text.
type sent struct{ Name, URL, Host, Authorization, Key string }

func read(t *testing.T, s *config.Config) (all []sent) {
	t.Helper()
	u := must.Get(s.ReadUpstreams())(t)
	for _, n := range u.Nodes {
		all = append(all, sent{n.Name, n.URL, n.Host, n.Header.Get("Authorization"), n.Header.Get("X-Key")})
	}
	for _, name := range []string{"data", "metrics"} {
		a := u.Services[name]
		all = append(all, sent{name, "", a.Host, a.Header.Get("Authorization"), a.Header.Get("X-Key") + a.Header.Get("X-Service-Api-Key")})
	}
	return all
}

const inYAML = `
- targets: &first [10.0.0.1:9650]
  labels: &labels {node: alpha, region: eu}
- targets:
    - 10.0.0.2:9650
    - "[fd00::3]:9650"
    - https://proxy.example.com/node-4
  labels:
    node: many
    __metrics_path__: /ext/metrics
- targets: [node5:9650]
  labels: {<<: *labels, __scheme__: https, node: five}
- targets: []
`

const inJSON = `[
	{"targets": ["10.0.0.1:9650"], "labels": {"node": "alpha", "region": "eu"}},
	{"targets": ["10.0.0.2:9650", "[fd00::3]:9650", "https://proxy.example.com\/node-4"],
	 "labels": {"node": "many", "__metrics_path__": "/ext/metrics"}},
	{"targets": ["node5:9650"], "labels": {"__scheme__": "https", "node": "five"}},
	{"targets": []}
]`

func TestNodesFileInYAMLAndJSON(t *testing.T) {
	write(t, map[string]string{"nodes.yml": inYAML, "nodes.json": inJSON})
	want := []sent{
		{Name: "alpha", URL: "http://10.0.0.1:9650"}, {Name: "10.0.0.2-9650", URL: "http://10.0.0.2:9650"},
		{Name: "fd00--3--9650", URL: "http://[fd00::3]:9650"}, {Name: "proxy.example.com-node-4", URL: "https://proxy.example.com/node-4"},
		{Name: "five", URL: "https://node5:9650"}, {Name: "data"}, {Name: "metrics"},
	}
	for _, file := range []string{"nodes.yml", "nodes.json"} {
		if diff := cmp.Diff(want, read(t, &config.Config{Values: config.Values{NodesFile: file}})); diff != "" {
			t.Errorf("%s:\n%s", file, diff)
		}
	}
}

// Each string that a JSON writer escapes is read as the writer meant it.
func TestNodesFileHasAllEscapesOfJSON(t *testing.T) {
	for escaped, want := range map[string]string{`\ud83d\ude80 a`: "🚀 a", `\u00e9\/`: "é/", `a\\/b`: `a\/b`, `\\ud83d\\ude80`: `\ud83d\ude80`, `\"\t`: "\"\t"} {
		write(t, map[string]string{"nodes.json": `[{"targets": ["http://10.0.0.1:9650"], "labels": {"node": "a", "owner": "` + escaped + `"}}]`})
		cfg := &config.Config{Values: config.Values{NodesFile: "nodes.json"}}
		upstreams, err := cfg.ReadUpstreams()
		if err != nil || len(upstreams.Nodes) != 1 || upstreams.Nodes[0].Labels["owner"] != want {
			t.Errorf("%s: %v, %v", escaped, upstreams.Nodes, err)
		}
	}
}

// A pattern never gives the nodes' credentials to an observer or a service: those belong to other operators.
func TestFirstEntryThatMatchesAnUpstreamCounts(t *testing.T) {
	write(t, map[string]string{
		"etc/token": "t0ken\n", "etc/password": "pass\n", "etc/key": "k\n", "api-key": "secret\n", "etc/http.yml": `
- upstreams: [alpha, public]
  http_config: {basic_auth: {username: user, password_file: password}}
- upstreams: ["eu-*"]
  host: inner.example.com
  http_config: {authorization: {type: Token, credentials: inline}, http_headers: {X-Key: {files: [key]}}}
- upstreams: ["*"]
  http_config: {authorization: {credentials_file: token}}
- upstreams: [metrics, prometheus]
  http_config: {authorization: {credentials: service}}
`,
	})
	source := &config.Config{Values: config.Values{
		Nodes: []config.Node{
			{Name: "alpha", URL: "http://a"}, {Name: "eu-1", URL: "http://b"}, {Name: "us-1", URL: "http://c"}, {Name: "user", URL: "http://u:p@d"},
		},
		Observers:      []config.Node{{Name: "public", URL: "http://e"}, {Name: "eu-2", URL: "http://f"}},
		HTTPConfigFile: "etc/http.yml", DataAPIKeyFile: "api-key",
	}}
	want := []sent{
		{"alpha", "http://a", "", "Basic dXNlcjpwYXNz", ""}, {"eu-1", "http://b", "inner.example.com", "Token inline", "k"},
		{"us-1", "http://c", "", "Bearer t0ken", ""}, {"user", "http://u:p@d", "", "", ""},
		{"public", "http://e", "", "Basic dXNlcjpwYXNz", ""}, {"eu-2", "http://f", "", "", ""},
		{"data", "", "", "", "secret"}, {"metrics", "", "", "Bearer service", ""},
	}
	if diff := cmp.Diff(want, read(t, source)); diff != "" {
		t.Error(diff)
	}
	u, err := source.ReadUpstreams()
	if err != nil || u.HTTP["prometheus"] == nil || u.HTTP["alertmanager"] != nil {
		t.Errorf("%v, error %v", u.HTTP, err)
	}
}

// Each error contains the place and a remedy, and never a value.
func TestFileErrorsNamePlaceAndRemedy(t *testing.T) {
	own, another := testworld.NewAuthority(t), testworld.NewAuthority(t)
	cert, key, other := own.PEM, own.Key, another.PEM
	const name = `a node's name consists of letters, digits, dots, dashes and underscores, at most 128 characters`
	const form = `write a list of groups: targets: [host:port], labels: {node: name}`
	const entries = `write a list of entries: upstreams: [name, …], http_config: {…}`
	for what, c := range map[string]struct{ file, text, want string }{
		"missing":            {"gone.yml", "", `open gone.yml: no such file or directory: write the path of a file that this user may read`},
		"ending":             {"nodes.txt", "[]", `nodes.txt: unknown format: use the extension .json, .yml or .yaml`},
		"empty":              {"nodes.yml", "", `nodes.yml, line 1: the file is empty: write [] for no entries`},
		"not a list":         {"nodes.yml", "\ntargets: [canary]", `nodes.yml, line 2: unexpected value: ` + form},
		"not a list in JSON": {"nodes.json", "\n\n\"canary\"", `nodes.json, line 3: unexpected value: ` + form},
		"YAML":               {"nodes.yml", "- targets: [a:1]\n  labels: {\n- x: canary", `nodes.yml, line 2: did not find expected node content`},
		"two documents":      {"nodes.yml", "[]\n---\n[]", `nodes.yml, line 2: the file continues after the list: write one YAML document`},
		"duplicate key":      {"nodes.yml", "- targets: [a:1]\n  targets: [b:1]", `nodes.yml, line 2: mapping key "targets" already defined at line 1`},
		"unknown key":        {"nodes.yml", "- targets: [a:1]\n  label: {node: canary}", `nodes.yml, line 2: unknown field "label": ` + form},
		"target":             {"nodes.yml", "- targets:\n  - {canary: 1}", `nodes.yml, line 2: write a target as host:port or URL`},
		"old setting": {"nodes.yml", "- targets: [a:1]\n  labels: {__bearer_file__: canary}",
			`nodes.yml, line 1: unknown setting "__bearer_file__": the settings are __scheme__ and __role__; use AVAX_HTTP_CONFIG_FILE for credentials and the Host ` +
				`header`},
		"list of values": {"nodes.json", `[{"targets": ["a:1"], "labels": {"owner": ["canary", "beam"]}}]`,
			`nodes.json, line 1: label "owner": its value is a list or a map: write one text, such as owner: a, or one label for each value`},
		"role":   {"nodes.yml", "- targets: [a:1]\n  labels: {__role__: canary}", `nodes.yml, line 1: __role__: write node or observer`},
		"scheme": {"nodes.yml", "- targets: [a:1]\n  labels: {__scheme__: ftp}", `nodes.yml, line 1: __scheme__: write http or https`},
		"scheme of a URL": {"nodes.yml", "- targets: ['http://a:1']\n  labels: {__scheme__: http}",
			`nodes.yml, line 1: the URL already has a scheme: remove __scheme__`},
		"long name": {"nodes.yml", "- targets: [a:1]\n  labels: {node: " + strings.Repeat("x", 129) + "}",
			`nodes.yml, line 1: "` + strings.Repeat("x", 129) + `": ` + name},
		"reserved name": {"nodes.yml", "- targets: [a:1]\n  labels: {node: mine}",
			`nodes.yml, line 1: duplicate name "mine": it is the name of a target of the collector subnets: rename one of them`},
		"path": {"nodes.yml", "- targets: ['http://a:1/ext/info']",
			`nodes.yml, line 1: a-1-ext-info: the exporter adds /ext/… to the address: write it without /ext, such as http://a:1`},
		"duplicate name": {"nodes.yml", "- targets: [a:1]\n  labels: {node: x}\n- targets: [b:1]\n  labels: {node: x}",
			`nodes.yml, line 3: duplicate node name "x": give each node its own group with the label node`},
		"password in a URL": {"nodes.yml", "- targets: ['http://u:canary@a:1']",
			`nodes.yml, line 1: user and password are not allowed in this file: use basic_auth in AVAX_HTTP_CONFIG_FILE`},
		"address": {"nodes.yml", "- targets: ['ftp://a:1']", `nodes.yml, line 1: invalid URL: write http://a:1 or https://a:1`},
		"query": {"nodes.yml", "- targets: ['a:1/?canary']", `nodes.yml, line 1: the URL has a query or fragment: remove the part after ? or #, and ` +
			`send a key as a header`},

		"no entries":    {"http.yml", "canary", `http.yml, line 1: unexpected value: ` + entries},
		"unknown field": {"http.yml", "- upstreams: [a]\n  basic_auth: {password: canary}", `http.yml, line 2: unknown field "basic_auth": ` + entries},
		"unknown setting": {"http.yml", "- upstreams: [a]\n  http_config:\n    basic_auth: {pasword: canary}",
			`http.yml, line 3: unknown field "pasword": ` + entries},
		"no upstreams": {"http.yml", "- {host: canary}", `http.yml: upstreams []: upstreams missing: write names, such as [alpha] or ['*'] for all nodes`},
		"token and password": {"http.yml", "- upstreams: [a]\n  http_config: {basic_auth: {}, authorization: {credentials: canary}}",
			`http.yml: upstreams [a]: at most one of basic_auth, oauth2 & authorization must be configured`},
		"oauth2": {"http.yml", "- upstreams: [mine]\n  http_config: {oauth2: {client_id: x, token_url: x, client_secret: canary}}",
			`http.yml: upstreams [mine]: oauth2 and proxy settings are not supported for mine: remove them, and set HTTPS_PROXY to use a proxy`},
		"missing token": {"http.yml", "- upstreams: [a, b]\n  http_config: {authorization: {credentials_file: gone}}",
			`http.yml: upstreams [a, b]: open gone: no such file or directory: write the path of a file that this user may read`},
		"two lines": {"http.yml", "- upstreams: [a]\n  http_config: {authorization: {credentials_file: lines}}",
			`http.yml: upstreams [a]: the value of the header Authorization contains a line break or control character: remove it`},
		"reserved header": {"http.yml", "- upstreams: [a]\n  http_config: {http_headers: {Host: {values: [canary]}}}",
			`http.yml: upstreams [a]: setting header "Host" is not allowed`},
		"authorities": {"http.yml", "- upstreams: [a]\n  http_config: {tls_config: {ca_file: token}}",
			`http.yml: upstreams [a]: tls_config: unable to use specified CA cert inline: write PEM blocks that begin with -----BEGIN, and the key of the certificate`},
		"certificate alone": {"http.yml", "- upstreams: [a]\n  http_config: {tls_config: {cert_file: cert}}",
			`http.yml: upstreams [a]: exactly one of key or key_file must be configured when a client certificate is configured`},
		"key of another": {"http.yml", "- upstreams: [a]\n  http_config: {tls_config: {cert_file: other, key_file: key}}",
			`http.yml: upstreams [a]: tls_config: unable to use specified client cert (inline) & key (inline): tls: private key does not match public key: write PEM ` +
				`blocks that begin with -----BEGIN, and the key of the certificate`},
		"host of a service": {"http.yml", "- {upstreams: [prometheus], host: canary}",
			`http.yml: upstreams [prometheus]: host is not supported for the Prometheus: remove it`},
		"secret by reference": {"http.yml", "- upstreams: [a]\n  http_config: {authorization: {credentials_ref: canary}}",
			`http.yml: upstreams [a]: there is no secret manager: write a file instead of a reference`},
	} {
		t.Run(what, func(t *testing.T) {
			write(t, map[string]string{"lines": "two\ncanary", "token": "canary", "cert": cert, "key": key, "other": other})
			if c.file != "gone.yml" {
				put(t, c.file, c.text)
			}
			source, variable := &config.Config{Values: config.Values{NodesFile: c.file, Chains: config.Chains{List: []nodes.Chain{{Name: "mine"}}}}}, "AVAX_NODES_FILE"
			if c.file == "http.yml" {
				source, variable = &config.Config{Values: config.Values{Nodes: []config.Node{{Name: "mine", URL: "http://a"}}, HTTPConfigFile: c.file}},
					"AVAX_HTTP_CONFIG_FILE"
			}
			_, err := source.ReadUpstreams()
			if err == nil || err.Error() != variable+": "+c.want || strings.Contains(err.Error(), "canary") {
				t.Errorf("\n got %v\nwant %s: %s", err, variable, c.want)
			}
		})
	}
}

func TestAllFileProblemsAreReported(t *testing.T) {
	write(t, map[string]string{"nodes.yml": `
- targets: [b:1]
- target: c
- targets: ['ftp://c']
`, "http.yml": `
- {upstreams: [a], http_config: {basic: x}}
- {upstreams: [b-1], http_config: {authorization: {credentials_file: gone}}}
`})
	_, err := (&config.Config{Values: config.Values{NodesFile: "nodes.yml", HTTPConfigFile: "http.yml", DataAPIKeyFile: "none"}}).ReadUpstreams()
	for _, want := range []string{
		"AVAX_NODES_FILE: nodes.yml, line 3: unknown field", "AVAX_NODES_FILE: nodes.yml, line 4: invalid URL",
		"AVAX_HTTP_CONFIG_FILE: http.yml, line 2: unknown field", "AVAX_HTTP_CONFIG_FILE: http.yml: upstreams [b-1]: open gone",
		"AVAX_DATA_API_KEY_FILE: no such file or directory: write the path",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}

// Whether a node is the same depends on its entry, not on its credentials or its position in the list.
func TestSameComparesEntries(t *testing.T) {
	cert := testworld.NewAuthority(t).PEM
	write(t, map[string]string{"token": "one", "ca": cert, "http.yml": `
- {upstreams: [a], http_config: {authorization: {credentials_file: token}, tls_config: {ca_file: ca}}}
- {upstreams: [h], host: x}
`})
	source := &config.Config{Values: config.Values{NodesFile: "nodes.yml", HTTPConfigFile: "http.yml"}}
	entry := func(target, labels string) config.Node {
		t.Helper()
		put(t, "nodes.yml", "- targets: ["+target+"]\n  labels: {"+labels+"}")
		u := must.Get(source.ReadUpstreams())(t)
		return u.Nodes[0]
	}
	first := entry("a:1", "node: a")
	if again := entry("a:1", "node: a, region: eu"); !again.Same(first) || !again.SameCredentials(first.Access) {
		t.Error("unchanged entry is not the same")
	}
	put(t, "token", "two")
	if rotated := entry("a:1", "node: a"); !rotated.Same(first) || rotated.SameCredentials(first.Access) {
		t.Error("changed token: want same entry, other credentials")
	}
	put(t, "token", "one")
	other := testworld.NewAuthority(t).PEM
	put(t, "ca", other)
	if rotated := entry("a:1", "node: a"); !rotated.Same(first) || rotated.SameCredentials(first.Access) {
		t.Error("changed authority: want same entry, other credentials")
	}
	if entry("a:2", "node: a").Same(first) || entry("a:1", "node: a, __role__: observer").Same(first) {
		t.Error("changed entry counts as the same")
	}
}

func TestShardsAreDisjointAndStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.IntRange(1, 8).Draw(t, "shards")
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9][a-z0-9.-]{0,20}`), 200, 200, rapid.ID[string]).Draw(t, "names")
		home := func(of int, name string) int {
			at := -1
			for shard := range of {
				if config.Holds(config.Index(shard), config.Count(of), name) {
					if at >= 0 {
						t.Fatalf("%q is in shards %d and %d of %d", name, at, shard, of)
					}
					at = shard
				}
			}
			if at < 0 {
				t.Fatalf("%q in no shard of %d", name, of)
			}
			return at
		}
		moved, held := 0, make([]int, of)
		for _, name := range names {
			before, after := home(of, name), home(of+1, name)
			held[before]++
			if before != after {
				moved++
				if after != of {
					t.Errorf("%q moves from shard %d to the existing shard %d", name, before, after)
				}
			}
		}
		fair := len(names) / (of + 1)
		if moved > 2*fair+10 {
			t.Errorf("%d of %d nodes move to shard %d, fair share %d", moved, len(names), of, fair)
		}
		for shard, n := range held {
			if fair := len(names) / of; n > 2*fair+10 || n < fair/2-10 {
				t.Errorf("shard %d of %d has %d nodes, fair share %d", shard, of, n, fair)
			}
		}
	})
}

// Running processes depend on the assignment, so it must never change.
func TestShardAssignmentNeverChanges(t *testing.T) {
	for name, want := range map[string]int{"alpha": 1, "bravo": 0, "10.0.0.1-9650": 1} {
		for shard := range 3 {
			if got := config.Holds(config.Index(shard), 3, name); got != (shard == want) {
				t.Errorf("shard %d of 3 holds %s: %v, want it in shard %d", shard, name, got, want)
			}
		}
	}
	if !config.Holds(0, 1, "alpha") {
		t.Error("single process does not hold alpha")
	}
}
