package faults_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// secretive is the environment of an exporter with a canary as each kind of secret; its files are in dir.
func secretive(t *testing.T, dir string) []string {
	t.Helper()
	network := simnet.New(simnet.Options{Seed: 1})
	network.SetNetworkID(1)
	urls := testworld.Serve(t, network)
	environment := append(
		quickly("up", "identity", "data_up"),
		"AVAX_ALERTING_INTERVAL=500ms",
		"AVAX_NODES=alpha=http://me:"+canary+"-1@"+strings.TrimPrefix(urls["alpha"], "http://"),
		"AVAX_NETWORK=mainnet",
		"AVAX_DATA_URL="+urls["data"],
		"AVAX_DATA_BUDGET=1000000/m",
		"AVAX_LOG_LEVEL=DEBUG",
		"AVAX_ALERTMANAGERS=http://127.0.0.1:1",
	)
	for variable, content := range map[string]string{
		"AVAX_HTTP_CONFIG_FILE": "- {upstreams: [alpha], http_config: {http_headers: {X-Api-Key: {values: [" + canary + "-2]}}}}\n" +
			"- {upstreams: [alertmanager], http_config: {basic_auth: {username: me, password: " + canary + "-4}}}\n",
		"AVAX_DATA_API_KEY_FILE": canary + "-3\n",
		"AVAX_RULES_FILE":        "groups: [{name: all, rules: [{alert: Always, expr: vector(1)}]}]\n",
		"webhook":                "http://127.0.0.1:1/" + canary + "-5\n",
		"telegram":               canary + "-6\n",
		"AVAX_NOTIFY_FILE": "route: {receiver: phone, group_wait: 10ms}\nreceivers: [{name: phone, webhook_configs: [{url_file: " + filepath.Join(dir, "webhook") + "}], " +
			"telegram_configs: [{bot_token_file: " + filepath.Join(dir, "telegram") + ", chat_id: 1, api_url: 'http://127.0.0.1:1'}]}]\n",
	} {
		file := filepath.Join(dir, variable)
		must.Do(t, os.WriteFile(file, []byte(content), 0o644))
		if strings.HasPrefix(variable, "AVAX_") {
			environment = append(environment, variable+"="+file)
		}
	}
	return environment
}

// usesSecrets succeeds once the node and both receivers have received their secrets.
func usesSecrets(p page) error {
	receiver := func(integration string) string {
		return `avax_exporter_receiver_up{integration="` + integration + `",receiver="phone"}`
	}
	return errors.Join(isUp("alpha")(p), testworld.Is(receiver("webhook[0]"), 0)(p), testworld.Is(receiver("telegram[0]"), 0)(p))
}

// unlimited allows core files of any size that this machine allows.
const unlimited = `ulimit -c unlimited 2>/dev/null; `

// A process that uses secrets has them in memory, so there must not be a core file.
func TestCrashLeavesNoCore(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGABRT, syscall.SIGQUIT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command("sh", "-c", unlimited+`exec "$0"`, testworld.ExporterPath(t))
			cmd.Dir = dir
			e := run(t, cmd, append(secretive(t, t.TempDir()), "GOTRACEBACK=crash")...)
			e.Until("the node and the receivers are sent their secrets", usesSecrets)
			must.Do(t, cmd.Process.Signal(signal))
			select {
			case <-e.Ended:
			case <-testworld.TimedOut(t):
				t.Fatal("process does not exit")
			}
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.CoreDump() {
				t.Errorf("exited with %v", cmd.ProcessState)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("files left: %v", left)
			}
			e.awaitLog(`^goroutine [0-9]+|\ngoroutine [0-9]+`)
			if strings.Contains(e.Log(), canary) {
				t.Errorf("secret in its last output:\n%s", e.Log())
			}
		})
	}
	t.Run("another program does", func(t *testing.T) { // otherwise the other cases would show nothing
		t.Parallel()
		cmd := exec.Command("sh", "-c", unlimited+"kill -ABRT $$")
		cmd.Dir = t.TempDir()
		if err := cmd.Run(); err == nil {
			t.Fatal("process still running")
		}
		if !cmd.ProcessState.Sys().(syscall.WaitStatus).CoreDump() {
			t.Logf("this machine allows no core files (%v): the protection is only tested by reads of other processes", cmd.ProcessState)
		}
	})
}

// Another process of the same user may read neither memory nor environment. The process itself still exports its own metrics.
func TestSameUserProcessReadsNoSecret(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	cmd, dir := unprivileged(t)
	e := run(t, cmd, secretive(t, dir)...)
	p := e.Until("the node and the receivers are sent their secrets", usesSecrets)
	for _, series := range []string{"process_open_fds", "process_max_fds", "process_resident_memory_bytes", "process_virtual_memory_bytes", "process_start_time_seconds"} {
		if p[series] <= 0 {
			t.Errorf("%s: %v", series, p[series])
		}
	}

	sleeper := exec.Command("sleep", "60")
	sleeper.SysProcAttr, sleeper.Env = cmd.SysProcAttr, []string{"SECRET=" + canary}
	must.Do(t, sleeper.Start())
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	reads := func(pid int, file string) error {
		neighbour := exec.Command("head", "-c", "1", fmt.Sprintf("/proc/%d/%s", pid, file))
		neighbour.SysProcAttr = cmd.SysProcAttr
		out, err := neighbour.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := reads(sleeper.Process.Pid, "environ"); err != nil {
		t.Errorf("memory of an unprotected program not readable either: %v", err)
	}
	for _, file := range []string{"environ", "mem", "fd/0"} {
		if err := reads(cmd.Process.Pid, file); err == nil || !strings.Contains(err.Error(), "Permission denied") {
			t.Errorf("%s of process %d readable by another process: %v", file, cmd.Process.Pid, err)
		}
	}
}
