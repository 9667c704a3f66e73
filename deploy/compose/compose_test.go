package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

type service struct {
	Image       string
	Build       *struct{ Context, Dockerfile string }
	Environment map[string]string
	Volumes     []string
}

// services parses compose.yml.
func services(t *testing.T) map[string]service {
	t.Helper()
	var file struct {
		Services map[string]service
		Volumes  map[string]any
	}
	parse(t, "compose.yml", &file)
	return file.Services
}

func parse(t *testing.T, path string, into any) {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// host returns the path on this machine of a path in the container, or "" if it is not mounted from here.
func (s service) host(inside string) string {
	for _, volume := range s.Volumes {
		source, target, _ := strings.Cut(strings.TrimSuffix(volume, ":ro"), ":")
		if rest, ok := strings.CutPrefix(inside, target); ok && strings.HasPrefix(source, ".") && (rest == "" || rest[0] == '/') {
			return filepath.Join(source, rest)
		}
	}
	return ""
}

func TestImagesArePinned(t *testing.T) {
	release := regexp.MustCompile(`:v?\d+\.\d+\.\d+$`)
	for name, s := range services(t) {
		if s.Build == nil && !release.MatchString(s.Image) {
			t.Errorf("%s: image %q without a version", name, s.Image)
		}
	}
}

func TestMountedAndBuiltFilesExist(t *testing.T) {
	for name, s := range services(t) {
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if !strings.HasPrefix(source, ".") {
				continue // a docker volume
			}
			if _, err := os.Stat(source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !strings.HasSuffix(volume, ":ro") {
				t.Errorf("%s: %s is writable", name, source)
			}
		}
		if s.Build != nil {
			if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestPrometheusAcceptsConfigurationAndRules(t *testing.T) {
	prometheus := services(t)["prometheus"]
	dir := t.TempDir() // as in the container
	for _, name := range []string{"prometheus.yml", "rules.yml", "companion.yml"} {
		text := must.Get(os.ReadFile(prometheus.host("/etc/prometheus/" + name)))(t)
		must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	out := run(t, "promtool", "check", "config", filepath.Join(dir, "prometheus.yml"))
	if !strings.Contains(out, "2 rule files found") {
		t.Errorf("Prometheus does not load both rules files:\n%s", out)
	}
}

// The tests of deploy/alertmanager check this file.
func TestAlertmanagerHasTheShippedConfiguration(t *testing.T) {
	if file := services(t)["alertmanager"].host("/etc/alertmanager/alertmanager.yml"); file != "../alertmanager/alertmanager.yml" {
		t.Errorf("Alertmanager reads %q", file)
	}
}

func TestGrafanaProvisioningIsValid(t *testing.T) {
	grafana := services(t)["grafana"]
	home := grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if _, err := os.Stat(grafana.host(home)); err != nil {
		t.Errorf("home dashboard %s: %v", home, err)
	}

	var dashboards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	parse(t, grafana.host("/etc/grafana/provisioning/dashboards/dashboards.yml"), &dashboards)
	for _, provider := range dashboards.Providers {
		if found, _ := filepath.Glob(filepath.Join(grafana.host(provider.Options.Path), "*.json")); len(found) == 0 {
			t.Errorf("%s: no dashboards", provider.Options.Path)
		}
	}

	var sources struct {
		Datasources []struct{ Type, URL string }
	}
	parse(t, grafana.host("/etc/grafana/provisioning/datasources/datasources.yml"), &sources)
	if got := sources.Datasources; len(got) != 1 || got[0].Type != "prometheus" || got[0].URL != "http://prometheus:9090" {
		t.Errorf("data sources %+v, want the prometheus service", got)
	}
}

func TestExampleEnvironmentUsesKnownVariables(t *testing.T) {
	example := must.Get(os.ReadFile(".env.example"))(t)
	for line := range strings.Lines(string(example)) {
		name, _, set := strings.Cut(strings.TrimPrefix(line, "#"), "=")
		name, ours := strings.CutPrefix(name, "AVAX_")
		if set && ours && !slices.ContainsFunc(config.Variables(), func(v config.Variable) bool { return v.Name == name }) {
			t.Errorf("unknown variable AVAX_%s", name)
		}
	}
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testworld.Binary(t, program), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}
