package faults_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clock is the wall clock of one process, which may differ from the machine's.
type clock struct {
	t      testing.TB
	memory *os.File // of the process
	ahead  int64    // where in it the seconds stand that are added
}

// clockGettime takes the place of the vDSO's function, by which Go reads both
// clocks. It asks the kernel, and adds the seconds behind it to the wall clock.
var clockGettime = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, 228 (clock_gettime)
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi (the wall clock is 0)
	0x75, 0x0a, // jnz ret
	0x48, 0x8b, 0x0d, 0x04, 0x00, 0x00, 0x00, // mov rcx, [rip+4]
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3, // ret
}

// startWithClock starts a command with a clock of its own. The program has not
// executed one instruction when it gets it.
func startWithClock(t testing.TB, cmd *exec.Cmd) (*clock, error) {
	runtime.LockOSThread() // who traces is a thread
	defer runtime.UnlockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		return nil, fmt.Errorf("waiting for the process to stop: %v, %w", status, err)
	}
	c := &clock{t: t}
	return c, errors.Join(c.take(pid), syscall.PtraceDetach(pid))
}

// take puts the clock into a stopped process.
func (c *clock) take(pid int) error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	var from, to int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				return err
			}
		}
	}
	if c.memory, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0); err != nil {
		return err
	}
	c.t.Cleanup(func() { _ = c.memory.Close() })
	image := make([]byte, to-from)
	if _, err := c.memory.ReadAt(image, from); err != nil {
		return fmt.Errorf("reading the vDSO: %w", err)
	}
	library, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return err
	}
	symbols, err := library.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Name != "__vdso_clock_gettime" {
			continue
		}
		at := from + int64(s.Value)
		c.ahead = at + int64(len(clockGettime))
		if uint64(len(clockGettime)+8) > s.Size {
			return fmt.Errorf("the vDSO's clock has %d bytes: too few", s.Size)
		}
		if _, err := c.memory.WriteAt(clockGettime, at); err != nil {
			return fmt.Errorf("writing into the vDSO: %w", err)
		}
		return c.write(0)
	}
	return errors.New("the vDSO has no clock")
}

func (c *clock) write(seconds int64) error {
	_, err := c.memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(seconds)), c.ahead)
	return err
}

// set makes the wall clock differ from the machine's by this much, in whole
// seconds.
func (c *clock) set(ahead time.Duration) {
	c.t.Helper()
	if err := c.write(int64(ahead / time.Second)); err != nil {
		c.t.Fatal(err)
	}
}
