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
	"time"
	"unsafe"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// A real clock is set in another kernel, User-Mode Linux, so that the clock of this machine keeps its time. The test starts itself there
// as the first process.
func TestClockStepsInAnotherKernel(t *testing.T) {
	testworld.Full(t)
	if os.Getpid() == 1 {
		defer func() { // this ends the other kernel
			fmt.Printf("passed=%v\n", !t.Failed())
			_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
		}()
		stepClock(t)
		return
	}
	kernel, err := filepath.Abs("../../../.tools/proxies/usr/bin/linux.uml")
	if err == nil {
		_, err = os.Stat(kernel)
	}
	if err != nil {
		t.Skip("needs User-Mode Linux: run make proxies")
	}
	test := must.Get(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), kernel, "mem=1G", "rootfstype=hostfs", "rootflags=/", "rw", "con=null", "con0=fd:0,fd:1", "init="+test,
		"PATH="+os.Getenv("PATH"), "TEST_EXPORTER="+testworld.ExporterPath(t), "--", "-test.run=^"+t.Name()+"$", "-test.v")
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), "=== RUN") {
		t.Skipf("User-Mode Linux does not run here: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "passed=true") {
		t.Errorf("%v\n%s", err, out)
	}
}

// stepClock sets the clock back and forward while an exporter runs.
func stepClock(t *testing.T) {
	t.Helper()
	must.Do(t, syscall.Mount("proc", "/proc", "proc", 0, ""), loopbackUp())
	network := simnet.New(simnet.Options{Seed: 1})
	urls := testworld.Serve(t, network)
	e := start(t, append(probed("identity", "chain_status", "uptime"), listed(urls, "alpha", "bravo"), "AVAX_ALERTING_INTERVAL=1s")...)
	up := isUp("alpha", "bravo")
	calm := func(p page) error { return errors.Join(up(p), testworld.Is(firing, 1)(p)) }
	e.Until("the nodes are up, and the watchdog fires", calm)
	for n, step := range []time.Duration{time.Hour, -2 * time.Hour, time.Hour, 30 * 24 * time.Hour, -30 * 24 * time.Hour} {
		now := syscall.NsecToTimeval(time.Now().Add(step).UnixNano())
		must.Do(t, syscall.Settimeofday(&now))
		began := time.Now()
		testworld.Await(t, "the step is noticed", func() error {
			if seen := strings.Count(e.Log(), `"rule evaluation interrupted"`); seen != n+1 {
				return fmt.Errorf("%d steps of %d:\n%s", seen, n+1, e.Log())
			}
			return nil
		})
		e.Until("the nodes are up after the step", up)
		t.Logf("%v: noticed, and samples are back, after %v", step, time.Since(began).Round(time.Millisecond))
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			p, err := e.Scrape()
			if err := errors.Join(err, up(p)); err != nil || p[firing] > 1 { // 0 until the next evaluation
				t.Errorf("%v, %v later: %v alerts, %v", step, time.Since(began), p[firing], err)
			}
		}
		e.Until("only the watchdog fires", calm)
	}
	network.Node("bravo").Stop()
	e.Until("bravo is down", isDown("bravo"))
}

// loopbackUp enables the network interface lo.
func loopbackUp() error {
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(s)
	request := struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [24]byte
	}{name: [syscall.IFNAMSIZ]byte{'l', 'o'}, flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 { //nolint:gosec // for the kernel
		return errno
	}
	return nil
}
