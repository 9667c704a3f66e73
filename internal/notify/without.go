//go:build noalerting

package notify

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/common/model"
)

// Built reports that this program cannot send notifications: it was built with
// the tag noalerting.
const Built = false

var errNotBuilt = errors.New("this program was built without alerting (tag noalerting): use a program that was built without this tag")

// Notifier does nothing.
type Notifier struct{}

// Start returns an error.
func Start(context.Context, Options) (*Notifier, error) { return nil, errNotBuilt }

// Check returns an error.
func Check(Config) error { return errNotBuilt }

// CheckPeers returns an error.
func CheckPeers(Config) error { return errNotBuilt }

// Put does nothing.
func (*Notifier) Put(context.Context, ...model.Alert) error { return errNotBuilt }

// Reload does nothing.
func (*Notifier) Reload() error { return nil }

// Failing lists none.
func (*Notifier) Failing() []string { return nil }

// Silences lists none.
func (*Notifier) Silences(context.Context) ([]Silence, error) { return nil, nil }

// Silence returns an error.
func (*Notifier) Silence(context.Context, []Match, time.Duration, string, string) error {
	return errNotBuilt
}

// EndSilence returns an error.
func (*Notifier) EndSilence(context.Context, string) error { return errNotBuilt }

// Handler serves nothing.
func (*Notifier) Handler() http.Handler { return http.NotFoundHandler() }

// Wait returns at once.
func (*Notifier) Wait() {}

// Trial is the result of a test for one integration.
type Trial struct {
	Receiver, Integration string
	Err                   error
}

// Reach returns an error.
func Reach(context.Context, Config) ([]Trial, error) { return nil, errNotBuilt }

// Try returns an error.
func Try(context.Context, Options) ([]Trial, error) { return nil, errNotBuilt }
