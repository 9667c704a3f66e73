package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// subject is a measured process. It is separate, so that its figures include neither the client nor another subject. It runs this
// program again, with the subject's name as an argument.
type subject struct {
	cmd      *exec.Cmd
	url      string
	profiles string // address of its profiles
	ctx      context.Context
}

// subjects holds a function for each process, by name. The function gets the arguments and returns the handler.
var subjects = map[string]func(args []string) (http.Handler, error){
	"page":          servePage,
	"registry":      serveRegistry,
	"file":          serveFile,
	"refresh":       serveRefresh,
	"json_exporter": serveJSONExporter,
	"fleet":         serveFleet,
}

// start runs a subject until its method stop is called.
func start(ctx context.Context, name string, args ...any) (*subject, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	arguments := []string{name}
	for _, a := range args {
		arguments = append(arguments, fmt.Sprint(a))
	}
	s := &subject{cmd: exec.CommandContext(ctx, self, arguments...), ctx: ctx}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.url = strings.TrimSpace(line)
	return s, nil
}

func (s *subject) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// runSubject runs in the subject's process.
func runSubject(ctx context.Context, name string, args []string) error {
	handlerOf, known := subjects[name]
	if !known {
		return fmt.Errorf("there is no subject %q", name)
	}
	handler, err := handlerOf(args)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc("/usage", serveUsage)
	mux.HandleFunc("/settle", func(http.ResponseWriter, *http.Request) {
		debug.FreeOSMemory()
		// Resets VmHWM, the peak (proc(5), clear_refs).
		_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	return (&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}).Serve(listener)
}

// usage is the resource usage of a process.
type usage struct {
	CPU            time.Duration
	Allocated      uint64 // bytes
	Objects        uint64
	Resident, Peak int64 // bytes
}

func serveUsage(w http.ResponseWriter, _ *http.Request) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // never fails for the own process
	resident, peak, _ := residentOf("self")
	_ = json.NewEncoder(w).Encode(usage{
		CPU:       time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		Allocated: memory.TotalAlloc, Objects: memory.Mallocs, Resident: resident, Peak: peak,
	})
}

// residentOf reads a process' resident memory and its peak, in bytes.
func residentOf(pid string) (now, peak int64, err error) {
	if now, err = statusOf(pid, "VmRSS"); err != nil {
		return 0, 0, err
	}
	peak, err = statusOf(pid, "VmHWM")
	return now, peak, err
}

// get requests a page and returns the body without decompression.
func (s *subject) get(path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", acceptPrometheus)
	r.Header.Set("Accept-Encoding", "gzip")
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	if _, err := io.Copy(&body, resp.Body); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", path, resp.Status, body.Bytes())
	}
	return body.Bytes(), nil
}

// The Accept header of Prometheus 3.
const acceptPrometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4," +
	"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}

func (s *subject) usage() (u usage, err error) {
	body, err := s.get("/usage")
	if err != nil {
		return u, err
	}
	return u, json.Unmarshal(body, &u)
}

// measure calls do n times and returns the cost of one call.
func (s *subject) measure(n int, do func() error) (each usage, err error) {
	before, err := s.usage()
	if err != nil {
		return each, err
	}
	for range n {
		if err := do(); err != nil {
			return each, err
		}
	}
	after, err := s.usage()
	return usage{
		CPU:       (after.CPU - before.CPU) / time.Duration(n),
		Allocated: (after.Allocated - before.Allocated) / uint64(n),
		Objects:   (after.Objects - before.Objects) / uint64(n),
		Resident:  after.Resident, Peak: after.Peak,
	}, err
}

// ask requests the paths in turn.
func (s *subject) ask(paths ...string) func() error {
	return func() error {
		var errs []error
		for _, p := range paths {
			_, err := s.get(p)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
}
