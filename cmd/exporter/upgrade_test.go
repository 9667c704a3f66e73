package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// operatingSection returns the part of docs/operating.md from a heading to the next of the same or a higher level.
func operatingSection(t *testing.T, heading string) string {
	t.Helper()
	text := must.Get(os.ReadFile("../../docs/operating.md"))(t)
	_, rest, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("no section %q", heading)
	}
	rest, _, _ = strings.Cut(rest, "\n###")
	return rest
}

// block returns the first block of a section in a language.
func block(t *testing.T, section, language string) string {
	t.Helper()
	found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(section)
	if found == nil {
		t.Fatalf("no block %s in %q", language, section)
	}
	return found[1]
}

// The script for many nodes upgrades the nodes of a group together, when the exporter says that they may, and stops if one is not back.
func TestDocumentedWavesScriptUpgradesGroups(t *testing.T) {
	script := block(t, operatingSection(t, "#### Many nodes"), "sh")
	for _, c := range []struct {
		dead string
		want []string
	}{{"", []string{"a", "b", "c", "d"}}, {"b", []string{"a", "b"}}} {
		var mu sync.Mutex
		var asked []string
		exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			nodes := r.URL.Query()["node"]
			asked = append(asked, r.URL.Path+" "+strings.Join(nodes, " "))
			switch {
			case r.URL.Path == "/waves" && len(nodes) == 0:
				fmt.Fprintln(w, "yes: 4 nodes may stop in 3 groups, if …\n1: a b (leaves P 90 %, one 81 %)\n2: c (leaves one 80 %)\n3: d")
			case r.URL.Path == "/waves" && slices.Contains(nodes, "c") && slices.Index(asked, "/waves c") == len(asked)-1:
				fmt.Fprintln(w, "yes: 1 node may stop in 2 groups")
			case r.URL.Path == "/waves":
				fmt.Fprintf(w, "yes: %d nodes may stop in 1 group, if …\n", len(nodes))
			case r.URL.Path == "/is-back" && nodes[0] != c.dead:
				fmt.Fprintln(w, "yes: it is back")
			default:
				w.WriteHeader(http.StatusConflict)
				fmt.Fprintln(w, "no: it is not")
			}
		}))
		text := strings.NewReplacer("http://exporter:9865", exporter.URL, "20m", "1s").Replace(script)
		command := exec.CommandContext(t.Context(), "sh", "-c", "upgrade() { echo $1 >>upgraded; }; sleep() { :; }\n"+text)
		command.Dir = t.TempDir()
		out, err := command.CombinedOutput()
		exporter.Close()
		if (err == nil) != (c.dead == "") {
			t.Errorf("dead %q: %v\n%s", c.dead, err, out)
		}
		done, _ := os.ReadFile(filepath.Join(command.Dir, "upgraded"))
		upgraded := strings.Fields(string(done))
		slices.Sort(upgraded) // those of a group run together
		if !slices.Equal(upgraded, c.want) {
			t.Errorf("dead %q: upgraded %q, want %q; asked %q\n%s", c.dead, upgraded, c.want, asked, out)
		}
	}
}

// The commands of the StatefulSet in docs/operating.md succeed only for the exporter's yes.
func TestDocumentedStatefulSetWaitsForYes(t *testing.T) {
	testworld.Needs(t, "bash")
	var set struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Lifecycle struct {
							PreStop struct{ Exec struct{ Command []string } } `yaml:"preStop"`
						}
						ReadinessProbe struct{ Exec struct{ Command []string } } `yaml:"readinessProbe"`
					}
				}
			}
		}
	}
	must.Do(t, yaml.Unmarshal([]byte(block(t, operatingSection(t, "#### Kubernetes"), "yaml")), &set))
	container := set.Spec.Template.Spec.Containers[0]
	// The pod is ready when the exporter has reached it, so that its name must exist before.
	var service struct {
		Kind string
		Spec struct {
			PublishNotReadyAddresses bool   `yaml:"publishNotReadyAddresses"`
			ClusterIP                string `yaml:"clusterIP"`
		}
	}
	_, after, _ := strings.Cut(operatingSection(t, "#### Kubernetes"), "```\n")
	must.Do(t, yaml.Unmarshal([]byte(block(t, after, "yaml")), &service))
	if service.Kind != "Service" || !service.Spec.PublishNotReadyAddresses || service.Spec.ClusterIP != "None" {
		t.Errorf("the Service of the StatefulSet: %+v", service)
	}
	for path, command := range map[string][]string{"/safe-to-stop": container.Lifecycle.PreStop.Exec.Command, "/serving": container.ReadinessProbe.Exec.Command} {
		for _, answer := range stopAnswers {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.String())
				answer.serve(w, r)
			}))
			script := strings.ReplaceAll(command[2], "avax-exporter.monitoring/9865", strings.Replace(strings.TrimPrefix(server.URL, "http://"), ":", "/", 1))
			shell := exec.CommandContext(t.Context(), command[0], command[1], "sleep() { exit 1; }\n"+script)
			shell.Env = append(os.Environ(), "HOSTNAME=validator-0")
			out, err := shell.CombinedOutput()
			server.Close()
			if (err == nil) != answer.yes {
				t.Errorf("%s: %s: %v\n%s", path, answer.name, err, out)
			}
			if len(asked) != 1 || !strings.HasPrefix(asked[0], path+"?node=validator-0") {
				t.Errorf("%s: %s: asked %q", path, answer.name, asked)
			}
		}
	}
}
