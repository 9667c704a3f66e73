package testworld

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/schedule"
)

// Deadline returns the deadline for waiting for a process: half of the time until the -timeout of the test binary, or five minutes without
// one. No test has another deadline, so a busy machine makes tests slower but does not make them fail.
func Deadline(t testing.TB) time.Time {
	if limited, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := limited.Deadline(); ok {
			return time.Now().Add(time.Until(end) / 2)
		}
	}
	return time.Now().Add(5 * time.Minute)
}

// TimedOut returns a channel that receives a value at the Deadline.
func TimedOut(t testing.TB) <-chan time.Time { return time.After(time.Until(Deadline(t))) }

// Poll calls the condition until it returns nil. At the Deadline it returns the condition's last error.
func Poll(t testing.TB, condition func() error) error {
	began, end := time.Now(), Deadline(t)
	for {
		err := condition()
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("not within %s: %w", time.Since(began).Round(time.Second), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Await polls the condition and fails the test with the condition's last error at the Deadline.
func Await(t testing.TB, what string, condition func() error) {
	t.Helper()
	if err := Poll(t, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// SyntheticTime prepares the process for synthetic time. Nothing may wait for the network: alerting looks up the name of this host, so the cache of
// the resolver must be filled. And what fails must fail again: the jobs get the phases of the seed TEST_PHASES, 1 unless it is set, or with "any" those
// of a seed that is printed.
func SyntheticTime() {
	seed := cmp.Or(os.Getenv("TEST_PHASES"), "1")
	if seed == "any" {
		seed = rand.Text()[:6]
		fmt.Fprintf(os.Stderr, "the jobs have the phases of TEST_PHASES=%s\n", seed)
	}
	schedule.SetPhases(seed)
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("tests look up no names")
	}}
	name, _ := os.Hostname()
	_, _ = net.DefaultResolver.LookupHost(context.Background(), name)
}
