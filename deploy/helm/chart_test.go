package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/dashboards"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

//go:generate go test -run TestPlainManifestsEqualTheChart -update .

const chart = "avax-exporter"

func TestEveryExampleIsValid(t *testing.T) {
	testworld.Full(t)
	documented := must.Get(os.ReadFile("../../docs/configuration.md"))(t)
	for _, values := range examples(t) {
		t.Run(filepath.Base(values), func(t *testing.T) {
			run(t, "", "helm", "lint", "--strict", "--quiet", chart, "-f", values)
			rendered := render(t, chart, "-f", values)
			run(t, rendered, "manifests", "-")
			for _, name := range regexp.MustCompile(`AVAX_[A-Z_]+`).FindAllString(rendered, -1) {
				if !bytes.Contains(documented, []byte("`"+name+"`")) {
					t.Errorf("%s is not in docs/configuration.md", name)
				}
			}
		})
	}
}

func TestChartHasAllRulesAndDashboards(t *testing.T) {
	testworld.Full(t)
	want := map[string]any{}
	files := must.Get(fs.Glob(dashboards.Files, "*.json"))(t)
	for _, name := range files {
		text := must.Get(dashboards.Files.ReadFile(name))(t)
		want["avax-"+name] = parse(t, string(text))
	}

	// The source directory and the packaged chart.
	packed := t.TempDir()
	run(t, "", "helm", "package", chart, "--destination", packed)
	archives, err := filepath.Glob(filepath.Join(packed, "*.tgz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("%v, %v", archives, err)
	}
	for _, from := range []string{chart, archives[0]} {
		rendered := manifests(t, render(t, from, "--set", "prometheusRule.enabled=true,dashboards.enabled=true"))
		if diff := cmp.Diff(rulesOf(t), rulesIn(t, rendered)); diff != "" {
			t.Errorf("%s: other rules than alerts/rules.yml:\n%s", from, diff)
		}
		got := map[string]any{}
		for _, m := range rendered {
			if m["kind"] == "ConfigMap" {
				for name, text := range m["data"].(map[string]any) {
					got[name] = parse(t, text.(string))
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: other dashboards than dashboards/*.json", from)
		}
	}
}

// Each object is below the limit of the annotation in which kubectl apply keeps a copy of it.
func TestChartAddsLabelsToAlerts(t *testing.T) {
	testworld.Full(t)
	for _, labels := range [][]string{nil, {"owner"}, {"owner", "region", "team"}} {
		rendered := manifests(t, render(t, chart, "--show-only=templates/rules.yaml", "--set", withLabels("prometheusRule.enabled=true", labels)))
		if diff := cmp.Diff(rulesOf(t, labels...), rulesIn(t, rendered)); diff != "" {
			t.Errorf("%v: other rules than alerts.With:\n%s", labels, diff)
		}
		sizes := sizesOf(t, rendered, applied)
		t.Logf("labels %v: objects of %d bytes", labels, sizes)
	}
}

// A name that no label can have, or that an alert has already, would make rules that no Prometheus loads. Helm makes one empty name of {}.
func TestChartRefusesNamesOfLabels(t *testing.T) {
	testworld.Full(t)
	for _, name := range []string{"", "a b", "9a", "node", "severity", "owner,owner"} {
		command := exec.CommandContext(t.Context(), testworld.Binary(t, "helm"), "template", chart, "--set", "prometheusRule.alertLabels={"+name+"}")
		if out, err := command.CombinedOutput(); err == nil || !strings.Contains(string(out), "alertLabels") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// withLabels adds the value of alertLabels to others.
func withLabels(values string, labels []string) string {
	if len(labels) == 0 {
		return values
	}
	return values + ",prometheusRule.alertLabels={" + strings.Join(labels, ",") + "}"
}

// Limits of Kubernetes, in bytes: the annotation in which kubectl apply keeps a copy of an object, and an object in etcd.
const (
	applied = 262_144
	object  = 1 << 20
)

// sizesOf returns the sizes of objects as JSON, and reports those above a limit.
func sizesOf(t *testing.T, objects []map[string]any, limit int) (sizes []int) {
	t.Helper()
	for _, m := range objects {
		size := len(must.Get(json.Marshal(m))(t))
		if sizes = append(sizes, size); size > limit {
			t.Errorf("%v %v has %d bytes, of %d at most", m["kind"], m["metadata"], size, limit)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// Two engines would send each alert twice.
func TestOneEngineEvaluatesTheRules(t *testing.T) {
	testworld.Full(t)
	for values, want := range map[string]string{
		"prometheusRule.enabled=false":                                                    "",
		"prometheusRule.enabled=true":                                                     "off",
		"prometheusRule.enabled=true,config.AVAX_ALERTING=on":                             "on",
		"prometheusRule.enabled=true,config.AVAX_ALERTING=off":                            "off",
		"prometheusRule.enabled=true,config.AVAX_ALERTMANAGERS=http://a:9093":             "",
		"prometheusRule.enabled=true,secrets.notify.AVAX_NOTIFY_FILE=notify.yml":          "",
		"prometheusRule.enabled=true,extraEnv[0].name=AVAX_ALERTING,extraEnv[0].value=on": "on",
	} {
		got := ""
		if m := regexp.MustCompile(`name: AVAX_ALERTING\n\s+value: "?([a-z]+)"?`).FindAllStringSubmatch(render(t, chart, "--set", values), -1); len(m) > 1 {
			t.Errorf("%s: AVAX_ALERTING is set twice", values)
		} else if len(m) == 1 {
			got = m[0][1]
		}
		if got != want && !(want == "on" && got == "true") {
			t.Errorf("%s: AVAX_ALERTING=%s, want %q", values, got, want)
		}
		if notes := run(t, "", "helm", "install", "x", chart, "--dry-run=client", "--set", values); strings.Contains(notes, "TWO ENGINES") != (want != "off" && values != "prometheusRule.enabled=false") {
			t.Errorf("%s: %s", values, notes[strings.Index(notes, "NOTES:"):])
		}
	}
}

// Kubernetes stores an object of 1 MiB at most. A release is one: Helm compresses chart and manifests, and encodes them twice. So are the objects of the
// examples with all that the chart can add.
func TestReleaseAndConfigMapsFitIntoKubernetes(t *testing.T) {
	testworld.Full(t)
	packed := t.TempDir()
	run(t, "", "helm", "package", chart, "--destination", packed)
	archive := must.Get(os.Stat(must.Get(filepath.Glob(filepath.Join(packed, "*.tgz")))(t)[0]))(t)
	for _, example := range append(examples(t), "") {
		args := []string{chart}
		if example != "" {
			args = append(args, "-f", example)
		}
		for _, labels := range [][]string{nil, {"owner"}, {"owner", "region", "team"}} {
			const all = "dashboards.enabled=true,prometheusRule.enabled=true,monitor.enabled=true"
			rendered := render(t, append(args, "--set", withLabels(all, labels))...)
			var compressed bytes.Buffer
			w := gzip.NewWriter(&compressed)
			must.Get(w.Write([]byte(rendered)))(t)
			must.Do(t, w.Close())
			release := (int(archive.Size()) + compressed.Len()) * 16 / 9
			if release > object {
				t.Errorf("%s, labels %v: a release of about %d bytes", example, labels, release)
			}
			var others []map[string]any
			for _, m := range manifests(t, rendered) {
				if m != nil {
					others = append(others, m)
				}
			}
			sizes := sizesOf(t, others, object)
			t.Logf("%q, labels %v: manifests %d bytes, release about %d, %d objects, the largest %d", filepath.Base(example), labels, len(rendered), release, len(sizes),
				sizes[len(sizes)-1])
		}
	}
	boards := 0 // docs/operating.md creates one ConfigMap of all
	for _, name := range must.Get(fs.Glob(dashboards.Files, "*.json"))(t) {
		boards += len(must.Get(dashboards.Files.ReadFile(name))(t))
	}
	if boards > object {
		t.Errorf("a ConfigMap of all dashboards has %d bytes", boards)
	}
	t.Logf("all dashboards: %d bytes", boards)
}

// rulesOf returns the rules, with labels, sorted as text.
func rulesOf(t *testing.T, labels ...string) []string {
	t.Helper()
	var spec any
	must.Do(t, yaml.Unmarshal(must.Get(alerts.With(alerts.Options{Labels: labels}))(t), &spec))
	return rulesIn(t, []map[string]any{{"kind": "PrometheusRule", "spec": spec}})
}

// rulesIn returns the rules of all objects, sorted as text.
func rulesIn(t *testing.T, objects []map[string]any) (all []string) {
	t.Helper()
	for _, m := range objects {
		if m["kind"] != "PrometheusRule" {
			continue
		}
		for _, g := range m["spec"].(map[string]any)["groups"].([]any) {
			for _, r := range g.(map[string]any)["rules"].([]any) {
				rule := r.(map[string]any)
				rule["expr"] = must.Get(testworld.PromQL.ParseExpr(rule["expr"].(string)))(t).String() // without line breaks
				all = append(all, string(must.Get(json.Marshal(rule))(t)))
			}
		}
	}
	slices.Sort(all)
	return all
}

// The resources of the Prometheus operator are in a file of their own, because a cluster may not know their types.
func TestPlainManifestsEqualTheChart(t *testing.T) {
	testworld.Full(t)
	const dir = "../kubernetes"
	rendered := render(t, chart, "--namespace=monitoring", "-f", "examples/kubernetes.yaml")
	files := map[string]string{"avax-exporter.yaml": "", "servicemonitor.yaml": ""}
	for _, text := range strings.Split(rendered, "\n---\n") {
		text = regexp.MustCompile(`(?m)^(---|# Source: .*)\n|[ \t]+$`).ReplaceAllString(text, "")
		file := "avax-exporter.yaml"
		if strings.Contains(text, "apiVersion: monitoring.coreos.com/") {
			file = "servicemonitor.yaml"
		}
		files[file] += "---\n" + strings.TrimSpace(text) + "\n"
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		text = "# Rendered from the chart in deploy/helm with the values of examples/kubernetes.yaml by `make docs`.\n" + text
		if testworld.Update() {
			must.Do(t, os.WriteFile(file, []byte(text), 0o644))
		}
		got := must.Get(os.ReadFile(file))(t)
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("%s differs from the rendered chart: run `make docs`:\n%s", file, diff)
		}
		run(t, string(got), "manifests", "-")
	}
}

func TestSeveralPodsAreShards(t *testing.T) {
	testworld.Full(t)
	service := func(set string) string {
		return render(t, chart, "--set", set, "--show-only", "templates/service.yaml")
	}
	if shards, state := service("shards=3"), service("state.enabled=true"); shards != service("shards=1") || state != shards {
		t.Errorf("a release cannot be upgraded: the API server refuses another kind of Service:\n%s\n%s", shards, state)
	}
	for _, c := range []struct{ set, kind, want string }{
		{"replicas=2", "Deployment", "replicas: 2"},
		{"shards=1", "Deployment", "replicas: 1"},
		{"shards=3", "StatefulSet", "replicas: 3"},
		{"shards=3", "StatefulSet", "- name: AVAX_TOTAL_SHARDS\n              value: \"3\""},
		{"shards=3", "StatefulSet", "- name: AVAX_SHARD\n              valueFrom:\n                fieldRef:\n                  fieldPath: " +
			"metadata.labels['apps.kubernetes.io/pod-index']"},
		{"state.enabled=true", "StatefulSet", "volumeClaimTemplates"},
	} {
		rendered := render(t, chart, "--set", c.set)
		if !strings.Contains(rendered, "\nkind: "+c.kind+"\n") || !strings.Contains(rendered, c.want) {
			t.Errorf("%s: no %s with %s:\n%s", c.set, c.kind, c.want, rendered)
		}
	}
}

// Each of these values is an ordinary one in a values file.
func TestOrdinaryValuesGiveValidManifests(t *testing.T) {
	testworld.Full(t)
	dir := t.TempDir() // without a comma
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	ordinary := map[string]string{
		"config: {AVAX_NETWORK: 88888888}":                                        `value: "88888888"`,
		"config: {AVAX_OBSERVER_BUDGET: 1000000}":                                 `value: "1000000"`,
		"config: {AVAX_TIMEOUT: 0.5}":                                             `value: "0.5"`,
		"config: {AVAX_ALERTING: no, AVAX_DIGEST: yes}":                           `value: "false"`,
		"config: {AVAX_ALERTING: \"off\"}":                                        `value: "off"`,
		"config: {AVAX_EXTERNAL_LABELS: 'site=\"a\",b={{ x }}'}":                  `value: "site=\"a\",b={{ x }}"`,
		"resources: {limits: {memory: 1.5Gi}}":                                    "memory: 1.5Gi",
		"resources: {limits: {memory: 512M}}":                                     "memory: 512M",
		"resources: {limits: {memory: 1Ti, cpu: 1}}":                              "cpu: 1",
		"resources: {limits: {memory: 268435456}}":                                "memory: 268435456",
		"image: {tag: 1.0.0@" + digest + "}":                                      "image: avax-exporter:1.0.0@" + digest,
		"image: {tag: 1.0.0, digest: \"" + digest + "\"}":                         "image: avax-exporter:1.0.0@" + digest,
		"image: {tag: 1.0.0+build.7}":                                             "app.kubernetes.io/version: \"1.0.0_build.7\"",
		"image: {tag: \"1.10\"}":                                                  "app.kubernetes.io/version: \"1.10\"",
		"podLabels: {app.kubernetes.io/version: mine, team: a}":                   "app.kubernetes.io/version: mine",
		"podLabels: {app.kubernetes.io/name: other}":                              "app.kubernetes.io/name: avax-exporter",
		"podSecurityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}":  "runAsNonRoot: true",
		"monitor: {enabled: true, endpoint: {interval: 15s, port: metrics}}":      "interval: 15s",
		"monitor: {enabled: true, labels: {app.kubernetes.io/name: mine}}":        "app.kubernetes.io/name: mine",
		"monitor: {enabled: true, kind: PodMonitor, endpoint: {relabelings: []}}": "relabelings: []",
		"extraEnv: [{name: GOMEMLIMIT, value: 200MiB}]":                           "value: 200MiB",
		"demo: true":                                   "args: [demo]",
		"resources: {limits: {memory: 0.5Gi}}":         "memory: 0.5Gi",
		"resources: {limits: {memory: 1e9}}":           "memory: 1000000000",
		"resources: {limits: {memory: 268435456000m}}": "memory: 268435456000m",
		"resources: {limits: {memory: 300M, cpu: 0.5}, requests: {cpu: 100m, memory: 64M, ephemeral-storage: 1Gi}}": "ephemeral-storage: 1Gi",
		"state: {enabled: true, size: 1.5Gi, storageClassName: fast}":                                               "storage: 1.5Gi",
		"state: {enabled: true, size: 500M}":                                                                        "storage: 500M",
		"config: {AVAX_NETWORK: 4294967295}":                                                                        `value: "4294967295"`,
		"config: {AVAX_DATA_BUDGET: '6000/m,1200000/d'}":                                                            `value: "6000/m,1200000/d"`,
		"config: {AVAX_CONCURRENCY: 4}":                                                                             `value: "4"`,
		`config: {AVAX_CONCURRENCY: "08"}`:                                                                          `value: "08"`,
		"config: {AVAX_TRUST_LOOPBACK: 0}":                                                                          `value: "0"`,
		"config: {AVAX_TRUST_LOOPBACK: false}":                                                                      `value: "false"`,
		"config: {AVAX_OBSERVERS: ''}":                                                                              `value: ""`,
		"config: {AVAX_CHAINS: 'C,auto'}":                                                                           `value: "C,auto"`,
		"config: {AVAX_SCHEDULES: 'peers=@every 30s;upgrades=*/5 * * * *'}":                                         `value: "peers=@every 30s;upgrades=*/5 * * * *"`,
		`config: {AVAX_WATCH_ADDRESSES: "0x00000000000000000000000000000000000000aa"}`:                              `value: "0x00000000000000000000000000000000000000aa"`,
		"config:\n  AVAX_CHAINS: >-\n    C,\n    auto":                                                              `value: "C, auto"`,
		"config: {AVAX_LOG_LEVEL: null}":                                                                            "kind: Deployment",
		"nodes: {alpha: 'http://alpha:9650', b.1: 'https://nodes.example.com/b'}":                                   `value: "alpha=http://alpha:9650,b.1=https://nodes.example.com/b"`,
		`nodesFile: [{targets: ['a:9650'], labels: {node: a, owner: "yes"}}]`:                                       `owner: "yes"`,
		`nodesFile: [{targets: ['a:9650'], labels: {rack: "0123"}}]`:                                                `rack: "0123"`,
		"httpConfig: [{upstreams: ['*'], host: localhost, http_config: {basic_auth: {username: \"1\", password_file: /secrets/n/p}}}]\nsecrets: {n: {}}": `username: "1"`,
		"secrets: {avax.data: {AVAX_DATA_API_KEY_FILE: api.key}}":                                                                                    "value: /secrets/avax.data/api.key",
		"secrets: {a: {}, b: {AVAX_NOTIFY_FILE: notify.yml}}":                                                                                        "value: /secrets/b/notify.yml",
		"nodes: {a: 'http://a:9650'}\nextraEnv: [{name: AVAX_NODES, valueFrom: {secretKeyRef: {name: s, key: k}}}]":                                  "secretKeyRef",
		"config: {AVAX_CHAINS: C}\nextraEnv: [{name: AVAX_CHAINS, value: \"C,auto\"}]":                                                               "value: C,auto",
		"secrets: {b: {AVAX_NOTIFY_FILE: n.yml}}\nextraEnv: [{name: AVAX_NOTIFY_FILE, value: /x}]":                                                   "value: /x",
		"extraEnv:\n- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}\n- {name: AVAX_EXTERNAL_URL, value: 'http://$(POD_IP):9865'}": "value: http://$(POD_IP):9865",
		"image: {repository: 'registry.example:5000/team/avax-exporter', tag: v1.0.0}":                                                               "image: registry.example:5000/team/avax-exporter:v1.0.0",
		`image: {tag: "20260101", pullPolicy: Always, pullSecrets: [regcred]}`:                                                                       `app.kubernetes.io/version: "20260101"`,
		"image: {tag: sha-4f8d0d36-}":                                                                                    `app.kubernetes.io/version: "sha-4f8d0d36"`,
		"podLabels: {example.com/team: a, app.kubernetes.io/instance: other}":                                            "example.com/team: a",
		`podLabels: {version: "1.10", enabled: "true"}`:                                                                  `enabled: "true"`,
		`podAnnotations: {prometheus.io/scrape: "true", prometheus.io/port: "9865"}`:                                     `prometheus.io/port: "9865"`,
		"prometheusRule: {enabled: true, labels: {app.kubernetes.io/name: mine, role: alerts}}":                          "app.kubernetes.io/name: mine",
		`dashboards: {enabled: true, labels: {app.kubernetes.io/version: mine, grafana_dashboard: "1"}}`:                 "app.kubernetes.io/version: mine",
		"monitor: {enabled: true, interval: 1m30s, labels: {release: kube-prometheus-stack}}":                            "interval: 1m30s",
		"monitor: {enabled: true, endpoint: {scheme: https, tlsConfig: {insecureSkipVerify: true}, scrapeTimeout: 20s}}": "insecureSkipVerify: true",
		"nameOverride: avax": "app.kubernetes.io/name: avax\n",
		"fullnameOverride: a-name-that-is-much-longer-than-any-name-of-a-service-may-be":                                                            "name: a-name-that-is-much-longer-than-any-name-of-a-servi",
		"nodeSelector: {kubernetes.io/os: linux}\ntolerations: [{operator: Exists}]\npriorityClassName: high":                                       "priorityClassName: high",
		"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}]}}": "topologyKey: kubernetes.io/hostname",
		"topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]\nshards: 3":             "maxSkew: 1",
		"podSecurityContext: {runAsUser: 1000650000, runAsGroup: 0, fsGroup: 1000650000}":                                                           "runAsUser: 1000650000",
		"podSecurityContext: {supplementalGroups: [2000], fsGroupChangePolicy: OnRootMismatch}":                                                     "fsGroupChangePolicy: OnRootMismatch",
		"serviceAccountName: avax.exporter":                                           "serviceAccountName: avax.exporter",
		`service: {type: LoadBalancer, port: 80, annotations: {a.example/b: "true"}}`: `a.example/b: "true"`,
		"service: {type: NodePort}":                                                   "type: NodePort",
		"networkPolicy: {enabled: false}":                                             "kind: Service",
		"networkPolicy: {from: [{namespaceSelector: {matchLabels: {name: monitoring}}}], egress: [{ports: [{port: 9650}]}]}": "policyTypes: [Ingress, Egress]",
		"podDisruptionBudget: {enabled: true}\nreplicas: 2":                                                                  "maxUnavailable: 1",
		"webConfigSecret: web":               "secretName: web",
		"shards: 12\nstate: {enabled: true}": `value: "12"`,
		"fullnameOverride: \"yes\"\nnameOverride: \"on\"\nserviceAccountName: \"null\"\nwebConfigSecret: \"1e3\"\nimage: {pullSecrets: [\"y\"]}": `name: "yes"`,
		"state: {enabled: true, size: \"1000000000\", storageClassName: \"no\"}":                                                                 `storageClassName: "no"`,
		"global: {imageRegistry: x}": "kind: Deployment",
	}
	if len(ordinary) < 60 {
		t.Errorf("only %d values files", len(ordinary))
	}
	for values, want := range ordinary {
		t.Run(values, func(t *testing.T) {
			file := filepath.Join(dir, "values.yaml")
			must.Do(t, os.WriteFile(file, []byte(values), 0o600))
			run(t, "", "helm", "lint", "--strict", "--quiet", chart, "-f", file)
			rendered := render(t, chart, "-f", file)
			if !strings.Contains(rendered, want) || strings.Contains(rendered, "GOMEMLIMIT") && !strings.Contains(values, "GOMEMLIMIT") {
				t.Errorf("no %q:\n%s", want, rendered)
			}
			run(t, rendered, "manifests", "-") // refuses duplicate keys, and invalid labels
			if strings.Contains(values, "null, fsGroup") && strings.Contains(rendered, "65532") {
				t.Error("the user is fixed")
			}
		})
	}
}

// The network policy selects the exporter's pods. The values say who may connect to them, and where they may connect to. DNS is always
// allowed. A direction without values has no limit.
func TestNetworkPolicyHasThePeersOfTheValues(t *testing.T) {
	testworld.Full(t)
	anybody := []any{map[string]any{"ports": []any{map[string]any{"port": "http"}}}}
	dns := map[string]any{"ports": []any{map[string]any{"port": 53, "protocol": "UDP"}, map[string]any{"port": 53, "protocol": "TCP"}}}
	from := []any{
		map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"name": "monitoring"}}},
		map[string]any{"ipBlock": map[string]any{"cidr": "10.0.0.0/8"}},
	}
	only := []any{map[string]any{"ports": []any{map[string]any{"port": "http"}}, "from": from}}
	to := map[string]any{"ports": []any{map[string]any{"port": 9650}}}
	for values, want := range map[string]map[string]any{
		"{}": {"policyTypes": []any{"Ingress"}, "ingress": anybody},
		"networkPolicy: {from: [{namespaceSelector: {matchLabels: {name: monitoring}}}, {ipBlock: {cidr: 10.0.0.0/8}}]}": {
			"policyTypes": []any{"Ingress"}, "ingress": only,
		},
		"networkPolicy: {egress: [{ports: [{port: 9650}]}]}": {"policyTypes": []any{"Ingress", "Egress"}, "ingress": anybody, "egress": []any{dns, to}},
		"networkPolicy: {enabled: false}":                    nil,
	} {
		t.Run(values, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "values.yaml")
			must.Do(t, os.WriteFile(file, []byte(values), 0o600))
			var got, pods map[string]any
			for _, m := range manifests(t, render(t, chart, "-f", file)) {
				switch spec, _ := m["spec"].(map[string]any); m["kind"] {
				case "NetworkPolicy":
					got = spec
				case "Deployment":
					pods = spec
				}
			}
			if want != nil {
				want["podSelector"] = pods["selector"]
			}
			if differ := cmp.Diff(want, got); differ != "" {
				t.Error(differ)
			}
		})
	}
}

func TestInvalidChartValuesAreRejected(t *testing.T) {
	testworld.Full(t)
	for _, c := range []struct{ value, want string }{
		{`{"node": {"mine": "http://x:9650"}}`, "node"},
		{`{"nodes": {"mine": "x:9650"}}`, "/nodes/mine"},
		{`{"nodes": {"mine": "http://user:canary@x:9650"}}`, "/nodes/mine"},
		{`{"config": {"AVAX_SHARD": "1"}}`, "AVAX_SHARD"},
		{`{"config": {"LOG_LEVEL": "WARN"}}`, "LOG_LEVEL"},
		{`{"secrets": {"avax-data": {"AVAX_DATA_API_KEY": "canary"}}}`, "AVAX_DATA_API_KEY"},
		{`{"shards": 0}`, "/shards"},
		{`{"shards": "2"}`, "/shards': got string, want integer"},
		{`{"replicas": 1.5}`, "/replicas"},
		{`{"image": {"tag": 1.10}}`, "/image/tag': got number, want string"},
		{`{"image": {"tag": "a b"}}`, "/image/tag"},
		{`{"image": {"digest": "0123"}}`, "/image/digest"},
		{`{"image": {"repository": ""}}`, "/image/repository"},
		{`{"podLabels": {"team": true}}`, "/podLabels/team': got boolean, want string"},
		{`{"podLabels": {"team": "a b"}}`, "/podLabels/team"},
		{`{"podLabels": {"a/b/c": "x"}}`, "a/b/c"},
		{`{"nodeSelector": {"gpu": 1}}`, "/nodeSelector/gpu"},
		{`{"resources": {"limits": {"memory": "1 GB"}}}`, "/resources/limits/memory"},
		{`{"resources": {"limit": {"memory": "1Gi"}}}`, "limit"},
		{`{"resources": {"limits": {"memory": "256Mb"}}}`, "/resources/limits/memory"},
		{`{"state": {"enabled": "true"}}`, "/state/enabled': got string, want boolean"},
		{`{"state": {"size": "5 GB"}}`, "/state/size"},
		{`{"extraEnv": {"A": "b"}}`, "/extraEnv': got object, want array"},
		{`{"extraEnv": [{"name": "AVAX_SHARD", "value": "1"}]}`, "/extraEnv/0/name"},
		{`{"extraEnv": [{"name": "A", "value": 1}]}`, "/extraEnv/0/value': got number, want string"},
		{`{"extraEnv": [{"value": "1"}]}`, "missing property 'name'"},
		{`{"nameOverride": "My_App"}`, "/nameOverride"},
		{`{"fullnameOverride": "1st"}`, "/fullnameOverride"},
		{`{"service": {"port": 70000}}`, "/service/port"},
		{`{"monitor": {"interval": "30"}}`, "/monitor/interval"},
		{`{"config": {"AVAX_CHAINS": ["C"]}}`, "/config/AVAX_CHAINS"},
		{`{"config": {"AVAX_NOTIFY_FILE": "/x"}, "secrets": {"s": {"AVAX_NOTIFY_FILE": "n.yml"}}}`, "AVAX_NOTIFY_FILE is in config and in secrets: remove one"},
		{`{"replicas": 2, "state": {"enabled": true}}`, "replicas has no effect"},
		{`{"replicas": 2, "shards": 3}`, "replicas has no effect"},
		{`{"monitor": {"kind": "Probe"}}`, "/monitor/kind"},
	} {
		file := filepath.Join(t.TempDir(), "values.json")
		must.Do(t, os.WriteFile(file, []byte(c.value), 0o600))
		out, err := exec.CommandContext(t.Context(), testworld.Binary(t, "helm"), "template", chart, "-f", file).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, want %s in the error:\n%s", c.value, err, c.want, out)
		}
	}
}

// Each value in the schema has a default and a comment in values.yaml.
func TestEveryChartValueIsUsed(t *testing.T) {
	testworld.Full(t)
	var values map[string]any
	text := must.Get(os.ReadFile(chart + "/values.yaml"))(t)
	must.Do(t, yaml.Unmarshal(text, &values))
	schema := must.Get(os.ReadFile(chart + "/values.schema.json"))(t)
	known := parse(t, string(schema)).(map[string]any)["properties"].(map[string]any)
	delete(known, "global") // Helm's own
	for name, of := range known {
		value, shown := values[name]
		if !shown {
			t.Errorf("%s is not in values.yaml", name)
		}
		inner, _ := of.(map[string]any)["properties"].(map[string]any)
		for name2 := range inner {
			if _, shown := value.(map[string]any)[name2]; !shown {
				t.Errorf("%s.%s is not in values.yaml", name, name2)
			}
		}
	}
	if len(known) < 10 {
		t.Errorf("%d values in the schema", len(known))
	}
}

func examples(t *testing.T) []string {
	files, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	return files
}

// render returns the output of helm template.
func render(t *testing.T, args ...string) string {
	return run(t, "", "helm", append([]string{"template", "avax-exporter"}, args...)...)
}

// manifests parses a stream.
func manifests(t *testing.T, stream string) (all []map[string]any) {
	for decoder := yaml.NewDecoder(strings.NewReader(stream)); ; {
		var m map[string]any
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
}

func parse(t *testing.T, text string) (v any) {
	must.Do(t, json.Unmarshal([]byte(text), &v))
	return v
}

// run returns the output of a program, and prints its log if it fails.
func run(t *testing.T, stdin, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), testworld.Binary(t, program), args...)
	var log bytes.Buffer
	command.Stdin, command.Stderr = strings.NewReader(stdin), &log
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, &log)
	}
	return string(out)
}
