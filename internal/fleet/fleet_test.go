package fleet_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/fleet"
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
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// certificate creates a self-signed certificate and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// told returns the configuration of a node's client as text.
type told struct{ Name, URL, Host, Authorization, Key string }

func read(t *testing.T, s *fleet.Source) []told {
	t.Helper()
	nodes, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	var all []told
	for _, n := range nodes {
		all = append(all, told{n.Name, n.URL, n.Host, n.Header.Get("Authorization"), n.Header.Get("X-Key")})
	}
	return all
}

const inYAML = `
- targets: [10.0.0.1:9650]
  labels: {node: alpha, region: eu, __host__: alpha.internal}
- targets:
    - 10.0.0.2:9650
    - "[fd00::3]:9650"
    - https://proxy.example.com/node-4
  labels:
    node: many
    __bearer_file__: secrets/token
    __metrics_path__: /ext/metrics
- targets: [node5:9650]
  labels: {__scheme__: https, __headers_file__: secrets/headers, __basic_auth_file__: secrets/basic}
- targets: []
`

const inJSON = `[
	{"targets": ["10.0.0.1:9650"], "labels": {"node": "alpha", "region": "eu", "__host__": "alpha.internal"}},
	{"targets": ["10.0.0.2:9650", "[fd00::3]:9650", "https://proxy.example.com\/node-4"],
	 "labels": {"node": "many", "__bearer_file__": "secrets/token", "__metrics_path__": "/ext/metrics"}},
	{"targets": ["node5:9650"],
	 "labels": {"__scheme__": "https", "__headers_file__": "secrets/headers", "__basic_auth_file__": "secrets/basic"}},
	{"targets": []}
]`

func TestNodesFileInYAMLAndJSON(t *testing.T) {
	write(t, map[string]string{
		"etc/nodes.yml": inYAML, "etc/nodes.json": inJSON,
		"etc/secrets/token": "t0ken\n", "etc/secrets/headers": "# for the proxy\nX-Key: k\n", "etc/secrets/basic": "user:pass\n",
	})
	want := []told{
		{Name: "alpha", URL: "http://10.0.0.1:9650", Host: "alpha.internal"},
		{Name: "10.0.0.2-9650", URL: "http://10.0.0.2:9650", Authorization: "Bearer t0ken"},
		{Name: "fd00--3--9650", URL: "http://[fd00::3]:9650", Authorization: "Bearer t0ken"},
		{Name: "proxy.example.com-node-4", URL: "https://proxy.example.com/node-4", Authorization: "Bearer t0ken"},
		{Name: "node5-9650", URL: "https://node5:9650", Authorization: "Basic dXNlcjpwYXNz", Key: "k"},
	}
	for _, file := range []string{"etc/nodes.yml", "etc/nodes.json"} {
		if diff := cmp.Diff(want, read(t, &fleet.Source{File: file})); diff != "" {
			t.Errorf("%s:\n%s", file, diff)
		}
	}
}

func TestYAMLAliasesAndMergesResolve(t *testing.T) {
	write(t, map[string]string{"token": "t0ken", "nodes.yaml": `
- targets: &hosts [a:1]
  labels: &ours {__bearer_file__: token, node: first}
- targets: ["b:1"]
  labels: {<<: *ours, node: second}
`})
	want := []told{
		{Name: "first", URL: "http://a:1", Authorization: "Bearer t0ken"},
		{Name: "second", URL: "http://b:1", Authorization: "Bearer t0ken"},
	}
	if diff := cmp.Diff(want, read(t, &fleet.Source{File: "nodes.yaml"})); diff != "" {
		t.Error(diff)
	}
}

func TestNodeSettingsOverrideGeneralSettings(t *testing.T) {
	write(t, map[string]string{
		"all": "X-Key: all\nAuthorization: Custom all", "token": "all", "own": "X-Key: own\nAuthorization: Custom own",
		"owntoken": "own", "basic": "u:p", "nodes.yml": `
- {targets: ["plain:1"]}
- {targets: ["headers:1"], labels: {__headers_file__: own}}
- {targets: ["token:1"], labels: {__bearer_file__: owntoken, __host__: own}}
- {targets: ["basic:1"], labels: {__basic_auth_file__: basic}}
`,
	})
	source := &fleet.Source{
		Nodes:  []fleet.Node{{Name: "fixed", URL: "http://fixed"}, {Name: "user", URL: "http://u:p@user"}},
		File:   "nodes.yml",
		Access: fleet.Access{Host: "all", BearerFile: "token", HeadersFile: "all"},
	}
	want := []told{
		{"fixed", "http://fixed", "all", "Bearer all", "all"},
		{"user", "http://u:p@user", "all", "Custom all", "all"},
		{"plain-1", "http://plain:1", "all", "Bearer all", "all"},
		{"headers-1", "http://headers:1", "all", "Custom own", "own"},
		{"token-1", "http://token:1", "own", "Bearer own", "all"},
		{"basic-1", "http://basic:1", "all", "Basic dTpw", "all"},
	}
	if diff := cmp.Diff(want, read(t, source)); diff != "" {
		t.Error(diff)
	}
}

// Each error contains file, line and remedy, and never a value.
func TestInvalidFileErrorsNameLineAndRemedy(t *testing.T) {
	cert, key := certificate(t)
	other, _ := certificate(t)
	for name, c := range map[string]struct{ file, text, want string }{
		"missing":                    {"gone.yml", "", `gone.yml: no such file or directory: configure a file that this user may read`},
		"ending":                     {"nodes.txt", "[]", `nodes.txt: unknown format: use the extension .json, .yml or .yaml`},
		"empty":                      {"nodes.yml", "", `nodes.yml, line 1: the file is empty: write [] for no nodes`},
		"empty JSON":                 {"nodes.json", "\n", `nodes.json, line 1: the file is empty: write [] for no nodes`},
		"null":                       {"nodes.yml", "~", `nodes.yml, line 1: the file is empty: write [] for no nodes`},
		"not a list":                 {"nodes.yml", "\ntargets: [canary]", `nodes.yml, line 2: write a list of groups: targets: [host:port], labels: {node: name}`},
		"not a list in JSON":         {"nodes.json", "\n\n\"canary\"", `nodes.json, line 3: write a list of groups: targets: [host:port], labels: {node: name}`},
		"not a group":                {"nodes.yml", "- canary", `nodes.yml, line 1: write a list of groups: targets: [host:port], labels: {node: name}`},
		"YAML":                       {"nodes.yml", "- targets: [a:1]\n  labels: {\n- x: canary", `nodes.yml, line 2: no YAML: did not find expected node content`},
		"a tab":                      {"nodes.yml", "- targets:\n\t- a:1", `nodes.yml, line 2: no YAML: found character that cannot start any token`},
		"two documents":              {"nodes.yml", "[]\n---\n[]", `nodes.yml, line 2: the file continues after the list: write one YAML document`},
		"JSON":                       {"nodes.json", "[\n {\"targets\": [\"a:1\"],}\n]", `nodes.json, line 2: invalid JSON: invalid character ',' at start of value`},
		"truncated JSON":             {"nodes.json", "[\n {\"targets\": [\"a:1\"", `nodes.json, line 2: invalid JSON: unexpected EOF`},
		"text after JSON":            {"nodes.json", "[]\n[]", `nodes.json, line 2: invalid JSON: the file continues after the list`},
		"duplicate key":              {"nodes.yml", "- targets: [a:1]\n  targets: [b:1]", `nodes.yml, line 2: no YAML: mapping key "targets" already defined at line 1`},
		"duplicate key in JSON":      {"nodes.json", "[{\"targets\": [],\n\"targets\": []}]", `nodes.json, line 2: invalid JSON: duplicate object member name`},
		"unknown key":                {"nodes.yml", "- targets: [a:1]\n  label: {node: canary}", `nodes.yml, line 2: unknown member "label": a group has only targets and labels`},
		"no targets":                 {"nodes.yml", "- labels: {node: a}", `nodes.yml, line 1: write targets as [host:port, …]`},
		"targets not a list":         {"nodes.yml", "- targets: canary", `nodes.yml, line 1: write targets as [host:port, …]`},
		"target not a string":        {"nodes.yml", "- targets:\n  - {canary: 1}", `nodes.yml, line 2: write a target as host:port or URL`},
		"labels not a map":           {"nodes.yml", "- targets: [a:1]\n  labels: canary", `nodes.yml, line 2: write labels as {name: value}`},
		"label not a string":         {"nodes.yml", "- targets: [a:1]\n  labels:\n    node: [canary]", `nodes.yml, line 3: node: write one value`},
		"misspelled setting":         {"nodes.yml", "- targets: [a:1]\n  labels: {__token__: canary}", `nodes.yml, line 2: unknown setting "__token__": the settings are __scheme__, __role__, __host__, __headers_file__, __bearer_file__, __basic_auth_file__, __ca_file__, __cert_file__, __key_file__`},
		"role":                       {"nodes.yml", "- targets: [a:1]\n  labels: {__role__: canary}", `nodes.yml, line 2: __role__: write node or observer`},
		"duplicate label":            {"nodes.yml", "- targets: [a:1]\n  labels:\n    node: a\n    node: canary", `nodes.yml, line 4: no YAML: mapping key "node" already defined at line 3`},
		"control character":          {"nodes.yml", "- targets: [a:1]\n  labels: {__headers_file__: control}", `nodes.yml, line 2: __headers_file__: control, line 2: remove the control character`},
		"scheme":                     {"nodes.yml", "- targets: [a:1]\n  labels: {__scheme__: ftp}", `nodes.yml, line 2: __scheme__: write http or https`},
		"scheme of a URL":            {"nodes.yml", "- targets: ['http://a:1']\n  labels: {__scheme__: http}", `nodes.yml, line 1: the URL already has a scheme: remove __scheme__`},
		"long name":                  {"nodes.yml", "- targets: [a:1]\n  labels: {node: " + strings.Repeat("x", 129) + "}", `nodes.yml, line 1: "` + strings.Repeat("x", 129) + `": a node's name consists of letters, digits, dots, dashes and underscores, at most 128 characters`},
		"reserved name":              {"nodes.yml", "- targets: [a:1]\n  labels: {node: mine}", `nodes.yml, line 1: duplicate name "mine": it is the name of a chain: rename the node`},
		"a path":                     {"nodes.yml", "- targets: ['http://a:1/ext/info']", `nodes.yml, line 1: a-1-ext-info: the exporter adds /ext/… to the address: write it without /ext, such as http://a:1`},
		"duplicate name":             {"nodes.yml", "- targets: [a:1]\n  labels: {node: x}\n- targets: [b:1]\n  labels: {node: x}", `nodes.yml, line 3: duplicate node name "x": give each node its own group with the label node`},
		"a name":                     {"nodes.yml", "- targets: [a:1]\n  labels: {node: 'x y'}", `nodes.yml, line 1: "x y": a node's name consists of letters, digits, dots, dashes and underscores, at most 128 characters`},
		"a password":                 {"nodes.yml", "- targets: ['http://u:canary@a:1']", `nodes.yml, line 1: user and password are not allowed in this file: write user:password into a separate file, and the path of that file into __basic_auth_file__`},
		"an address":                 {"nodes.yml", "- targets: ['ftp://a:1']", `nodes.yml, line 1: invalid URL: write http://a:1 or https://a:1`},
		"a query":                    {"nodes.yml", "- targets: ['a:1/?canary']", `nodes.yml, line 1: the URL has a query or fragment: remove the part after ? or #, and send a key as a header`},
		"missing token":              {"nodes.yml", "- targets: [a:1, b:1]\n  labels: {__bearer_file__: gone}", `nodes.yml, line 2: __bearer_file__: open gone: no such file or directory: configure a file that this user may read`},
		"token with two words":       {"nodes.yml", "- targets: [a:1]\n  labels: {__bearer_file__: words}", `nodes.yml, line 2: __bearer_file__: words: write one token, on one line`},
		"not a password":             {"nodes.yml", "- targets: [a:1]\n  labels: {__basic_auth_file__: words}", `nodes.yml, line 2: __basic_auth_file__: words: write user:password, on one line`},
		"not a header":               {"nodes.yml", "- targets: [a:1]\n  labels: {__headers_file__: words}", `nodes.yml, line 2: __headers_file__: words, line 1: write Name: value`},
		"token and password":         {"nodes.yml", "- targets: [a:1]\n  labels: {__bearer_file__: token, __basic_auth_file__: basic}", `nodes.yml, line 2: __basic_auth_file__: both a token and a password are configured: remove one of them`},
		"authorities":                {"nodes.yml", "- targets: [a:1]\n  labels: {__ca_file__: token}", `nodes.yml, line 2: __ca_file__: token contains no certificate: write PEM blocks that begin with -----BEGIN CERTIFICATE-----`},
		"certificate alone":          {"nodes.yml", "- targets: [a:1]\n  labels: {__cert_file__: cert}", `nodes.yml, line 2: __cert_file__: a certificate also needs its key: configure the file with the key`},
		"key alone":                  {"nodes.yml", "- targets: [a:1]\n  labels: {__key_file__: key}", `nodes.yml, line 2: __key_file__: a key also needs its certificate: configure the file with the certificate`},
		"key of another certificate": {"nodes.yml", "- targets: [a:1]\n  labels: {__cert_file__: other, __key_file__: key}", `nodes.yml, line 2: __key_file__: other and key are not a certificate and its key: tls: private key does not match public key`},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{
				"words": "two canary", "control": "A: b\nX-Key: can\x01ary", "token": "canary", "basic": "u:canary", "cert": cert, "key": key, "other": other,
			})
			if c.file != "gone.yml" {
				put(t, c.file, c.text)
			}
			want := "nodes_file: " + c.want
			if c.file == "gone.yml" {
				want = "nodes_file: open " + c.want
			}
			_, err := (&fleet.Source{File: c.file, Reserved: map[string]string{"mine": "a chain"}}).Read()
			if err == nil || err.Error() != want {
				t.Errorf("\n got %v\nwant %s", err, want)
			}
		})
	}
}

func TestAllProblemsAreReportedOnce(t *testing.T) {
	write(t, map[string]string{"nodes.yml": `
- targets: [a:1, b:1]
  labels: {__bearer_file__: gone}
- targets: ['ftp://c']
- targets: [d:1]
`})
	_, err := (&fleet.Source{File: "nodes.yml", Access: fleet.Access{CAFile: "none", KeyFile: "key"}}).Read()
	want := `ca_file: open none: no such file or directory: configure a file that this user may read
key_file: open key: no such file or directory: configure a file that this user may read
nodes_file: nodes.yml, line 3: __bearer_file__: open gone: no such file or directory: configure a file that this user may read
nodes_file: nodes.yml, line 4: invalid URL: write http://c or https://c`
	if err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}

func TestReportedProblemsAreLimited(t *testing.T) {
	write(t, map[string]string{"nodes.yml": ""})
	var file strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&file, "- targets: ['ftp://node%d']\n", i)
	}
	put(t, "nodes.yml", file.String())
	_, err := (&fleet.Source{File: "nodes.yml"}).Read()
	if err == nil || strings.Count(err.Error(), "\n") != 99 || !strings.Contains(err.Error(), "line 100: invalid URL") {
		t.Errorf("%d lines, want 100: %v", strings.Count(err.Error(), "\n")+1, err)
	}
}

// Whether a node is the same depends only on its entry, not on the contents of its files or its position in the list.
func TestSameComparesEntries(t *testing.T) {
	cert, key := certificate(t)
	write(t, map[string]string{"token": "one", "cert": cert, "key": key, "ca": cert})
	source := &fleet.Source{File: "nodes.yml"}
	entry := func(target, labels string) fleet.Node {
		t.Helper()
		put(t, "nodes.yml", "- targets: ["+target+"]\n  labels: {node: a, "+labels+"}")
		nodes, err := source.Read()
		if err != nil {
			t.Fatal(err)
		}
		return nodes[0]
	}
	const labels = "__bearer_file__: token, __ca_file__: ca"
	first := entry("a:1", labels)
	if again := entry("a:1", labels+", region: eu"); !again.Same(first) || !again.SameCredentials(first) {
		t.Error("unchanged entry is not the same")
	}
	put(t, "token", "two")
	if rotated := entry("a:1", labels); !rotated.Same(first) || rotated.SameCredentials(first) {
		t.Error("changed token: want same entry, other credentials")
	}
	put(t, "token", "one")
	other, _ := certificate(t)
	put(t, "ca", other)
	if rotated := entry("a:1", labels); !rotated.Same(first) || rotated.SameCredentials(first) {
		t.Error("changed authority: want same entry, other credentials")
	}
	for _, c := range [][2]string{{"a:2", labels}, {"a:1", labels + ", __host__: x"}, {"a:1", "__bearer_file__: ./ca"}, {"a:1", labels + ", __cert_file__: cert, __key_file__: key"}} {
		if strings.Contains(c[1], "./ca") {
			put(t, "ca", "token")
		} else {
			put(t, "ca", cert)
		}
		if entry(c[0], c[1]).Same(first) {
			t.Errorf("%v counts as the same", c)
		}
	}
}

func TestShardsAreDisjointAndStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.IntRange(1, 8).Draw(t, "shards")
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9][a-z0-9.-]{0,20}`), 200, 200, rapid.ID[string]).Draw(t, "names")
		home := func(of int, name string) int {
			at := -1
			for shard := range of {
				if (fleet.Part{Shard: shard, Of: of}).Holds(name) {
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
			if got := (fleet.Part{Shard: shard, Of: 3}).Holds(name); got != (shard == want) {
				t.Errorf("shard %d of 3 holds %s: %v, want it in shard %d", shard, name, got, want)
			}
		}
	}
	if !(fleet.Part{}).Holds("alpha") {
		t.Error("single process does not hold alpha")
	}
}

// The time to read a large file is proportional to its size, for any mistake.
func TestHugeNodesFileIsRejectedQuickly(t *testing.T) {
	for name, entry := range map[string]string{
		"good.json": `{"targets":["10.%d.%d.1:9650"]}`,
		"bad.json":  `{"targets":["10.%d.%d.1:9650"],"other":1}`,
		"good.yaml": `{targets: ["10.%d.%d.1:9650"]}`,
	} {
		var text strings.Builder
		for n := range 100_000 {
			text.WriteString(",\n" + fmt.Sprintf(entry, n/250, n%250))
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte("["+text.String()[1:]+"]"), 0o600); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err := (&fleet.Source{File: path}).Read()
		if err == nil || !strings.Contains(err.Error(), "100000 nodes: split the file") && name[:3] != "bad" || len(err.Error()) > 1<<20 {
			t.Errorf("%s: %.300v", name, err)
		}
		t.Logf("%s: rejected in %v", name, time.Since(began))
	}
}
