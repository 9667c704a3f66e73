package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

func TestSIGTERMDuringARunExitsWithCode0(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	gates, nodes := gated(t, "alpha")
	requested := make(chan struct{}, 1)
	gates["alpha"].behaveAs(func(w http.ResponseWriter, r *http.Request, good func() answer) {
		select {
		case requested <- struct{}{}:
		default:
		}
		hung(w, r, good)
	})
	e := start(t, append(quickly("up", "identity", "peers"), nodes)...)
	if _, err := e.Scrape(); err != nil { // leaves a connection open
		t.Fatal(err)
	}
	select {
	case <-requested:
	case <-testworld.TimedOut(t):
		t.Fatal("no call in progress")
	}
	if code := e.End(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	e.awaitLog(`"msg":"stopped"`)
}

// A killed process leaves an incomplete file, and a disk may damage others.
func TestStateSurvivesAKillAndDamagedFiles(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	network.SetNetworkID(1)
	urls := testworld.Serve(t, network)
	dir := t.TempDir()
	environment := rewarded(urls, dir)
	first := start(t, environment...)
	before := first.Until("rewards are exported", hasRewards)
	files := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		return found
	}
	testworld.Await(t, "the state", func() error {
		if len(files()) == 0 {
			return errors.New("no file is written")
		}
		return nil
	})
	first.End(syscall.SIGKILL)
	write(t, filepath.Join(dir, ".half.json1"), "{")

	same := func(what string, e *exporter) {
		after := e.Until("rewards are exported "+what, hasRewards)
		for series, value := range before {
			if strings.HasPrefix(series, "avax_rewards_") && after[series] != value {
				t.Errorf("%s: %s %v, before %v", what, series, after[series], value)
			}
		}
	}
	second := start(t, environment...)
	same("after the restart", second)
	if _, err := os.Stat(filepath.Join(dir, ".half.json1")); err == nil {
		t.Error("incomplete file left")
	}
	if strings.Contains(second.Log(), "starting without it") {
		t.Errorf("state not restored:\n%s", second.Log())
	}
	second.End(syscall.SIGKILL)
	if len(files()) == 0 {
		t.Fatal("no state files")
	}
	for _, file := range files() {
		write(t, file, "\x00\x00{\"torn")
	}
	third := start(t, environment...)
	same("with damaged files", third)
	third.awaitLog("state file damaged")
	third.Until("the number of damaged files", func(p page) error { return atLeast("avax_exporter_state_files_damaged", 1)(p) })
	third.End(syscall.SIGKILL)
	for _, file := range files() {
		must.Do(t, os.Remove(file), syscall.Mkfifo(file, 0o600))
	}
	same("with FIFOs in place of files", start(t, environment...))
}

// mounts reports whether this machine allows mounts in tests.
func mounts() bool {
	cmd := exec.Command("true")
	cmd.SysProcAttr = namespaces()
	return cmd.Run() == nil
}

func TestFullDiskLosesOnlyStateAcrossRestarts(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	network.SetNetworkID(1)
	urls := testworld.Serve(t, network)
	dir := t.TempDir()
	environment := rewarded(urls, dir)
	var e *exporter
	repair := func() error { return os.Chmod(dir, 0o700) }
	if mounts() {
		e = startUnder(t, []string{"mount -t tmpfs -o size=16k tmpfs " + dir, "{ dd if=/dev/zero of=" + dir + "/filler bs=1k 2>/dev/null; true; }"}, environment...)
		repair = func() error { return os.Remove(fmt.Sprintf("/proc/%d/root%s/filler", e.PID(), dir)) }
	} else {
		must.Do(t, os.Chmod(dir, 0o500))
		e = start(t, environment...)
	}
	e.Until("rewards are exported", hasRewards)
	e.awaitLog("a restart loses it|AVAX_STATE_DIR cannot be used")
	if n := strings.Count(e.Log(), "a restart loses it"); n > 3 {
		t.Errorf("logged %d times", n)
	}
	e.Until("the node is up", isUp("alpha"))
	must.Do(t, repair())
	network.PayReward("alpha", "VALIDATOR", 1e9) // a change that must be saved
	testworld.Await(t, "the state, once there is room", func() error {
		found, _ := filepath.Glob(fmt.Sprintf("/proc/%d/root%s/*.json", e.PID(), dir))
		if len(found) == 0 {
			return errors.New("no file is written")
		}
		return nil
	})
}

// After an error of the disk, the system mounts it read-only. The exporter must start and alert.
func TestReadOnlyDiskDoesNotPreventTheStart(t *testing.T) {
	testworld.Full(t)
	if !mounts() {
		t.Skip("needs mounts")
	}
	_, nodes := gated(t, "alpha")
	dir := t.TempDir()
	e := startUnder(t, []string{"mount -t tmpfs -o ro tmpfs " + dir}, append(quickly("up"), nodes, "AVAX_STATE_DIR="+dir,
		"AVAX_ALERTING_INTERVAL=500ms", "AVAX_NOTIFY_FILE="+testworld.File(t, "{route: {receiver: nobody}, receivers: [{name: nobody}]}"))...)
	e.awaitLog("state directory unusable")
	e.Until("the node is up, and alerts are not saved", func(p page) error {
		return errors.Join(isUp("alpha")(p), testworld.Is("avax_exporter_alerts_remembered", 0)(p))
	})
}

// A state directory of another user is an error of the configuration, which check finds too.
func TestUnwritableStateDirectoryIsRejected(t *testing.T) {
	testworld.Full(t)
	cmd, dir := unprivileged(t)
	must.Do(t, os.Chmod(dir, 0o555))
	cmd.Env = append(os.Environ(), "AVAX_NODES=alpha=http://127.0.0.1:1", "AVAX_STATE_DIR="+dir)
	out, _ := cmd.CombinedOutput()
	if err := wants(string(out), nil, "AVAX_STATE_DIR: "+dir+": permission denied: create a directory that this user may write to"); err != nil ||
		cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("%v: %v", cmd.ProcessState, err)
	}
}

// The names are in a file mounted over /etc/hosts if this machine allows that; otherwise the name never existed.
func TestNodeWithoutDNSIsDown(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	gates, _ := gated(t, "alpha", "bravo")
	alpha, bravo := gates["alpha"], gates["bravo"]
	_, port, _ := strings.Cut(bravo.address, ":")
	hosts, resolv := filepath.Join(t.TempDir(), "hosts"), filepath.Join(t.TempDir(), "resolv.conf")
	known := []byte("127.0.0.1 localhost\n127.0.0.1 bravo.test\n")
	write := func(file string, content []byte) { // in place, because it is mounted
		must.Do(t, os.WriteFile(file, content, 0o644))
	}
	write(hosts, known)
	write(resolv, []byte("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")) // no server there
	environment := append(
		quickly("up", "identity"),
		"AVAX_NODES=alpha="+alpha.url()+",bravo=http://bravo.test:"+port,
		"AVAX_HTTP_CONFIG_FILE="+testworld.File(t, `[{upstreams: ["*"], host: localhost}]`),
	)
	var e *exporter
	withMounts := mounts()
	if withMounts {
		e = startUnder(t, []string{"mount --bind " + hosts + " /etc/hosts", "mount --bind " + resolv + " /etc/resolv.conf"}, environment...)
		e.Until("bravo is up", isUp("bravo"))
	} else {
		e = start(t, environment...)
	}
	bravo.behaveAs(func(w http.ResponseWriter, _ *http.Request, good func() answer) {
		w.Header().Set("Connection", "close") // otherwise open connections would continue
		good().send(w)
	})
	write(hosts, []byte("127.0.0.1 localhost\n"))
	// Names are resolved again after five seconds.
	e.Until("bravo is down", isDown("bravo"))
	e.awaitLog(`"target":"bravo".*(no such host|server misbehaving|lookup bravo.test)`)
	if err := isUp("alpha")(e.Until("a page", func(page) error { return nil })); err != nil {
		t.Error(err)
	}
	if withMounts {
		write(hosts, known)
		e.Until("bravo is up again", isUp("bravo"))
	}
}

// A name server that hangs, or that answers with many addresses of which none is the node, affects only the node with this name.
func TestBadNameServerAffectsOnlyItsNode(t *testing.T) {
	testworld.Full(t)
	if !mounts() {
		t.Skip("needs mounts")
	}
	for name, answer := range map[string]func(question []byte) []byte{
		"hangs":          func([]byte) []byte { return nil },
		"many addresses": manyAddresses,
	} {
		t.Run(name, func(t *testing.T) {
			server, err := net.ListenPacket("udp", "127.9.9.9:53")
			if err != nil {
				t.Skipf("needs a name server: %v", err)
			}
			t.Cleanup(func() { _ = server.Close() })
			go func() {
				for buffer := make([]byte, 1<<10); ; {
					n, from, err := server.ReadFrom(buffer)
					if err != nil {
						return
					}
					if text := answer(buffer[:n]); text != nil {
						_, _ = server.WriteTo(text, from)
					}
				}
			}()
			_, nodes := gated(t, "alpha")
			resolv := testworld.File(t, "nameserver 127.9.9.9\n")
			e := startUnder(t, []string{"mount --bind " + resolv + " /etc/resolv.conf"}, append(quickly("up", "identity"), nodes+",bravo=http://bravo.test:1")...)
			began := time.Now()
			e.Until("bravo is down, alpha is up", func(p page) error {
				return errors.Join(isUp("alpha")(p), isDown("bravo")(p))
			})
			t.Logf("after %v, %d MB", time.Since(began).Round(time.Millisecond), e.resident()>>20)
			if resident := e.resident(); resident > 120<<20 {
				t.Errorf("%d MB", resident>>20)
			}
		})
	}
}

// manyAddresses answers a DNS question with 70 addresses at which nothing listens: as many as fit into a datagram of 1,232 bytes.
func manyAddresses(question []byte) []byte {
	const header, records = 12, 70
	end := header + bytes.IndexByte(question[header:], 0) + 5 // name, type and class
	kind := question[end-3]
	text := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, records, 0, 0, 0, 0}, question[header:end]...)
	if kind != 1 { // AAAA: no records
		text[7] = 0
		return text
	}
	for i := range byte(records) {
		text = append(text, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 77, 0, i)
	}
	return text
}

// Without file descriptors new connections fail, and open ones continue.
func TestConnectedScraperIsServedWithoutDescriptors(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	gates, nodes := gated(t, "alpha", "bravo")
	e := start(t, append(quickly("up", "identity"), nodes)...)
	e.Ready()
	idle := figuresOf(e.Until("both are up", isUp("alpha", "bravo")))
	limit(t, e.PID(), 3) // in addition to the open ones
	gates["bravo"].shut()
	gates["bravo"].open()
	e.Until("the exporter lacks descriptors", func(p page) error {
		if value, there := p[`avax_node_up{node="bravo"}`]; there && value == 0 {
			t.Error("bravo counts as down while the exporter lacks descriptors")
		}
		if p[`avax_exporter_upstream_requests_total{op="info.getNodeVersion",outcome="local_limit",upstream="bravo"}`] < 5 {
			return errors.New("no such outcome yet")
		}
		return nil
	})
	e.awaitLog(`"target":"bravo".*too many open files`)
	e.Until("up of bravo is absent", func(p page) error {
		if value, there := p[`avax_node_up{node="bravo"}`]; there {
			return fmt.Errorf("it is %v", value)
		}
		return nil
	})
	limit(t, e.PID(), 1024)
	e.Until("bravo is up again", isUp("bravo"))
	response, err := (&http.Client{Timeout: time.Until(testworld.Deadline(t)), Transport: &http.Transport{DisableKeepAlives: true}}).Get(e.URL + "/metrics")
	if err != nil {
		t.Fatalf("new scraper: %v", err)
	}
	response.Body.Close()
	t.Logf("before: %v, after: %v", idle, e.settled(idle))
}

// limit sets the limit of file descriptors of the process.
func limit(t *testing.T, pid int, descriptors uint64) {
	t.Helper()
	setLimit(t, pid, syscall.RLIMIT_NOFILE, descriptors, 1024)
}

// setLimit sets a limit of a running process.
func setLimit(t *testing.T, pid, resource int, soft, hard uint64) {
	t.Helper()
	rlimit := syscall.Rlimit{Cur: soft, Max: hard}
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(resource), uintptr(unsafe.Pointer(&rlimit)), 0, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
}

// As OpenShift runs the image: a user without a name, of the group root, a file system without a place to write but shared memory, and no capability. It
// serves, evaluates rules and sends pages.
func TestRandomUserWithAReadOnlyRoot(t *testing.T) {
	testworld.Full(t)
	if !mounts() || os.Getuid() != 0 {
		t.Skip("needs mounts and root")
	}
	testworld.Needs(t, "setpriv", "chroot")
	root := t.TempDir()
	must.Do(t, os.Chmod(root, 0o755))
	binary := must.Get(os.ReadFile(testworld.ExporterPath(t)))(t)
	must.Do(t, os.WriteFile(filepath.Join(root, "avax-exporter"), binary, 0o755), os.Mkdir(filepath.Join(root, "etc"), 0o755),
		os.MkdirAll(filepath.Join(root, "dev", "shm"), 0o755))
	receiver := testworld.Webhook(t)
	notify := fmt.Sprintf("{route: {receiver: all, group_wait: 0s}, receivers: [{name: all, webhook_configs: [{url: %q}]}]}", receiver.URL)
	rules := `{groups: [{name: test, rules: [{alert: Down, expr: avax_node_up == 0, labels: {severity: page}}]}]}`
	for name, text := range map[string]string{"notify.yml": notify, "rules.yml": rules} {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil { //nolint:gosec // another user reads it
			t.Fatal(err)
		}
	}
	gates, nodes := gated(t, "alpha")
	cmd := exec.Command("sh", "-ec", `mount --bind "$0" "$0"
		mount -t tmpfs -o mode=1777,size=64m tmpfs "$0/dev/shm" # every container has it
		mount -o remount,ro,bind "$0"
		exec setpriv --no-new-privs chroot --userspec=1000650000:0 --groups= "$0" /avax-exporter`, root)
	cmd.SysProcAttr = namespaces()
	e := run(t, cmd, append(quickly("up"), nodes, "AVAX_ALERTING_INTERVAL=500ms", "AVAX_NOTIFY_FILE=/etc/notify.yml", "AVAX_RULES_FILE=/etc/rules.yml")...)
	e.Until("the node is up", isUp("alpha"))
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.PID()))
	for _, want := range []string{"Uid:\t1000650000\t1000650000", "Gid:\t0\t0", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"} {
		if err != nil || !strings.Contains(string(status), want) {
			t.Errorf("no %q: %v\n%s", want, err, status)
		}
	}
	gates["alpha"].shut()
	testworld.Await(t, "the page", func() error {
		if len(receiver.Alerts()) == 0 {
			return errors.New("no page")
		}
		return nil
	})
}
