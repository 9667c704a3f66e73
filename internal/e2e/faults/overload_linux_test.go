package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// limitCPU lets a process use this share of a CPU, until the test ends or the returned function is called.
func limitCPU(t *testing.T, pid int, share float64) (lift func()) {
	t.Helper()
	const period = 100_000 // microseconds
	quota := int(share * period)
	name := fmt.Sprintf("avax-exporter-cpu-%d", pid)
	for root, files := range map[string][]string{ // versions 2 and 1
		"/sys/fs/cgroup":     {"cpu.max", fmt.Sprintf("%d %d", quota, period)},
		"/sys/fs/cgroup/cpu": {"cpu.cfs_quota_us", fmt.Sprint(quota)},
	} {
		group := filepath.Join(root, name)
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil || os.Mkdir(group, 0o755) != nil {
			continue
		}
		err := errors.Join(os.WriteFile(filepath.Join(group, files[0]), []byte(files[1]), 0o600),
			os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(fmt.Sprint(pid)), 0o600))
		lift = func() {
			_ = os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte(fmt.Sprint(pid)), 0o600)
			_ = os.Remove(group)
		}
		if err == nil {
			t.Cleanup(lift)
			return lift
		}
		_ = os.Remove(group)
	}
	t.Skip("needs the right to create cgroups with a CPU quota")
	return nil
}

var headline = regexp.MustCompile(`<h1.*?</h1>`)

// An exporter with 300 nodes that gets a tenth of a CPU sends one page, about itself.
func TestOverloadedExporterSendsOnePage(t *testing.T) {
	testworld.Full(t)
	var names, nodes []string
	for i := range 298 {
		names = append(names, fmt.Sprintf("node%03d", i))
	}
	network := simnet.New(simnet.Options{Seed: 1, Nodes: names})
	urls, err := network.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "alpha", "bravo") {
		nodes = append(nodes, name+"="+urls[name])
	}
	receiver := testworld.Webhook(t)
	const age = "labels: {alert: AvaxDataTooOld}, expr: vector(30 * 60)"
	rules := strings.Replace(string(alerts.Rules), age, strings.Replace(age, "30", "3", 1), 1) // else the test takes half an hour longer
	if rules == string(alerts.Rules) {
		t.Fatal("no threshold of AvaxDataTooOld")
	}
	e := run(t, exec.Command(testworld.ExporterPath(t)), "AVAX_NODES="+strings.Join(nodes, ","), "AVAX_RULES_FILE="+testworld.File(t, rules),
		"AVAX_NOTIFY_FILE="+testworld.File(t, `{route: {receiver: nobody, group_by: [alertname, chain, node], group_wait: 5s, group_interval: 30s, routes: [{matchers: [severity="page"], receiver: pager}]}, receivers: [{name: nobody}, {name: pager, webhook_configs: [{url: "`+receiver.URL+`"}]}]}`))
	e.Ready()
	pages := func() (firing []string) {
		for _, a := range receiver.Alerts() {
			firing = append(firing, a.Status+" "+a.Labels["alertname"]+" "+a.Labels["cause"]+" "+a.Labels["node"])
		}
		slices.Sort(firing)
		return slices.Compact(firing)
	}
	time.Sleep(2 * time.Minute)
	if got := pages(); len(got) > 0 {
		t.Fatalf("pages before the overload: %q", got)
	}
	lift := limitCPU(t, e.PID(), 0.1)
	began := time.Now()
	for len(pages()) == 0 && time.Since(began) < 20*time.Minute {
		time.Sleep(5 * time.Second)
	}
	t.Logf("first page after %v: %q", time.Since(began).Round(time.Second), pages())
	time.Sleep(12 * time.Minute) // AvaxDataTooOld would page after ten
	// The cause is missing if the exporter is too slow even for its own scrape.
	if got := pages(); !slices.Equal(got, []string{"firing AvaxExporterDown overload "}) && !slices.Equal(got, []string{"firing AvaxExporterDown  "}) {
		t.Errorf("pages %q, want one about the exporter", got)
	}
	_, page, err := e.Get("/")
	lift()
	t.Logf("headline %s, %v", headline.FindString(page), err)
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
	}
	_, body, err := e.Get("/api/v1/alerts")
	if err := errors.Join(err, json.Unmarshal([]byte(body), &answer)); err != nil {
		t.Error(err)
	}
	active := map[string]int{}
	for _, a := range answer.Data.Alerts {
		active[strings.Join([]string{a.Labels["alertname"], a.Labels["severity"], a.State}, " ")]++
	}
	t.Logf("active alerts %v", active)
	if path := os.Getenv("OVERLOAD_PAGE"); path != "" {
		_ = os.WriteFile(path, []byte(page), 0o600)
	}
	time.Sleep(6 * time.Minute)
	t.Logf("pages, six minutes after the overload: %q", pages())
}
